"""
Edges that replace machines by themselves, as Cluster API does: told by the template alone.

Such an edge is held whenever our own steps would wait, so that windows, halts and batches hold
for it too. It acts between two passes, so a batch may be exceeded by what it starts meanwhile.
"""

from dataclasses import replace

from fairlead.answers.wait import Wait
from fairlead.answers.words import Strategy, WaitFor
from fairlead.rollout.leave import REASON
from fairlead.rollout.machines import Machine
from fairlead.rollout.plan import MachinePlan, rollout_waits
from fairlead.rollout.progress import machine_waits
from fairlead.rollout.repair import repair_waits
from fairlead.rollout.situation import (
    Situation,
    allowance_now,
    gate_waits,
    is_rolling,
    machines_beyond,
    told_gates,
)


def is_held(situation: Situation) -> bool:
    """Say whether the edge must not replace machines for now, or remove those of a deleted pool."""
    if situation.is_leaving:
        return situation.is_stopped
    if not is_rolling(situation):
        return False
    begun = sum(
        machine.revision == situation.target and not machine.is_leaving
        for machine in situation.machines
    )
    allowance = allowance_now(situation)
    # Held after the last batch, an edge could not take the last stale machines away.
    is_full = allowance.wait is not None and begun >= allowance.machines
    return (
        bool(gate_waits(situation) or machines_beyond(situation))
        or situation.policy.strategy is Strategy.ON_DELETE
        or is_full
    )


def watch_edge(situation: Situation) -> MachinePlan:
    """Return no steps, the machines as they are, and what is waited for."""
    waits = [*told_gates(situation), *repair_waits(situation)]
    if situation.is_leaving:
        if not situation.is_stopped:
            waits.append(Wait(wait_for=WaitFor.EDGE, says="its edge removes the machines"))
    elif is_rolling(situation):
        # Budgets are the edge's to keep; all else is said as if the steps were ours.
        told = rollout_waits(situation)
        waits += [wait for wait in told if wait.wait_for is not WaitFor.BUDGET]
        if not is_held(situation):
            waits.append(Wait(wait_for=WaitFor.EDGE, says="its edge replaces the machines"))
    waits += machine_waits(situation.machines, situation.policy, situation.now)
    after = tuple(_with_reason(machine, situation) for machine in situation.machines)
    return MachinePlan((), replace(situation, machines=after), tuple(waits))


def _with_reason(machine: Machine, situation: Situation) -> Machine:
    if not machine.is_leaving or machine.reason:
        return machine
    if situation.is_leaving:
        return replace(machine, reason=REASON)
    is_stale = machine.revision != situation.target
    return replace(machine, reason=situation.reason if is_stale else "its edge removes it")
