"""
What a control plane says where nobody looks: lines that cost bounded room and never end it.

A disk that is full takes no line; then the line is lost, and how many were is said once there is
room again. Nothing that is said by a library, or by a defect, takes more than its share.
"""

from __future__ import annotations

import io
import os
import stat
import sys
from pathlib import Path

# Bytes. The log before this one is kept beside it; both together take twice as much.
LARGEST_LOG = 4 << 20

# Characters of what is said at once: a traceback of a thousand frames says as much at its ends.
LONGEST_SAYING = 8000

FILE_MODE = 0o600


class Log:
    """Tells each trouble once, for as long as it stays the same, and that it is over."""

    def __init__(self) -> None:
        self._told: dict[str, str] = {}

    def tell(self, text: str) -> None:
        """Say one line. Where it cannot be said, it is not."""
        try:
            sys.stderr.write(f"fairlead: {shortened(text)}\n")
            sys.stderr.flush()
        except (OSError, ValueError):  # full, closed, or gone
            return

    def trouble(self, about: str, text: str) -> None:
        """Say what goes wrong with something, unless that was said."""
        if self._told.get(about) != text:
            self._told[about] = text
            self.tell(f"{about}: {text}")

    def is_well(self, about: str) -> None:
        """Say that what went wrong no longer does, if it was said that it did."""
        if self._told.pop(about, None) is not None:
            self.tell(f"{about}: works again")


class LogStream(io.TextIOBase):
    """
    A text stream into a file that takes what fits and raises nothing.

    kept: the path of the file if it is ours to rotate; else only failures are swallowed.
    """

    def __init__(self, descriptor: int, kept: Path | None, largest: int = LARGEST_LOG) -> None:
        self._descriptor = descriptor
        self._kept = kept
        self._largest = largest
        self._lost = 0

    def writable(self) -> bool:
        """Say yes, as streams are asked."""
        return True

    def fileno(self) -> int:
        """Return the descriptor."""
        return self._descriptor

    def write(self, text: str) -> int:
        """Write what was said at once, shortened to its share."""
        said = shortened(text)
        if self._lost:
            said = f"fairlead: {self._lost} lines were lost, the disk took none\n{said}"
        data = said.encode(errors="backslashreplace")
        try:
            self._make_room(len(data))
            written = os.write(self._descriptor, data)
        except OSError:
            written = 0
        self._lost = 0 if written == len(data) else self._lost + max(1, text.count("\n"))
        return len(text)

    def _make_room(self, more: int) -> None:
        if self._kept is None or os.fstat(self._descriptor).st_size + more <= self._largest:
            return
        self._kept.replace(rotated(self._kept))
        flags = os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC
        fresh = os.open(self._kept, flags, FILE_MODE)
        try:
            # Whatever else writes to the old file by these numbers goes over to the new one.
            for descriptor in (1, 2):
                os.dup2(fresh, descriptor)
        finally:
            os.close(fresh)


def rotated(log: Path) -> Path:
    """Return where a log is kept once it is full."""
    return log.with_name(f"{log.name}.1")


def shortened(text: str) -> str:
    """Return a text that is no longer than what may be said at once, its middle left out."""
    if len(text) <= LONGEST_SAYING:
        return text
    half = LONGEST_SAYING // 2
    return f"{text[:half]}\n... {len(text) - 2 * half} characters left out ...\n{text[-half:]}"


def keep_log(log: Path) -> None:
    """Afterwards no full disk ends whoever prints, where stdout and stderr are files."""
    for name, descriptor in (("stdout", 1), ("stderr", 2)):
        try:
            found = os.fstat(descriptor)
        except OSError:
            continue
        # A terminal and a pipe have somebody at their other end, who may hang up.
        is_device = stat.S_ISCHR(found.st_mode) and not os.isatty(descriptor)
        if stat.S_ISREG(found.st_mode) or is_device:
            kept = log if _is_at(log, found) else None
            setattr(sys, name, LogStream(descriptor, kept))


def _is_at(log: Path, found: os.stat_result) -> bool:
    try:
        return os.path.samestat(log.lstat(), found)
    except OSError:
        return False
