"""
The apt repository of a depot: flat, signed, and with an end.

An index is stored under its own digest before the signed file names it (by-hash), so apt sees one
publication or the other whenever a writer is killed: InRelease is the one file that counts.
"""

from __future__ import annotations

import gzip
import re
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime, parsedate_to_datetime
from hashlib import sha256
from pathlib import Path

from fairlead.errors import InputError
from fairlead.hotfix.publish.depot import READABLE, Depot, make_readable
from fairlead.hotfix.publish.programs import run
from fairlead.hotfix.publish.repository_key import RepositoryKey
from fairlead.whole_file import write_whole

# How long apt believes an index: a mirror that shows old ones is noticed after that.
LIFE = timedelta(days=7)

BY_HASH = "by-hash/SHA256"

_INDEX = re.compile(rb"^ ([0-9a-f]{64}) +[0-9]+ (\S+)$", re.MULTILINE)
_VALID_UNTIL = re.compile(rb"^Valid-Until: (.+)$", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class Indexed:
    """A package of an index: its path below apt/, and what was signed of it."""

    path: str
    length: int
    sha256: str


def write_index(depot: Depot, packages: Iterable[Indexed], now: datetime) -> None:
    """Make apt see these packages and no other."""
    stanzas = [_stanza(depot.apt, package) for package in packages]
    _write(depot, "\n".join(stanzas).encode(), now)


def renew_index(depot: Depot, now: datetime) -> bool:
    """Sign the index anew if more than half of its life is over; say whether it was."""
    release = _read_release(depot)
    if release is None or _end_of(release) - now > LIFE / 2:
        return False
    named = {name: digest for digest, name in _INDEX.findall(release)}
    stored = depot.apt / BY_HASH / named[b"Packages"].decode()
    text = stored.read_bytes()
    if sha256(text).hexdigest() != stored.name:
        raise InputError(f"{stored} is damaged", hint="publish again: indexes are written anew")
    _write(depot, text, now)
    return True


def _write(depot: Depot, index: bytes, now: datetime) -> None:
    directory = depot.apt
    files = {"Packages": index, "Packages.gz": gzip.compress(index, 9, mtime=0)}
    named = {name: sha256(text).hexdigest() for name, text in files.items()}
    before = _read_release(depot)
    by_hash = directory / BY_HASH
    make_readable(by_hash.parent)
    make_readable(by_hash)
    for name, text in files.items():
        write_whole(by_hash / named[name], text, READABLE)
    release = _release_text(files, now)
    signed = RepositoryKey(depot).clearsign(release)
    write_whole(directory / "InRelease", signed, READABLE)
    # For readers that look for no digest; whoever is between the two sees a sum that differs.
    for name, text in files.items():
        write_whole(directory / name, text, READABLE)
    write_whole(directory / "Release", release, READABLE)
    kept = {*named.values(), *(digest.decode() for digest, _ in _INDEX.findall(before or b""))}
    for old in by_hash.iterdir():
        if old.name not in kept:
            old.unlink()


def _stanza(directory: Path, package: Indexed) -> str:
    control = run(["dpkg-deb", "--field", directory / package.path]).decode().rstrip("\n")
    return (
        f"{control}\nFilename: {package.path}\nSize: {package.length}\nSHA256: {package.sha256}\n"
    )


def _release_text(files: dict[str, bytes], now: datetime) -> bytes:
    lines = [
        "Origin: Fairlead",
        "Label: Fairlead hotfixes",
        "Suite: hotfix",
        f"Date: {_spelled(now)}",
        f"Valid-Until: {_spelled(now + LIFE)}",
        "Acquire-By-Hash: yes",
        "SHA256:",
        *(f" {sha256(text).hexdigest()} {len(text)} {name}" for name, text in files.items()),
    ]
    return "".join(f"{line}\n" for line in lines).encode()


def _spelled(moment: datetime) -> str:
    return format_datetime(moment.astimezone(UTC).replace(microsecond=0), usegmt=True)


def _read_release(depot: Depot) -> bytes | None:
    """Return the signed file, or None before the first publication."""
    try:
        return (depot.apt / "InRelease").read_bytes()
    except FileNotFoundError:
        return None


def _end_of(release: bytes) -> datetime:
    found = _VALID_UNTIL.search(release)
    if found is None:
        return datetime.fromtimestamp(0, UTC)
    return parsedate_to_datetime(found[1].decode())
