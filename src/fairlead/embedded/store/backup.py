"""
A backup: one SQLite file with all that a control plane needs to go on, taken while it runs.

It is the database, as it was at one moment, and in a table of its own the files beside it: keys,
the port that machines know, pull secrets, and of a depot of hotfixes its catalog, its signed
metadata and the keys that it is served with. Both are checked before the file has its name, and
again before anything is restored from it, so that a backup is good or says that it is not.
"""

from __future__ import annotations

import os
import sqlite3
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from hashlib import sha256
from pathlib import Path

from fairlead import __version__
from fairlead.embedded.state_directory import SQLITE_ENDS, StateDirectory
from fairlead.embedded.store.check import check_whole, has_ledger
from fairlead.embedded.store.database import Store
from fairlead.embedded.store.migrations import read_migrations, refuse_later_version
from fairlead.embedded.store.watermark import Mark
from fairlead.errors import InputError, UnavailableError
from fairlead.telling.errno_text import os_problem
from fairlead.whole_file import write_whole

SQLITE_START = b"SQLite format 3\0"

# Bytes of one file beside the database: keys and logins have thousands, a catalog may have more.
LARGEST_FILE = 1 << 20
LARGEST_IN_DEPOT = 8 << 20

# Seconds. Nobody packs a copy for so long; whoever made it was killed.
FORGOTTEN_S = 3600

# What the names of rows begin with that are files.
_FILES = "files/"

_TABLE = "CREATE TABLE backup (name TEXT PRIMARY KEY, content BLOB NOT NULL, digest TEXT NOT NULL)"


@dataclass(frozen=True, slots=True, kw_only=True)
class Backup:
    """
    What a backup holds.

    machines: the names of those that lived, by pool. files: names below the state directory.
    """

    made_at: str
    version: str
    mark: Mark
    machines: Mapping[str, tuple[str, ...]]
    files: Mapping[str, bytes]


def copy_database(store: Store, directory: StateDirectory) -> Path:
    """Return a copy of the database as it is now, for its owner to pack and remove."""
    for left in directory.path.glob(".backup.*.fairlead-half*"):
        with suppress(OSError):
            if time.time() - left.stat().st_mtime > FORGOTTEN_S:
                left.unlink()
    copy = directory.path / f".backup.{os.urandom(4).hex()}.fairlead-half"
    try:
        store.copy_to(copy)
    except BaseException:
        remove_database(copy)
        raise
    return copy


def pack(copy: Path, directory: StateDirectory, file: Path) -> Backup:
    """
    Make a backup of a copy, and put it at this path, whole and private. Raises InputError.

    A backup that is there is replaced; any other file is not.
    """
    if file.exists() and not is_database(file):
        raise InputError(f"{file} is there and is no backup; it was not replaced")
    with _opened(copy) as connection:
        connection.execute("PRAGMA journal_mode = DELETE")
        _refuse_damaged(connection, directory.database)
        rows = {
            "made_at": datetime.now(UTC).isoformat(timespec="seconds").encode(),
            "version": __version__.encode(),
        }
        rows |= {_FILES + name: content for name, content in _files_of(directory)}
        connection.execute(_TABLE)
        connection.executemany(
            "INSERT INTO backup VALUES (?, ?, ?)",
            [(name, content, _digest(name, content)) for name, content in rows.items()],
        )
        connection.commit()
    backup = read_backup(copy)
    try:
        write_whole(file, copy.read_bytes())
    except OSError as error:
        raise UnavailableError(f"the backup could not be written: {os_problem(error)}") from error
    return backup


def read_backup(file: Path) -> Backup:
    """
    Return what a backup holds, after checking all of it. Raises InputError.

    It may stay read-only: nothing is written to it.
    """
    if not file.exists():
        raise InputError(f"there is no file {file}")
    if not is_database(file):
        raise InputError(f"{file} is no backup", hint="`fairlead backup FILE` makes one")
    with _opened(file, "?mode=ro&immutable=1") as connection:
        refuse_later_version(connection, read_migrations())
        rows = _rows_of(connection, file)
        try:
            mark = _refuse_damaged(connection, file)
        except InputError as error:
            hint = "take another backup; nothing was changed"
            raise InputError(f"the backup is not good: {error.problem}", hint=hint) from error
        return Backup(
            made_at=rows["made_at"].decode(),
            version=rows["version"].decode(),
            mark=mark,
            machines=_machines_of(connection),
            files={name[len(_FILES) :]: rows[name] for name in rows if name.startswith(_FILES)},
        )


def unpack_database(file: Path, to: Path) -> None:
    """Put the database of a backup at this path, for its owner only."""
    write_whole(to, file.read_bytes())
    with _opened(to) as connection:
        connection.execute("DROP TABLE backup")
        connection.commit()


def remove_database(file: Path) -> None:
    """Remove a database that nobody needs, and what SQLite keeps beside it."""
    for end in ("", *SQLITE_ENDS):
        file.with_name(file.name + end).unlink(missing_ok=True)


def is_database(file: Path) -> bool:
    """Say whether this is a database of SQLite, going by its first bytes."""
    with file.open("rb") as opened:
        return opened.read(len(SQLITE_START)) == SQLITE_START


@contextmanager
def _opened(file: Path, query: str = "") -> Iterator[sqlite3.Connection]:
    try:
        connection = sqlite3.connect(f"{file.absolute().as_uri()}{query}", uri=True)
        try:
            yield connection
        finally:
            connection.close()
    except sqlite3.Error as error:
        raise InputError(f"the backup {file} cannot be used: {error}") from error


def _refuse_damaged(connection: sqlite3.Connection, file: Path) -> Mark:
    """Return where its ledger is. Raises InputError if it is not what was written."""
    if not has_ledger(connection):
        raise InputError(f"{file} is no backup", hint="`fairlead backup FILE` makes one")
    row = connection.execute("SELECT database, number FROM ledger").fetchone()
    mark = Mark(str(row[0]), int(row[1])) if row else Mark("")
    damage = check_whole(connection, file, mark)
    for pool in damage.pools:
        damage.refuse(pool, file)
    return mark


def _rows_of(connection: sqlite3.Connection, file: Path) -> dict[str, bytes]:
    try:
        found = connection.execute("SELECT name, content, digest FROM backup").fetchall()
    except sqlite3.OperationalError:
        hint = "`fairlead backup FILE` makes one"
        raise InputError(f"{file} is a database and no backup", hint=hint) from None
    for name, content, digest in found:
        if _digest(name, content) != digest:
            raise InputError(f"the backup {file} is damaged: {name} is not what was written")
    rows = {name: content for name, content, _ in found}
    if not {"made_at", "version"} <= rows.keys():
        raise InputError(f"the backup {file} is damaged: rows are gone")
    return rows


def _machines_of(connection: sqlite3.Connection) -> dict[str, tuple[str, ...]]:
    pools = [name for (name,) in connection.execute("SELECT name FROM pools ORDER BY name")]
    living = "SELECT name FROM machines WHERE pool = ? AND gone_at IS NULL ORDER BY name"
    return {pool: tuple(name for (name,) in connection.execute(living, (pool,))) for pool in pools}


def _files_of(directory: StateDirectory) -> Iterator[tuple[str, bytes]]:
    """Yield the files that belong to the database, without following a link."""
    rooms = [room for room in directory.kept_rooms() if room.is_dir() and not room.is_symlink()]
    inside = [path for room in rooms for path in sorted(room.iterdir())]
    for path in (*directory.kept_files(), *inside):
        if path.is_file() and not path.is_symlink() and is_kept(directory, path):
            in_depot = path.is_relative_to(directory.hotfix)
            largest = LARGEST_IN_DEPOT if in_depot else LARGEST_FILE
            if path.stat().st_size > largest:
                raise InputError(f"{path} has more than {largest} bytes and is no secret")
            yield str(path.relative_to(directory.path)), path.read_bytes()


def is_kept(directory: StateDirectory, path: Path) -> bool:
    """Say whether a backup holds a file of this name in a room that it is in."""
    if path.parent == directory.hotfix:
        return path.name == "catalog.json"
    return path.parent in directory.kept_rooms() or path in directory.kept_files()


def _digest(name: str, content: bytes) -> str:
    return sha256(name.encode() + b"\0" + content).hexdigest()
