"""Machines as people read them: a table, and one in full with why it runs what it runs."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime

from fairlead.answers.event import Event
from fairlead.answers.machine import MachineAnswer, MachineDetail, Machines
from fairlead.answers.words import Fault
from fairlead.cli.screens.blocks import (
    BAD,
    QUIET,
    STRONG,
    Block,
    Cell,
    Grid,
    Line,
    Toned,
    fact,
    line,
)
from fairlead.cli.screens.leaves import leaf_grid
from fairlead.cli.screens.rollout import machine_grid, phase_cell
from fairlead.decision.explain import moment
from fairlead.telling.spoken_time import age_of, boot_text

# When, what, and in words: an event, or a moment of a machine's life that is none.
# When, what, whose wish it was, and what is said of it.
StoryLine = tuple[datetime, str, str, str]


def machines_blocks(found: Machines, now: datetime, *, is_wide: bool = False) -> list[Block]:
    """Return machines of all pools; a wide table also says when, how and from what they came."""
    if not found.machines:
        return [line("no machine")]
    grid = machine_grid(found.machines, now, indent=0)
    rows = tuple(
        (row[0], machine.pool, *row[1:-1], *(_origin(machine) if is_wide else ()), row[-1])
        for row, machine in zip(grid.rows, found.machines, strict=True)
    )
    first, *rest, last = grid.headings
    origin = ("MADE", "READY", "BOOTED", "KIND", "FAULT") if is_wide else ()
    return [Grid((first, "POOL", *rest, *origin, last), rows)]


def _origin(machine: MachineAnswer) -> tuple[Cell, ...]:
    fault = machine.fault
    return (
        moment(machine.created_at),
        moment(machine.ready_at) if machine.ready_at else "",
        machine.booted,
        machine.kind,
        "" if fault is Fault.NONE else fault.value,
    )


def machine_blocks(machine: MachineDetail, now: datetime) -> list[Block]:
    """Return one machine in full."""
    return [*explain_machine_blocks(machine, now), line(), *story_blocks(story_of(machine))]


def event_story(events: Iterable[Event]) -> list[StoryLine]:
    """Return events as lines of a story."""
    return [(event.at, event.kind.value, event.whose, event.says) for event in events]


def story_of(machine: MachineDetail) -> list[StoryLine]:
    """Return the machine's events, and those moments of its life that are none."""
    name, took = machine.name, boot_text(machine.boot_ms)
    ready = f"{name} is ready" + (f": its boot took {took}." if took else ".")
    told = {event.kind.value for event in machine.events}
    moments = (
        (machine.created_at, "MachineCreated", "", f"{name} was made from {machine.revision}."),
        (machine.ready_at, "MachineReady", name, ready),
        (machine.gone_at, "MachineGone", "", f"{name} is gone."),
    )
    return [
        *event_story(machine.events),
        *(
            (when, kind, whose, says)
            for when, kind, whose, says in moments
            if when and kind not in told
        ),
    ]


def explain_machine_blocks(machine: MachineDetail, now: datetime) -> list[Block]:
    """Return why a machine runs what it runs, and why it leaves or left."""
    fault = machine.fault
    blocks: list[Block] = [line(Toned(machine.sentence, STRONG))]
    facts: tuple[tuple[str, Cell], ...] = (
        ("pool", machine.pool),
        ("phase", phase_cell(machine)),
        ("runs", _runs(machine)),
        ("made", _ago(machine.created_at, now)),
        ("ready", _ago(machine.ready_at, now)),
        ("boot", boot_text(machine.boot_ms)),
        ("report", machine.report_problem),
        ("leaves" if not machine.gone_at else "left", machine.reason),
        ("gone", _ago(machine.gone_at, now)),
        ("problem", Toned(machine.problem, BAD) if machine.problem else ""),
        ("ignored", ", ".join(machine.ignored)),
        ("agent", machine.fix.says if machine.fix else machine.agent),
        ("fault", "" if fault is Fault.NONE else f"{fault.value} (on request)"),
    )
    blocks += [fact(name, value) for name, value in facts if value]
    if machine.difference:
        blocks += [line(), line(Toned("differs from its pool's target", STRONG))]
        blocks.append(leaf_grid(machine.difference))
    return blocks


def _runs(machine: MachineAnswer) -> str:
    told = f"revision {machine.revision}"
    if machine.booted and machine.booted != machine.revision:
        told += f", booted with the inputs of {machine.booted}"
    if machine.heading_for and machine.heading_for != machine.revision:
        told += f", on its way to {machine.heading_for}"
    return told


def _ago(moment: datetime | None, now: datetime) -> str:
    return f"{age_of(moment, now)} ago" if moment else ""


def story_blocks(lines: Iterable[StoryLine]) -> list[Block]:
    """Return a story, the oldest first; times are UTC, as in every sentence."""
    rows = tuple(
        (Toned(moment(when), QUIET), kind, Toned(whose, QUIET), says)
        for when, kind, whose, says in sorted(lines, key=lambda told: told[0])
    )
    return [Grid(("AT", "EVENT", "BY", "SAYS"), rows)] if rows else [line("no event yet")]


def event_line(event: Event) -> Line:
    """Return an event on one line, for those that follow."""
    about = event.machine or event.pool or "platform"
    told = f"  {about}  {event.kind.value}  "
    whose = Toned(f"  ({event.whose})", QUIET) if event.whose else ""
    return line(Toned(moment(event.at), QUIET), told, event.says, whose)
