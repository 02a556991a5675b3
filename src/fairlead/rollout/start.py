"""
From a decision to a target: may it become one now, and what was shown for it.

This is the only place where a target is set. A target that goes back to what every machine had
is that very revision again, so that its secrets come back to life.
"""

from dataclasses import dataclass, replace
from typing import assert_never

from fairlead.decision.decision import (
    Adopt,
    ChangedIntent,
    Decision,
    DeletePool,
    Forced,
    HoldPlatformChange,
    Keep,
    Overdue,
    Reason,
    ReplaceMachines,
    Unknown,
)
from fairlead.decision.explain import explain, reason_text
from fairlead.revision.revision import Revision, means_the_same
from fairlead.rollout.leave import farewell_plan_of
from fairlead.rollout.plan import Situation, gate_waits, rollout_plan_of
from fairlead.rollout.record import MOST_HONOURED, ChangeClass, PoolRecord, RolloutPlan
from fairlead.rollout.wait import Wait, WaitFor

NEW_POOL = "the pool is new"

# What keeps a pool without machines from taking a revision: it disturbs nobody, so no window.
ADOPTION_GATES = (WaitFor.STOP, WaitFor.PAUSE)


@dataclass(frozen=True, slots=True, kw_only=True)
class Start:
    """The record, with a further target if one could be set, and what it waits for if not."""

    record: PoolRecord
    shown: RolloutPlan
    is_started: bool = False
    waits: tuple[Wait, ...] = ()


def start(
    decision: Decision,
    record: PoolRecord,
    situation: Situation,
    approved: RolloutPlan | None,
) -> Start:
    """Return what becomes of the record. The halt of an earlier target does not hold this one."""
    match decision:
        case Keep() | HoldPlatformChange() | Unknown():
            return Start(record=record, shown=record.plan or _nothing(record, decision))
        case DeletePool():
            shown = farewell_plan_of(_nothing(record, decision), situation.machines)
            return Start(record=record, shown=shown)
        case Adopt():
            return _adopted(decision, record, situation)
        case ReplaceMachines():
            return _replaced(decision, record, situation, approved)
        case _:
            assert_never(decision)


def _adopted(decision: Adopt, record: PoolRecord, situation: Situation) -> Start:
    waits = tuple(wait for wait in gate_waits(situation) if wait.wait_for in ADOPTION_GATES)
    target = _target_of(decision.wanted, record)
    shown = replace(_nothing(record, decision), intent_hash=target.intent_hash)
    if waits:
        return Start(record=record, shown=shown, waits=waits)
    told = replace(
        _with_target(record, target, situation),
        reason=NEW_POOL if decision.is_new else "no machine runs",
        sentence=explain(decision),
    )
    return Start(record=told, shown=shown, is_started=True)


def _replaced(
    decision: ReplaceMachines,
    record: PoolRecord,
    situation: Situation,
    approved: RolloutPlan | None,
) -> Start:
    target = _target_of(decision.wanted, record)
    shown = rollout_plan_of(
        replace(situation, target=target.id),
        RolloutPlan(
            pool=record.pool,
            change=ChangeClass.NONE,
            intent_hash=target.intent_hash,
            platform_hash=target.platform_hash,
            because=explain(decision),
            leaves=_leaves_of(decision.because),
            target=target.id,
        ),
    )
    # A halt, or a machine that failed on the way, is what a further target may mend.
    waits = tuple(wait for wait in gate_waits(situation) if wait.wait_for is not WaitFor.HALT)
    if approved and (excess := _excess(shown, approved, record)):
        waits = (*waits, Wait(wait_for=WaitFor.PLAN, says=excess))
    if waits:
        return Start(record=record, shown=shown, waits=waits)
    told = replace(
        _with_target(record, target, situation),
        reason=reason_text(decision.because),
        sentence=explain(decision),
        plan=shown,
    )
    return Start(record=told, shown=shown, is_started=True)


def _with_target(record: PoolRecord, target: Revision, situation: Situation) -> PoolRecord:
    honoured = record.honoured
    if target.force and target.force not in honoured:
        honoured = (*honoured, target.force)[-MOST_HONOURED:]
    return replace(
        record,
        target=target,
        started_at=situation.now,
        honoured=honoured,
        held=(),
        failed=(),
        halted="",
        forgiven=(),
        plan=None,
    )


def _target_of(wanted: Revision, record: PoolRecord) -> Revision:
    applied = record.applied
    if applied and means_the_same(applied, wanted) and applied.force == wanted.force:
        return applied
    return wanted


def _excess(shown: RolloutPlan, approved: RolloutPlan, record: PoolRecord) -> str:
    """Say how a plan exceeds the one that was approved for the same intent, or ''."""
    if record.target and approved.target == record.target.id:
        return ""  # it was carried out; what follows it, by a limit of the owner's, is not its
    if approved.intent_hash != shown.intent_hash:
        return ""  # approved for something else, and so no promise about this
    if approved.platform_hash != shown.platform_hash:
        return "platform inputs changed since the plan was shown; plan again"
    extra = sorted(set(shown.machines) - set(approved.machines))
    if extra:
        return f"the plan that was shown does not hold {', '.join(extra[:3])}; plan again"
    return ""


def _leaves_of(reason: Reason) -> tuple[str, ...]:
    match reason:
        case ChangedIntent():
            return tuple(change.leaf for change in reason.changes)
        case Overdue():
            return tuple(held.leaf for held in reason.held)
        case Forced():
            return ()
        case _:
            assert_never(reason)


def _nothing(record: PoolRecord, decision: Decision) -> RolloutPlan:
    target = record.target
    return RolloutPlan(
        pool=record.pool,
        change=ChangeClass.NONE,
        intent_hash=target.intent_hash if target else "",
        platform_hash=target.platform_hash if target else "",
        because=explain(decision),
    )
