"""
Edges that replace machines by themselves, as Cluster API does: told by the template alone.

Such an edge is held whenever our own steps would wait, so that windows, halts and batches hold
for it too. It acts between two passes, so a batch may be exceeded by what it starts meanwhile.

What it does not know of is a fix that machines lack. It keeps a number of machines, and makes
another one only once the one before is gone. So it is told to have more than are wanted, as far as
the surge goes; then one that lacks the fix is removed, and it makes another; or, where none is to
take its place, the machine is marked to go first and the edge is told of one fewer. It is never
told of fewer in a pass that removes one: it would choose another.
"""

from dataclasses import dataclass, replace

from fairlead.answers.wait import Wait
from fairlead.answers.words import Strategy, WaitFor
from fairlead.rollout.leave import REASON
from fairlead.rollout.machines import Machine, Template, in_turn
from fairlead.rollout.plan import (
    SCALED_DOWN,
    MachinePlan,
    machines_after,
    replacements,
    retries,
    rollout_waits,
)
from fairlead.rollout.policy import Policy
from fairlead.rollout.progress import machine_waits
from fairlead.rollout.repair import repair_waits
from fairlead.rollout.situation import (
    Situation,
    allowance_now,
    gate_waits,
    is_fresh,
    machines_beyond,
    may_replace,
    may_scale,
    stale_machines,
    told_gates,
)
from fairlead.rollout.step import MarkMachine, RemoveMachine


@dataclass(frozen=True, slots=True)
class FixTurn:
    """What comes next. surge: machines beyond the wanted number that the edge is to have."""

    surge: int
    steps: tuple[RemoveMachine | MarkMachine, ...] = ()


def is_held(situation: Situation) -> bool:
    """Say whether the edge must not replace machines for now, or remove those of a deleted pool."""
    if situation.is_leaving:
        return situation.is_stopped
    if not _is_told_anew(situation):
        return False
    if situation.policy.strategy is Strategy.ON_DELETE:
        # It replaces nobody by itself. Held, Cluster API makes no machine in the place of one that
        # its owner deletes: the set of before may make none, and the new one waits.
        return situation.is_stopped
    begun = sum(
        machine.revision == situation.target and not machine.is_leaving
        for machine in situation.machines
    )
    allowance = allowance_now(situation)
    # Held after the last batch, an edge could not take the last stale machines away.
    is_full = allowance.wait is not None and begun >= allowance.machines
    return bool(gate_waits(situation) or machines_beyond(situation)) or is_full


def _is_told_anew(situation: Situation) -> bool:
    """Say whether a machine stays that the edge replaces by itself: one of another revision."""
    return any(
        machine.revision != situation.target and not machine.is_leaving
        for machine in situation.machines
    )


def watch_edge(situation: Situation, told: Template | None) -> MachinePlan:
    """Return what is waited for, and the steps for a fix if any is wanted. told: see fix_turn."""
    steps = () if situation.is_leaving else fix_turn(situation, told).steps
    situation = _with_machines(situation, machines_after(situation, steps))
    waits = [*told_gates(situation), *repair_waits(situation)]
    if situation.is_leaving:
        if not situation.is_stopped:
            waits.append(Wait(wait_for=WaitFor.EDGE, says="its edge removes the machines"))
    elif _is_told_anew(situation):
        # Budgets are the edge's to keep; all else is said as if the steps were ours.
        found = rollout_waits(situation)
        waits += [wait for wait in found if wait.wait_for is not WaitFor.BUDGET]
        waits_for_owner = situation.policy.strategy is Strategy.ON_DELETE
        if not (waits_for_owner or is_held(situation)):
            waits.append(Wait(wait_for=WaitFor.EDGE, says="its edge replaces the machines"))
    elif not no_way_to_replace(situation.policy, situation.desired):
        waits += rollout_waits(situation)
    waits += machine_waits(situation.machines, situation.policy, situation.now)
    after = tuple(_with_reason(machine, situation) for machine in situation.machines)
    return MachinePlan(steps, _with_machines(situation, after), tuple(waits))


def _with_machines(situation: Situation, machines: tuple[Machine, ...]) -> Situation:
    # Of most passes they are the very same: thirty fields are not copied for that.
    return situation if machines == situation.machines else replace(situation, machines=machines)


def _with_reason(machine: Machine, situation: Situation) -> Machine:
    if not machine.is_leaving or machine.reason:
        return machine
    if situation.is_leaving:
        return replace(machine, reason=REASON)
    is_stale = machine.revision != situation.target
    return replace(machine, reason=situation.reason if is_stale else "its edge removes it")


def fix_turn(situation: Situation, told: Template | None) -> FixTurn:
    """Return what comes next. told: the template as the edge knows it."""
    if not may_scale(situation):
        return FixTurn(told.surge if told else 0)
    if told is None or not situation.lacking:
        return FixTurn(0)
    if situation.desired < told.replicas:
        return _scaled_down(situation, told)
    staying = [machine for machine in situation.machines if not machine.is_leaving]
    if forgiven := retries(situation, staying):
        return FixTurn(told.surge, tuple(forgiven))
    # What the edge has still to remove is removed before anything else is.
    is_behind = len(staying) > told.replicas + told.surge
    leaving = [] if is_behind else _leaving(situation, staying)
    if not leaving:
        level, may_grow = _level(situation, 0), may_replace(situation) and not is_behind
        return FixTurn(level if may_grow else min(told.surge, level))
    return _replaced(situation, leaving, told.surge)


def _replaced(situation: Situation, leaving: list[RemoveMachine], surge: int) -> FixTurn:
    """Return who is removed, and another one made; or if none is to be, who is marked."""
    levels = (_level(situation, count) for count in range(1, len(leaving) + 1))
    count = sum(level >= surge for level in levels)
    if count:
        return FixTurn(_level(situation, count), tuple(leaving[:count]))
    fewer = min(len(leaving), surge - _level(situation, len(leaving)))
    known = {machine.name for machine in situation.machines if machine.goes_first}
    marks = tuple(
        MarkMachine(step.machine, step.reason, step.asked_by)
        for step in leaving[:fewer]
        if step.machine not in known
    )
    return FixTurn(surge - fewer, marks)


def _scaled_down(situation: Situation, told: Template) -> FixTurn:
    """Return that of those who lack the fix as many leave as there are to be fewer."""
    surge = min(told.surge, _level(situation, 0))
    fewer = told.replicas + told.surge - situation.desired - surge
    marks = tuple(
        MarkMachine(machine.name, SCALED_DOWN, situation.declared_by)
        for machine in in_turn(stale_machines(situation))[:fewer]
        if not machine.goes_first
    )
    return FixTurn(surge, marks)


def no_way_to_replace(policy: Policy, desired: int) -> str:
    """Return why nobody can be replaced for a fix here without exceeding the budgets, or ''."""
    is_ours = policy.autoscaling is None or policy.strategy is not Strategy.ROLLING
    if is_ours or policy.unavailable(desired):
        return ""
    return "an autoscaler says how many machines there are, and management.maxUnavailable is 0"


def _leaving(situation: Situation, staying: list[Machine]) -> list[RemoveMachine]:
    """Return who may leave now: as on every edge, so the budgets are the same."""
    is_ours = situation.policy.strategy is Strategy.ROLLING
    return replacements(situation, staying) if is_ours and may_replace(situation) else []


def _level(situation: Situation, fewer: int) -> int:
    """Return the surge once so many fewer lack the fix: what budget and batch have room for."""
    policy, desired = situation.policy, situation.desired
    if policy.strategy is not Strategy.ROLLING or policy.autoscaling is not None:
        return 0  # nobody is replaced, or the number is not ours to say
    lacking = len(stale_machines(situation)) - fewer
    fresh = sum(is_fresh(machine, situation) for machine in situation.machines)
    room = lacking + max(allowance_now(situation).machines, fresh) - desired
    return max(min(policy.surge(desired), lacking, room), 0)
