"""
Files that appear whole or not at all, for everything that the control plane and its commands keep.

What is written goes to a neighbour with a name of its own, is on the disk before it takes the
file's name, and so is the name afterwards. Two processes that write one file at once do not meet:
one of them is last. The neighbour is locked for as long as its writer lives, so the next writer
can tell what a killed one left behind, and removes it.
"""

from __future__ import annotations

import errno
import fcntl
import os
import re
from contextlib import suppress
from pathlib import Path
from stat import S_ISREG

PRIVATE = 0o600

# How often the moment between making a neighbour and locking it may go to somebody who tidies up.
TRIES = 8

_HALF = re.compile(r"\..+\.[0-9a-f]{8}\.fairlead-half")

_MADE = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
# Opening a pipe that nobody writes to must not wait.
_FOUND = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC


def write_whole(file: Path, content: bytes, mode: int = PRIVATE) -> None:
    """Put this content at the path with this mode; a link there is replaced. Raises OSError."""
    try:
        directory = os.open(file.parent, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        try:
            write_whole_in(directory, file.name, content, mode)
        finally:
            os.close(directory)
    except OSError as error:
        # The neighbour's name says nothing to whoever reads the message.
        raise OSError(error.errno, error.strerror, str(file)) from error


def write_whole_in(directory: int, name: str, content: bytes, mode: int) -> None:
    """Do the same in a directory that is open already, where no link was followed to it."""
    _remove_leftovers(directory, name)
    half, descriptor = _open_half(directory, name, mode)
    try:
        os.fchmod(descriptor, mode)  # the umask may have taken from it
        _write_all(descriptor, content)
        os.fsync(descriptor)
        os.rename(half, name, src_dir_fd=directory, dst_dir_fd=directory)
    except BaseException:
        _remove(directory, half)
        raise
    finally:
        os.close(descriptor)
    os.fsync(directory)


def is_half(name: str) -> bool:
    """Say whether this is what a killed writer of a file leaves behind."""
    return _HALF.fullmatch(name) is not None


def _open_half(directory: int, name: str, mode: int) -> tuple[str, int]:
    for _ in range(TRIES):
        half = f".{name}.{os.urandom(4).hex()}.fairlead-half"
        descriptor = os.open(half, _MADE, mode, dir_fd=directory)
        try:
            is_ours = _is_locked(descriptor)
        except OSError:
            is_ours = True  # this filesystem has no locks, so nobody tidies up either
        if is_ours and os.fstat(descriptor).st_nlink:
            return half, descriptor
        os.close(descriptor)
        _remove(directory, half)
    raise BlockingIOError(errno.EAGAIN, "somebody else locks every file that is to become this")


def _is_locked(descriptor: int) -> bool:
    """Lock a file; say whether nobody else has locked it."""
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


def _write_all(descriptor: int, content: bytes) -> None:
    left = memoryview(content)
    while left:
        left = left[os.write(descriptor, left) :]


def _remove_leftovers(directory: int, name: str) -> None:
    """Remove what writers of this file that are no more left behind."""
    ours = re.compile(rf"\.{re.escape(name)}\.[0-9a-f]{{8}}\.fairlead-half")
    for found in os.listdir(directory):  # noqa: PTH208 - a directory that is open
        if not ours.fullmatch(found):
            continue
        with suppress(OSError):
            descriptor = os.open(found, _FOUND, dir_fd=directory)
            try:
                if S_ISREG(os.fstat(descriptor).st_mode) and _is_locked(descriptor):
                    os.unlink(found, dir_fd=directory)
            finally:
                os.close(descriptor)


def _remove(directory: int, name: str) -> None:
    with suppress(OSError):
        os.unlink(name, dir_fd=directory)
