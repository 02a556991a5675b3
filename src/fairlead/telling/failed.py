"""A pool that cannot be thought about, as it is told: what is known of it, why, and the way out."""

from datetime import datetime

from fairlead.answers.document import Json
from fairlead.answers.machine import MachineAnswer
from fairlead.answers.pool import Condition, PoolAnswer, PoolDetail, PoolStatus, Verdict
from fairlead.answers.wait import Wait
from fairlead.answers.words import PoolState, Strategy, WaitFor
from fairlead.controller.attempt import Failed
from fairlead.proposal.propose import failed_plan
from fairlead.telling.summary import summary_of

CONDITION = "ReconciliationActive"
COMMAND = "fairlead apply -f FILE with another document, or fairlead pool delete {pool}"


def failed_answer(
    pool: str, failed: Failed, status: PoolStatus | None, now: datetime, besides: tuple[Wait, ...]
) -> PoolAnswer:
    """Return a pool in short. status: as it was written last. besides: why its last pass failed."""
    plan = failed_plan(pool, failed)
    told = PoolAnswer(
        name=pool,
        state=PoolState.BLOCKED,
        sentence=_sentence(pool, failed),
        version=status.version if status else "",
        desired=status.desired if status else 0,
        updated=status.updated if status else 0,
        available=status.available if status else 0,
        total=status.total if status else 0,
        summary="",
        held=(),
        waits=besides or plan.waits,
        strategy=Strategy.ROLLING,
        is_paused=False,
        halted="",
        rollout=None,
    )
    return told.but(summary=summary_of(told, plan, now))


def failed_detail(
    pool: PoolAnswer,
    failed: Failed,
    conditions: tuple[Condition, ...],
    document: Json,
    machines: tuple[MachineAnswer, ...],
) -> PoolDetail:
    """Return a pool in full. conditions: with that of a pool that cannot be thought about."""
    command = COMMAND.format(pool=pool.name)
    return PoolDetail(
        **pool.parts(),
        document=document,
        conditions=conditions,
        applied=None,
        target=None,
        plan=failed_plan(pool.name, failed),
        machines=machines,
        verdict=Verdict(is_complete=False, needs=failed.says, command=command),
    )


def failed_conditions(
    pool: str, failed: Failed, status: PoolStatus | None, now: datetime
) -> tuple[Condition, ...]:
    """Return the conditions as they were written last, and that nothing is done now."""
    known = {condition.type: condition for condition in (status.conditions if status else ())}
    before = known.get(CONDITION)
    is_same = before is not None and before.status == "False"
    known[CONDITION] = Condition(
        type=CONDITION,
        status="False",
        reason=WaitFor.RETRY.value,
        message=_sentence(pool, failed),
        since=before.since if before and is_same else now,
    )
    return tuple(known[kind] for kind in sorted(known))


def _sentence(pool: str, failed: Failed) -> str:
    command = COMMAND.format(pool=pool)
    return f"No machine is made or replaced: {failed.says}. It is tried again; else: {command}."
