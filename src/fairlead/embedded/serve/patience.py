"""
Waiting for a control plane that may be busy, or stopped: whoever waits hears which, and soon.

The kernel takes a connection for a process that is stopped, and holds it for one that thinks about
a fleet. The two are told apart by who listens: the socket knows its process.
"""

from __future__ import annotations

import select
import socket
import struct
import time
from collections.abc import Callable
from pathlib import Path

from fairlead.errors import UnavailableError

# Seconds without a word after which whoever waits is told, and between two further looks.
PATIENCE_S = 1.0

# States of a process that nobody lets run, as proc(5) spells them.
STOPPED = ("T", "t")


class Patience:
    """
    How long one request waits, in all. Raises TimeoutError when that is over.

    on_wait: told once that the control plane is busy.
    """

    def __init__(self, timeout_s: float, on_wait: Callable[[str], None] | None) -> None:
        self._timeout_s = timeout_s
        self._end = time.monotonic() + timeout_s
        self._on_wait = on_wait

    def wait(self, connection: socket.socket, event: int) -> None:
        """Return once the connection can be read or written. Raises UnavailableError if stopped."""
        poll = select.poll()
        poll.register(connection, event)
        while (left_s := self._end - time.monotonic()) > 0:
            if poll.poll(max(1, int(min(PATIENCE_S, left_s) * 1000))):
                return
            process = _listener_of(connection)
            if _is_stopped(process):
                raise UnavailableError(
                    f"the control plane is stopped (process {process}); "
                    f"let it go on: kill -CONT {process}"
                )
            self._tell(process, left_s)
        raise TimeoutError(f"timed out after {self._timeout_s:g} s")

    def _tell(self, process: int, left_s: float) -> None:
        if self._on_wait is not None and left_s > PATIENCE_S:
            who = f" (process {process})" if process else ""
            self._on_wait(f"the control plane{who} is busy; waiting for up to {left_s:.0f} s")
            self._on_wait = None


def _listener_of(connection: socket.socket) -> int:
    """Return the process at the other end; 0 if it cannot be seen from here."""
    size = struct.calcsize("3i")
    process, _, _ = struct.unpack(
        "3i", connection.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, size)
    )
    return int(process)


def _is_stopped(process: int) -> bool:
    try:
        text = Path(f"/proc/{process}/stat").read_text(errors="replace")
    except OSError:
        return False
    return text.rpartition(")")[2].split()[0] in STOPPED
