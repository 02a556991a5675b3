"""The lock of a state directory: held by the one process that may write, while it lives."""

from __future__ import annotations

import fcntl
import os
from contextlib import suppress
from pathlib import Path

from fairlead.embedded.state_directory import StateDirectory
from fairlead.errors import ConflictError

_FLAGS = os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC


def take_lock(directory: StateDirectory) -> int:
    """Return the descriptor that holds the directory. Raises ConflictError if another has it."""
    lock = os.open(directory.lock, _FLAGS, 0o600)
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError as error:
        owner = os.read(lock, 32).decode(errors="replace").strip() or "unknown"
        os.close(lock)
        raise ConflictError(
            f"a control plane already has {directory.path}: process {owner}"
        ) from error
    os.ftruncate(lock, 0)
    os.write(lock, f"{os.getpid()}\n".encode())
    return lock


def let_go(lock: int) -> None:
    """Afterwards another process may have the directory."""
    os.ftruncate(lock, 0)
    os.close(lock)


def find_owner(directory: StateDirectory) -> int | None:
    """
    Return the process that holds the lock of this directory, or None.

    The number in the file counts only if that very process has this very file open: it may be
    left from one that was killed, and the number be somebody else's by now.
    """
    try:
        found = directory.lock.stat()
        process = int(directory.lock.read_text())
    except (OSError, ValueError):
        return None
    for opened in _descriptors_of(process):
        with suppress(OSError):
            there = opened.stat()
            if (there.st_dev, there.st_ino) == (found.st_dev, found.st_ino):
                return process
    return None


def _descriptors_of(process: int) -> list[Path]:
    try:
        return list(Path(f"/proc/{process}/fd").iterdir())
    except OSError:
        return []
