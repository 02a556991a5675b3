"""
The three pointers of a pool, and what is known about the way from one to the next.

applied: every machine has it. target: what the template was told. desired: computed here on every
pass, never stored.
"""

from dataclasses import replace
from datetime import datetime

from fairlead.controller.evidence import record_from_evidence
from fairlead.controller.revise import Wanted, revision_wanted
from fairlead.decision.decision import Decision, HoldPlatformChange, Keep
from fairlead.decision.held import HeldChange, held_changes, overdue_at
from fairlead.inputs.leaf import Unusable
from fairlead.revision.difference import difference_of
from fairlead.revision.revision import Revision
from fairlead.rollout.machines import Template
from fairlead.rollout.progress import halt_cause, progress_of
from fairlead.rollout.record import PoolRecord
from fairlead.rollout.repair import still_repaired
from fairlead.rollout.resume import resumed
from fairlead.rollout.situation import Situation


def pointers_of(wanted: Wanted) -> tuple[PoolRecord, Revision | Unusable]:
    """Return the record with applied, target and what it holds; and desired, the third pointer."""
    force = wanted.policy.force
    desired = revision_wanted(wanted, force)
    record = record_from_evidence(wanted, desired)
    is_answered = not force or force in record.honoured
    if record.target and is_answered and force != record.target.force:
        desired = revision_wanted(wanted, record.target.force)
    held = _held_of(wanted, record, desired)
    return record if held == record.held else replace(record, held=held), desired


def begun_with(
    wanted: Wanted, record: PoolRecord, target: Revision, desired: Revision | Unusable
) -> tuple[PoolRecord, Decision]:
    """
    Return the record of a target that was just set, and what is decided about the pool now.

    What a target was set for is settled with it; the record says why it was set. What was shown
    may lack what the platform changed since: that is held, as old as it is. The approved plan, if
    there is one, is used up.
    """
    approved, held = wanted.seen.plan, _held_of(wanted, record, desired)
    record = replace(record, held=held, spent=approved.target if approved else "")
    if held and isinstance(desired, Revision):
        return record, HoldPlatformChange(running=target, wanted=desired, held=held)
    return record, Keep(target)


def _held_of(
    wanted: Wanted, record: PoolRecord, desired: Revision | Unusable
) -> tuple[HeldChange, ...]:
    """Return the platform changes that the target lacks."""
    platform, target = wanted.platform, record.target
    if wanted.is_leaving or target is None or platform is None or isinstance(desired, Unusable):
        # What was held when it could last be computed is the best that is known.
        return record.held
    changes = difference_of(target, desired).platform
    return held_changes(changes, platform.notices, record.held, wanted.now)


def overdue_of(wanted: Wanted, record: PoolRecord) -> tuple[HeldChange, ...]:
    """Return the held changes that are beyond their maximum age."""
    moments = zip(record.held, overdue_moments(wanted, record), strict=True)
    return tuple(held for held, moment in moments if moment is not None and moment <= wanted.now)


def overdue_moments(wanted: Wanted, record: PoolRecord) -> list[datetime | None]:
    """Return when each held change becomes a rollout."""
    return [overdue_at(held, wanted.policy.maximum_age) for held in record.held]


def judged(record: PoolRecord, situation: Situation) -> PoolRecord:
    """Return the record with the machines of its target that failed, and whether it halts."""
    if situation.is_leaving:
        return record
    machines, policy, now = situation.machines, situation.policy, situation.now
    record = still_repaired(resumed(record, machines, policy, now), situation)
    if record.target is None or not (record.is_rolling or record.adoption):
        return record
    template = Template(revision=record.target.id, version="", machine_template={}, replicas=0)
    counted = machines
    if record.adoption and not record.is_rolling:
        # The target is an old one: what failed before the request has nothing to do with it.
        since = record.adoption.started_at
        counted = tuple(machine for machine in machines if machine.created_at >= since)
    found = progress_of(counted, template, situation.desired, policy, now).failed
    failed = tuple(sorted({*record.failed, *found}.difference(record.forgiven)))
    halted = record.halted or halt_cause(machines, failed, policy, now)
    return replace(record, failed=failed, halted=halted)
