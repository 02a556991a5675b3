"""
The tables of the embedded store, as numbered SQL files; PRAGMA user_version counts those applied.

A file that was released never changes: whoever has applied it does not look at it again.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from importlib.resources import files

from fairlead.errors import InputError


@dataclass(frozen=True, slots=True)
class Migration:
    """One step from a version of the tables to the next."""

    number: int
    name: str
    sql: str


def read_migrations() -> tuple[Migration, ...]:
    """Return all of them, the first first."""
    found = (entry for entry in files(__package__).iterdir() if entry.name.endswith(".sql"))
    return tuple(
        Migration(int(entry.name.partition("_")[0]), entry.name, entry.read_text("utf-8"))
        for entry in sorted(found, key=lambda entry: entry.name)
    )


def refuse_later_version(connection: sqlite3.Connection, known: Sequence[Migration]) -> None:
    """Raise InputError if a later Fairlead wrote these tables. Reads only."""
    found = version_of(connection)
    if found > len(known):
        raise InputError(
            f"the database has version {found}, this Fairlead knows {len(known)}",
            hint="run the Fairlead that wrote it, or a later one; nothing was changed",
        )


def apply_migrations(
    connection: sqlite3.Connection,
    known: Sequence[Migration],
    after_each: Callable[[], None] = lambda: None,
) -> None:
    """
    Afterwards the tables have the last version. Each step is whole or did not happen.

    after_each: part of every step.
    """
    for migration in known[version_of(connection) :]:
        connection.execute("BEGIN IMMEDIATE")
        try:
            for statement in statements_of(migration.sql):
                connection.execute(statement)
            connection.execute(f"PRAGMA user_version = {migration.number}")
            after_each()
            connection.execute("COMMIT")
        except BaseException:
            if connection.in_transaction:
                connection.execute("ROLLBACK")
            raise


def statements_of(sql: str) -> Iterator[str]:
    """
    Yield the statements of a script, each with its semicolon.

    sqlite3's own executescript would end the transaction that it is called in.
    """
    statement = ""
    for part in sql.split(";"):
        statement += f"{part};"
        if sqlite3.complete_statement(statement):
            yield statement
            statement = ""


def version_of(connection: sqlite3.Connection) -> int:
    """Return how many migrations were applied."""
    return int(connection.execute("PRAGMA user_version").fetchone()[0])
