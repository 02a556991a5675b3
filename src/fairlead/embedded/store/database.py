"""
The database of one control plane: one file, one process, one connection that writes.

SQLite before 3.51.3 can corrupt a database whose write-ahead log two processes reset at once, so
a second process is refused by a lock, and a stranger by SQLite's own. Nothing may be awaited
inside `writing`: another task's writes would become part of it.
"""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from typing import TypeVar

from fairlead.embedded.state_directory import StateDirectory
from fairlead.embedded.store.check import REMEDY, Damage, check_whole, damaged, has_ledger
from fairlead.embedded.store.claim import claim, read_mark
from fairlead.embedded.store.lock import let_go, take_lock
from fairlead.embedded.store.migrations import (
    apply_migrations,
    read_migrations,
    refuse_later_version,
)
from fairlead.embedded.store.seals import keep_seals, seal_everything
from fairlead.embedded.store.sweep import Sweep
from fairlead.embedded.store.watermark import Mark, Watermark
from fairlead.errors import ConflictError, FairleadError, InputError, UnavailableError
from fairlead.kept_text import parse_value

T = TypeVar("T")

# The version is read before anything is written: a later one stays as it is.
BEFORE_THE_FIRST_READ = ("PRAGMA locking_mode = EXCLUSIVE",)
# FULL: what was committed is on the disk, also if the computer loses power.
BEFORE_THE_FIRST_WRITE = (
    "PRAGMA journal_mode = WAL",
    "PRAGMA synchronous = FULL",
    "PRAGMA foreign_keys = ON",
    # So that a row which REPLACE takes away is unsealed like any other that is deleted.
    "PRAGMA recursive_triggers = ON",
    # Pages: a log that is moved into the file early can take little with it.
    "PRAGMA wal_autocheckpoint = 64",
)


class Store:
    """
    The open database. Raises ConflictError if another process has it, InputError if it is none,
    or not all that was written to it.

    before_write is called before every write, so that a test can end one there.
    """

    def __init__(self, directory: StateDirectory) -> None:
        claim(directory)
        self.before_write: Callable[[], None] = _nothing
        self.path = directory.database
        with ExitStack() as opened:
            self._lock = take_lock(directory)
            opened.callback(let_go, self._lock)
            mark = read_mark(directory)
            with _refusing(self.path):
                self._connection = _open(self.path)
                opened.callback(self._connection.close)
                self.damage = _prepare(self._connection, self.path, mark)
            self._watermark = Watermark(directory.watermark, mark.database)
            opened.pop_all()
        self.found = 0  # how often damage was found while it was open
        self._sweep = Sweep(self.path)
        self._tended = -1  # changes that were made when it was last tidied; none is known yet

    @contextmanager
    def writing(self) -> Iterator[sqlite3.Connection]:
        """
        Everything inside is written, or nothing is. One inside another is a part of it.

        Raises UnavailableError if the disk does not take it, ConflictError if it belongs to a
        pool that is not there, InputError if the database was found damaged as a whole.
        """
        if self._connection.in_transaction:
            with self._bounded(*_PART):
                yield self._connection
            return
        self.damage.refuse_whole(self.path)
        self.before_write()
        number = 0
        with self._bounded(*_WHOLE):
            written = self._connection.total_changes
            yield self._connection
            if self._connection.total_changes != written:
                number = self._connection.execute(_COUNT).fetchone()[0]
        # After it is on the disk, and before anybody acts on it.
        if number:
            self._watermark.rise(number)

    @contextmanager
    def _bounded(self, begin: str, end: str, undo: tuple[str, ...]) -> Iterator[None]:
        with self._answering():
            self._connection.execute(begin)
            try:
                yield
                self._connection.execute(end)
            except BaseException:
                # Some failures of the disk have undone everything already.
                for statement in undo if self._connection.in_transaction else ():
                    self._connection.execute(statement)
                raise

    def rows(self, sql: str, *parameters: object) -> list[sqlite3.Row]:
        """Return what a query finds. Raises UnavailableError."""
        try:  # a context costs as much as the query, and a look at a fleet makes thousands
            return self._connection.execute(sql, parameters).fetchall()
        except sqlite3.DatabaseError as error:
            raise self._in_our_words(error) from error

    def texts(self, sql: str, *parameters: object) -> list[tuple[str, str]]:
        """Return the two texts of every row."""
        return [(one, other) for one, other in self._plain_rows(sql, parameters)]

    def find_row(self, sql: str, *parameters: object) -> sqlite3.Row | None:
        """Return the first row that a query finds, or None. Raises UnavailableError."""
        return next(iter(self.rows(sql, *parameters)), None)

    def find_value(self, kind: type[T], sql: str, *parameters: object) -> T | None:
        """Return the value in the only column of the first row, or None."""
        rows = self._plain_rows(sql, parameters)
        return parse_value(kind, rows[0][0]) if rows else None

    def values(self, kind: type[T], sql: str, *parameters: object) -> tuple[T, ...]:
        """Return the values in the only column of every row."""
        return tuple([parse_value(kind, row[0]) for row in self._plain_rows(sql, parameters)])

    def _plain_rows(self, sql: str, parameters: tuple[object, ...]) -> list[tuple[str, ...]]:
        """Return rows whose columns have no names, at half the cost of `rows`."""
        try:
            cursor = self._connection.cursor()
            cursor.row_factory = None
            return cursor.execute(sql, parameters).fetchall()
        except sqlite3.DatabaseError as error:
            raise self._in_our_words(error) from error

    def refuse_damaged(self, pool: str) -> None:
        """Raise InputError if a row of this pool changed by itself."""
        self.damage.refuse(pool, self.path)

    def copy_to(self, file: Path) -> None:
        """Put a copy of the database, as it is now, into a new file that only its owner reads."""
        os.close(os.open(file, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600))
        copy = sqlite3.connect(file)
        try:
            with self._answering():
                self._connection.backup(copy)
        finally:
            copy.close()

    @property
    def changes(self) -> int:
        """A number that stays the same as long as nothing was written or found damaged."""
        return self._connection.total_changes + self.found

    def tend(self) -> None:
        """Move what was written into the one file: what is in the log can be lost with it."""
        if self._tended == self._connection.total_changes:
            return
        with suppress(sqlite3.Error):  # no room; it stays where it is, and the next read tells
            self._connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        self._watermark.sync()
        self._tended = self._connection.total_changes

    def sweep(self, monotonic: float) -> Damage:
        """
        Look a little further whether the file is still what was written to it.

        Return what was not known yet; from here on it is refused. monotonic: seconds.
        """
        if self._tended != self._connection.total_changes or _has_content(self.path):
            return Damage()
        before = self.damage
        self.damage = before.with_more(self._sweep.step(monotonic))
        if self.damage.says() == before.says():
            return Damage()
        self.found += 1
        return self.damage

    @property
    def rounds(self) -> int:
        """How often the whole file was looked at since it was opened."""
        return self._sweep.rounds

    def close(self) -> None:
        """Afterwards everything is in the one file, and another process may have it."""
        try:
            self.tend()
        finally:
            self._connection.close()
            self._watermark.close()
            let_go(self._lock)

    @contextmanager
    def _answering(self) -> Iterator[None]:
        try:
            yield
        except sqlite3.DatabaseError as error:
            raise self._in_our_words(error) from error

    def _in_our_words(self, error: sqlite3.DatabaseError) -> FairleadError:
        if isinstance(error, sqlite3.IntegrityError):
            return ConflictError(f"what this belongs to is not there: {error}")
        if isinstance(error, sqlite3.OperationalError) and "decode to UTF-8" not in str(error):
            return UnavailableError(f"the database {self.path} failed: {error}")
        return damaged(self.path, str(error))


# How a transaction begins, how it ends, and how it is undone.
_Bounds = tuple[str, str, tuple[str, ...]]
_WHOLE: _Bounds = ("BEGIN IMMEDIATE", "COMMIT", ("ROLLBACK",))
_COUNT = "UPDATE ledger SET number = number + 1 RETURNING number"
_PART: _Bounds = ("SAVEPOINT part", "RELEASE part", ("ROLLBACK TO part", "RELEASE part"))


def _has_content(path: Path) -> bool:
    """Say whether something is in the log beside the file, or may be."""
    try:
        return path.with_name(f"{path.name}-wal").stat().st_size > 0
    except FileNotFoundError:
        return False


def _nothing() -> None:
    return None


def _open(path: Path) -> sqlite3.Connection:
    # Made here, so that it is never readable by others, not even for a moment.
    made = os.open(path, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
    os.fchmod(made, 0o600)
    os.close(made)
    connection = sqlite3.connect(path, isolation_level=None)
    connection.row_factory = sqlite3.Row
    return connection


def _prepare(connection: sqlite3.Connection, path: Path, mark: Mark) -> Damage:
    """Afterwards the database is of this version, and whole; return the rows that are not."""
    known = read_migrations()
    for statement in BEFORE_THE_FIRST_READ:
        connection.execute(statement)
    refuse_later_version(connection, known)
    damage = check_whole(connection, path, mark)
    for statement in BEFORE_THE_FIRST_WRITE:
        connection.execute(statement)
    apply_migrations(connection, known, lambda: _seal_again(connection, mark, damage))
    keep_seals(connection)
    return damage


def _seal_again(connection: sqlite3.Connection, mark: Mark, damage: Damage) -> None:
    """Seal what a migration made of the rows, as a part of it."""
    if has_ledger(connection):
        connection.execute(
            "INSERT INTO ledger VALUES (1, ?, 0, 0) ON CONFLICT DO NOTHING", (mark.database,)
        )
        seal_everything(connection, but=damage.rows)


@contextmanager
def _refusing(path: Path) -> Iterator[None]:
    """Tell apart a file that is no good and a moment that is none."""
    try:
        yield
    except sqlite3.OperationalError as error:
        raise UnavailableError(f"the database {path} failed: {error}") from error
    except (sqlite3.DatabaseError, UnicodeDecodeError) as error:
        # SQLite's own words may hold bytes of a damaged page.
        raise InputError(f"the database {path} cannot be used: {error}", hint=REMEDY) from error
