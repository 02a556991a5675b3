"""
The end of a pool: its machines leave, all at once, then its secrets go.

The owner's word wins over pause, window, halt, plan and budgets: nobody waits for what goes
away. It does not win over the kill switch, which somebody else holds for everybody.
"""

from collections.abc import Iterable

from fairlead.answers.plan import Plan
from fairlead.answers.words import ChangeClass
from fairlead.rollout.machines import Machine, oldest_first
from fairlead.rollout.secrets import SecretPlan
from fairlead.rollout.step import DeletePair, RemoveMachine

REASON = "the pool was deleted"


def farewell_steps(machines: Iterable[Machine], asked_by: str = "") -> tuple[RemoveMachine, ...]:
    """Return the steps that tell every machine to leave, the oldest first."""
    staying = oldest_first(machine for machine in machines if not machine.is_leaving)
    return tuple(RemoveMachine(machine.name, REASON, asked_by) for machine in staying)


def farewell_plan_of(shown: Plan, machines: Iterable[Machine]) -> Plan:
    """Return the plan with the machines that leave."""
    names = tuple(step.machine for step in farewell_steps(machines))
    return shown.but(change=ChangeClass.DELETE, machines=names)


def last_secrets(pairs: Iterable[str]) -> SecretPlan:
    """Return the steps that delete every pair at once: no machine is left that could boot."""
    return SecretPlan((), tuple(DeletePair(pair) for pair in sorted(pairs)), None)
