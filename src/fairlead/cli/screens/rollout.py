"""
How far a rollout is, each machine's state, and what it waits for: as one line, and as a drawing.

The bar counts machines: those that have the target and serve, those that are under way, the rest.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import datetime

from fairlead.answers.machine import MachineAnswer
from fairlead.answers.pool import PoolAnswer
from fairlead.answers.wait import Wait
from fairlead.answers.words import Phase, PoolState
from fairlead.cli.screens.blocks import (
    BAD,
    GOOD,
    QUIET,
    STRONG,
    WAITING,
    Block,
    Cell,
    Grid,
    Line,
    Toned,
    line,
    text_of,
    told_once,
)
from fairlead.telling.counted import counted
from fairlead.telling.spoken_time import age_of, boot_text, duration_text, time_left
from fairlead.telling.verdict import PERSONAL

# Apart without colours as well: up to date and serving, under way, the rest.
DONE, MOVING, REST = "━", "╍", "─"
LEAST_BAR = 10
MOST_BAR = 40
# Machines below a bar, those that move first; a screen has about 24 lines.
MOST_MACHINES = 12

PHASE_TONES = {
    Phase.READY: GOOD,
    Phase.BOOTING: WAITING,
    Phase.LEAVING: WAITING,
    Phase.NOT_READY: BAD,
    Phase.FAILED: BAD,
}
STATE_TONES = {
    PoolState.SETTLED: GOOD,
    PoolState.DRIFTED: WAITING,
    PoolState.UNSETTLED: WAITING,
    PoolState.NEW: WAITING,
    PoolState.ROLLING_OUT: WAITING,
    PoolState.SUPERSEDING: WAITING,
    PoolState.HELD: WAITING,
    PoolState.LEAVING: WAITING,
    PoolState.BLOCKED: BAD,
}


def state_cell(pool: PoolAnswer) -> Cell:
    """Return a pool's state in its tone."""
    return Toned(pool.state.value, STATE_TONES[pool.state])


def progress_line(pool: PoolAnswer, machines: Sequence[MachineAnswer] = ()) -> str:
    """Return how far a pool is, on one line without anything that moves by itself."""
    told = f"{pool.name}: {pool.updated} of {pool.desired} machines up to date"
    told += f", {pool.available} available"
    return plain_line("; ".join([told, *(wait.says for wait in pool.waits)]), machines)


def plain_line(text: str, machines: Iterable[MachineAnswer]) -> str:
    """Return a sentence outside of screens as they say it, each cause once."""
    [told] = told_once([line(text)], problems_of(machines))
    return "".join(text_of(piece) for piece in told.pieces) if isinstance(told, Line) else ""


def bar_of(pool: PoolAnswer, machines: Sequence[MachineAnswer], width: int) -> Line:
    """Return the bar of a pool with these machines."""
    size = min(max(width, LEAST_BAR), MOST_BAR)
    whole = max(pool.desired, pool.total, len(machines), 1)
    goal = pool.rollout.to.id if pool.rollout and pool.rollout.to else ""
    serving = [machine for machine in machines if machine.phase is Phase.READY]
    done = sum(not goal or machine.revision == goal for machine in serving)
    moving = len(machines) - len(serving)
    green = size * done // whole
    yellow = size * (done + moving) // whole - green
    return line(
        Toned(DONE * green, GOOD),
        Toned(MOVING * yellow, WAITING),
        Toned(REST * (size - green - yellow), QUIET),
    )


def rollout_blocks(
    pool: PoolAnswer, machines: Sequence[MachineAnswer], width: int, now: datetime
) -> list[Block]:
    """Return what is shown of one pool."""
    counts = f"  {pool.updated} of {pool.desired} up to date, {pool.available} available"
    left = Toned(_time_left(pool, now), QUIET)
    versions = versions_text(pool)
    taken = [pool.name, " ", pool.state.value, "  ", versions, counts, left.text]
    bar = bar_of(pool, machines, width - sum(len(text) for text in taken))
    name = Toned(pool.name, STRONG)
    head: list[Cell] = [name, " ", state_cell(pool), "  ", versions, *bar.pieces, counts, left]
    blocks: list[Block] = [Line(tuple(head)), line("  ", pool.sentence)]
    blocks.append(machine_grid(moving_first(machines), now))
    blocks += more_lines(machines) + wait_lines(pool.waits, now)
    return told_once(blocks, problems_of(machines))


def problems_of(machines: Iterable[MachineAnswer]) -> list[str]:
    """Return what is wrong with machines; a screen says it once."""
    return [machine.problem for machine in machines if machine.problem]


def more_lines(machines: Sequence[MachineAnswer]) -> list[Block]:
    """Return how many machines a table of those that move leaves out."""
    rest = len(machines) - MOST_MACHINES
    return [line("  ", Toned(f"and {counted(rest, 'more machine')}", QUIET))] if rest > 0 else []


def versions_text(pool: PoolAnswer) -> str:
    """Return from which version to which a rollout goes; '' if it stays the same."""
    before = pool.rollout.before if pool.rollout else None
    after = pool.rollout.to if pool.rollout else None
    if not before or not after or before.version == after.version:
        return ""
    return f"{before.version} → {after.version}  "


def _time_left(pool: PoolAnswer, now: datetime) -> str:
    rollout = pool.rollout
    is_held = pool.state in (PoolState.HELD, PoolState.BLOCKED)
    is_held = is_held or any(_needs_person(wait) for wait in pool.waits)
    if is_held or not rollout or not rollout.plan or not rollout.started_at:
        return ""
    left = rollout.plan.estimate_s - (now - rollout.started_at).total_seconds()
    if left <= 0:
        return f", for {age_of(rollout.started_at, now)}"
    return f", about {duration_text(left)} left"


def _needs_person(wait: Wait) -> bool:
    """Say whether this may never end by itself: then nobody knows how long a rollout takes."""
    return wait.until is None and (bool(wait.machine) or wait.wait_for in PERSONAL)


def moving_first(machines: Sequence[MachineAnswer]) -> list[MachineAnswer]:
    """Return as many machines as fit, those that are not ready first."""
    ordered = sorted(machines, key=lambda machine: (machine.phase is Phase.READY, machine.name))
    kept = {machine.name for machine in ordered[:MOST_MACHINES]}
    # By age, so that a row keeps its place while its machine changes.
    shown = [machine for machine in machines if machine.name in kept]
    return sorted(shown, key=lambda machine: (machine.created_at, machine.name))


def machine_grid(machines: Sequence[MachineAnswer], now: datetime, indent: int = 2) -> Grid:
    """Return a table of machines."""
    rows = tuple(
        (
            machine.name,
            phase_cell(machine),
            machine.version,
            machine.revision,
            boot_text(machine.boot_ms),
            age_of(machine.created_at, now),
            Toned(_said(machine), BAD if machine.problem else QUIET),
        )
        for machine in machines
    )
    headings = ("MACHINE", "PHASE", "VERSION", "REVISION", "BOOT", "AGE", "SAYS")
    return Grid(headings, rows, indent)


def phase_cell(machine: MachineAnswer) -> Cell:
    """Return a machine's phase, or that it is gone."""
    if machine.gone_at:
        return Toned("gone", QUIET)
    return Toned(machine.phase.value, PHASE_TONES[machine.phase])


def _said(machine: MachineAnswer) -> str:
    told = [machine.problem, machine.reason]
    if machine.heading_for and machine.heading_for != machine.revision:
        told.insert(0, f"heads for {machine.heading_for}")
    return "; ".join(text for text in told if text)


def wait_lines(waits: Sequence[Wait], now: datetime) -> list[Block]:
    """Return what is waited for, one line each, with when it ends by itself."""
    found: list[Block] = []
    for wait in waits:
        until = time_left(wait.until, now)
        ends = Toned(f" (at most {until})", QUIET) if until else ""
        label = "  waits for  "
        pieces = (Toned(label, QUIET), Toned(wait.says, WAITING), ends)
        found.append(Line(pieces, hang=len(label)))
    return found
