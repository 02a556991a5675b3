"""
How far the database was written, kept outside of it, so that one that fell behind is noticed.

SQLite leaves out what it cannot read of its write-ahead log, and says nothing. So every write
counts up a number in the database, and this file is told the number after the write is on the
disk, before anybody acts on it. It may lag behind the database, when the process was killed
between the two, and never leads it: a database below its watermark has lost what was there.

The file also says that the directory is a control plane's. It has two halves, written in turn and
in place: it takes no room that a full disk could refuse, and a half that is damaged leaves the
other. It is not synced with every write. After a power cut it may lag by more, never lead.
"""

from __future__ import annotations

import os
import re
import secrets
from contextlib import suppress
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path

from fairlead.errors import InputError
from fairlead.whole_file import write_whole

HALF = 512  # bytes: what a disk writes at once
ID_BYTES = 16

_HALF = re.compile(rb"fairlead ([0-9a-f]{32}) ([0-9]{1,19}) ([0-9a-f]{16}) *\n")


@dataclass(frozen=True, slots=True)
class Mark:
    """The database that belongs here, and the last write that is known to be in it."""

    database: str
    number: int = 0


def draw_mark() -> Mark:
    """Return the mark of a database that is to be made."""
    return Mark(secrets.token_hex(ID_BYTES))


def write_mark(file: Path, mark: Mark) -> None:
    """Put this mark in the place of any other. Raises OSError."""
    write_whole(file, _half(mark) * 2)


def find_mark(file: Path) -> Mark | None:
    """Return the mark of this file, or None if there is no file. Raises InputError."""
    try:
        content = file.read_bytes()[: 2 * HALF]
    except FileNotFoundError:
        return None
    halves = (content[:HALF], content[HALF:])
    found = [mark for half in halves if (mark := _parse_half(half)) is not None]
    if not found:
        raise InputError(
            f"{file} cannot be read, so nothing says whether the database is whole",
            hint="`fairlead restore FILE --over` puts a backup in its place, `fairlead restore "
            "--as-it-is` takes the database as it is",
        )
    return max(found, key=lambda mark: mark.number)


class Watermark:
    """The open file. What it cannot be told is left out: it may lag."""

    def __init__(self, file: Path, database: str) -> None:
        self._database = database
        self._file = os.open(file, os.O_WRONLY | os.O_NOFOLLOW | os.O_CLOEXEC)

    def rise(self, number: int) -> None:
        """Note that this write is in the database."""
        with suppress(OSError):
            os.pwrite(self._file, _half(Mark(self._database, number)), (number % 2) * HALF)

    def sync(self) -> None:
        """Afterwards a power cut does not take back what was noted."""
        with suppress(OSError):
            os.fdatasync(self._file)

    def close(self) -> None:
        """Nothing more will be noted."""
        self.sync()
        os.close(self._file)


def _half(mark: Mark) -> bytes:
    says = f"fairlead {mark.database} {mark.number}".encode()
    return (says + b" " + _digest(says)).ljust(HALF - 1) + b"\n"


def _parse_half(half: bytes) -> Mark | None:
    found = _HALF.fullmatch(half)
    if found is None or _digest(half[: found.start(3) - 1]) != found[3]:
        return None
    return Mark(found[1].decode(), int(found[2]))


def _digest(says: bytes) -> bytes:
    return sha256(says).hexdigest()[:16].encode()
