"""
Batches: how many machines may have the target by now, and since when the last batch holds.

Nothing is remembered: the moments at which machines became ready say which batch has held long
enough. After the last batch that the owner listed, the budgets alone decide. Where a pool soaks and
lists no batch, each is what the budgets let go at once, and every one but the last soaks.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from datetime import datetime
from itertools import repeat

from fairlead.answers.wait import Wait
from fairlead.answers.words import WaitFor
from fairlead.rollout.machines import Machine
from fairlead.rollout.policy import Policy


@dataclass(frozen=True, slots=True)
class Allowance:
    """How many machines may have the target, and what the next batch waits for, if anything."""

    machines: int
    wait: Wait | None = None


def allowance_of(
    fresh: Iterable[Machine], desired: int, policy: Policy, now: datetime
) -> Allowance:
    """Return how far a rollout may go at this moment. fresh: those not to be replaced."""
    ready = sorted(
        machine.ready_at for machine in fresh if machine.is_available and machine.ready_at
    )
    reached = 0
    for number, size in enumerate(_sizes(desired, policy), start=1):
        reached = min(reached + size, desired)
        if reached == desired:
            break
        if wait := _batch_wait(number, reached, ready, policy, now):
            return Allowance(reached, wait)
    return Allowance(desired)


def _sizes(desired: int, policy: Policy) -> Iterator[int]:
    if policy.canary:
        yield from (max(size.rounded_up(desired), 1) for size in policy.canary)
    elif policy.soak:
        yield from repeat(max(policy.surge(desired) + policy.unavailable(desired), 1))


def _batch_wait(
    number: int, reached: int, ready: list[datetime], policy: Policy, now: datetime
) -> Wait | None:
    if len(ready) < reached:
        says = f"batch {number}: {len(ready)} of {reached} machines are ready"
        return Wait(wait_for=WaitFor.SOAK, says=says)
    holds_until = ready[reached - 1] + policy.soak
    if holds_until > now:
        says = f"batch {number} soaks"
        return Wait(wait_for=WaitFor.SOAK, says=says, until=holds_until)
    return None
