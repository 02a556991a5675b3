"""A command at a terminal of its own: what it draws, what it asks, and keys that are pressed."""

from __future__ import annotations

import fcntl
import os
import pty
import re
import select
import signal
import struct
import subprocess
import sys
import termios
import time
from collections.abc import Mapping

DEADLINE_S = 30.0
CONTROL = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]")
CTRL_C = "\x03"


class Terminal:
    """One command with 100 columns and 40 lines, unless told. Leaving it ends the command."""

    def __init__(
        self,
        *words: str,
        environment: Mapping[str, str] | None = None,
        lines: int = 40,
        columns: int = 100,
    ) -> None:
        self._ours, theirs = pty.openpty()
        # Kept open, so that what the command left the terminal like can be looked at.
        self._theirs = theirs
        fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", lines, columns, 0, 0))
        kept = {name: text for name, text in os.environ.items() if name not in ("NO_COLOR", "TERM")}
        self._process = subprocess.Popen(
            [sys.executable, "-m", "fairlead", *words],
            stdin=theirs,
            stdout=theirs,
            stderr=theirs,
            start_new_session=True,
            # So that Ctrl-C becomes a signal, as at a real terminal.
            preexec_fn=lambda: fcntl.ioctl(0, termios.TIOCSCTTY, 0),  # noqa: PLW1509
            env={**kept, "TERM": "xterm-256color", **(environment or {})},
        )
        self.raw = ""

    def __enter__(self) -> Terminal:
        return self

    def __exit__(self, *error: object) -> None:
        if self._process.poll() is None:
            self._process.kill()
        self._process.wait(DEADLINE_S)
        os.close(self._ours)
        os.close(self._theirs)

    @property
    def text(self) -> str:
        """Everything that was drawn so far, without colours and cursor movements."""
        return CONTROL.sub("", self.raw)

    def signal(self, number: signal.Signals) -> None:
        self._process.send_signal(number)

    def reads_lines(self) -> bool:
        """Say whether keys are shown and come as whole lines, as a shell wants them."""
        flags = termios.tcgetattr(self._theirs)[3]
        return bool(flags & termios.ICANON and flags & termios.ECHO)

    def press(self, keys: str) -> None:
        os.write(self._ours, keys.encode())

    def wait_for(self, text: str) -> None:
        """Read until this text was drawn."""
        end = time.monotonic() + DEADLINE_S
        while text not in self.text:
            is_over = self._process.poll() is not None
            assert self._read() or not is_over, f"it ended without {text!r}: {self.text}"
            assert time.monotonic() < end, f"no {text!r} in: {self.text}"

    def finish(self) -> int:
        """Read until the command ends, and return its exit code."""
        end = time.monotonic() + DEADLINE_S
        while self._process.poll() is None:
            self._read()
            assert time.monotonic() < end, f"it does not end: {self.text}"
        while self._read(0.0):
            pass
        return self._process.wait(DEADLINE_S)

    def _read(self, wait_s: float = 0.1) -> bool:
        """Read what was drawn; say whether there was anything."""
        readable, _, _ = select.select([self._ours], [], [], wait_s)
        if not readable:
            return False
        self.raw += os.read(self._ours, 1 << 16).decode(errors="replace")
        return True
