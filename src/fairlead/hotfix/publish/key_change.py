"""
Making the keys of a depot, and replacing them one role at a time.

A new key lies beside the old one as `NAME.next.pem` before the metadata names it, and takes its
name afterwards: whoever is killed in between left a depot whose key is found all the same.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from pathlib import Path

from securesystemslib.signer import CryptoSigner

from fairlead.errors import InputError
from fairlead.hotfix.catalog import Catalog
from fairlead.hotfix.publish import metadata
from fairlead.hotfix.publish.depot import Depot
from fairlead.hotfix.publish.keys import (
    ONLINE,
    RELEASE,
    make_key,
    read_key,
    read_root_keys,
    root_key_name,
)
from fairlead.hotfix.publish.metadata import RoleKeys, Signed, Signers
from fairlead.hotfix.publish.repository_key import RepositoryKey
from fairlead.trust.metadata import MOST_KEYS

# TUF's names of what the two files sign for.
_ROLES = {RELEASE: "targets", ONLINE: "timestamp"}


@dataclass(frozen=True, slots=True, kw_only=True)
class RootShape:
    """How many root keys there are, and how many of them must agree."""

    count: int
    threshold: int

    def refuse_odd(self) -> None:
        """Raise InputError for a number that helps nobody."""
        most = MOST_KEYS - 2
        if not 1 <= self.threshold <= self.count <= most:
            raise InputError(
                f"found {self.count} root keys of which {self.threshold} must sign, expected a "
                f"threshold from 1 to the number of keys, and at most {most} keys"
            )


def start_depot(depot: Depot, offline: Path, shape: RootShape, now: datetime) -> Signed:
    """
    Make every key and an empty depot. Offline keys go to a directory of their own.

    Keys that are in that directory are used: a second depot may have the same, and what was
    interrupted goes on. Raises InputError if the depot has signed metadata.
    """
    shape.refuse_odd()
    make_directory(offline, 0o700)
    make_directory(depot.directory, 0o755)
    with depot.writing():
        if depot.exists():
            raise InputError(f"{depot.directory} has keys already", hint="fairlead keys show")
        depot.keys.mkdir(mode=0o700, parents=True, exist_ok=True)
        numbers = range(1, shape.count + 1)
        root = tuple(_made_or_read(offline / root_key_name(number)) for number in numbers)
        signers = Signers(
            root=root,
            release=_made_or_read(offline / RELEASE),
            online=_made_or_read(depot.keys / ONLINE),
        )
        keys = RoleKeys(
            root=tuple(signer.public_key for signer in root),
            release=signers.release.public_key,
            online=signers.online.public_key,
            threshold=shape.threshold,
        )
        repository = RepositoryKey(depot)
        if not repository.fingerprints():
            repository.make()
        signed = metadata.start(keys, signers, now)
        depot.write_catalog(Catalog())
        depot.write_signed(signed)
    return signed


def make_directory(directory: Path, mode: int) -> None:
    """Make a directory with this mode; those above it that are missing are closed to others."""
    for above in reversed(directory.parents):
        above.mkdir(mode=0o700, exist_ok=True)
    directory.mkdir(mode=mode, exist_ok=True)


def read_online(depot: Depot, signed: Signed) -> CryptoSigner:
    """Return the online key that the newest root names."""
    return _named_key(depot.keys, ONLINE, signed)


def read_release(offline: Path, signed: Signed) -> CryptoSigner:
    """Return the release key that the newest root names."""
    return _named_key(offline, RELEASE, signed)


def rotate_role(
    depot: Depot, offline: Path, name: str, roots: Sequence[Path], now: datetime
) -> Signed:
    """Replace the release or the online key; `roots` are the directories of root keys."""
    directory = offline if name == RELEASE else depot.keys
    with depot.changing() as signed:
        _settle(directory, name, signed)
        following = directory / _next_name(name)
        following.unlink(missing_ok=True)
        made = make_key(following)
        signers = Signers(
            root=_root_signers(roots, signed),
            release=made if name == RELEASE else read_release(offline, signed),
            online=made if name == ONLINE else read_online(depot, signed),
        )
        keys = replace(
            metadata.keys_of(metadata.root_of(signed)),
            release=signers.release.public_key,
            online=signers.online.public_key,
        )
        changed = metadata.rotate(signed, keys, signers, now)
        depot.write_signed(changed)
        following.replace(directory / name)
    return changed


@dataclass(frozen=True, slots=True, kw_only=True)
class RootChange:
    """New root keys. replaced: beginnings of key ids, all if none; threshold: as before if None."""

    directory: Path
    replaced: tuple[str, ...] = ()
    threshold: int | None = None


def rotate_root(
    depot: Depot, offline: Path, roots: Sequence[Path], change: RootChange, now: datetime
) -> Signed:
    """Replace root keys by new ones in a directory of their own; enough of the old must sign."""
    with depot.changing() as signed:
        keys = metadata.keys_of(metadata.root_of(signed))
        gone = [key for key in keys.root if _is_replaced(key.keyid, change.replaced)]
        if not gone:
            raise InputError("no root key has such an id", hint="fairlead keys show")
        threshold = change.threshold or keys.threshold
        RootShape(count=len(keys.root), threshold=threshold).refuse_odd()
        present = _root_signers(roots, signed)
        version = metadata.root_of(signed).version + 1
        made = _made_roots(change.directory, version, len(gone))
        kept = [key for key in keys.root if key not in gone]
        root = (*kept, *(signer.public_key for signer in made))
        signers = Signers(
            root=(*present, *made),
            release=read_release(offline, signed),
            online=read_online(depot, signed),
        )
        changed = metadata.rotate(
            signed, replace(keys, root=root, threshold=threshold), signers, now
        )
        depot.write_signed(changed)
    return changed


def renew_release(depot: Depot, offline: Path, now: datetime) -> Signed:
    """Sign anew what may be installed, before the signature of the release key ends."""
    with depot.changing() as signed:
        signers = Signers(release=read_release(offline, signed), online=read_online(depot, signed))
        targets = metadata.targets_of(signed)
        content = metadata.packages_of(targets), metadata.revoked_of(targets)
        changed = metadata.publish(signed, *content, signers, now)
        depot.write_signed(changed)
    return changed


def renew_root(depot: Depot, offline: Path, roots: Sequence[Path], now: datetime) -> Signed:
    """Sign a next root with the same keys in it, before this one ends."""
    with depot.changing() as signed:
        signers = Signers(
            root=_root_signers(roots, signed),
            release=read_release(offline, signed),
            online=read_online(depot, signed),
        )
        keys = metadata.keys_of(metadata.root_of(signed))
        changed = metadata.rotate(signed, keys, signers, now)
        depot.write_signed(changed)
    return changed


def _made_roots(directory: Path, version: int, count: int) -> tuple[CryptoSigner, ...]:
    """Return new root keys, named by the root that they appear in first."""
    make_directory(directory, 0o700)
    names = [f"root-{version}-{number}.pem" for number in range(1, count + 1)]
    return tuple(_made_or_read(directory / name) for name in names)


def _is_replaced(name: str, replaced: Iterable[str]) -> bool:
    beginnings = tuple(replaced)
    return not beginnings or name.startswith(beginnings)


def _root_signers(directories: Sequence[Path], signed: Signed) -> tuple[CryptoSigner, ...]:
    """Return the root keys of these directories that the newest root names."""
    named = metadata.root_of(signed).roles["root"].keyids
    found: dict[str, CryptoSigner] = {}
    for directory in directories:
        for signer in read_root_keys(directory):
            if signer.public_key.keyid in named:
                found[signer.public_key.keyid] = signer
    return tuple(found.values())


def _made_or_read(file: Path) -> CryptoSigner:
    return read_key(file) if file.exists() else make_key(file)


def _next_name(name: str) -> str:
    return f"{name.removesuffix('.pem')}.next.pem"


def _named_key(directory: Path, name: str, signed: Signed) -> CryptoSigner:
    """Return the key of a file, or of the one that was to take its name."""
    key = read_key(directory / name)
    following = directory / _next_name(name)
    if not _counts(key, name, signed) and following.exists():
        found = read_key(following)
        return found if _counts(found, name, signed) else key
    return key


def _settle(directory: Path, name: str, signed: Signed) -> None:
    """Finish what a killed rotation left: the key that counts takes its name."""
    following = directory / _next_name(name)
    if following.exists() and _counts(read_key(following), name, signed):
        following.replace(directory / name)


def _counts(signer: CryptoSigner, name: str, signed: Signed) -> bool:
    role = metadata.root_of(signed).roles[_ROLES[name]]
    return signer.public_key.keyid in role.keyids
