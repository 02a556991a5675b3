"""
Unix sockets at paths of any length.

The kernel takes at most 107 bytes of path. A longer one is reached through a descriptor of its
directory: /proc/self/fd/N/NAME is short whatever N stands for.
"""

from __future__ import annotations

import os
import socket
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from fairlead.errors import ConflictError

LONGEST_PATH = 107
PRIVATE = 0o600


def bind(path: Path, mode: int = PRIVATE) -> socket.socket:
    """
    Return a socket that is bound to this path, for its owner only; nothing listens yet.

    mode: what it has in the end, for one in a directory that keeps others away.

    A socket that a killed process left there is replaced: whoever asks holds the lock that says
    that nobody serves it. Raises ConflictError if something else is there.
    """
    _remove_socket(path)
    bound = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    try:
        # Before it has a name, so that nobody else can open it, not even for a moment.
        os.fchmod(bound.fileno(), PRIVATE)
        with _short(path) as short:
            bound.bind(short)
        if mode != PRIVATE:
            path.chmod(mode)
    except OSError:
        bound.close()
        raise
    return bound


def connect(path: Path, timeout_s: float | None = None) -> socket.socket:
    """Return a connection to whoever listens at this path. Raises OSError if nobody does."""
    connection = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    try:
        connection.settimeout(timeout_s)
        with _short(path) as short:
            connection.connect(short)
    except OSError:
        connection.close()
        raise
    return connection


def _remove_socket(path: Path) -> None:
    try:
        mode = path.lstat().st_mode
    except FileNotFoundError:
        return
    if not stat.S_ISSOCK(mode):
        raise ConflictError(f"{path} is there and is no socket; move it away")
    path.unlink(missing_ok=True)


@contextmanager
def _short(path: Path) -> Iterator[str]:
    if len(os.fsencode(path)) <= LONGEST_PATH:
        yield str(path)
        return
    descriptor = os.open(path.parent, os.O_PATH | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        yield f"/proc/self/fd/{descriptor}/{path.name}"
    finally:
        os.close(descriptor)
