"""
A pool as commands and the console show it: JSON values from one read of the world. Pure.

What is shown is what the next pass would write where that differs from what is stored: between a
change and the pass that follows it, the stored status still says that all is well.
Times are RFC 3339 in UTC, durations are seconds.
"""

from collections.abc import Mapping
from datetime import datetime

from fairlead.controller.describe_plan import (
    View,
    bound_view,
    moment_view,
    plan_view,
    record_after,
    wait_view,
)
from fairlead.controller.observe import PoolStatus, Snapshot
from fairlead.controller.revise import revise
from fairlead.controller.think import Thought
from fairlead.decision.decision import HoldPlatformChange, ReplaceMachines
from fairlead.decision.held import HeldChange
from fairlead.errors import InvariantError
from fairlead.inputs.leaf import Json
from fairlead.inputs.parse import parse_platform_config
from fairlead.inputs.platform_inputs import with_code_defaults
from fairlead.inputs.registry import owner_of, severity_of
from fairlead.revision.difference import LeafChange, difference_of
from fairlead.revision.revision import Revision
from fairlead.rollout.record import PoolRecord
from fairlead.timeline.conditions import Condition
from fairlead.timeline.event import Event


def pool_view(seen: Snapshot, thought: Thought, now: datetime) -> View:
    """Return a pool in short: how it is, what it holds, what it waits for."""
    status, record = _status_of(seen, thought), record_after(seen, thought)
    policy = revise(seen).policy
    return {
        "name": seen.pool,
        "state": status.state.value,
        "sentence": status.sentence,
        "version": status.version,
        "desired": status.desired,
        "updated": status.updated,
        "available": status.available,
        "total": status.total,
        "held": held_views(record, thought),
        "waits": [wait_view(wait) for wait in thought.waits],
        "strategy": policy.strategy.value,
        "is_paused": policy.active_pause(now) is not None,
        "halted": record.halted,
        "rollout": _rollout_view(record),
    }


def pool_detail(seen: Snapshot, thought: Thought, now: datetime) -> View:
    """Return a pool in full, except for its machines, of which the edge knows more."""
    status, record = _status_of(seen, thought), record_after(seen, thought)
    return {
        **pool_view(seen, thought, now),
        "document": seen.documents.pool,
        "conditions": [condition_view(condition) for condition in status.conditions],
        "applied": revision_view(record.applied),
        "target": revision_view(record.target),
        "plan": plan_view(seen, thought),
    }


def _status_of(seen: Snapshot, thought: Thought) -> PoolStatus:
    status = thought.status or seen.status
    if status is None:
        raise InvariantError(f"a pass over {seen.pool} writes no status, and there is none")
    return status


def _rollout_view(record: PoolRecord) -> View | None:
    if not record.is_rolling:
        return None
    return {
        "reason": record.reason,
        "sentence": record.sentence,
        "started_at": moment_view(record.started_at),
        "from": revision_view(record.applied),
        "to": revision_view(record.target),
        "plan": bound_view(record),
    }


def revision_view(revision: Revision | None) -> View | None:
    """Return what a revision is called."""
    if revision is None:
        return None
    return {"id": revision.id, "hashes": str(revision), "version": revision.version}


def held_views(record: PoolRecord, thought: Thought) -> list[View]:
    """Return the platform changes that the pool holds, each with what it changes."""
    changes = {change.leaf: change for change in _held_back(thought)}
    return [_held_view(held, changes.get(held.leaf)) for held in record.held]


def _held_back(thought: Thought) -> tuple[LeafChange, ...]:
    match thought.decision:
        case HoldPlatformChange() as hold:
            return difference_of(hold.running, hold.wanted).platform
        case ReplaceMachines() as replaced:
            return replaced.takes_along
    return ()


def _held_view(held: HeldChange, change: LeafChange | None) -> View:
    return {
        "id": held.id,
        "leaf": held.leaf,
        "owner": held.owner,
        "severity": held.severity.value,
        "since": moment_view(held.since),
        "before": change.before if change else None,
        "after": change.after if change else None,
    }


def condition_view(condition: Condition) -> View:
    """Return one condition."""
    return {
        "type": condition.type,
        "status": condition.status,
        "reason": condition.reason,
        "message": condition.message,
        "since": moment_view(condition.since),
    }


def event_view(event: Event) -> View:
    """Return one event."""
    return {
        "kind": event.kind.value,
        "pool": event.pool,
        "machine": event.machine,
        "at": moment_view(event.at),
        "says": event.says,
    }


def platform_view(
    document: Json, defaults: Mapping[str, Json], records: Mapping[str, PoolRecord]
) -> View:
    """
    Return the platform's leaves, each with the pools that do not have its latest value.

    A leaf that was removed, and that a pool still runs with, is listed without a value.
    """
    leaves = with_code_defaults(parse_platform_config(document), defaults).leaves
    holders: dict[str, list[str]] = {}
    for pool, record in sorted(records.items()):
        for held in record.held:
            holders.setdefault(held.leaf, []).append(pool)
    return {
        "document": document,
        "leaves": [
            {
                "leaf": path,
                "owner": owner_of(path),
                "severity": severity_of(path).value,
                "value": leaves.get(path),
                "held_by": holders.get(path, []),
            }
            for path in sorted(leaves.keys() | holders.keys())
        ],
    }
