"""
From a decision to a target: may it become one now, and what was shown for it.

This is the only place where a target is set. A target that goes back to what every machine had
is that very revision again, so that its secrets come back to life.
"""

from dataclasses import replace
from typing import assert_never

from fairlead.answers.plan import Plan, exceeds
from fairlead.answers.wait import Wait
from fairlead.answers.words import ChangeClass, Strategy, WaitFor
from fairlead.decision.decision import (
    Adopt,
    Decision,
    DeletePool,
    HoldPlatformChange,
    Keep,
    Overdue,
    ReplaceMachines,
    Unknown,
)
from fairlead.decision.explain import explain, reason_text
from fairlead.revision.revision import Revision, means_the_same
from fairlead.rollout.approval import Approval
from fairlead.rollout.leave import farewell_plan_of
from fairlead.rollout.plan import rollout_plan_of
from fairlead.rollout.record import MOST_HONOURED, PoolRecord
from fairlead.rollout.situation import Situation, gate_waits

NEW_POOL = "the pool is new"

# What keeps a pool without machines from taking a revision: it disturbs nobody, so no window.
ADOPTION_GATES = (WaitFor.STOP, WaitFor.PAUSE)

# What a further target may mend: a halt, or a machine that failed on the way; a target that no
# machine can be served.
MENDED = (WaitFor.HALT, WaitFor.UNSERVED)


def start(
    decision: Decision, record: PoolRecord, situation: Situation, approved: Approval | None
) -> tuple[PoolRecord, Plan]:
    """
    Return the record, with a further target if one could be set, and what a rollout would do.

    approved: the plan that holds for what is wanted; a rollout that exceeds it does not start.

    The record is another one only if a target was set; the plan says what it waits for if not.
    The halt of an earlier target does not hold this one.
    """
    match decision:
        case Keep() | HoldPlatformChange() | Unknown():
            return record, record.plan or _nothing(record, decision)
        case DeletePool():
            return record, farewell_plan_of(_nothing(record, decision), situation.machines)
        case Adopt():
            return _adopted(decision, record, situation)
        case ReplaceMachines():
            return _replaced(decision, record, situation, approved)
        case _:
            assert_never(decision)


def _adopted(decision: Adopt, record: PoolRecord, situation: Situation) -> tuple[PoolRecord, Plan]:
    waits = tuple(wait for wait in gate_waits(situation) if wait.wait_for in ADOPTION_GATES)
    target = _target_of(decision.wanted, record)
    shown = _nothing(record, decision).but(intent_hash=target.intent_hash, waits=waits)
    if waits:
        return record, shown
    told = replace(
        _with_target(record, target, situation),
        reason=NEW_POOL if decision.is_new else "no machine runs",
        sentence=explain(decision),
        asked_by=situation.declared_by,
    )
    return told, shown


def _replaced(
    decision: ReplaceMachines, record: PoolRecord, situation: Situation, approved: Approval | None
) -> tuple[PoolRecord, Plan]:
    target = _target_of(decision.wanted, record)
    shown = rollout_plan_of(
        replace(situation, target=target.id),
        Plan(
            pool=record.pool,
            change=ChangeClass.NONE,
            because=reason_text(decision.because),
            intent_hash=target.intent_hash,
            platform_hash=target.platform_hash,
            target=target.id,
        ),
    )
    waits = tuple(wait for wait in gate_waits(situation) if wait.wait_for not in MENDED)
    if approved and (excess := exceeds(shown, approved)):
        waits = (*waits, Wait(wait_for=WaitFor.PLAN, says=f"{excess}; plan again"))
    if waits:
        return record, shown.but(waits=waits)
    begun = _with_target(record, target, situation)
    # What waited for too long is rolled out by a limit, not by a wish.
    asked_by = "" if isinstance(decision.because, Overdue) else situation.declared_by
    begun = replace(begun, reason=shown.because, asked_by=asked_by, plan=shown)
    in_place = situation.policy.strategy is Strategy.IN_PLACE
    return replace(begun, sentence=explain(decision, in_place=in_place)), shown


def _with_target(record: PoolRecord, target: Revision, situation: Situation) -> PoolRecord:
    honoured = record.honoured
    if target.force and target.force not in honoured:
        honoured = (*honoured, target.force)[-MOST_HONOURED:]
    return replace(
        record,
        target=target,
        started_at=situation.now,
        honoured=honoured,
        failed=(),
        halted="",
        forgiven=(),
        plan=None,
        repaired=(),
        repairing_since=None,
    )


def _target_of(wanted: Revision, record: PoolRecord) -> Revision:
    applied = record.applied
    if applied and means_the_same(applied, wanted) and applied.force == wanted.force:
        return applied
    return wanted


def _nothing(record: PoolRecord, decision: Decision) -> Plan:
    target = record.target
    return Plan(
        pool=record.pool,
        change=ChangeClass.NONE,
        because=explain(decision),
        intent_hash=target.intent_hash if target else "",
        platform_hash=target.platform_hash if target else "",
    )
