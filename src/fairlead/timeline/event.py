"""
The closed list of facts about a pool and its machines, and how one pass gives rise to them.

An event has a key that a repeated pass makes again, so appending after a crash adds nothing.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from datetime import datetime

from fairlead.answers.event import CONTROL_PLANE, Event
from fairlead.answers.words import EventKind, Phase
from fairlead.decision.explain import listed
from fairlead.rollout.machines import Machine
from fairlead.rollout.policy import Policy
from fairlead.rollout.progress import failing
from fairlead.rollout.record import Evidence, PoolRecord
from fairlead.rollout.repair import MOST_REPAIRS
from fairlead.rollout.step import CreateToken, Step

# Facts about a target; whoever asked for it asked for them.
ASKED_KINDS = (
    EventKind.POOL_ADOPTED,
    EventKind.ROLLOUT_STARTED,
    EventKind.ROLLOUT_RETARGETED,
    EventKind.ROLLOUT_COMPLETED,
)

# Told once machines were moved; all others before.
MACHINE_KINDS = (
    EventKind.MACHINE_CREATED,
    EventKind.MACHINE_LEAVES,
    EventKind.DRAIN_SKIPPED,
    EventKind.POOL_DELETED,
)


@dataclass(frozen=True, slots=True)
class Cause:
    """Why machines are made, and whose wish that is; '' if nobody's."""

    reason: str
    asked_by: str


NO_CAUSE = Cause("", "")


@dataclass(frozen=True, slots=True, kw_only=True)
class Passed:
    """
    One pass: the record before and after it, its steps, the machines that it saw and those that it
    leaves behind.

    cause: why it makes machines. declared_by: who asked for what is declared, or ''. policy: says
    when a machine counts as failed. is_leaving: the pool was deleted.
    """

    before: PoolRecord
    after: PoolRecord
    now: datetime
    steps: tuple[Step, ...] = ()
    seen: tuple[Machine, ...] = ()
    machines: tuple[Machine, ...] = ()
    cause: Cause = NO_CAUSE
    declared_by: str = ""
    policy: Policy = field(default_factory=Policy)
    is_leaving: bool = False


def events_of(passed: Passed) -> tuple[Event, ...]:
    """
    Return the facts of one pass: what its record says that the one before did not.

    That a machine boots, failed or leaves is told for as long as it does, under one key: a pass
    that was cut off after the step is made good by the next.
    """
    before, after, now = passed.before, passed.after, passed.now
    booting = (machine.name for machine in passed.seen if machine.phase is Phase.BOOTING)
    machines = (
        *creations_of(after.pool, booting, passed.cause, now),
        *(_failure_of(*found, now) for found in failing(passed.seen, passed.policy, now)),
        *(event for machine in passed.machines for event in departure_of(machine, now)),
    )
    told = (
        *_target_facts(before, after),
        *_held_facts(before, after),
        *_adoption_facts(before, after),
        *_repair_facts(passed),
        *_step_facts(before, passed.steps, now),
    )
    return machines + tuple(
        Event(
            kind=kind,
            pool=after.pool,
            at=now,
            key=f"{kind.value}:{subject}:{before.serial}",
            says=says,
            actor=CONTROL_PLANE,
            asked_by=_asker_of(kind, passed),
        )
        for kind, subject, says in told
    )


def _asker_of(kind: EventKind, passed: Passed) -> str:
    if kind is EventKind.ROLLOUT_RESUMED:
        return passed.declared_by
    if kind is EventKind.ADOPTION_STARTED and passed.after.adoption:
        return passed.after.adoption.asked_by
    return passed.after.asked_by if kind in ASKED_KINDS else ""


def cause_of(
    record: PoolRecord, machines: Iterable[Machine], desired: int, declared_by: str
) -> Cause:
    """Return why a pass makes machines, if it makes any."""
    target = record.target.id if record.target else ""
    if record.adoption and not record.is_rolling:
        return Cause(f"in the place of one without {record.adoption.fix}", record.adoption.asked_by)
    if any(machine.revision != target and not machine.is_leaving for machine in machines):
        return Cause(record.reason, record.asked_by)
    return Cause(f"the pool declares {desired}", declared_by)


def creations_of(pool: str, names: Iterable[str], cause: Cause, now: datetime) -> Iterator[Event]:
    """Yield that machines were made, each by its name."""
    for name in names:
        says = f"{name} was made: {cause.reason}."
        yield _machine_event(EventKind.MACHINE_CREATED, pool, name, says, now).but(
            asked_by=cause.asked_by
        )


def departure_of(machine: Machine, now: datetime, actor: str = CONTROL_PLANE) -> Iterator[Event]:
    """Yield that a machine leaves, and how, if it does. actor: who told it to."""
    told = [(EventKind.MACHINE_LEAVES, f"leaves: {machine.reason}")] if machine.is_leaving else []
    if machine.skips_drain:
        told.append((EventKind.DRAIN_SKIPPED, "goes without its drain: its owner forced it"))
    for kind, says in told:
        event = _machine_event(kind, machine.pool, machine.name, f"{machine.name} {says}.", now)
        yield event.but(actor=actor, asked_by=machine.asked_by)


def removal_of(machine: Machine, now: datetime) -> Event:
    """Return that nothing of a machine is left."""
    says = f"{machine.name} is gone" + (f": {machine.reason}." if machine.reason else ".")
    event = _machine_event(EventKind.MACHINE_GONE, machine.pool, machine.name, says, now)
    return event.but(asked_by=machine.asked_by)


def _failure_of(machine: Machine, failure: str, now: datetime) -> Event:
    says = f"{machine.name} failed: {failure}."
    event = _machine_event(EventKind.MACHINE_FAILED, machine.pool, machine.name, says, now)
    # On an edge where it can be mended and fail again, it is told again for another revision.
    key = f"{event.key}:{machine.heading_for or machine.revision}"
    if machine.phase is Phase.FAILED:
        return event.but(key=key)
    # What took too long may come back and do so again, or die of what it says itself.
    is_change = machine.phase is not Phase.BOOTING or machine.is_in_flight
    began = machine.since if is_change and machine.since else machine.created_at
    return event.but(key=f"{key}:{began.isoformat()}")


def _machine_event(kind: EventKind, pool: str, name: str, says: str, now: datetime) -> Event:
    return Event(
        kind=kind,
        pool=pool,
        at=now,
        key=f"{kind.value}:{name}",
        says=says,
        machine=name,
        actor=CONTROL_PLANE,
    )


def deletion_of(passed: Passed) -> Event:
    """Return the last fact about a pool. Its key ends with the number of its last record."""
    record = passed.after
    return Event(
        kind=EventKind.POOL_DELETED,
        pool=record.pool,
        at=passed.now,
        key=f"{EventKind.POOL_DELETED.value}:{record.serial}",
        says="No machine and no secret of the pool is left.",
        actor=CONTROL_PLANE,
        asked_by=passed.declared_by,
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


def _adoption_facts(before: PoolRecord, after: PoolRecord) -> Iterator[Fact]:
    is_new = after.adopted != before.adopted
    if after.adoption and (is_new or before.adoption is None):
        fix, names = after.adoption.fix, after.adoption.machines
        many = f"{len(names)} machine{'' if len(names) == 1 else 's'}"
        says = f"The pool's owner asked for the fix {fix}: {many} without it will be replaced."
        yield EventKind.ADOPTION_STARTED, after.adopted, says
    is_over = after.adoption is None and bool(after.adoption_over)
    if is_over and (before.adoption or (is_new and after.adopted)):
        says = f"No further machine is replaced for a fix: {after.adoption_over}."
        yield EventKind.ADOPTION_ENDED, after.adopted, says


def _repair_facts(passed: Passed) -> Iterator[Fact]:
    before, after = passed.before, passed.after
    if after.repair_stopped and not before.repair_stopped:
        yield EventKind.REPAIR_STOPPED, "", f"Repair stopped: {after.repair_stopped}."
    goes_on = passed.policy.auto_repair and not passed.is_leaving
    if before.repair_stopped and not after.repair_stopped and goes_on:
        yield EventKind.REPAIR_GOES_ON, "", f"Repair may go on: {_why_repaired(before, after)}."


def _why_repaired(before: PoolRecord, after: PoolRecord) -> str:
    if _target_id(before) != _target_id(after):
        return "the pool has another target"
    if len(before.repaired) >= MOST_REPAIRS:
        return "a machine came up"
    return "no more machines are unhealthy than maxUnhealthy allows"


def _step_facts(before: PoolRecord, steps: Iterable[Step], now: datetime) -> Iterator[Fact]:
    known = {revision.id for revision in (before.applied, before.target) if revision}
    for step in steps:
        if isinstance(step, CreateToken) and step.id in known:
            says = f"The pair {step.id} was missing."
            yield EventKind.SECRET_RECREATED, f"{step.id}:{now.isoformat()}", says
