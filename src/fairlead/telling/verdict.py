"""
Who must act: whether following a pool may end, and what ends what only a person can end.

A window and a pause with an end are waited for; a halt, a pause without one, the kill switch and
OnDelete are not.
"""

from collections.abc import Mapping, Sequence

from fairlead.answers.machine import MachineAnswer
from fairlead.answers.plan import Plan
from fairlead.answers.pool import PoolAnswer, Verdict
from fairlead.answers.words import Phase, WaitFor
from fairlead.inputs.leaf import Json

# Nothing goes on until somebody acts, whatever machines are still doing.
PERSONAL = {
    WaitFor.STOP: "fairlead platform set stopEverything=false",
    WaitFor.HALT: "fairlead pool resume {pool}",
    WaitFor.PAUSE: "fairlead pool resume {pool}",
    WaitFor.PLAN: "fairlead plan -f FILE, then fairlead apply -f FILE",
    WaitFor.OWNER: "fairlead machine delete NAME",
}


def verdict_of(
    pool: PoolAnswer, plan: Plan, machines: Sequence[MachineAnswer], document: Json
) -> Verdict:
    """Return how a pool stands. document: what its owner declared."""
    spec = _spec_of(document)
    if _is_complete(pool, plan, spec):
        return Verdict(is_complete=True)
    for wait in pool.waits:
        if wait.wait_for in PERSONAL and not wait.until:
            command = PERSONAL[wait.wait_for].format(pool=pool.name)
            return Verdict(is_complete=False, needs=wait.says, command=command)
    if spec.get("autoRepair") is not True:
        for name, problem in _failures(pool, machines):
            command = f"fairlead machine delete {name}"
            return Verdict(is_complete=False, needs=f"{name} failed: {problem}", command=command)
    return Verdict(is_complete=False)


def _is_complete(pool: PoolAnswer, plan: Plan, spec: Mapping[str, Json]) -> bool:
    """Say whether every machine has what is declared and no pass has anything left to do."""
    # Under the kill switch `desired` is still what the template says.
    asked = spec.get("replicas", pool.desired)
    is_counted = pool.updated == pool.available == pool.total == pool.desired == asked
    return is_counted and not pool.rollout and not plan.disturbed and not plan.creates


def _spec_of(document: Json) -> Mapping[str, Json]:
    spec = document.get("spec") if isinstance(document, Mapping) else None
    return spec if isinstance(spec, Mapping) else {}


def _failures(pool: PoolAnswer, machines: Sequence[MachineAnswer]) -> list[tuple[str, str]]:
    """Return machines and what they died of, if nobody replaces them and nothing else moves."""
    failed = {one.name: one.problem for one in machines if one.phase is Phase.FAILED}
    if any(machine.phase in (Phase.BOOTING, Phase.LEAVING) for machine in machines):
        return []
    # A machine whose turn has not come says nothing about whether things move.
    waits = [wait for wait in pool.waits if wait.wait_for is not WaitFor.BUDGET]
    if any(wait.machine not in failed for wait in waits):
        return []
    return sorted(failed.items())
