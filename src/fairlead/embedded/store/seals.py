"""
A seal for every row, so that a row which changed by itself is noticed, and one that is gone.

SQLite checks the structure of its file, not what rows say: one flipped bit in a text is read as
if somebody had written it. A seal is a digest over all columns of a row. Triggers that last as
long as the connection write it with the row, whoever writes and whatever the table; `ledger` has
all of them one over the other, so that no row and its seal can go together.

Not sealed: `changes`, which is derived, and compared with the pools it is derived from; and
`backup`, which only backups have, with digests of its own.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import reduce
from hashlib import blake2b
from operator import xor

SEAL_BYTES = 8

_UNSEALED = ("backup", "changes", "ledger", "seals")

# One over the other; SQLite has no operator for it.
_OVER = "UPDATE ledger SET total = (total | {0}) & ~(total & {0})"


@dataclass(frozen=True, slots=True)
class Row:
    """One row that is not what it was when it was written. Texts are as they are found."""

    table: str
    number: int
    columns: dict[str, bytes | None]

    def text(self, column: str) -> str:
        """Return a column as text, '' if there is none."""
        return (self.columns.get(column) or b"").decode(errors="replace")


def seal_of(table: str, number: int, *values: bytes | None) -> int:
    """
    Return the seal of a row: 64 bits with a sign, as SQLite keeps numbers.

    values: the bytes of every column as text, since a damaged text need not be UTF-8.
    """
    digest = blake2b(f"{table}\0{number}".encode(), digest_size=SEAL_BYTES)
    for value in values:
        digest.update(b"-" if value is None else b"%d:" % len(value))
        digest.update(value or b"")
    return int.from_bytes(digest.digest(), "big", signed=True)


def keep_seals(connection: sqlite3.Connection) -> None:
    """From here on every write of this connection is sealed."""
    connection.create_function("seal_of", -1, seal_of, deterministic=True)
    for table, columns in sealed_tables(connection).items():
        for when, first in _FIRST.items():
            written = ", ".join(f'CAST(NEW."{column}" AS BLOB)' for column in columns)
            connection.execute(
                f"CREATE TEMP TRIGGER seal_{table}_{when} AFTER {when} ON main.{table} BEGIN "  # noqa: S608 - names of our own tables
                f"{first.format(table)}INSERT INTO seals VALUES "
                f"('{table}', NEW.rowid, seal_of('{table}', NEW.rowid, {written})) "
                "ON CONFLICT DO UPDATE SET seal = excluded.seal; END"
            )
        connection.execute(
            f"CREATE TEMP TRIGGER unseal_{table} AFTER DELETE ON main.{table} BEGIN "  # noqa: S608
            f"DELETE FROM seals WHERE place = '{table}' AND row = OLD.rowid; END"
        )
    for when, seals in _WHEN_SEALED.items():
        steps = "; ".join(_OVER.format(seal) for seal in seals)
        connection.execute(
            f"CREATE TEMP TRIGGER total_{when} AFTER {when} ON main.seals BEGIN {steps}; END"
        )


# What comes before a seal is written: a row may have been given another number.
_FIRST = {
    "INSERT": "",
    "UPDATE": "DELETE FROM seals WHERE place = '{}' AND row = OLD.rowid AND row <> NEW.rowid; ",
}

_WHEN_SEALED = {
    "INSERT": ("NEW.seal",),
    "UPDATE": ("OLD.seal", "NEW.seal"),
    "DELETE": ("OLD.seal",),
}


def seal_everything(connection: sqlite3.Connection, but: Sequence[Row] = ()) -> None:
    """Seal every row as it is, inside a transaction; what was found damaged stays so."""
    damaged = {(row.table, row.number) for row in but}
    fresh = [
        (row.table, row.number, seal)
        for row, seal in _sealed_rows(connection)
        if (row.table, row.number) not in damaged
    ]
    kept = [
        tuple(row)
        for row in connection.execute("SELECT place, row, seal FROM seals")
        if (row[0], row[1]) in damaged
    ]
    connection.execute("DELETE FROM seals")
    connection.executemany("INSERT INTO seals VALUES (?, ?, ?)", fresh + kept)
    total = reduce(xor, (seal for *_, seal in fresh + kept), 0)
    connection.execute("UPDATE ledger SET total = ?", (total,))


def find_changed(connection: sqlite3.Connection) -> list[Row]:
    """Return the rows that are not what was sealed."""
    known = {table: _seals_of(connection, table) for table in sealed_tables(connection)}
    return [
        row
        for row, seal in _sealed_rows(connection)
        if known[row.table].get(row.number, seal) != seal
    ]


def find_lost(connection: sqlite3.Connection) -> str:
    """Return what shows that rows are gone or came back, or ''."""
    total = 0
    for table in sealed_tables(connection):
        seals = _seals_of(connection, table)
        found = {row[0] for row in connection.execute(f"SELECT rowid FROM {table}")}  # noqa: S608
        if found != seals.keys():
            gone, strange = len(seals.keys() - found), len(found - seals.keys())
            return f"{gone} rows of {table} are gone, and {strange} are there that nobody wrote"
        total = reduce(xor, seals.values(), total)
    if total != connection.execute("SELECT total FROM ledger").fetchone()[0]:
        return "parts of it are older than others"
    return ""


def find_changed_after(
    connection: sqlite3.Connection, place: tuple[str, list[str]], after: int, most_bytes: int
) -> tuple[list[Row], int | None]:
    """
    Return those of the next rows of a table that are not what was sealed, and the last one seen.

    place: the table and its columns. None for the last one: there are no more. Rows are read until
    they have so many bytes.
    """
    table, columns = place
    found: list[tuple[Row, int]] = []
    size = 0
    for row, seal in _rows_after(connection, table, columns, after):
        found.append((row, seal))
        size += sum(len(value or b"") for value in row.columns.values())
        if size >= most_bytes:
            break
    last = found[-1][0].number if found else after
    seals = connection.execute(
        "SELECT row, seal FROM seals WHERE place = ? AND row > ? AND row <= ?", (table, after, last)
    )
    known = {row[0]: row[1] for row in seals}
    changed = [row for row, seal in found if known.get(row.number, seal) != seal]
    return changed, last if size >= most_bytes else None


def sealed_tables(connection: sqlite3.Connection) -> dict[str, list[str]]:
    """Return every table that is sealed, with its columns."""
    names = connection.execute(
        "SELECT name FROM main.sqlite_schema WHERE type = 'table' AND name NOT LIKE 'sqlite_%'"
    ).fetchall()
    return {
        name: [row[1] for row in connection.execute(f"PRAGMA main.table_info({name})")]
        for (name,) in map(tuple, names)
        if name not in _UNSEALED
    }


def _seals_of(connection: sqlite3.Connection, table: str) -> dict[int, int]:
    rows = connection.execute("SELECT row, seal FROM seals WHERE place = ?", (table,))
    return {row[0]: row[1] for row in rows}


def _sealed_rows(connection: sqlite3.Connection) -> Iterator[tuple[Row, int]]:
    for table, columns in sealed_tables(connection).items():
        yield from _rows_after(connection, table, columns)


def _rows_after(
    connection: sqlite3.Connection, table: str, columns: list[str], after: int | None = None
) -> Iterator[tuple[Row, int]]:
    """Yield the rows of a table with the seals that they should have, those after a number."""
    wanted = ", ".join(f'CAST("{column}" AS BLOB)' for column in columns)
    later = "" if after is None else f" WHERE rowid > {after:d} ORDER BY rowid"
    found = connection.execute(f"SELECT rowid, {wanted} FROM {table}{later}")  # noqa: S608 - names of our own tables
    for number, *values in map(tuple, found):
        row = Row(table, number, dict(zip(columns, values, strict=True)))
        yield row, seal_of(table, number, *values)
