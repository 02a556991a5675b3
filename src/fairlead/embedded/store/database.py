"""
The database of one control plane: one file, one process, one connection that writes.

SQLite before 3.51.3 can corrupt a database whose write-ahead log two processes reset at once, so
a second process is refused by a lock, and a stranger by SQLite's own. Nothing may be awaited
inside `writing`: another task's writes would become part of it.
"""

from __future__ import annotations

import fcntl
import os
import sqlite3
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TypeVar

from fairlead.embedded.state_directory import StateDirectory
from fairlead.embedded.store.migrations import (
    apply_migrations,
    read_migrations,
    refuse_later_version,
)
from fairlead.embedded.store.values import parse_value
from fairlead.errors import ConflictError, InputError, UnavailableError

T = TypeVar("T")

# The version is read before anything is written: a later one stays as it is.
BEFORE_THE_FIRST_READ = ("PRAGMA locking_mode = EXCLUSIVE",)
# FULL: what was committed is on the disk, also if the computer loses power.
BEFORE_THE_FIRST_WRITE = (
    "PRAGMA journal_mode = WAL",
    "PRAGMA synchronous = FULL",
    "PRAGMA foreign_keys = ON",
)


class Store:
    """
    The open database. Raises ConflictError if another process has it, InputError if it is none.

    before_write is called before every write, so that a test can end one there.
    """

    def __init__(self, directory: StateDirectory) -> None:
        directory.make()
        self.before_write: Callable[[], None] = _nothing
        self._path = directory.database
        self._lock = take_lock(directory)
        try:
            self._connection = _open(self._path)
        except BaseException:
            os.close(self._lock)
            raise

    @contextmanager
    def writing(self) -> Iterator[sqlite3.Connection]:
        """
        Everything inside is written, or nothing is. One inside another is a part of it.

        Raises UnavailableError if the disk does not take it, ConflictError if it belongs to a
        pool that is not there.
        """
        is_part = self._connection.in_transaction
        if not is_part:
            self.before_write()
        begin, end, undo = _PART if is_part else _WHOLE
        with self._answering():
            self._connection.execute(begin)
            try:
                yield self._connection
                self._connection.execute(end)
            except BaseException:
                # Some failures of the disk have undone everything already.
                for statement in undo if self._connection.in_transaction else ():
                    self._connection.execute(statement)
                raise

    def rows(self, sql: str, *parameters: object) -> list[sqlite3.Row]:
        """Return what a query finds. Raises UnavailableError."""
        with self._answering():
            return self._connection.execute(sql, parameters).fetchall()

    def texts(self, sql: str, *parameters: object) -> list[tuple[str, str]]:
        """Return the two texts of every row, at half the cost of `rows`."""
        with self._answering():
            cursor = self._connection.cursor()
            cursor.row_factory = None
            return cursor.execute(sql, parameters).fetchall()

    def find_row(self, sql: str, *parameters: object) -> sqlite3.Row | None:
        """Return the first row that a query finds, or None. Raises UnavailableError."""
        return next(iter(self.rows(sql, *parameters)), None)

    def find_value(self, kind: type[T], sql: str, *parameters: object) -> T | None:
        """Return the value in the only column of the first row, or None."""
        row = self.find_row(sql, *parameters)
        return parse_value(kind, row[0]) if row else None

    def values(self, kind: type[T], sql: str, *parameters: object) -> tuple[T, ...]:
        """Return the values in the only column of every row."""
        return tuple(parse_value(kind, row[0]) for row in self.rows(sql, *parameters))

    def close(self) -> None:
        """Afterwards everything is in the one file, and another process may have it."""
        try:
            self._connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        finally:
            self._connection.close()
            os.ftruncate(self._lock, 0)
            os.close(self._lock)

    @contextmanager
    def _answering(self) -> Iterator[None]:
        try:
            yield
        except sqlite3.IntegrityError as error:
            raise ConflictError(f"what this belongs to is not there: {error}") from error
        except sqlite3.OperationalError as error:
            if "decode to UTF-8" in str(error):
                raise InputError(f"the database {self._path} is damaged: {error}") from error
            raise UnavailableError(f"the database {self._path} failed: {error}") from error


# How a transaction begins, how it ends, and how it is undone.
_Bounds = tuple[str, str, tuple[str, ...]]
_WHOLE: _Bounds = ("BEGIN IMMEDIATE", "COMMIT", ("ROLLBACK",))
_PART: _Bounds = ("SAVEPOINT part", "RELEASE part", ("ROLLBACK TO part", "RELEASE part"))


def _nothing() -> None:
    return None


def take_lock(directory: StateDirectory) -> int:
    """Return the descriptor that holds the directory. Raises ConflictError if another has it."""
    lock = os.open(directory.lock, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
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


def _open(path: Path) -> sqlite3.Connection:
    # Made here, so that it is never readable by others, not even for a moment.
    made = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    os.fchmod(made, 0o600)
    os.close(made)
    connection = sqlite3.connect(path, isolation_level=None)
    connection.row_factory = sqlite3.Row
    try:
        _prepare(connection)
    except sqlite3.DatabaseError as error:
        connection.close()
        raise InputError(f"the database {path} cannot be used: {error}") from error
    except BaseException:
        connection.close()
        raise
    return connection


def _prepare(connection: sqlite3.Connection) -> None:
    known = read_migrations()
    for statement in BEFORE_THE_FIRST_READ:
        connection.execute(statement)
    refuse_later_version(connection, known)
    for statement in BEFORE_THE_FIRST_WRITE:
        connection.execute(statement)
    apply_migrations(connection, known)
