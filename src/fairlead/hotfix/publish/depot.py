"""
A depot: a directory with everything about hotfixes that nodes and services read.

metadata/update.json   the signed metadata as a node is sent it: the one that counts
metadata/*.json        the same as single files, for TUF clients
apt/, rpm/             repositories with the packages
keys/online.pem        the one key that must be where the depot is served
catalog.json           what was published, and how far it may reach

Whoever changes a depot holds its lock. What counts is written last and whole, so that a reader
sees one publication or the other, and a writer that was killed left nothing that counts.
"""

from __future__ import annotations

import fcntl
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from fairlead.contract.json_text import parse_json, plain
from fairlead.errors import InputError
from fairlead.hotfix.catalog import Catalog
from fairlead.hotfix.catalog_text import LARGEST_CATALOG, parse_catalog, render_catalog
from fairlead.hotfix.publish.metadata import Signed, render_update, root_of
from fairlead.whole_file import write_whole

# A hundred fixes and ten roots have 150 KiB.
LARGEST_UPDATE = 4 << 20

# Served to nodes, and holds no secret.
READABLE = 0o644


def make_readable(directory: Path) -> None:
    """Make a directory that whoever serves a depot can enter, whatever the umask."""
    if not directory.is_dir():
        directory.mkdir(parents=True)
        directory.chmod(0o755)


class Depot:
    """One depot by its directory."""

    def __init__(self, directory: Path) -> None:
        self.directory = directory
        self.metadata = directory / "metadata"
        self.keys = directory / "keys"
        self.apt = directory / "apt"
        self.rpm = directory / "rpm"
        self.catalog = directory / "catalog.json"
        self._update = self.metadata / "update.json"

    def exists(self) -> bool:
        """Say whether keys were made and something was signed here."""
        return self._update.exists()

    @contextmanager
    def writing(self) -> Iterator[None]:
        """Hold the lock of this depot, which is made; whoever comes second waits."""
        self.directory.mkdir(mode=0o755, parents=True, exist_ok=True)
        lock = os.open(self.directory / ".lock", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        try:
            fcntl.flock(lock, fcntl.LOCK_EX)
            yield
        finally:
            os.close(lock)

    @contextmanager
    def changing(self) -> Iterator[Signed]:
        """Hold the lock of a depot that exists; give the metadata. Raises InputError for none."""
        self.read_signed()
        with self.writing():
            yield self.read_signed()

    def read_signed(self) -> Signed:
        """Return the metadata that counts. Raises InputError with what to do."""
        return _signed_of(self._read(self._update, LARGEST_UPDATE), self._update)

    def write_signed(self, signed: Signed) -> None:
        """Make this metadata the one that counts."""
        make_readable(self.metadata)
        first = root_of(signed).version - len(signed.roots) + 1
        numbered = enumerate(signed.roots, start=first)
        files = {f"{number}.root.json": root for number, root in numbered}
        files["root.json"] = signed.roots[-1]
        files["targets.json"] = signed.targets
        files["snapshot.json"] = signed.snapshot
        files["timestamp.json"] = signed.timestamp
        for name, text in files.items():
            write_whole(self.metadata / name, text, READABLE)
        write_whole(self._update, render_update(signed), READABLE)

    def read_catalog(self) -> Catalog:
        """Return what was published. Raises InputError with what to do."""
        text = self._read(self.catalog, LARGEST_CATALOG)
        try:
            return parse_catalog(text)
        except InputError as error:
            raise InputError(
                f"{self.catalog} is damaged: {error}",
                hint="restore it from a backup, or publish from another copy",
            ) from error

    def write_catalog(self, catalog: Catalog) -> None:
        """Make this catalog the one that counts."""
        write_whole(self.catalog, render_catalog(catalog), READABLE)

    def _read(self, file: Path, largest: int) -> bytes:
        """Return a file; nothing of one that is too large, which no reader takes for whole."""
        try:
            with file.open("rb") as opened:
                text = opened.read(largest + 1)
        except FileNotFoundError as error:
            raise InputError(
                f"{self.directory} is no depot of hotfixes", hint="run: fairlead keys init"
            ) from error
        except OSError as error:
            raise InputError(f"cannot read {file}: {error.strerror}") from error
        return text if len(text) <= largest else b""


def _signed_of(text: bytes, file: Path) -> Signed:
    broken = InputError(
        f"{file} is damaged", hint="restore it from a backup, or publish from another copy"
    )
    try:
        document = plain(parse_json(text))
    except InputError as error:
        raise broken from error
    roots = document.get("roots") if isinstance(document, dict) else None
    texts = [document.get(name) for name in ("targets", "snapshot", "timestamp")] if roots else []
    if not isinstance(roots, list) or not all(isinstance(text, str) for text in [*roots, *texts]):
        raise broken
    targets, snapshot, timestamp = (text.encode() for text in texts)
    return Signed(
        roots=tuple(root.encode() for root in roots),
        targets=targets,
        snapshot=snapshot,
        timestamp=timestamp,
    )
