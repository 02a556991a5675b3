"""
The one way out: what a command writes to stdout and stderr, and how it ends if nobody takes it.

Names, causes and file names come from machines, documents and command lines. Nothing of them
that a terminal would obey gets past these streams, whoever writes it; what draws with colours
goes through screens/colours.py, which escapes in the same way.
"""

from __future__ import annotations

import errno
import os
import sys
from contextlib import contextmanager, suppress
from contextvars import ContextVar
from typing import TYPE_CHECKING, cast

from fairlead.contract.visible_text import visible

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from typing import BinaryIO, TextIO

# 128 + SIGPIPE, as a shell counts it: not 0, since what was asked for may not have been done.
CLOSED = 141
FULL = 74  # EX_IOERR of sysexits.h

# What a command's answer is written as; '' is for people.
JSON, YAML, NAME, WIDE = "json", "yaml", "name", "wide"
FORMS = (JSON, YAML, NAME, WIDE)
FORM: ContextVar[str] = ContextVar("form", default="")

# The state directory of the control plane that was asked: screens tell paths from there.
STATE_PATH: ContextVar[str] = ContextVar("state_path", default="")

# What a command begins with that asks the same control plane again.
PROGRAM = "fairlead"
ASKED: ContextVar[str] = ContextVar("asked", default=PROGRAM)

# What bars are drawn with, where an encoding lacks it: as wide, so that columns stay columns.
PLAIN = str.maketrans("━╍─│█▉▊▋▌▍▎▏░◆→…", "=-.|#####...:*>~")

# Lines end, and completion scripts indent.
KEPT = "\n\t"


class OutputEndedError(Exception):
    """Nobody takes what a command says. `why` is '' if its reader has simply left."""

    def __init__(self, why: OSError) -> None:
        self.code = CLOSED if isinstance(why, BrokenPipeError) else FULL
        self.why = why
        super().__init__(str(why))


class OutputStream:
    """
    One of the two streams, with everything escaped that a terminal would obey.

    is_heard: whether a failure ends the command. What stderr cannot say is lost, and no reason
    to leave work undone. stamp: gives what goes before every line, for logs.
    """

    errors = "strict"

    def __init__(self, raw: TextIO | None, *, is_heard: bool) -> None:
        self._raw = raw
        self._is_heard = is_heard
        self._is_line_begun = False
        self.stamp: Callable[[], str] | None = None

    def write(self, text: str) -> int:
        """Write the text, escaped."""
        self._put(self._stamped(visible(text, KEPT)))
        return len(text)

    def write_drawn(self, text: str) -> int:
        """Write what was drawn for a terminal, with its colours: escaped before it was drawn."""
        self._put(text)
        return len(text)

    def flush(self) -> None:
        """Hand over what was written so far."""
        with self._ending():
            self._opened().flush()

    def isatty(self) -> bool:
        """Say whether this is a terminal."""
        return self._raw is not None and not self._raw.closed and self._raw.isatty()

    def fileno(self) -> int:
        """Return the descriptor. Raises OSError if there is none."""
        return self._opened().fileno()

    @property
    def encoding(self) -> str:
        """How characters become bytes."""
        return (self._raw.encoding if self._raw is not None else None) or "utf-8"

    @property
    def buffer(self) -> BinaryIO:
        """For documents that are bytes."""
        return self._opened().buffer

    def forget(self) -> None:
        """Let nobody try again to hand over what could not be: not even Python as it ends."""
        with suppress(OSError, ValueError):
            nowhere = os.open(os.devnull, os.O_WRONLY)
            os.dup2(nowhere, self.fileno())
            os.close(nowhere)

    def hand_over_or_forget(self) -> None:
        """Hand over what waits; what nobody takes must not become Python's own exit code, 120."""
        try:
            if self._raw is not None and not self._raw.closed:
                self._raw.flush()
        except OSError:
            self.forget()

    def _put(self, text: str) -> None:
        with self._ending():
            raw = self._opened()
            try:
                raw.write(text)
            except UnicodeEncodeError:
                plain = text.translate(PLAIN).encode(self.encoding, "backslashreplace")
                raw.write(plain.decode(self.encoding))

    def _stamped(self, text: str) -> str:
        if self.stamp is None:
            return text
        lines = text.splitlines(keepends=True)
        before = ["" if self._is_line_begun else self.stamp(), *[self.stamp()] * len(lines)]
        self._is_line_begun = not text.endswith("\n") if text else self._is_line_begun
        return "".join(stamp + line for stamp, line in zip(before, lines, strict=False))

    def _opened(self) -> TextIO:
        if self._raw is None or self._raw.closed:
            raise OSError(errno.EBADF, os.strerror(errno.EBADF))
        return self._raw

    @contextmanager
    def _ending(self) -> Iterator[None]:
        try:
            yield
        except OSError as error:
            if self._is_heard:
                raise OutputEndedError(error) from error


@contextmanager
def escaped_output() -> Iterator[OutputStream]:
    """Let nothing reach stdout or stderr but through an OutputStream; give that of stdout."""
    before = sys.stdout, sys.stderr
    out = OutputStream(before[0], is_heard=True)
    sys.stdout = cast("TextIO", out)
    err = OutputStream(before[1], is_heard=False)
    sys.stderr = cast("TextIO", err)
    kept = FORM.set(""), STATE_PATH.set(""), ASKED.set(PROGRAM)
    try:
        yield out
    finally:
        FORM.reset(kept[0])
        STATE_PATH.reset(kept[1])
        ASKED.reset(kept[2])
        err.hand_over_or_forget()
        sys.stdout, sys.stderr = before


def stamp_lines(stamp: Callable[[], str]) -> None:
    """Let every line from here on begin with this, on both streams: they are a log."""
    for name in ("stdout", "stderr"):
        stream = getattr(sys, name)
        if not isinstance(stream, OutputStream):
            # Somebody put a stream of their own in place; what it takes is escaped all the same.
            stream = OutputStream(stream, is_heard=False)
            setattr(sys, name, stream)
        stream.stamp = stamp


def as_typed(text: str) -> str:
    """Return a sentence whose commands reach the control plane that was asked, as they stand."""
    if ASKED.get() == PROGRAM:
        return text
    from fairlead.telling.typed import typed_text

    return typed_text(text, ASKED.get())
