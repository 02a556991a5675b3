"""
Repair: machines that died are told to leave, and their pool makes others.

Where too many are unhealthy at once, the cause is not the machines, and replacing them would only
take away what can be looked at: repair stops there, and says so. It goes on by itself once fewer
are unhealthy.
"""

from collections.abc import Iterable

from fairlead.answers.wait import Wait
from fairlead.answers.words import WaitFor
from fairlead.rollout.machines import Machine
from fairlead.rollout.progress import failure_of
from fairlead.rollout.situation import Situation
from fairlead.rollout.step import RemoveMachine


def repair_steps(situation: Situation, staying: Iterable[Machine]) -> list[RemoveMachine]:
    """Return the steps that take away what died, within what the owner lets repair do."""
    if not situation.policy.auto_repair or situation.halted:
        return []
    failures = _failures(situation, staying)
    if len(failures) > _most(situation):
        return []
    return [RemoveMachine(machine.name, f"repair: {failure}") for machine, failure in failures]


def repair_waits(situation: Situation) -> tuple[Wait, ...]:
    """Return that repair gave up, if it did."""
    if not situation.policy.auto_repair or situation.is_leaving:
        return ()
    staying = [machine for machine in situation.machines if not machine.is_leaving]
    count, most = len(_failures(situation, staying)), _most(situation)
    if count <= most:
        return ()
    are = "machine is" if count == 1 else "machines are"
    says = f"{count} {are} unhealthy and maxUnhealthy is {most}: none is repaired"
    return (Wait(wait_for=WaitFor.REPAIR, says=says),)


def _most(situation: Situation) -> int:
    return situation.policy.max_unhealthy.rounded_down(situation.desired)


def _failures(situation: Situation, staying: Iterable[Machine]) -> list[tuple[Machine, str]]:
    policy, now = situation.policy, situation.now
    found = ((machine, failure_of(machine, policy, now)) for machine in staying)
    return [(machine, failure) for machine, failure in found if failure]
