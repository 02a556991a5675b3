"""
Machines and policy to the next steps, or why there are none. Pure.

Our own steps keep the budgets at every instant: no available machine is removed unless enough
stay available, and none is created above the surge. What fails or is asked for in between may
exceed them; then nothing is removed until machines are back.
"""

import math
from collections.abc import Iterable
from dataclasses import dataclass, replace
from datetime import timedelta
from typing import assert_never

from fairlead.answers.plan import Plan, named
from fairlead.answers.wait import Wait
from fairlead.answers.words import ChangeClass, Phase, Strategy, WaitFor
from fairlead.rollout.adoption import reason_for
from fairlead.rollout.in_place import change_steps
from fairlead.rollout.leave import farewell_steps
from fairlead.rollout.machines import Machine, in_turn
from fairlead.rollout.policy import Policy
from fairlead.rollout.progress import failure_of, machine_waits
from fairlead.rollout.repair import after_repairs, repair_steps, repair_waits
from fairlead.rollout.situation import (
    Situation,
    allowance_now,
    gate_waits,
    is_fresh,
    is_rolling,
    is_stale,
    machines_beyond,
    may_replace,
    may_scale,
    stale_machines,
    told_gates,
)
from fairlead.rollout.step import ChangeMachine, CreateMachine, MarkMachine, RemoveMachine

SCALED_DOWN = "the pool was scaled down"
SUPERSEDED = "its target was superseded, and the pool has machines enough"

MachineChange = CreateMachine | RemoveMachine | ChangeMachine | MarkMachine


@dataclass(frozen=True, slots=True)
class MachinePlan:
    """The next steps on machines, the situation once they are taken, and what is waited for."""

    steps: tuple[MachineChange, ...]
    situation: Situation
    waits: tuple[Wait, ...]

    @property
    def after(self) -> tuple[Machine, ...]:
        """Return the machines once the steps are taken."""
        return self.situation.machines


def plan_machines(situation: Situation) -> MachinePlan:
    """
    Return the next steps that keep the pool within its policy.

    Planning again after they are taken gives none, as long as no machine changes by itself.
    """
    if situation.is_leaving:
        return _farewell(situation)
    steps: list[MachineChange] = []
    present = situation
    while found := _next_steps(present):
        steps += found
        present = replace(present, machines=machines_after(present, found))
        present = after_repairs(present, found)
    waits = (*told_gates(present), *repair_waits(present), *rollout_waits(present))
    waits += machine_waits(present.machines, present.policy, present.now)
    return MachinePlan(tuple(steps), present, waits)


def _farewell(situation: Situation) -> MachinePlan:
    steps = (
        () if situation.is_stopped else farewell_steps(situation.machines, situation.declared_by)
    )
    after = machines_after(situation, steps)
    waits = gate_waits(situation) + machine_waits(after, situation.policy, situation.now)
    return MachinePlan(steps, replace(situation, machines=after), waits)


def machines_after(situation: Situation, steps: Iterable[MachineChange]) -> tuple[Machine, ...]:
    """Return the machines as they are right after these steps were taken."""
    machines = {machine.name: machine for machine in situation.machines}
    for step in steps:
        match step:
            case CreateMachine():
                name = f"(machine {len(machines) + 1})"
                machines[name] = Machine(
                    name=name,
                    pool="",
                    revision=step.revision,
                    phase=Phase.BOOTING,
                    created_at=situation.now,
                )
            case RemoveMachine():
                leaving = replace(machines[step.machine], phase=Phase.LEAVING, reason=step.reason)
                machines[step.machine] = replace(
                    leaving, since=situation.now, asked_by=step.asked_by
                )
            case ChangeMachine():
                changing = replace(machines[step.machine], heading_for=step.revision)
                machines[step.machine] = replace(changing, since=situation.now)
            case MarkMachine():
                machines[step.machine] = replace(machines[step.machine], goes_first=True)
            case _:
                assert_never(step)
    return tuple(machines.values())


def _next_steps(situation: Situation) -> list[MachineChange]:
    staying = [machine for machine in situation.machines if not machine.is_leaving]
    if may_scale(situation):
        leaving: dict[str, MachineChange] = {}
        for reasons in (_surplus, retries, repair_steps):
            for step in reasons(situation, staying):
                leaving.setdefault(step.machine, step)
        if leaving:
            return [*leaving.values()]
        if missing := _creates(situation):
            return [*missing]
    if not is_rolling(situation) or not may_replace(situation):
        return []
    return _replace(situation, staying)


def rollout_plan_of(situation: Situation, shown: Plan) -> Plan:
    """Return the plan with the machines it disturbs, in order, and how long it takes."""
    policy = situation.policy
    stale = in_turn(stale_machines(situation))
    if not stale:
        return shown
    in_place = policy.strategy is Strategy.IN_PLACE
    return shown.but(
        change=ChangeClass.IN_PLACE if in_place else ChangeClass.REPLACE,
        machines=tuple(machine.name for machine in stale),
        # Those beyond the wanted number leave at once, and nobody takes their place.
        estimate_s=_estimate(
            min(len(stale), situation.desired), situation.desired, policy
        ).total_seconds(),
    )


def _estimate(count: int, desired: int, policy: Policy) -> timedelta:
    at_once = max(policy.surge(desired) + policy.unavailable(desired), 1)
    turns = math.ceil(count / at_once)
    soaks = len(policy.canary) or max(turns - 1, 0)
    return policy.estimate * turns + policy.soak * soaks


def _creates(situation: Situation) -> list[CreateMachine]:
    if situation.edge_makes:
        return []
    total, desired = len(situation.machines), situation.desired
    room = desired + situation.policy.surge(desired) - total
    # One that leaves is made good at once where the surge has room: its drain may never end.
    staying = sum(not machine.is_leaving for machine in situation.machines)
    missing = min(desired - staying, room)
    rolls = is_rolling(situation) and situation.policy.strategy is Strategy.ROLLING
    if rolls and may_replace(situation):
        updated = sum(is_fresh(machine, situation) for machine in situation.machines)
        missing = max(missing, min(room, allowance_now(situation).machines - updated))
    return [CreateMachine(situation.target)] * max(missing, 0)


def _surplus(situation: Situation, staying: list[Machine]) -> list[RemoveMachine]:
    desired = situation.desired
    stale = [machine for machine in staying if is_stale(machine, situation)]
    # While a rollout is under way the surge is its to use, also when it is held.
    spare = situation.policy.surge(desired) if stale else 0
    count = max(len(staying) - desired - spare, len(stale) - desired)
    if count <= 0 or situation.edge_makes:
        return []

    def order(machine: Machine) -> tuple[bool, bool, float, str]:
        # What serves least goes first; of equals the youngest, which carries the least.
        is_current = is_fresh(machine, situation)
        return machine.is_available, is_current, -machine.created_at.timestamp(), machine.name

    # Nothing takes the place of stale machines beyond the wanted number, so they are not replaced.
    first = sorted(stale, key=order)[: max(len(stale) - desired, 0)]
    names = {machine.name for machine in first}
    others = sorted((machine for machine in staying if machine.name not in names), key=order)
    leaving = first + others[: count - len(first)]
    reason, asked_by = _why_surplus(situation, staying)
    return [RemoveMachine(machine.name, reason, asked_by) for machine in leaving]


def _why_surplus(situation: Situation, staying: list[Machine]) -> tuple[str, str]:
    """Return why there are too many machines, and who asked for it."""
    known = (situation.target, situation.applied)
    if sum(machine.revision in known for machine in staying) > situation.desired:
        return SCALED_DOWN, situation.declared_by
    return SUPERSEDED, situation.asked_by


def retries(situation: Situation, staying: list[Machine]) -> list[RemoveMachine]:
    """Return the steps that take away what failed before the owner let a rollout go on."""
    return [
        RemoveMachine(
            machine.name, f"the rollout was resumed after: {failure}", situation.declared_by
        )
        for machine in staying
        if machine.name in situation.forgiven
        and (failure := failure_of(machine, situation.policy, situation.now))
    ]


def _replace(situation: Situation, staying: list[Machine]) -> list[MachineChange]:
    policy = situation.policy
    if policy.strategy is Strategy.ON_DELETE:
        return []
    if policy.strategy is Strategy.IN_PLACE:
        unavailable = policy.unavailable(situation.desired)
        least, allowed = situation.desired - unavailable, allowance_now(situation).machines
        return [*change_steps(tuple(staying), situation.target, least, unavailable, allowed)]
    return [*replacements(situation, staying)]


def rollout_waits(situation: Situation) -> list[Wait]:
    """Return what a rollout waits for that may replace machines, beside the machines."""
    if not is_rolling(situation):
        return []
    if beyond := machines_beyond(situation):
        says = f"the plan that was shown does not hold {named(beyond)}"
        return [Wait(wait_for=WaitFor.PLAN, says=says)]
    if situation.is_blind and situation.lacking:
        return []
    stale = stale_machines(situation)
    if situation.policy.strategy is Strategy.ON_DELETE:
        says = f"{counted(len(stale))} to be deleted by the pool's owner"
        return [Wait(wait_for=WaitFor.OWNER, says=says)]
    if wait := allowance_now(situation).wait:
        return [wait]
    says = f"{counted(len(stale))} for {'its' if len(stale) == 1 else 'their'} turn"
    return [Wait(wait_for=WaitFor.BUDGET, says=says)]


def counted(machines: int) -> str:
    """Return so many machines, waiting."""
    return "1 machine waits" if machines == 1 else f"{machines} machines wait"


def replacements(situation: Situation, staying: list[Machine]) -> list[RemoveMachine]:
    """Return the steps that take away what may be replaced now, within budgets and batches."""
    desired, allowed = situation.desired, allowance_now(situation).machines
    stale = [machine for machine in staying if is_stale(machine, situation)]
    # Machines beyond the present batch keep their place.
    most = len(stale) - max(desired - allowed, 0)
    idle = [machine for machine in stale if not machine.is_available]
    serving = [machine for machine in stale if machine.is_available]
    available = sum(machine.is_available for machine in staying)
    spare = available - (desired - situation.policy.unavailable(desired))
    leaving = [*in_turn(idle), *in_turn(serving)[: max(spare, 0)]][: max(most, 0)]
    return [_replacement(situation, machine) for machine in leaving]


def _replacement(situation: Situation, machine: Machine) -> RemoveMachine:
    adoption = situation.adoption
    if adoption and machine.revision == situation.target:
        return RemoveMachine(machine.name, reason_for(adoption), adoption.asked_by)
    return RemoveMachine(machine.name, situation.reason, situation.asked_by)
