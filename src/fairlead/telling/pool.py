"""
A pool as it is told, from one read of the world. Pure.

What is told is what the next pass would write where that differs from what is stored: between a
change and the pass that follows it, the stored status still says that all is well.
"""

from collections.abc import Sequence
from datetime import datetime

from fairlead.answers.leaf import HeldLeaf
from fairlead.answers.machine import MachineAnswer
from fairlead.answers.pool import (
    NotApplied,
    PoolAnswer,
    PoolDetail,
    PoolStatus,
    RevisionName,
    RolloutAnswer,
)
from fairlead.answers.wait import Wait
from fairlead.answers.words import PoolState, Strategy
from fairlead.controller.observe import Snapshot
from fairlead.controller.roll import not_applied
from fairlead.controller.thought import Thought
from fairlead.decision.held import HeldChange
from fairlead.errors import InvariantError
from fairlead.inputs.declared import declared_pool
from fairlead.proposal.plan import bound_plan_of, record_after, whole_plan_of
from fairlead.proposal.propose import base_of
from fairlead.revision.difference import LeafChange, difference_of
from fairlead.revision.revision import Revision
from fairlead.rollout.in_place import degradation_of
from fairlead.rollout.record import PoolRecord
from fairlead.telling.fix import adopt_way, pool_fixes
from fairlead.telling.machine import versions_of
from fairlead.telling.summary import summary_of
from fairlead.telling.verdict import verdict_of


def pool_answer(
    seen: Snapshot, thought: Thought, now: datetime, besides: tuple[Wait, ...] = ()
) -> PoolAnswer:
    """Return a pool in short. besides: what it waits for that no thought can know."""
    status, record = _status_of(seen, thought), record_after(seen, thought)
    told = PoolAnswer(
        name=seen.pool,
        state=status.state,
        sentence=status.sentence,
        version=status.version,
        desired=status.desired,
        updated=status.updated,
        available=status.available,
        total=status.total,
        summary="",
        held=_held_leaves(record, thought),
        waits=besides + thought.waits,
        strategy=thought.policy.strategy,
        is_paused=thought.policy.active_pause(now) is not None,
        halted=record.halted or degradation_of(seen.machines, record.forgiven),
        rollout=_rollout_answer(record),
        adoption=record.adoption,
    )
    return told.but(summary=summary_of(told, whole_plan_of(seen, thought, now), now))


def unreadable_pool(pool: str, says: str, besides: tuple[Wait, ...] = ()) -> PoolAnswer:
    """Return a pool of which nothing but its name can be told. says: why."""
    return PoolAnswer(
        name=pool,
        state=PoolState.BLOCKED,
        sentence=says,
        version="",
        desired=0,
        updated=0,
        available=0,
        total=0,
        summary=says,
        held=(),
        waits=besides,
        strategy=Strategy.ROLLING,
        is_paused=False,
        halted="",
        rollout=None,
    )


def pool_detail(
    seen: Snapshot,
    thought: Thought,
    now: datetime,
    machines: Sequence[MachineAnswer],
    besides: tuple[Wait, ...] = (),
) -> PoolDetail:
    """Return a pool in full. machines: as its edge knows them."""
    pool = pool_answer(seen, thought, now, besides)
    plan, record = whole_plan_of(seen, thought, now), record_after(seen, thought)
    document = seen.documents.pool
    versions = versions_of(seen)
    return PoolDetail(
        **pool.parts(),
        document=document,
        base=base_of(document),
        conditions=_status_of(seen, thought).conditions,
        applied=_revision_name(record.applied),
        target=_revision_name(record.target),
        plan=plan,
        machines=tuple(
            machine.but(version=versions.get(machine.revision, "")) for machine in machines
        ),
        verdict=verdict_of(pool, plan, document),
        not_applied=tuple(
            NotApplied(leaf=leaf, why=why)
            for leaf, why in not_applied(seen, record, declared_pool(document)).items()
        ),
        fixes=pool_fixes(seen.machines, seen.fixes, adopt_way(seen.pool)),
        fixes_problem=seen.fixes.problem,
    )


def _status_of(seen: Snapshot, thought: Thought) -> PoolStatus:
    status = thought.status or seen.status
    if status is None:
        raise InvariantError(f"a pass over {seen.pool} writes no status, and there is none")
    return status


def _rollout_answer(record: PoolRecord) -> RolloutAnswer | None:
    if not record.is_rolling:
        return None
    return RolloutAnswer(
        reason=record.reason,
        sentence=record.sentence,
        started_at=record.started_at,
        before=_revision_name(record.applied),
        to=_revision_name(record.target),
        plan=bound_plan_of(record),
    )


def _revision_name(revision: Revision | None) -> RevisionName | None:
    return RevisionName(id=revision.id, version=revision.version) if revision else None


def _held_leaves(record: PoolRecord, thought: Thought) -> tuple[HeldLeaf, ...]:
    """Return the platform changes that the pool holds, each with what it changes."""
    changes = {change.leaf: change for change in _held_back(record, thought)}
    return tuple(_held_leaf(held, changes.get(held.leaf)) for held in record.held)


def _held_back(record: PoolRecord, thought: Thought) -> tuple[LeafChange, ...]:
    # Not of what was decided: an approved rollout leaves out what came later.
    if not record.held or record.target is None or thought.desired is None:
        return ()
    return difference_of(record.target, thought.desired).platform


def _held_leaf(held: HeldChange, change: LeafChange | None) -> HeldLeaf:
    return HeldLeaf(
        id=held.id,
        leaf=held.leaf,
        owner=held.owner,
        severity=held.severity,
        since=held.since,
        before=change.before if change else None,
        after=change.after if change else None,
    )
