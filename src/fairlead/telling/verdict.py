"""
Who must act: whether following a pool may end, and the ways out of what only a person can end.

A window and a pause with an end are waited for; a halt, a pause without one, the kill switch and
OnDelete are not. Nor is a machine that failed and that nobody replaces, or a drain without a limit,
once nothing else of the pool moves.
"""

from collections.abc import Mapping

from fairlead.answers.plan import Plan
from fairlead.answers.pool import PoolAnswer, Verdict, Way
from fairlead.answers.wait import Wait
from fairlead.answers.words import GAVE_UP, ChangeClass, PoolState, WaitFor
from fairlead.inputs.leaf import Json
from fairlead.telling.ways import Stuck, apply_way, ways_out

# Nothing goes on until somebody acts, whatever machines are still doing.
PERSONAL = (
    WaitFor.STOP,
    WaitFor.HALT,
    WaitFor.PAUSE,
    WaitFor.INPUT,
    WaitFor.TOO_LARGE,
    WaitFor.UNSERVED,
    WaitFor.PLAN,
    WaitFor.OWNER,
)

# Say nothing about whether things move: each waits for what another wait names.
NEUTRAL = (*PERSONAL, *GAVE_UP, WaitFor.BUDGET, WaitFor.SOAK)


def verdict_of(pool: PoolAnswer, plan: Plan, document: Json) -> Verdict:
    """Return how a pool stands. document: what its owner declared."""
    spec = _spec_of(document)
    if _is_complete(pool, plan, spec):
        return Verdict(is_complete=True)
    if wait := _personal_wait(pool, plan) or _stuck_wait(pool, plan, spec):
        repairs = spec.get("autoRepair") is True
        stuck = Stuck(wait=wait, pool=pool, plan=plan, repairs=repairs)
        return _needing(_needs_text(wait), ways_out(stuck))
    if pool.state is PoolState.BLOCKED:
        return _needing(pool.sentence, (apply_way("whose fields can be used"),))
    return Verdict(is_complete=False, ways=_sooner(pool, plan))


def _sooner(pool: PoolAnswer, plan: Plan) -> tuple[Way, ...]:
    """Return what ends a pause before its time; following the pool goes on meanwhile."""
    paused = (wait for wait in pool.waits if wait.wait_for is WaitFor.PAUSE and plan.machines)
    return next(
        (ways_out(Stuck(wait=wait, pool=pool, plan=plan, repairs=False)) for wait in paused), ()
    )


def _needs_text(wait: Wait) -> str:
    if not wait.machine or wait.wait_for in (WaitFor.LEAVE, WaitFor.EDGE):
        return wait.says
    return f"{wait.machine} failed: {wait.says.removeprefix(f'{wait.machine}: ')}"


def _needing(needs: str, ways: tuple[Way, ...]) -> Verdict:
    return Verdict(is_complete=False, needs=needs, command=ways[0].command, ways=ways)


def _is_complete(pool: PoolAnswer, plan: Plan, spec: Mapping[str, Json]) -> bool:
    """Say whether every machine has what is declared and no pass has anything left to do."""
    is_held = pool.state in (PoolState.HELD, PoolState.BLOCKED)
    if is_held or plan.change is ChangeClass.DELETE:
        return False
    # Under the kill switch `desired` is still what the template says.
    asked = spec.get("replicas", pool.desired)
    is_counted = pool.updated == pool.available == pool.total == pool.desired == asked
    return is_counted and not pool.rollout and not plan.disturbed and not plan.creates


def _personal_wait(pool: PoolAnswer, plan: Plan) -> Wait | None:
    for wait in pool.waits:
        # A pause holds what is to be replaced, and no machine that only takes its time.
        is_felt = wait.wait_for is not WaitFor.PAUSE or plan.machines
        if wait.wait_for in PERSONAL and not wait.until and is_felt:
            return wait
    return None


def _stuck_wait(pool: PoolAnswer, plan: Plan, spec: Mapping[str, Json]) -> Wait | None:
    """Return what the pool waits for in vain, if nothing of it moves by itself."""
    if plan.creates or plan.removes:
        return None
    waits = {wait.wait_for: wait for wait in reversed(pool.waits)}
    gave_up = next((waits[kind] for kind in GAVE_UP if kind in waits), None)
    is_repaired = spec.get("autoRepair") is True and gave_up is None
    if any(_moves(wait, is_repaired=is_repaired) for wait in pool.waits):
        return None
    named = next((wait for wait in pool.waits if wait.machine), None)
    return gave_up or named or waits.get(WaitFor.PAUSE)


def _moves(wait: Wait, *, is_repaired: bool) -> bool:
    """Say whether this ends by itself, or something else happens then."""
    if wait.until is not None:
        return True
    if wait.wait_for in NEUTRAL:
        return False
    return not wait.machine or (is_repaired and wait.wait_for is not WaitFor.LEAVE)


def _spec_of(document: Json) -> Mapping[str, Json]:
    spec = document.get("spec") if isinstance(document, Mapping) else None
    return spec if isinstance(spec, Mapping) else {}
