"""
The closed list of facts about a pool and its machines, and how one pass gives rise to them.

An event has a key that a repeated pass makes again, so appending after a crash adds nothing.
"""

from collections.abc import Iterable, Iterator
from datetime import datetime

from fairlead.answers.event import Event
from fairlead.answers.words import EventKind
from fairlead.decision.explain import listed
from fairlead.rollout.machines import Machine
from fairlead.rollout.record import Evidence, PoolRecord
from fairlead.rollout.step import CreateMachine, CreateToken, Step

# Told once machines were moved; all others before.
MACHINE_KINDS = (
    EventKind.MACHINES_CREATED,
    EventKind.MACHINE_LEAVES,
    EventKind.DRAIN_SKIPPED,
    EventKind.POOL_DELETED,
)


def events_of(
    before: PoolRecord,
    after: PoolRecord,
    steps: Iterable[Step],
    machines: Iterable[Machine],
    now: datetime,
) -> tuple[Event, ...]:
    """
    Return the facts of one pass: what its record says that the one before did not.

    That a machine leaves is told for as long as it does, under one key: a pass that was cut off
    after telling the machine is made good by the next.
    """
    leaving = tuple(event for machine in machines for event in _departure(machine, now))
    told = (
        *_target_facts(before, after),
        *_held_facts(before, after),
        *_repair_facts(before, after),
        *_step_facts(before, steps, now),
    )
    return leaving + tuple(
        Event(
            kind=kind,
            pool=after.pool,
            at=now,
            key=f"{kind.value}:{subject}:{before.serial}",
            says=says,
        )
        for kind, subject, says in told
    )


def _departure(machine: Machine, now: datetime) -> Iterator[Event]:
    told = [(EventKind.MACHINE_LEAVES, f"leaves: {machine.reason}")] if machine.is_leaving else []
    if machine.skips_drain:
        told.append((EventKind.DRAIN_SKIPPED, "goes without its drain: its owner forced it"))
    for kind, says in told:
        yield Event(
            kind=kind,
            pool=machine.pool,
            at=now,
            key=f"{kind.value}:{machine.name}",
            says=f"{machine.name} {says}.",
            machine=machine.name,
        )


def deletion_of(record: PoolRecord, now: datetime) -> Event:
    """Return the last fact about a pool. Its key ends with the number of its last record."""
    return Event(
        kind=EventKind.POOL_DELETED,
        pool=record.pool,
        at=now,
        key=f"{EventKind.POOL_DELETED.value}:{record.serial}",
        says="No machine and no secret of the pool is left.",
    )


def first_serial(events: Iterable[Event]) -> int:
    """
    Return what the first record of a pool counts on from, given the events under its name.

    A pool that was deleted before had records too: under their numbers the journal knows its
    events already and would never be told those of the next pool of this name.
    """
    deleted = [event for event in events if event.kind is EventKind.POOL_DELETED]
    return max((int(event.key.rpartition(":")[2]) + 1 for event in deleted), default=0)


Fact = tuple[EventKind, str, str]


def _target_facts(before: PoolRecord, after: PoolRecord) -> Iterator[Fact]:
    if after.seeded is not before.seeded:
        lost = after.seeded is Evidence.COMPUTED
        kind = EventKind.SEEDED_WITHOUT_EVIDENCE if lost else EventKind.SEEDED
        yield kind, after.seeded.value, f"The record was seeded from: {after.seeded.value}."
    if after.target and (before.target is None or before.target.id != after.target.id):
        if after.seeded is Evidence.NOTHING and before.target is None:
            yield EventKind.POOL_ADOPTED, after.target.id, f"Revision {after.target} is the first."
        elif after.reason != before.reason or before.target is not None:
            again = before.is_rolling
            kind = EventKind.ROLLOUT_RETARGETED if again else EventKind.ROLLOUT_STARTED
            yield kind, after.target.id, f"Revision {after.target}: {after.reason}."
    was = before.applied.id if before.applied else ""
    if after.applied and after.applied.id != was:
        says = f"Every machine has revision {after.applied}."
        yield EventKind.ROLLOUT_COMPLETED, after.applied.id, says
    if after.halted and after.halted != before.halted:
        yield EventKind.ROLLOUT_HALTED, "", f"Nothing more is replaced: {after.halted}."
    if _is_resumed(before, after):
        value = after.resumed[-1]
        yield EventKind.ROLLOUT_RESUMED, value, f"The pool's owner resumed it ({value})."


def _is_resumed(before: PoolRecord, after: PoolRecord) -> bool:
    if before.resumed == after.resumed or _target_id(before) != _target_id(after):
        return False
    is_freed = bool(before.halted) and not after.halted
    return is_freed or bool(set(after.forgiven).difference(before.forgiven))


def _target_id(record: PoolRecord) -> str:
    return record.target.id if record.target else ""


def _held_facts(before: PoolRecord, after: PoolRecord) -> Iterator[Fact]:
    were = {(held.leaf, held.id) for held in before.held}
    for held in after.held:
        if (held.leaf, held.id) not in were:
            says = f"{held.id} ({held.owner}, {held.severity.value}) changes {held.leaf}."
            yield EventKind.CHANGE_HELD, f"{held.leaf}:{held.id}", says
    gone = {held.leaf for held in before.held} - {held.leaf for held in after.held}
    if gone:
        leaves = sorted(gone)
        yield EventKind.CHANGE_CLEARED, ",".join(leaves), f"No longer held: {listed(leaves)}."


def _repair_facts(before: PoolRecord, after: PoolRecord) -> Iterator[Fact]:
    if after.repair_stopped and not before.repair_stopped:
        yield EventKind.REPAIR_STOPPED, "", f"Repair stopped: {after.repair_stopped}."
    if before.repair_stopped and not after.repair_stopped:
        yield EventKind.REPAIR_GOES_ON, "", "Repair may go on: fewer machines are unhealthy."


def _step_facts(before: PoolRecord, steps: Iterable[Step], now: datetime) -> Iterator[Fact]:
    known = {revision.id for revision in (before.applied, before.target) if revision}
    created = 0
    for step in steps:
        if isinstance(step, CreateToken) and step.id in known:
            says = f"The pair {step.id} was missing."
            yield EventKind.SECRET_RECREATED, f"{step.id}:{now.isoformat()}", says
        created += isinstance(step, CreateMachine)
    if created:
        yield EventKind.MACHINES_CREATED, now.isoformat(), f"Machines created: {created}."
