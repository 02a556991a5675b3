"""
A pool at one moment: its machines, what they are to become, and what keeps them from it.

The gates of a rollout are here: kill switch, pause, halt, window, the plan that was shown, and the
plan that a newer intent still lacks.
"""

from dataclasses import dataclass
from datetime import datetime

from fairlead.answers.fix import Adoption
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

    target: revision id of the template; applied: of the one before it. reason: why machines are
    replaced. asked_by: who asked for the target; declared_by: who asked for what is declared now.
    bound: the plan that must not be exceeded. unagreed: what a newer intent of the owner waits for,
    until they plan again. is_stopped: the kill switch. halted: why the rollout halted, or ''.
    unserved: why no machine can be served what it boots from, or ''. forgiven: machines whose
    failure counts no more. is_leaving: the pool was deleted. edge_makes: the edge makes as many
    machines as are wanted, and removes the others.
    lacking: machines that are replaced although they have the target, since they lack a fix;
    adoption: on whose request. is_blind: what is published cannot be read. repaired: machines that
    were repaired in a row, the first at repairing_since, while none came up.
    """

    machines: tuple[Machine, ...]
    target: str
    desired: int
    policy: Policy
    now: datetime
    applied: str = ""
    reason: str = ""
    asked_by: str = ""
    declared_by: str = ""
    bound: Plan | None = None
    unagreed: tuple[Wait, ...] = ()
    is_stopped: bool = False
    halted: str = ""
    unserved: str = ""
    forgiven: tuple[str, ...] = ()
    is_leaving: bool = False
    edge_makes: bool = False
    lacking: frozenset[str] = frozenset()
    adoption: Adoption | None = None
    is_blind: bool = False
    repaired: tuple[str, ...] = ()
    repairing_since: datetime | None = None


def is_stale(machine: Machine, situation: Situation) -> bool:
    """Say whether a machine stays that is to be replaced: by its revision, or for want of a fix."""
    if machine.phase is Phase.LEAVING:
        return False
    return machine.revision != situation.target or machine.name in situation.lacking


def is_fresh(machine: Machine, situation: Situation) -> bool:
    """Say whether a machine that stays is what it should be, once it is ready."""
    return not machine.is_leaving and not is_stale(machine, situation)


def stale_machines(situation: Situation) -> list[Machine]:
    """Return the machines that a rollout is about."""
    return [machine for machine in situation.machines if is_stale(machine, situation)]


def is_rolling(situation: Situation) -> bool:
    """Say whether a machine that stays is to be replaced."""
    return any(is_stale(machine, situation) for machine in situation.machines)


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
    """
    Return what keeps machines from being replaced at all.

    Stop, pause, halt, window; that no machine would come up in the place of another; and that the
    owner asked for something else meanwhile, which must be shown first: nobody wants the target any
    more.
    """
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
    if situation.unserved:
        waits.append(Wait(wait_for=WaitFor.UNSERVED, says=situation.unserved))
    if not fits(policy.windows, now, policy.estimate):
        says = "no window is open long enough to replace a machine"
        waits.append(
            Wait(wait_for=WaitFor.WINDOW, says=says, until=next_start(policy.windows, now))
        )
    return (*waits, *situation.unagreed)


def told_gates(situation: Situation) -> tuple[Wait, ...]:
    """Return the gates that are worth a word: a window holds nobody who is not replaced."""
    waits = gate_waits(situation)
    if is_rolling(situation):
        return waits
    return tuple(wait for wait in waits if wait.wait_for is not WaitFor.WINDOW)


def may_replace(situation: Situation) -> bool:
    """Say whether machines may be replaced at this moment, as far as budgets and batches let."""
    is_blind = situation.is_blind and bool(situation.lacking)
    return not (is_blind or gate_waits(situation) or machines_beyond(situation))


def machines_beyond(situation: Situation) -> list[str]:
    """Return the stale machines that the plan which was shown does not hold."""
    if situation.bound is None:
        return []
    stale = stale_machines(situation)
    # Those that lack a fix were shown with the request for it.
    others = (
        one.name
        for one in stale
        if one.revision != situation.target and not _is_of_the_way(one, situation)
    )
    return beyond(situation.bound, others)


def _is_of_the_way(machine: Machine, situation: Situation) -> bool:
    """
    Say whether an edge made a machine for a target that was superseded meanwhile.

    It may come a moment after the plan for the next target was made, which holds all others.
    """
    return situation.edge_makes and machine.revision not in ("", situation.applied)


def allowance_now(situation: Situation) -> Allowance:
    """Return how far the present batch goes."""
    fresh = [machine for machine in situation.machines if is_fresh(machine, situation)]
    return allowance_of(fresh, situation.desired, situation.policy, situation.now)
