"""
A plan as it is shown, and how what is found later exceeds it. Pure.

A machine is in one of two lists: `machines` are replaced or changed by a rollout, `removed` leave
in the very next pass for another reason (the pool shrinks, a machine is repaired, the pool goes),
also if a rollout would have replaced them. One that was told to leave before is in neither.
"""

from datetime import UTC, datetime

from fairlead.controller.observe import PoolDocuments, Snapshot
from fairlead.controller.revise import revise
from fairlead.controller.think import Thought
from fairlead.decision.decision import Adopt, DeletePool, HoldPlatformChange, ReplaceMachines
from fairlead.decision.explain import reason_text
from fairlead.errors import InputError
from fairlead.inputs.leaf import Json, LeafClass, Leaves, Unusable
from fairlead.inputs.parse import parse_node_pool, parse_platform_config
from fairlead.inputs.registry import find_row, owner_of
from fairlead.revision.difference import Difference, LeafChange, difference_of
from fairlead.revision.hashing import Scheme
from fairlead.revision.rebase import rebase
from fairlead.rollout.machines import oldest_first
from fairlead.rollout.policy import Strategy
from fairlead.rollout.record import ChangeClass, PoolRecord
from fairlead.rollout.step import CreateMachine, RemoveMachine, SecretStep
from fairlead.rollout.wait import Wait

View = dict[str, Json]

UNKNOWN = "unknown"


def plan_view(seen: Snapshot, thought: Thought, before: PoolDocuments | None = None) -> View:
    """
    Return what the next passes do to a pool, and why.

    before: the documents in force, while `seen` has proposed ones; what is applied in place is
    the difference between the two. creates, removes and removed are those of the very next pass.
    """
    reason = record_after(seen, thought).reason
    removals = [step for step in thought.steps if isinstance(step, RemoveMachine)]
    removed = [step.machine for step in removals if step.reason != reason]
    leaving = set(removed)
    machines = [name for name in _machines_of(seen, thought) if name not in leaving]
    leaves = [leaf_view(change) for change in _changes_of(seen, thought)]
    leaves += setting_views(before, seen.documents) if before else []
    return {
        "pool": seen.pool,
        "change": _change_of(seen, thought, machines, leaves).value,
        "because": _because(seen, thought),
        "leaves": leaves,
        "machines": machines,
        "estimate_s": thought.shown.estimate.total_seconds() if machines else 0.0,
        "creates": sum(isinstance(step, CreateMachine) for step in thought.steps),
        "removes": len(removed),
        "removed": removed,
        "waits": [wait_view(wait) for wait in thought.waits],
        "intent_hash": thought.shown.intent_hash,
        "platform_hash": thought.shown.platform_hash,
        "is_new": isinstance(thought.decision, Adopt) and thought.decision.is_new,
    }


def bound_view(record: PoolRecord) -> View | None:
    """Return the plan that a rollout under way is bound by, as it was when it started."""
    plan = record.plan
    if plan is None:
        return None
    return {
        "pool": plan.pool,
        "change": plan.change.value,
        "because": record.reason,
        "leaves": [leaf_view(change) for change in _rollout_changes(record)],
        "machines": list(plan.machines),
        "estimate_s": plan.estimate.total_seconds(),
        "creates": 0,
        "removes": 0,
        "removed": [],
        "waits": [],
        "intent_hash": plan.intent_hash,
        "platform_hash": plan.platform_hash,
        "is_new": False,
    }


def record_after(seen: Snapshot, thought: Thought) -> PoolRecord:
    """Return the record as it is after the next pass."""
    return thought.record or seen.record or PoolRecord(pool=seen.pool)


def leaf_view(change: LeafChange) -> View:
    """Return one leaf that differs. None stands for not set."""
    return {
        "leaf": change.leaf,
        "class": _class_name(change.leaf),
        "owner": change.owner,
        "before": change.before,
        "after": change.after,
    }


def setting_views(before: PoolDocuments, after: PoolDocuments) -> list[View]:
    """Return what differs between two pairs of documents and is applied in place."""
    was, will = _settings_of(before), _settings_of(after)
    return [
        {
            "leaf": path,
            "class": LeafClass.IN_PLACE.value,
            "owner": owner_of(path),
            "before": was.get(path),
            "after": will.get(path),
        }
        for path in sorted(was.keys() | will.keys())
        if was.get(path) != will.get(path)
    ]


def wait_view(wait: Wait) -> View:
    """Return one thing that is waited for."""
    return {
        "for": wait.wait_for.value,
        "says": wait.says,
        "machine": wait.machine,
        "until": moment_view(wait.until),
    }


def moment_view(when: datetime | None) -> str | None:
    """Return a moment as RFC 3339 text in UTC, to the millisecond."""
    if when is None:
        return None
    return when.astimezone(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")


def _machines_of(seen: Snapshot, thought: Thought) -> list[str]:
    if isinstance(thought.decision, DeletePool):
        return []
    if isinstance(thought.decision, ReplaceMachines):
        return list(thought.shown.machines)
    record = record_after(seen, thought)
    target = record.target
    if not record.is_rolling or target is None:
        return []
    return [
        machine.name
        for machine in oldest_first(seen.machines)
        if machine.revision != target.id and not machine.is_leaving
    ]


def _change_of(
    seen: Snapshot, thought: Thought, machines: list[str], leaves: list[View]
) -> ChangeClass:
    if isinstance(thought.decision, DeletePool):
        return ChangeClass.DELETE
    if machines:
        in_place = revise(seen).policy.strategy is Strategy.IN_PLACE
        return ChangeClass.IN_PLACE if in_place else ChangeClass.REPLACE
    moves = any(not isinstance(step, SecretStep) for step in thought.steps)
    is_set = any(leaf["class"] == LeafClass.IN_PLACE.value for leaf in leaves)
    return ChangeClass.IN_PLACE if moves or is_set else ChangeClass.NONE


def _because(seen: Snapshot, thought: Thought) -> str:
    """Return a reason, to follow the word because, if machines are replaced; else a sentence."""
    if isinstance(thought.decision, ReplaceMachines):
        return reason_text(thought.decision.because)
    record = record_after(seen, thought)
    if record.is_rolling and seen.machines and not isinstance(thought.decision, DeletePool):
        return record.reason
    return thought.shown.because


def _changes_of(seen: Snapshot, thought: Thought) -> tuple[LeafChange, ...]:
    """Return the leaves that cause a rollout, then those that go along or are held."""
    record = record_after(seen, thought)
    match thought.decision:
        case ReplaceMachines() as found:
            return _in_order(difference_of(found.running, found.wanted))
        case HoldPlatformChange() as found if not record.is_rolling:
            return _in_order(difference_of(found.running, found.wanted))
        case Adopt() as found:
            known = seen.record.target if seen.record else None
            if known is None:
                return ()
            rebased = rebase(known, found.wanted.content, Scheme(found.wanted.scheme))
            return _in_order(difference_of(rebased, found.wanted))
        case DeletePool():
            return ()
    return _rollout_changes(record)


def _rollout_changes(record: PoolRecord) -> tuple[LeafChange, ...]:
    applied, target = record.applied, record.target
    if applied is None or target is None:
        return ()
    return _in_order(difference_of(applied, target))


def _in_order(difference: Difference) -> tuple[LeafChange, ...]:
    return difference.intent + difference.platform


def _class_name(path: str) -> str:
    row = find_row(path)
    return row.leaf_class.value if row else UNKNOWN


def _settings_of(documents: PoolDocuments) -> Leaves:
    found: dict[str, Json] = {}
    settings = parse_node_pool(documents.pool).settings
    if not isinstance(settings, Unusable):
        found |= settings
    try:
        platform = parse_platform_config(documents.platform)
    except InputError:
        return found
    stub = platform.stub
    told: dict[str, Json] = {
        "platform.stopEverything": platform.is_stopped,
        "platform.stub.endpoint": stub.endpoint,
        "platform.stub.ca": stub.ca,
        "platform.stub.proxy": stub.proxy,
        "platform.stub.report": stub.report,
    }
    return found | {path: value for path, value in told.items() if value}
