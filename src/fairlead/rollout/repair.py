"""
Repair: machines that died are told to leave, and their pool makes others.

Where too many are unhealthy at once, the cause is not the machines, and replacing them would only
take away what can be looked at: repair stops there, and says so. It goes on by itself once fewer
are unhealthy. Nor is it the machines where one after the other is repaired and none comes up: then
repair stops until one does, or the pool gets another target.
"""

from collections.abc import Iterable
from dataclasses import replace

from fairlead.answers.wait import Wait
from fairlead.answers.words import WaitFor
from fairlead.rollout.machines import Machine
from fairlead.rollout.progress import failing
from fairlead.rollout.record import PoolRecord
from fairlead.rollout.situation import Situation
from fairlead.rollout.step import RemoveMachine

# Repairs in a row, without one machine that came up since the first of them.
MOST_REPAIRS = 5

REASON = "repair: "


def repair_steps(situation: Situation, staying: Iterable[Machine]) -> list[RemoveMachine]:
    """Return the steps that take away what died, within what the owner lets repair do."""
    # What takes the place of a machine would not come up.
    if not situation.policy.auto_repair or situation.halted or situation.unserved:
        return []
    failures = _failures(situation, staying)
    if len(failures) > _most(situation) or len(situation.repaired) >= MOST_REPAIRS:
        return []
    return [RemoveMachine(machine.name, f"{REASON}{failure}") for machine, failure in failures]


def repair_waits(situation: Situation) -> tuple[Wait, ...]:
    """Return that repair gave up, if it did."""
    if not situation.policy.auto_repair or situation.is_leaving:
        return ()
    staying = [machine for machine in situation.machines if not machine.is_leaving]
    count, most = len(_failures(situation, staying)), _most(situation)
    in_vain = len(situation.repaired)
    if in_vain >= MOST_REPAIRS:
        says = f"{in_vain} machines were repaired and none came up since: none is repaired"
        return (Wait(wait_for=WaitFor.IN_VAIN, says=says),)
    if count <= most:
        return ()
    are = "machine is" if count == 1 else "machines are"
    says = f"{count} {are} unhealthy and maxUnhealthy is {most}: none is repaired"
    return (Wait(wait_for=WaitFor.REPAIR, says=says),)


def still_repaired(record: PoolRecord, situation: Situation) -> PoolRecord:
    """Return the record without the repairs in a row, if a machine came up since they began."""
    if record.repairing_since is None:
        return record
    present = replace(situation, repaired=record.repaired, repairing_since=record.repairing_since)
    return with_repairs(record, _unless_over(present))


def with_repairs(record: PoolRecord, situation: Situation) -> PoolRecord:
    """Return the record with the repairs in a row of this situation."""
    found = (situation.repaired, situation.repairing_since)
    if found == (record.repaired, record.repairing_since):
        return record
    return replace(record, repaired=situation.repaired, repairing_since=situation.repairing_since)


def after_repairs(situation: Situation, steps: Iterable[object]) -> Situation:
    """
    Return a situation, in which these steps were taken, with the machines that they repaired.

    They are judged at once, as the next pass judges them: a pass may be made twice, at any moment.
    """
    names = {
        step.machine
        for step in steps
        if isinstance(step, RemoveMachine) and step.reason.startswith(REASON)
    }
    repaired = tuple(sorted(names.union(situation.repaired)))
    since = situation.repairing_since or (situation.now if repaired else None)
    return _unless_over(replace(situation, repaired=repaired, repairing_since=since))


def _unless_over(situation: Situation) -> Situation:
    since = situation.repairing_since
    if since is None:
        return situation
    staying = [machine for machine in situation.machines if not machine.is_leaving]
    came_up = any(one.is_available and one.created_at >= since for one in staying)
    all_well = len(staying) >= situation.desired and all(one.is_available for one in staying)
    if came_up or all_well or not situation.policy.auto_repair:
        return replace(situation, repaired=(), repairing_since=None)
    return situation


def _most(situation: Situation) -> int:
    return situation.policy.max_unhealthy.rounded_down(situation.desired)


def _failures(situation: Situation, staying: Iterable[Machine]) -> list[tuple[Machine, str]]:
    return failing(staying, situation.policy, situation.now)
