"""
Whether a database is what was last written to it: its structure, how far it goes, every row.

What concerns the whole is refused, and nothing is changed: a control plane that forgot something
would make it again. A row that changed by itself blocks its own pool, and the others go on.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from fairlead.embedded.store.seals import Row, find_changed, find_lost
from fairlead.embedded.store.watermark import Mark
from fairlead.errors import InputError

REMEDY = (
    "machines run on untouched; `fairlead restore FILE --over` goes back to a backup, "
    "`fairlead restore --as-it-is` takes what is left of it"
)
ROW_REMEDY = (
    "its machines run on untouched; `fairlead restore FILE --over` goes back to a backup, "
    "`fairlead restore --as-it-is` takes the text that is there now"
)

# Lines of SQLite's own findings that are told.
MOST_FINDINGS = 3

# What a person calls a row of each table, by a column that names it.
_CALLED = {
    "pools": "the document of pool {name}",
    "documents": "a kept document of pool {pool}",
    "records": "what is remembered of pool {pool}",
    "statuses": "the status of pool {pool}",
    "plans": "the approved plan of pool {pool}",
    "templates": "the template of pool {pool}",
    "tokens": "the token {id} of pool {pool}",
    "user_data": "the user data {id} of pool {pool}",
    "machines": "machine {name} of pool {pool}",
    "reports": "the boot report of machine {machine}",
    "machine_tokens": "the token of machine {machine}",
    "events": "an event of pool {pool}",
}


@dataclass(frozen=True, slots=True)
class Damage:
    """
    Rows that changed by themselves.

    pools: what is damaged of each pool, as a person calls it. machines: those whose own rows are.
    whole: what is wrong with the database as a whole, found while it was in use; then nothing is
    said or done about any pool, and nothing is written.
    """

    rows: tuple[Row, ...] = ()
    pools: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    machines: frozenset[str] = frozenset()
    whole: str = ""

    @property
    def is_any(self) -> bool:
        """Whether there is any."""
        return bool(self.whole or self.pools)

    def is_of(self, pool: str) -> bool:
        """Say whether nothing about this pool can be relied on."""
        return bool(self.whole) or pool in self.pools

    def says(self) -> tuple[str, ...]:
        """Return what is damaged, a line each."""
        rows = [f"{', '.join(says)} (pool {pool})" for pool, says in sorted(self.pools.items())]
        return ((self.whole,) if self.whole else ()) + tuple(rows)

    def with_more(self, other: Damage) -> Damage:
        """Return both together."""
        pools = {
            pool: tuple(sorted({*self.pools.get(pool, ()), *other.pools.get(pool, ())}))
            for pool in {*self.pools, *other.pools}
        }
        known = {(row.table, row.number) for row in self.rows}
        fresh = [row for row in other.rows if (row.table, row.number) not in known]
        whole = self.whole or other.whole
        return Damage((*self.rows, *fresh), pools, self.machines | other.machines, whole)

    def refuse_whole(self, file: Path) -> None:
        """Raise InputError if the database as a whole is damaged."""
        if self.whole:
            raise damaged(file, self.whole)

    def refuse(self, pool: str, file: Path) -> None:
        """Raise InputError if something of this pool is damaged."""
        self.refuse_whole(file)
        if pool in self.pools:
            found = ", ".join(self.pools[pool])
            raise InputError(f"damaged in {file}: {found}", hint=ROW_REMEDY)


def check_whole(connection: sqlite3.Connection, file: Path, mark: Mark) -> Damage:
    """
    Return the rows that changed by themselves. mark: how far the database must go.

    Raises InputError if the database as a whole cannot be relied on. Reads only.
    """
    findings = find_findings(connection)
    if findings != ["ok"]:
        raise damaged(file, "; ".join(str(found) for found in findings[:MOST_FINDINGS]))
    if not has_ledger(connection):
        if mark.number:
            raise damaged(file, f"it is older than its watermark, which is at {mark.number}")
        return Damage()
    _refuse_older(connection, file, mark)
    if lost := find_unrelated(connection) or find_lost(connection):
        raise damaged(file, lost)
    damage = damage_of(connection, find_changed(connection))
    damage.refuse_whole(file)
    return damage


def find_findings(connection: sqlite3.Connection, table: str = "") -> list[str]:
    """Return what SQLite finds wrong with the structure, of one table or of all, or ['ok']."""
    of = f"({table})" if table else ""
    try:
        return [row[0] for row in connection.execute(f"PRAGMA integrity_check{of}")]
    except sqlite3.OperationalError as error:
        if "malformed JSON" not in str(error):
            raise
    # An index reads what one row says, and cannot; its seal tells which row it is.
    return [row[0] for row in connection.execute(f"PRAGMA quick_check{of}")]


def has_ledger(connection: sqlite3.Connection) -> bool:
    """Say whether this database is counted and sealed; those of earlier releases are not."""
    found = connection.execute("SELECT 1 FROM sqlite_schema WHERE name = 'ledger'").fetchone()
    return found is not None


def damaged(file: Path, found: str) -> InputError:
    """Return the error about a database that cannot be relied on as a whole."""
    return InputError(f"the database {file} is damaged: {found}", hint=REMEDY)


def _refuse_older(connection: sqlite3.Connection, file: Path, mark: Mark) -> None:
    row = connection.execute("SELECT database, number FROM ledger").fetchone()
    if row is None:
        raise damaged(file, "its ledger is empty")
    if row[0] != mark.database:
        raise damaged(file, "its watermark belongs to another database")
    if row[1] < mark.number:
        raise damaged(
            file,
            f"it ends with write {row[1]}, and write {mark.number} was made: the last "
            f"{mark.number - row[1]} are lost",
        )


def find_unrelated(connection: sqlite3.Connection) -> str:
    """Return what belongs to nothing, or ''."""
    for row in connection.execute("PRAGMA foreign_key_check"):
        return f"a row of {row[0]} belongs to none of {row[2]}"
    for one, other in (("pools", "changes"), ("changes", "pools")):
        found = connection.execute(
            f"SELECT {_NAME[one]}, born FROM {one} EXCEPT SELECT {_NAME[other]}, born FROM {other}"  # noqa: S608 - two tables
        ).fetchone()
        if found is not None:
            return f"{found[0]} is in {one} and not in {other}"
    return ""


_NAME = {"pools": "name", "changes": "pool"}


def damage_of(connection: sqlite3.Connection, rows: Iterable[Row]) -> Damage:
    """Return what damaged rows concern: their pools, or the database as a whole."""
    found = tuple(rows)
    pools: dict[str, list[str]] = {}
    for row in found:
        if row.table == "platform":
            return Damage(rows=found, whole="the platform's document is not what was written")
        pools.setdefault(_pool_of(connection, row), []).append(called(row))
    if "" in pools:
        return Damage(rows=found, whole=f"{pools[''][0]} is not what was written")
    return Damage(
        rows=found,
        pools={pool: tuple(sorted(set(says))) for pool, says in pools.items()},
        machines=frozenset(row.text(_MACHINE[row.table]) for row in found if row.table in _MACHINE),
    )


# Where the name of a machine is, in tables that nothing can be told of a machine without.
_MACHINE = {"machines": "name", "reports": "machine"}


def called(row: Row) -> str:
    """Return what a person calls a row."""
    words = _CALLED.get(row.table, "a row of " + row.table)
    return words.format_map({name: row.text(name) for name in row.columns})


def _pool_of(connection: sqlite3.Connection, row: Row) -> str:
    if row.table == "pools" or "pool" in row.columns:
        return row.text("name" if row.table == "pools" else "pool")
    machine = row.text("machine")
    found = connection.execute("SELECT pool FROM machines WHERE name = ?", (machine,)).fetchone()
    return str(found[0]) if found else ""
