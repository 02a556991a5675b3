"""
The screen of `fairlead up`: pools with their progress, machines with their boots, what happened
last, and what to try next. Drawn from what the API answers, so a second terminal can draw it too.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime

from fairlead.answers.event import Event
from fairlead.answers.machine import MachineAnswer
from fairlead.answers.pool import PoolAnswer
from fairlead.answers.words import Phase, PoolState
from fairlead.cli.clock import present
from fairlead.cli.program_name import typed
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
    told_once,
)
from fairlead.cli.screens.rollout import (
    STATE_TONES,
    bar_of,
    more_lines,
    moving_first,
    phase_cell,
    problems_of,
    state_cell,
    versions_text,
    wait_lines,
)
from fairlead.decision.explain import moment
from fairlead.telling.counted import counted
from fairlead.telling.spoken_time import age_of, boot_text

MOST_EVENTS = 6
BOOT_BAR = 24
NARROW = 100
# Frame, version, "3 of 3 up to date", state, and the spaces between.
ROOM_FOR_COUNTS = 52
# Eighths of a character cell, as in the boot's own drawing.
PARTS = " ▏▎▍▌▋▊▉█"
EIGHTHS = 8

Pools = Sequence[PoolAnswer]
Machines = Sequence[MachineAnswer]
Events = Sequence[Event]


def screen_blocks(pools: Pools, machines: Machines, events: Events, width: int) -> list[Block]:
    """Return the screen with its title."""
    tone = GOOD if all(_is_well(pool) for pool in pools) else WAITING
    title = line(Toned("fairlead", STRONG), "  ", Toned(_counts(pools, machines), tone))
    return [title, line(), *overview_blocks(pools, machines, events, width, present())]


def overview_blocks(
    pools: Pools, machines: Machines, events: Events, width: int, now: datetime
) -> list[Block]:
    """Return everything on the screen, from the top."""
    blocks: list[Block] = []
    longest = max([len(pool.name) for pool in pools], default=0)
    for pool in pools:
        own = [machine for machine in machines if machine.pool == pool.name]
        room = width - longest - ROOM_FOR_COUNTS
        name = Toned(pool.name.ljust(longest), STRONG)
        blocks += _pool_lines(pool, name, bar_of(pool, own, room), now)
    if not pools:
        blocks.append(line("no pool yet"))
    if machines:
        blocks += [line(), _machine_table(machines, width, now), *more_lines(machines)]
    latest = sorted(events, key=lambda event: event.at)[-MOST_EVENTS:]
    if latest:
        blocks += [line(), *(_event_line(event) for event in latest)]
    blocks += [line(), line(Toned("try next", STRONG))]
    blocks += [line("  ", typed(command)) for command in next_commands(pools, machines)]
    return told_once(blocks, problems_of(machines))


def _counts(pools: Pools, machines: Machines) -> str:
    ready = sum(machine.phase is Phase.READY for machine in machines)
    return f"{counted(len(pools), 'pool')}, {counted(len(machines))}, {ready} ready"


def _is_well(pool: PoolAnswer) -> bool:
    is_calm = pool.state in (PoolState.SETTLED, PoolState.DRIFTED)
    return is_calm and pool.available == pool.desired


def _pool_lines(pool: PoolAnswer, name: Cell, bar: Line, now: datetime) -> list[Block]:
    counts = f"  {pool.updated} of {pool.desired} up to date"
    head: tuple[Cell, ...] = (
        name,
        "  ",
        Toned(versions_text(pool).strip() or pool.version, QUIET),
        "  ",
        *bar.pieces,
        counts,
        "  ",
        state_cell(pool),
    )
    said = Toned(pool.summary, STATE_TONES[pool.state])
    return [Line(head), line("  ", said), *wait_lines(pool.waits, now)]


def _machine_table(machines: Machines, width: int, now: datetime) -> Grid:
    shown = moving_first(machines)
    size = BOOT_BAR if width >= NARROW else BOOT_BAR // 3
    longest = max([machine.boot_ms or 0.0 for machine in shown], default=0.0)
    rows = tuple(
        (
            machine.name,
            phase_cell(machine),
            boot_text(machine.boot_ms),
            Toned(_boot_bar(machine.boot_ms, longest, size), GOOD),
            Toned(machine.revision, QUIET),
            Toned(age_of(machine.created_at, now), QUIET),
            _said(machine),
        )
        for machine in shown
    )
    return Grid(("MACHINE", "PHASE", "BOOT", "", "REVISION", "AGE", "SAYS"), rows)


def _boot_bar(boot_ms: float | None, longest: float, size: int) -> str:
    eighths = round(size * EIGHTHS * (boot_ms or 0) / longest) if longest else 0
    whole, rest = divmod(eighths, EIGHTHS)
    return (PARTS[EIGHTHS] * whole + PARTS[rest]).rstrip()


def _said(machine: MachineAnswer) -> Cell:
    if machine.problem:
        return Toned(machine.problem, BAD)
    return Toned(machine.reason, WAITING if machine.phase is Phase.LEAVING else QUIET)


def _event_line(event: Event) -> Line:
    told = f"{moment(event.at)}  {event.machine or event.pool or 'platform'}  "
    return line(Toned(told, QUIET), event.says)


def next_commands(pools: Pools, machines: Machines) -> list[str]:
    """Return what a newcomer could type next, given how the pools stand."""
    if not pools:
        return ["fairlead apply -f examples/pool.yaml"]
    pool = next((pool for pool in pools if not _is_well(pool) or pool.held), pools[0])
    name = pool.name
    if not _is_well(pool):
        return [f"fairlead rollout watch {name}", f"fairlead explain {name}"]
    machine = next((item.name for item in machines if item.pool == name), "MACHINE")
    if pool.held:
        return [
            f"fairlead explain {name}",
            f"fairlead pool scale {name} {pool.desired + 1}",
            f"fairlead pool force {name} --dry-run",
        ]
    return [
        "fairlead platform set proxy.image=haproxy@sha256:bb",
        f"fairlead pool show {name} --yaml > pool.yaml   # and edit it",
        "fairlead plan -f pool.yaml",
        f"fairlead timeline {machine}",
    ]
