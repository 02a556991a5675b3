"""
A thought to the plan that people see: what the next passes do to a pool, and why. Pure.
"""

from dataclasses import replace
from datetime import datetime

from fairlead.answers.leaf import LeafDifference
from fairlead.answers.plan import Plan
from fairlead.answers.words import ChangeClass, LeafClass, Strategy
from fairlead.controller.observe import PoolDocuments, Snapshot
from fairlead.controller.think import think
from fairlead.controller.thought import Thought
from fairlead.decision.decision import (
    Adopt,
    DeletePool,
    HoldPlatformChange,
    ReplaceMachines,
    Unknown,
)
from fairlead.inputs.declared import declared_pool
from fairlead.inputs.leaf import Unusable
from fairlead.proposal.leaves import in_place_differences, leaf_difference
from fairlead.revision.difference import LeafChange, difference_of
from fairlead.revision.rebase import in_words_of
from fairlead.revision.revision import Revision
from fairlead.rollout.adoption import reason_for
from fairlead.rollout.machines import Machine, in_turn
from fairlead.rollout.record import PoolRecord
from fairlead.rollout.step import (
    ApplyTemplate,
    CreateMachine,
    PointTemplate,
    RemoveMachine,
    SecretStep,
)

# Fields that name a file which may come later.
SECRETS = ("spec.pullSecret", "spec.trustBundle")


def plan_of(seen: Snapshot, thought: Thought, before: PoolDocuments | None = None) -> Plan:
    """
    Return what the next passes do to a pool, and why.

    before: the documents in force, while `seen` has proposed ones; what is applied in place is
    the difference between the two.
    """
    record = record_after(seen, thought)
    reasons = {record.reason} | ({reason_for(record.adoption)} if record.adoption else set())
    removals = [step for step in thought.steps if isinstance(step, RemoveMachine)]
    removed = tuple(step.machine for step in removals if step.reason not in reasons)
    machines = tuple(name for name in _machines_of(seen, thought) if name not in set(removed))
    leaves = tuple(leaf_difference(change) for change in _changes_of(seen, thought))
    leaves += in_place_differences(before, seen.documents) if before else ()
    return thought.shown.but(
        change=_change_of(thought, machines, leaves),
        because=_because(seen, thought),
        leaves=leaves,
        machines=machines,
        estimate_s=thought.shown.estimate_s if machines else 0.0,
        creates=_creates(seen, thought),
        removes=len(removed),
        removed=removed,
        waits=thought.waits,
        is_new=isinstance(thought.decision, Adopt) and thought.decision.is_new,
    )


def _creates(seen: Snapshot, thought: Thought) -> int:
    """Return how many machines the next pass makes, or has its edge make."""
    if not seen.makes_by_itself:
        return sum(isinstance(step, CreateMachine) for step in thought.steps)
    before = seen.template.replicas if seen.template else 0
    return sum(
        max(step.template.replicas - before, 0)
        for step in thought.steps
        if isinstance(step, PointTemplate | ApplyTemplate)
    )


def once_there(seen: Snapshot, thought: Thought, now: datetime) -> tuple[Snapshot, Thought]:
    """
    Return what a pass does once the files are there that a pool names and that nobody wrote yet.

    A plan must not say that nothing changes, and the file replace machines later. What is in the
    file is not known: under the name that machines have it is taken to be what they have.
    """
    resolved = seen.documents.resolved
    if not isinstance(thought.decision, Unknown) or not resolved.field.startswith(SECRETS):
        return seen, thought
    resolved = replace(
        resolved,
        problem="",
        pull_secret=_known_content(seen, "pullSecret"),
        trust_bundle=_known_content(seen, "trustBundle"),
    )
    later = replace(seen, documents=replace(seen.documents, resolved=resolved))
    return later, think(later, now)


def _known_content(seen: Snapshot, field: str) -> str:
    record, intent = seen.record, declared_pool(seen.documents.pool).intent
    known = record.target.leaves if record and record.target else {}
    name = f"{field}.name"
    is_same = not isinstance(intent, Unusable) and intent.leaves.get(name) == known.get(name)
    return str(known.get(f"{field}.content", "")) if is_same else ""


def whole_plan_of(
    seen: Snapshot, thought: Thought, now: datetime, before: PoolDocuments | None = None
) -> Plan:
    """Return what the next passes do, those included that wait for a file. before: see plan_of."""
    present = plan_of(seen, thought, before)
    later_seen, later = once_there(seen, thought, now)
    if later is thought:
        return present
    plan = plan_of(later_seen, later, before)
    return plan.but(
        machines=tuple(name for name in plan.machines if name not in present.removed),
        creates=plan.creates if plan.is_new else present.creates,
        removes=present.removes,
        removed=present.removed,
        waits=present.waits,
    )


def bound_plan_of(record: PoolRecord) -> Plan | None:
    """Return the plan that a rollout under way is bound by, as it was when it started."""
    if record.plan is None:
        return None
    leaves = tuple(leaf_difference(change) for change in _rollout_changes(record))
    return record.plan.but(because=record.reason, leaves=leaves)


def record_after(seen: Snapshot, thought: Thought) -> PoolRecord:
    """Return the record as it is after the next pass."""
    return thought.record or seen.record or PoolRecord(pool=seen.pool)


def _machines_of(seen: Snapshot, thought: Thought) -> tuple[str, ...]:
    if isinstance(thought.decision, DeletePool):
        return ()
    if isinstance(thought.decision, ReplaceMachines):
        return thought.shown.machines
    record = record_after(seen, thought)
    target = record.target
    if target is None or not (record.is_rolling or thought.lacking):
        return ()

    def is_stale(machine: Machine) -> bool:
        is_old = record.is_rolling and machine.revision != target.id
        return not machine.is_leaving and (is_old or machine.name in thought.lacking)

    return tuple(machine.name for machine in in_turn(seen.machines) if is_stale(machine))


def _change_of(
    thought: Thought, machines: tuple[str, ...], leaves: tuple[LeafDifference, ...]
) -> ChangeClass:
    if isinstance(thought.decision, DeletePool):
        return ChangeClass.DELETE
    if machines:
        in_place = thought.policy.strategy is Strategy.IN_PLACE
        return ChangeClass.IN_PLACE if in_place else ChangeClass.REPLACE
    moves = any(not isinstance(step, SecretStep) for step in thought.steps)
    is_set = any(leaf.leaf_class is LeafClass.IN_PLACE for leaf in leaves)
    return ChangeClass.IN_PLACE if moves or is_set else ChangeClass.NONE


def _because(seen: Snapshot, thought: Thought) -> str:
    if isinstance(thought.decision, ReplaceMachines):
        return thought.shown.because
    record = record_after(seen, thought)
    if record.is_rolling and seen.machines and not isinstance(thought.decision, DeletePool):
        return record.reason
    return thought.shown.because


def _changes_of(seen: Snapshot, thought: Thought) -> tuple[LeafChange, ...]:
    """Return the leaves that cause a rollout, then those that go along or are held."""
    record = record_after(seen, thought)
    match thought.decision:
        case ReplaceMachines() as found:
            return _changes_between(found.running, found.wanted)
        case HoldPlatformChange() as found if not record.is_rolling:
            return _changes_between(found.running, found.wanted)
        case Adopt() as found:
            known = seen.record.target if seen.record else None
            if known is None:
                return ()
            return _changes_between(in_words_of(found.wanted, known), found.wanted)
        case DeletePool():
            return ()
    return _rollout_changes(record)


def _rollout_changes(record: PoolRecord) -> tuple[LeafChange, ...]:
    if record.applied is None or record.target is None:
        return ()
    return _changes_between(record.applied, record.target)


def _changes_between(before: Revision, after: Revision) -> tuple[LeafChange, ...]:
    difference = difference_of(before, after)
    return difference.intent + difference.platform
