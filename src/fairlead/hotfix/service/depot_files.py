"""
Which files of a depot everybody may read, and reading them.

Metadata, the indexes of the repositories and the packages that are on offer: all of them are
signed, so nobody has to prove anything to get them. Nothing else is served, whatever it is called:
keys, the ledger and the catalog lie in the same directory. No link is followed.
"""

from __future__ import annotations

import errno
import os
import re
from collections.abc import Iterator
from dataclasses import dataclass
from stat import S_ISREG

from fairlead.hotfix.catalog import Catalog
from fairlead.hotfix.publish.depot import Depot

# Bytes. A fix of ours has 400 KiB, the AKS agent 30 MiB.
LARGEST_FILE = 256 << 20
CHUNK = 128 << 10

LONGEST_PATH = 300

# Of `deb https://... ./`, the usual source of a repository without suites: apt asks for every file
# of it with this in between, and does not take it out.
_FLAT = "apt/./"

_INDEXES = re.compile(
    r"metadata/([1-9][0-9]{0,5}\.)?root\.json"
    r"|metadata/(targets|snapshot|timestamp|update)\.json"
    r"|apt/by-hash/SHA256/[0-9a-f]{64}"
    r"|apt/(Packages(\.(gz|xz|bz2|zst))?|Release(\.gpg)?|InRelease|repository\.gpg)"
    r"|rpm/repository\.asc"
    r"|rpm/repodata/repomd\.xml(\.asc)?"
    r"|rpm/repodata/[0-9a-f]{32,128}-[a-z_]{1,40}\.(xml|sqlite)(\.(gz|xz|bz2|zst))?",
    re.ASCII,
)

# A link, where neither a folder nor a file is expected to be one.
_LINKS = (errno.ELOOP, errno.EMLINK)

_FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
# Opening a pipe that nobody writes to must not wait.
_FILE = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC


@dataclass(slots=True)
class OpenFile:
    """A file to serve. Whoever got it closes it, by reading to the end or by `close`."""

    descriptor: int
    size: int

    def chunks(self) -> Iterator[bytes]:
        """Yield what is in it: as many bytes as it had when it was opened, or fewer."""
        left = self.size
        while left and (part := os.read(self.descriptor, min(CHUNK, left))):
            left -= len(part)
            yield part

    def close(self) -> None:
        """Let go of it."""
        os.close(self.descriptor)


def is_public(path: str, catalog: Catalog) -> bool:
    """Say whether everybody may read this path below the depot."""
    if len(path) > LONGEST_PATH:
        return False
    return path in catalog.packages() or _INDEXES.fullmatch(path) is not None


def open_public(depot: Depot, path: str, catalog: Catalog) -> OpenFile | None:
    """Return a file that everybody may read, or None. Raises OSError if the disk fails."""
    if path.startswith(_FLAT):
        path = f"apt/{path.removeprefix(_FLAT)}"
    if not is_public(path, catalog):
        return None
    *folders, name = path.split("/")
    try:
        descriptor = os.open(depot.directory, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        for part in (*folders, name):
            flags = _FILE if part is name else _FOLDER
            try:
                inner = os.open(part, flags, dir_fd=descriptor)
            finally:
                os.close(descriptor)
            descriptor = inner
    except (FileNotFoundError, NotADirectoryError):
        return None
    except OSError as error:
        if error.errno in _LINKS:
            return None
        raise
    found = os.fstat(descriptor)
    if not S_ISREG(found.st_mode) or found.st_size > LARGEST_FILE:
        os.close(descriptor)
        return None
    return OpenFile(descriptor, found.st_size)
