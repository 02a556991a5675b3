"""
Machines and templates in SQLite: what the controller asked for, and what the edge saw of it.

Nothing here starts or stops anything; whoever drives machines reads what is wanted and writes
what became of it. A machine that is gone keeps its row, its reason and its last report, and its
name is never used again.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Callable
from dataclasses import dataclass, replace
from datetime import datetime

from fairlead.answers.words import Fault, Phase
from fairlead.embedded.capacity import capacity_here
from fairlead.embedded.not_applied import NOT_APPLIED
from fairlead.embedded.store.database import Store
from fairlead.errors import ConflictError, InputError, InvariantError
from fairlead.kept_text import convert_value, parse_document, parse_value, render_value
from fairlead.rollout.machines import Machine, NodeSettings, Template

BY_HAND = "deleted by hand"

# As the index says it, word for word: SQLite uses it for no other wording.
_MOVING = (
    "gone_at IS NULL AND "
    "(phase <> 'ready' OR fault = 'break' OR json_extract(value, '$.heading_for') <> '')"
)

_MOVING_NUMBERS = f"SELECT number FROM machines INDEXED BY machines_moving WHERE {_MOVING}"  # noqa: S608 - our own words

_STORED = (
    "SELECT m.name, m.pool, m.value, m.kind, m.fault, m.gone_at, m.boots, m.powered_at, "
    "r.report, r.reported_at, t.pair FROM machines m LEFT JOIN reports r ON r.machine = m.name "
    "LEFT JOIN machine_tokens t ON t.machine = m.name "
)

# Those that are gone become many; by itself SQLite would look at them to save a sort.
LIVING = "SELECT value FROM machines INDEXED BY machines_living WHERE gone_at IS NULL "
_STORED_LIVING = (
    _STORED.replace("machines m", "machines m INDEXED BY machines_living")
    + "WHERE m.gone_at IS NULL "
)


@dataclass(frozen=True, slots=True, kw_only=True)
class StoredMachine:
    """
    One machine, living or gone, with what only this edge knows of it.

    report: what it said of its last boot, or b''. boots: how often it was given power.
    powered_for: the pair whose user data it was last given to boot from, or ''.
    """

    machine: Machine
    kind: str
    fault: Fault
    gone_at: datetime | None
    report: bytes
    reported_at: datetime | None
    boots: int
    powered_at: datetime | None
    powered_for: str = ""


class StoredMachines:
    """The Machines seam over one store. kind: what machines made from here on are."""

    makes_by_itself = False
    not_applied = NOT_APPLIED

    def __init__(self, store: Store, now: Callable[[], datetime], kind: str) -> None:
        self._store = store
        self._now = now
        self._kind = kind
        self.capacity = capacity_here(kind)

    # What the controller reads and asks for.

    def list_machines(self, pool: str) -> tuple[Machine, ...]:
        """Return the pool's machines, those that leave included, in the order they were made."""
        return self._store.values(Machine, LIVING + "AND pool = ? ORDER BY number", pool)

    def list_references(self, pool: str) -> tuple[str, ...]:
        """Return nothing: what is made here is in the template and the machines."""
        del pool
        return ()

    def find_template(self, pool: str) -> Template | None:
        """Return the pool's template, or None."""
        row = self._store.find_row(
            "SELECT value, observed_generation FROM templates WHERE pool = ?", pool
        )
        if row is None:
            return None
        found = parse_document(row["value"])
        if isinstance(found, dict):
            found["observed_generation"] = row["observed_generation"]
        return convert_value(Template, found)

    def point_template(self, pool: str, template: Template) -> None:
        """Name another revision. Raises InvariantError if its pair does not exist."""
        with self._store.writing() as connection:
            self._need_pair(pool, template.revision)
            known = self.find_template(pool)
            moves = known is not None and known.revision != template.revision
            if known and moves and template.generation <= known.generation:
                raise InvariantError(f"{pool}: another revision, and the generation did not go up")
            _write_template(connection, pool, template)

    def apply_template(self, pool: str, template: Template) -> None:
        """Change replicas and settings; machines stay."""
        with self._store.writing() as connection:
            known = self.find_template(pool)
            named = (known.revision, known.version) if known else None
            if named != (template.revision, template.version):
                raise InvariantError(f"{pool}: another revision may not be applied in place")
            _write_template(connection, pool, template)

    def create_machine(self, pool: str, name: str, revision: str) -> None:
        """
        Make a machine that boots; whoever drives machines gives it power.

        It takes the first fault that is queued for its pool. Raises ConflictError if the name was
        ever used, InvariantError if the template names another revision or the pair is missing.
        """
        with self._store.writing() as connection:
            if self._store.rows("SELECT 1 FROM machines WHERE name = ?", name):
                raise ConflictError(f"the name {name} was used before; draw another")
            template = self.find_template(pool)
            if template is None or template.revision != revision:
                raise InvariantError(
                    f"{name} is made from {revision}, which the template does not name"
                )
            self._need_pair(pool, revision)
            machine = Machine(
                name=name,
                pool=pool,
                revision=revision,
                phase=Phase.BOOTING,
                created_at=self._now(),
                settings=template.settings,
            )
            connection.execute(
                "INSERT INTO machines (name, pool, phase, kind, fault, value) "
                "VALUES (?, ?, ?, ?, ?, ?)",
                (
                    name,
                    pool,
                    machine.phase.value,
                    self._kind,
                    _take_fault(connection, pool).value,
                    render_value(machine),
                ),
            )

    def remove_machine(self, name: str, reason: str, asked_by: str = "") -> None:
        """Tell a machine to drain and go. The first reason stays; one that is gone is no error."""
        if not reason:
            raise InvariantError(f"{name} is removed without a reason")
        stored = self._known(name)
        if stored.gone_at is None and not stored.machine.is_leaving:
            leaving = replace(stored.machine, phase=Phase.LEAVING, reason=reason, ready_at=None)
            self._write(replace(leaving, since=self._now(), asked_by=asked_by))

    def mark_machine(self, name: str, reason: str, asked_by: str = "") -> None:
        """Refuse: the controller's own steps say who leaves here."""
        raise InvariantError(f"nobody would take {name} first: {reason} {asked_by}")

    def change_machine(self, name: str, revision: str) -> None:
        """Take a machine to another revision in place. Raises InvariantError without its pair."""
        machine = self._living(name)
        self._need_pair(machine.pool, revision)
        self._write(replace(machine, heading_for=revision, since=self._now()))

    def apply_settings(self, name: str, settings: NodeSettings) -> None:
        """Give a running machine its labels, taints and timeouts."""
        self._write(replace(self._living(name), settings=settings))

    # What the edge reads and saw.

    def list_all(self) -> tuple[Machine, ...]:
        """Return the machines of all pools that are not gone, but those that are damaged."""
        return tuple(stored.machine for stored in self.list_stored())

    def list_stored(self, pool: str = "", *, with_gone: bool = False) -> tuple[StoredMachine, ...]:
        """
        Return machines of one pool, or of all, with what this edge knows of them.

        Those whose own rows are damaged are left out; what is told of their pool names them.
        """
        found = _STORED + "WHERE TRUE " if with_gone else _STORED_LIVING
        of_pool = "AND m.pool = ? " if pool else ""
        parameters = (pool,) if pool else ()
        rows = self._store.rows(f"{found}{of_pool}ORDER BY m.number", *parameters)
        damaged = self._store.damage.machines
        return tuple(_stored_machine(row) for row in rows if row["name"] not in damaged)

    def list_moving(self) -> tuple[StoredMachine, ...]:
        """
        Return the machines that come, go, change or break; not those that only run.

        Nor those of a pool of which something is damaged: nobody moves them.
        """
        rows = self._store.rows(
            f"{_STORED} WHERE m.number IN ({_MOVING_NUMBERS}) ORDER BY m.number"
        )
        damage = self._store.damage
        return tuple(_stored_machine(row) for row in rows if not damage.is_of(row["pool"]))

    def list_running(self) -> list[str]:
        """Return the names of the machines that are ready, in pools of which nothing is damaged."""
        rows = self._store.rows(
            "SELECT name, pool FROM machines "
            "WHERE gone_at IS NULL AND phase = 'ready' ORDER BY number"
        )
        return [row["name"] for row in rows if not self._store.damage.is_of(row["pool"])]

    def list_names(self) -> tuple[str, ...]:
        """Return the names of all machines that are not gone, damaged or not."""
        rows = self._store.rows("SELECT name FROM machines WHERE gone_at IS NULL ORDER BY number")
        return tuple(row["name"] for row in rows)

    def find_machine(self, name: str) -> StoredMachine | None:
        """Return a machine, living or gone, or None. Raises InputError if it is damaged."""
        row = self._store.find_row(_STORED + "WHERE m.name = ?", name)
        if name in self._store.damage.machines and row:
            self._store.refuse_damaged(row["pool"])
        return _stored_machine(row) if row else None

    def write_machine(self, machine: Machine) -> None:
        """
        Write what the edge saw of a machine. What is equal to what is there writes nothing.

        Whoever looked may have looked before the controller wrote: a machine that was told to
        leave still leaves, for the same reason, and keeps the settings it was given.
        """
        if machine.phase is Phase.READY and not machine.booted:
            raise InvariantError(f"{machine.name} is ready and never booted")
        known = self._living(machine.name)
        seen = replace(machine, settings=known.settings)
        if known.is_leaving:
            seen = replace(
                seen,
                phase=Phase.LEAVING,
                reason=known.reason,
                ready_at=None,
                since=known.since,
                asked_by=known.asked_by,
                skips_drain=known.skips_drain,
            )
        if seen != known:
            self._write(seen)

    def write_report(self, name: str, report: bytes) -> None:
        """Keep what a machine said of its boot, instead of what it said before."""
        self._known(name)
        with self._store.writing() as connection:
            connection.execute(
                "INSERT INTO reports (machine, reported_at, report) VALUES (?, ?, ?) "
                "ON CONFLICT (machine) DO UPDATE SET "
                "reported_at = excluded.reported_at, report = excluded.report",
                (name, self._now().isoformat(), report),
            )

    def note_power(self, name: str) -> None:
        """Note that a machine is about to be given power."""
        self._known(name)
        with self._store.writing() as connection:
            connection.execute(
                "UPDATE machines SET boots = boots + 1, powered_at = ? WHERE name = ?",
                (self._now().isoformat(), name),
            )

    def write_fault(self, name: str, fault: Fault) -> None:
        """Say what a machine does wrong from here on."""
        self._known(name)
        with self._store.writing() as connection:
            connection.execute("UPDATE machines SET fault = ? WHERE name = ?", (fault.value, name))

    def queue_faults(self, pool: str, faults: tuple[Fault, ...]) -> None:
        """Say what the next machines of a pool will do wrong, in order, after those queued."""
        with self._store.writing() as connection:
            connection.executemany(
                "INSERT INTO queued_faults (pool, fault) VALUES (?, ?)",
                [(pool, fault.value) for fault in faults],
            )

    def mark_gone(self, name: str) -> None:
        """Note that a machine is gone, once. Raises InvariantError if it was not told to go."""
        stored = self._known(name)
        if stored.gone_at is not None:
            return
        if not stored.machine.is_leaving:
            raise InvariantError(f"{name} is gone, and nobody told it to leave")
        with self._store.writing() as connection:
            connection.execute(
                "UPDATE machines SET gone_at = ? WHERE name = ?", (self._now().isoformat(), name)
            )
            connection.execute("DELETE FROM machine_tokens WHERE machine = ?", (name,))

    def delete_machine(self, name: str, actor: str = "", *, skips_drain: bool = False) -> Machine:
        """
        Let the owner delete a machine by hand; return it. Raises InputError if there is none.

        skips_drain: it goes at once, also if it was told to leave before and its drain is stuck.
        """
        stored = self.find_machine(name)
        if stored is None or stored.gone_at is not None:
            raise InputError(f"there is no machine {name!r}")
        self.remove_machine(name, BY_HAND, actor)
        machine = self._living(name)
        if skips_drain and not machine.skips_drain:
            machine = replace(machine, skips_drain=True)
            self._write(machine)
        return machine

    def observe_templates(self) -> int:
        """Note that every template was seen as it is; return how many were not yet."""
        found = self._store.rows("SELECT 1 FROM templates WHERE observed_generation < generation")
        if found:
            with self._store.writing() as connection:
                connection.execute(
                    "UPDATE templates SET observed_generation = generation "
                    "WHERE observed_generation < generation"
                )
        return len(found)

    def _known(self, name: str) -> StoredMachine:
        stored = self.find_machine(name)
        if stored is None:
            raise ConflictError(f"there is no machine {name!r}")
        return stored

    def _living(self, name: str) -> Machine:
        stored = self._known(name)
        if stored.gone_at is not None:
            raise ConflictError(f"{name} is gone since {stored.gone_at.isoformat()}")
        return stored.machine

    def _write(self, machine: Machine) -> None:
        with self._store.writing() as connection:
            connection.execute(
                "UPDATE machines SET phase = ?, value = ? WHERE name = ?",
                (machine.phase.value, render_value(machine), machine.name),
            )

    def _need_pair(self, pool: str, pair: str) -> None:
        found = self._store.rows(
            "SELECT 1 FROM tokens JOIN user_data USING (pool, id) WHERE pool = ? AND id = ?",
            pool,
            pair,
        )
        if not found:
            raise InvariantError(f"the pair {pair} of {pool} is named and does not exist")


def _write_template(connection: sqlite3.Connection, pool: str, template: Template) -> None:
    connection.execute(
        "INSERT INTO templates (pool, generation, observed_generation, value) "
        "VALUES (?, ?, ?, ?) ON CONFLICT (pool) DO UPDATE SET generation = excluded.generation, "
        "observed_generation = excluded.observed_generation, value = excluded.value",
        (pool, template.generation, template.observed_generation, render_value(template)),
    )


def _take_fault(connection: sqlite3.Connection, pool: str) -> Fault:
    row = connection.execute(
        "SELECT number, fault FROM queued_faults WHERE pool = ? ORDER BY number", (pool,)
    ).fetchone()
    if row is None:
        return Fault.NONE
    connection.execute("DELETE FROM queued_faults WHERE number = ?", (row["number"],))
    return Fault(row["fault"])


def _stored_machine(row: sqlite3.Row) -> StoredMachine:
    return StoredMachine(
        machine=parse_value(Machine, row["value"]),
        kind=row["kind"],
        fault=Fault(row["fault"]),
        gone_at=_moment(row["gone_at"]),
        report=row["report"] or b"",
        reported_at=_moment(row["reported_at"]),
        boots=row["boots"],
        powered_at=_moment(row["powered_at"]),
        powered_for=row["pair"] or "",
    )


def _moment(text: str | None) -> datetime | None:
    return datetime.fromisoformat(text) if text else None
