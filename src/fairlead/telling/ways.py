"""
The ways out of what only a person can end: commands, each with what it does.

Every command here is one that the command line has; FILE and NAME stand for the reader's own.
"""

from collections.abc import Callable
from dataclasses import dataclass

from fairlead.answers.plan import Plan
from fairlead.answers.pool import PoolAnswer, Way
from fairlead.answers.wait import Wait
from fairlead.answers.words import WaitFor


@dataclass(frozen=True, slots=True, kw_only=True)
class Stuck:
    """One wait in vain, and the pool it holds. repairs: the owner wants what died replaced."""

    wait: Wait
    pool: PoolAnswer
    plan: Plan
    repairs: bool


def ways_out(stuck: Stuck) -> tuple[Way, ...]:
    """Return what a person can do about it, the nearest first."""
    return _WAYS.get(stuck.wait.wait_for, _from_machine)(stuck)


def apply_way(says: str) -> Way:
    """Return the way that is another document."""
    return Way(command="fairlead apply -f FILE", says=f"a document {says}")


def _delete(name: str, says: str, *flags: str) -> Way:
    return Way(command=" ".join(("fairlead machine delete", name or "NAME", *flags)), says=says)


def _from_stop(_stuck: Stuck) -> tuple[Way, ...]:
    command = "fairlead platform set stopEverything=false"
    return (Way(command=command, says="ends the kill switch, for every pool"),)


def _from_halt(stuck: Stuck) -> tuple[Way, ...]:
    if not stuck.pool.halted:
        return (apply_way("whose fields can be used"),)
    command = f"fairlead pool resume {stuck.pool.name}"
    return (Way(command=command, says="lets it go on once; what failed is replaced"),)


def _from_pause(stuck: Stuck) -> tuple[Way, ...]:
    return (Way(command=f"fairlead pool resume {stuck.pool.name}", says="ends the pause"),)


def _from_plan(_stuck: Stuck) -> tuple[Way, ...]:
    return (apply_way("to see and approve what it does now"),)


def _from_input(stuck: Stuck) -> tuple[Way, ...]:
    command = f"fairlead explain {stuck.pool.name}"
    return (Way(command=command, says="names the file; once it can be used, the pool goes on"),)


def _from_size(stuck: Stuck) -> tuple[Way, ...]:
    less = apply_way("with less in it: large files belong into the image")
    platform = Way(
        command="fairlead platform set LEAF=VALUE", says="less of what the platform adds"
    )
    named = Way(
        command=f"fairlead explain {stuck.pool.name}",
        says="names the largest parts; a smaller secret under the same name ends it, too",
    )
    return (less, platform, named)


def _from_owner(stuck: Stuck) -> tuple[Way, ...]:
    return (_delete(next(iter(stuck.plan.machines), ""), "the pool makes another"),)


def _from_drain(stuck: Stuck) -> tuple[Way, ...]:
    forced = _delete(stuck.wait.machine, "goes at once, without its drain", "--force")
    return (forced, apply_way("with timeouts.drain: 10m; drains that run are held to it"))


def _from_edge(stuck: Stuck) -> tuple[Way, ...]:
    command = f"fairlead explain {stuck.wait.machine or stuck.pool.name}"
    return (Way(command=command, says="names it; whoever provides machines takes it away"),)


def _from_repair(stuck: Stuck) -> tuple[Way, ...]:
    name = next((wait.machine for wait in stuck.pool.waits if wait.machine), "")
    raised = apply_way("with a higher maxUnhealthy, or one that boots; then repair goes on")
    return (_delete(name, "the pool makes another"), raised)


def _from_vain_repairs(stuck: Stuck) -> tuple[Way, ...]:
    name = next((wait.machine for wait in stuck.pool.waits if wait.machine), "")
    tried = _delete(name, "one more try; once a machine comes up, repair goes on")
    return (tried, apply_way("that boots; with another target repair begins anew"))


def _from_machine(stuck: Stuck) -> tuple[Way, ...]:
    deleted = _delete(stuck.wait.machine, "the pool makes another")
    if stuck.repairs:
        return (deleted,)
    return (deleted, apply_way("with autoRepair: true; then it is replaced without you"))


_WAYS: dict[WaitFor, Callable[[Stuck], tuple[Way, ...]]] = {
    WaitFor.STOP: _from_stop,
    WaitFor.HALT: _from_halt,
    WaitFor.PAUSE: _from_pause,
    WaitFor.INPUT: _from_input,
    WaitFor.PLAN: _from_plan,
    WaitFor.TOO_LARGE: _from_size,
    WaitFor.UNSERVED: _from_size,
    WaitFor.OWNER: _from_owner,
    WaitFor.LEAVE: _from_drain,
    WaitFor.EDGE: _from_edge,
    WaitFor.REPAIR: _from_repair,
    WaitFor.IN_VAIN: _from_vain_repairs,
}
