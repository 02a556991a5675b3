"""
A pool at one moment: its machines, what they are to become, and what keeps them from it.

The gates of a rollout are here: kill switch, pause, halt, window, and the plan that was shown.
"""

from dataclasses import dataclass
from datetime import datetime

from fairlead.answers.plan import Plan, beyond
from fairlead.answers.wait import Wait
from fairlead.answers.words import Phase, WaitFor
from fairlead.rollout.batch import Allowance, allowance_of
from fairlead.rollout.in_place import degradation_of
from fairlead.rollout.machines import Machine
from fairlead.rollout.policy import Policy
from fairlead.rollout.window import fits, next_start


@dataclass(frozen=True, slots=True, kw_only=True)
class Situation:
    """
    What steps are planned from.

    target: revision id of the template. reason: why machines are replaced. bound: the plan that
    must not be exceeded. is_stopped: the kill switch. halted: why the rollout halted, or ''.
    forgiven: machines whose failure counts no more. is_leaving: the pool was deleted.
    """

    machines: tuple[Machine, ...]
    target: str
    desired: int
    policy: Policy
    now: datetime
    reason: str = ""
    bound: Plan | None = None
    is_stopped: bool = False
    halted: str = ""
    forgiven: tuple[str, ...] = ()
    is_leaving: bool = False


def is_stale(machine: Machine, target: str) -> bool:
    """Say whether a machine that stays has another revision than the target."""
    return machine.revision != target and machine.phase is not Phase.LEAVING


def stale_machines(situation: Situation) -> list[Machine]:
    """Return the machines that a rollout is about."""
    return [machine for machine in situation.machines if is_stale(machine, situation.target)]


def is_rolling(situation: Situation) -> bool:
    """Say whether a machine that stays has another revision than the target."""
    return any(is_stale(machine, situation.target) for machine in situation.machines)


def is_waiting(situation: Situation) -> bool:
    """Say whether owner or platform want nothing applied for now: a pause, or the kill switch."""
    return situation.is_stopped or situation.policy.active_pause(situation.now) is not None


def may_scale(situation: Situation) -> bool:
    """Say whether machines may come and go for other reasons than a rollout."""
    return scales(
        situation.policy,
        situation.now,
        is_stopped=situation.is_stopped,
        is_leaving=situation.is_leaving,
    )


def scales(policy: Policy, now: datetime, *, is_stopped: bool, is_leaving: bool) -> bool:
    """Say whether the number of machines may change: no kill switch, no pause that covers it."""
    pause = policy.active_pause(now)
    is_paused = bool(pause and pause.covers_scaling) and not is_leaving
    return not is_stopped and not is_paused


def gate_waits(situation: Situation) -> tuple[Wait, ...]:
    """Return what keeps machines from being replaced at all: stop, pause, halt, window."""
    policy, now = situation.policy, situation.now
    waits = []
    if situation.is_stopped:
        says = "the kill switch is on: no machine comes or goes"
        waits.append(Wait(wait_for=WaitFor.STOP, says=says))
    if situation.is_leaving:
        return tuple(waits)
    if pause := policy.active_pause(now):
        waits.append(Wait(wait_for=WaitFor.PAUSE, says="the pool is paused", until=pause.until))
    if cause := situation.halted or degradation_of(situation.machines, situation.forgiven):
        waits.append(Wait(wait_for=WaitFor.HALT, says=cause))
    if not fits(policy.windows, now, policy.estimate):
        says = "no window is open long enough to replace a machine"
        waits.append(
            Wait(wait_for=WaitFor.WINDOW, says=says, until=next_start(policy.windows, now))
        )
    return tuple(waits)


def told_gates(situation: Situation) -> tuple[Wait, ...]:
    """Return the gates that are worth a word: a window holds nobody who is not replaced."""
    waits = gate_waits(situation)
    if is_rolling(situation):
        return waits
    return tuple(wait for wait in waits if wait.wait_for is not WaitFor.WINDOW)


def machines_beyond(situation: Situation) -> list[str]:
    """Return the stale machines that the plan which was shown does not hold."""
    if situation.bound is None:
        return []
    return beyond(situation.bound, (machine.name for machine in stale_machines(situation)))


def allowance_now(situation: Situation) -> Allowance:
    """Return how far the present batch goes."""
    return allowance_of(
        situation.machines, situation.target, situation.desired, situation.policy, situation.now
    )
