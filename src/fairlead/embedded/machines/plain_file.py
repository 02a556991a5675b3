"""
Reading files that a machine may have written, or put something else in the place of.

Opening never waits, no link is followed, only a plain file is read, and never further than asked.
"""

from __future__ import annotations

import errno
import os
import stat
from pathlib import Path

# Opening a pipe that nobody writes to must not wait.
PLAIN = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC

# What opening says of a path that holds nothing, a link or a socket.
NO_FILE = (errno.ENOENT, errno.ENOTDIR, errno.ELOOP, errno.ENXIO)


def read_end(descriptor: int, most: int) -> bytes | None:
    """Return the last part of an open file, None if it is no plain one; it is closed then."""
    found = _read_part(descriptor, most)
    return None if found is None else found[1]


def find_end(path: Path, most: int) -> bytes | None:
    """Return the last part of a plain file; None if there is no such file. Raises OSError."""
    found = find_part(path, most)
    return None if found is None else found[1]


def find_part(path: Path, most: int) -> tuple[int, bytes] | None:
    """Return where the last part of a plain file begins, and that part; None if there is none."""
    try:
        return _read_part(os.open(path, PLAIN), most)
    except OSError as error:
        if error.errno in NO_FILE:
            return None
        raise


def _read_part(descriptor: int, most: int) -> tuple[int, bytes] | None:
    try:
        found = os.fstat(descriptor)
        if not stat.S_ISREG(found.st_mode):
            return None
        begin = os.lseek(descriptor, max(0, found.st_size - most), os.SEEK_SET)
        parts, left = [], most
        while left and (part := os.read(descriptor, left)):
            parts.append(part)
            left -= len(part)
        return begin, b"".join(parts)
    finally:
        os.close(descriptor)
