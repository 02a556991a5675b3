"""How a pool stands, in one short sentence: the first line of `explain`, and of a screen."""

from datetime import datetime

from fairlead.answers.plan import Plan
from fairlead.answers.pool import PoolAnswer
from fairlead.answers.words import GAVE_UP, ChangeClass, PoolState, WaitFor
from fairlead.telling.counted import counted
from fairlead.telling.spoken_time import age_of

# How a rollout is called that a gate holds, and until when nothing is replaced. First the
# weightiest.
HELD_WORDS = {
    WaitFor.STOP: ("stopped", "until the kill switch is off"),
    WaitFor.HALT: ("halted", "until it is resumed"),
    WaitFor.PAUSE: ("paused", "until the pause ends"),
    WaitFor.WINDOW: ("outside its window", "until it opens"),
    WaitFor.PLAN: ("not approved", "until it is planned again"),
    WaitFor.UNSERVED: ("blocked", "until its machines can be served what they boot from"),
}

# What machines would be served is too large.
OF_SIZE = (WaitFor.TOO_LARGE, WaitFor.UNSERVED)


def summary_of(pool: PoolAnswer, plan: Plan, now: datetime) -> str:
    """Return how a pool stands. plan: what the next passes do to it."""
    if plan.change is ChangeClass.DELETE:
        return _leaving_summary(pool)
    if moving := pool.rollout or pool.adoption:
        return _moving_summary(pool, plan, age_of(moving.started_at, now))
    if plan.disturbed:
        many = f"{counted(len(plan.disturbed))} will be disturbed"
        is_missing = any(wait.wait_for is WaitFor.INPUT for wait in pool.waits)
        return f"blocked: {many} once every file is there" if is_missing else f"waiting: {many}"
    if pool.state is PoolState.BLOCKED:
        return _blocked_summary(pool)
    if pool.held:
        oldest = age_of(min(change.since for change in pool.held), now)
        changes = counted(len(pool.held), "platform change")
        return f"held: {changes}, since {oldest}, no machine will be replaced"
    return _resting_summary(pool)


def _leaving_summary(pool: PoolAnswer) -> str:
    told = f"leaving: {counted(pool.total)} left to go"
    is_stopped = any(wait.wait_for is WaitFor.STOP for wait in pool.waits)
    return f"{told}, none goes until the kill switch is off" if is_stopped else told


def _blocked_summary(pool: PoolAnswer) -> str:
    told = (wait.says for wait in pool.waits if wait.wait_for in (*GAVE_UP, *OF_SIZE))
    return f"blocked: {next(told, 'no machine will be replaced')}"


def _resting_summary(pool: PoolAnswer) -> str:
    if pool.available < pool.desired:
        is_stuck = any(wait.machine and not wait.until for wait in pool.waits)
        word = "not settled" if is_stuck else "coming up"
        return f"{word}: {pool.available} of {pool.desired} machines available"
    if pool.total > pool.desired:
        return f"not settled: {counted(pool.total - pool.desired)} more than wanted"
    return "settled: every machine has what is declared, no machine will be replaced"


def _moving_summary(pool: PoolAnswer, plan: Plan, begun: str) -> str:
    word, far = "rolling out", f"{pool.updated} of {pool.desired} machines up to date"
    if pool.adoption and not pool.rollout:
        many = counted(len(pool.adoption.machines))
        left = f"{len(plan.machines)} of {many} without {pool.adoption.fix}"
        word, far = "replacing", f"{left} left to go"
    if pool.state in (PoolState.HELD, PoolState.BLOCKED):
        kinds = {wait.wait_for for wait in pool.waits}
        held = next((words for kind, words in HELD_WORDS.items() if kind in kinds), None)
        if held:
            return f"{held[0]}: {far}, no machine will be replaced {held[1]}"
    return f"{word}: {far}" + (f", since {begun}" if begun else "")
