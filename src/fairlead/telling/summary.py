"""How a pool stands, in one short sentence: the first line of `explain`, and of a screen."""

from datetime import datetime

from fairlead.answers.plan import Plan
from fairlead.answers.pool import PoolAnswer, RolloutAnswer
from fairlead.answers.words import PoolState
from fairlead.telling.counted import counted
from fairlead.telling.spoken_time import age_of


def summary_of(pool: PoolAnswer, plan: Plan, now: datetime) -> str:
    """Return how a pool stands. plan: what the next passes do to it."""
    if pool.rollout:
        return _rolling_summary(pool, pool.rollout, now)
    if plan.disturbed:
        return f"waiting: {counted(len(plan.disturbed))} will be disturbed"
    if pool.held:
        oldest = age_of(min(change.since for change in pool.held), now)
        changes = counted(len(pool.held), "platform change")
        return f"held: {changes}, since {oldest}, no machine will be replaced"
    if pool.state is PoolState.BLOCKED:
        return "blocked: no machine will be replaced"
    if pool.available < pool.desired:
        return f"coming up: {pool.available} of {pool.desired} machines available"
    return "settled: every machine has what is declared, no machine will be replaced"


def _rolling_summary(pool: PoolAnswer, rollout: RolloutAnswer, now: datetime) -> str:
    far = f"{pool.updated} of {pool.desired} machines up to date"
    if pool.halted:
        return f"halted: {far}, no machine will be replaced until it is resumed"
    if pool.is_paused:
        return f"paused: {far}, no machine will be replaced until the pause ends"
    begun = age_of(rollout.started_at, now)
    return f"rolling out: {far}" + (f", since {begun}" if begun else "")
