"""
The files that pools name, below one directory: what they hold, and whether that changed.

What passes and answers see of a file is its digest at the last look, and whether machines could
use it, so that nothing is told of a change before a pass may act on it. A look costs one stat per
file that a pool names; a file is read again only if its stat differs, and once it was left alone
for a moment: half of a file that somebody is writing must not replace machines.
"""

from __future__ import annotations

import errno
import os
import stat
import time
from collections.abc import Mapping
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path

from fairlead.rollout.served.pool_secrets import measured

# Fields of a pool that name a file, and what a person calls it.
SECRET_FIELDS = {"pullSecret": "pull secret", "trustBundle": "trust bundle"}

# Seconds since the last write after which a file is taken to be whole.
QUIET_S = 1.0

NO_FILE = "it is not a file"

# Bytes: an API server holds no larger Secret, and a machine fetches 4 MiB in all.
LARGEST_FILE = 1 << 20
TOO_LARGE = "it has more than 1 MiB"


@dataclass(frozen=True, slots=True)
class Content:
    """
    What a file holds, by the field that would name it.

    unfit: why no machine could use it. served: how many bytes it takes in what machines are served.
    """

    digest: str
    unfit: Mapping[str, str]
    served: Mapping[str, int]


NO_CONTENT = Content("", unfit={}, served={})


@dataclass(frozen=True, slots=True)
class _Known:
    """A file at the last look. stamp: what its stat said, or None to look once more."""

    stamp: tuple[int, ...] | None
    content: Content | None = None
    error: tuple[int, str] | None = None


class SecretFiles:
    """The files of one directory. Names come from documents and lead nowhere else."""

    def __init__(self, directory: Path) -> None:
        self._directory = directory
        self._known: dict[str, _Known] = {}
        self._changes = 0

    def read(self, name: str) -> bytes:
        """Return what a file holds now. Raises OSError, or ValueError if that names no file."""
        # Never waiting: a pipe of that name would stop every pool.
        flags = os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC
        with os.fdopen(os.open(self._path(name), flags), "rb") as file:
            if not stat.S_ISREG(os.fstat(file.fileno()).st_mode):
                raise OSError(0, NO_FILE)
            content = file.read(LARGEST_FILE + 1)
        if len(content) > LARGEST_FILE:
            raise OSError(errno.EFBIG, TOO_LARGE)
        return content

    def present(self, name: str) -> Content:
        """Return what a file holds now. Raises as read does."""
        known = self._known.get(name)
        if known and known.stamp and known.content and known.stamp == self._stamp(name):
            return known.content
        return _content_of(self.read(name))

    def seen(self, name: str) -> Content:
        """Return what it held at the last look, which is now if it is asked for the first time."""
        known = self._known.get(name)
        if known is None:
            known = self._known[name] = self._look_at(name)
        if known.content is None:
            raise OSError(*(known.error or ()))
        return known.content

    def look(self) -> int:
        """Look at every file that was asked for; return a number that goes up if one changed."""
        for name, known in self._known.items():
            stamp = self._stamp(name)
            if stamp == known.stamp or _is_young(stamp):
                continue
            found = self._look_at(name)
            self._known[name] = found
            self._changes += (found.content, found.error) != (known.content, known.error)
        return self._changes

    def _look_at(self, name: str) -> _Known:
        stamp = self._stamp(name)
        kept = None if _is_young(stamp) else stamp
        try:
            return _Known(kept, _content_of(self.read(name)))
        except OSError as error:
            return _Known(kept, error=(error.errno or 0, error.strerror or NO_FILE))

    def _stamp(self, name: str) -> tuple[int, ...]:
        """Return what differs once a file was written or put in place of another; () if none is."""
        try:
            found = self._path(name).stat()
        except OSError:
            return ()
        return found.st_mtime_ns, found.st_ctime_ns, found.st_size, found.st_ino, found.st_mode

    def _path(self, name: str) -> Path:
        if name != Path(name).name or name in (".", "..") or "\0" in name:
            raise ValueError(name)
        return self._directory / name


def _content_of(content: bytes) -> Content:
    found = {field: measured(field, content) for field in SECRET_FIELDS}
    return Content(
        "sha256:" + sha256(content).hexdigest(),
        unfit={field: why for field, (_, why) in found.items() if why},
        served={field: count for field, (count, why) in found.items() if not why},
    )


def _is_young(stamp: tuple[int, ...]) -> bool:
    """Say whether a file was written a moment ago. One from the future was not."""
    return bool(stamp) and 0 <= time.time() - stamp[0] / 1e9 < QUIET_S
