"""The state of a pool, from the facts after a pass. The first row that holds decides."""

from fairlead.answers.words import GAVE_UP, PoolState, WaitFor
from fairlead.decision.decision import DeletePool, HoldPlatformChange, Unknown
from fairlead.rollout.machines import Machine
from fairlead.timeline.conditions import PoolFacts, held_by

HOLDS = {WaitFor.STOP, WaitFor.PAUSE, WaitFor.WINDOW, WaitFor.PLAN}


def state_of(facts: PoolFacts) -> PoolState:
    """Return where the pool is."""
    record = facts.record
    waiting = {wait.wait_for for wait in facts.waits}
    gate = held_by(facts)
    is_leaving = isinstance(facts.decision, DeletePool)
    rows = (
        (is_leaving and WaitFor.STOP in waiting, PoolState.HELD),
        (is_leaving, PoolState.LEAVING),
        (isinstance(facts.decision, Unknown) or bool(facts.problems), PoolState.BLOCKED),
        (WaitFor.HALT in waiting and facts.is_replacing, PoolState.BLOCKED),
        (not waiting.isdisjoint(GAVE_UP), PoolState.BLOCKED),
        (WaitFor.UNSERVED in waiting, PoolState.BLOCKED),
        (gate is not None and gate.wait_for in HOLDS, PoolState.HELD),
        (record.target is None, PoolState.NEW),
        (record.is_rolling and _is_superseding(facts), PoolState.SUPERSEDING),
        (facts.is_replacing, PoolState.ROLLING_OUT),
        (facts.progress is not None and not facts.progress.is_settled, PoolState.UNSETTLED),
        (isinstance(facts.decision, HoldPlatformChange), PoolState.DRIFTED),
    )
    return next((state for holds, state in rows if holds), PoolState.SETTLED)


def _is_superseding(facts: PoolFacts) -> bool:
    record = facts.record
    known = {revision.id for revision in (record.applied, record.target) if revision}
    return any(_names(machine) - known for machine in facts.machines if not machine.is_leaving)


def _names(machine: Machine) -> set[str]:
    return {machine.revision, machine.heading_for} - {""}
