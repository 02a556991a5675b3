"""Machines as people read them: a table, and one in full with why it runs what it runs."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime
from typing import Any

from fairlead.cli.screens.blocks import BAD, QUIET, STRONG, Block, Cell, Grid, Toned, line
from fairlead.cli.screens.leaves import leaf_grid
from fairlead.cli.screens.rollout import machine_grid, phase_cell
from fairlead.cli.screens.spoken_time import age_of, boot_text


def machines_grid(machines: Iterable[dict[str, Any]], now: datetime) -> Grid:
    """Return a table of machines of all pools."""
    listed = list(machines)
    grid = machine_grid(listed, now, indent=0)
    pools = [machine["pool"] for machine in listed]
    rows = tuple((row[0], pool, *row[1:]) for row, pool in zip(grid.rows, pools, strict=True))
    return Grid((grid.headings[0], "POOL", *grid.headings[1:]), rows)


def machine_blocks(machine: dict[str, Any], now: datetime) -> list[Block]:
    """Return one machine in full."""
    return [*explain_machine_blocks(machine, now), line(), *event_blocks(story_of(machine))]


def story_of(machine: dict[str, Any]) -> list[dict[str, Any]]:
    """Return the machine's events, and those moments of its life that are none."""
    took = boot_text(machine["boot_ms"])
    moments = (
        ("created_at", "MachineCreated", f"Made from revision {machine['revision']}."),
        ("ready_at", "MachineReady", f"Its boot took {took}." if took else "Ready."),
        ("gone_at", "MachineGone", "Nothing of it is left."),
    )
    return [
        *machine["events"],
        *(
            {"at": machine[name], "kind": kind, "says": says}
            for name, kind, says in moments
            if machine[name]
        ),
    ]


def explain_machine_blocks(machine: dict[str, Any], now: datetime) -> list[Block]:
    """Return why a machine runs what it runs, and why it leaves or left."""
    blocks: list[Block] = [line(Toned(machine["sentence"], STRONG))]
    facts: tuple[tuple[str, Cell], ...] = (
        ("pool", machine["pool"]),
        ("phase", phase_cell(machine)),
        ("runs", _runs(machine)),
        ("made", _ago(machine["created_at"], now)),
        ("ready", _ago(machine["ready_at"], now)),
        ("boot", boot_text(machine["boot_ms"])),
        ("leaves" if not machine["gone_at"] else "left", machine["reason"]),
        ("gone", _ago(machine["gone_at"], now)),
        ("problem", Toned(machine["problem"], BAD) if machine["problem"] else ""),
        ("fault", "" if machine["fault"] in ("", "none") else f"{machine['fault']} (on request)"),
    )
    blocks += [line(Toned(f"  {name:<10}", QUIET), value) for name, value in facts if value]
    if machine["difference"]:
        blocks += [line(), line(Toned("differs from its pool's target", STRONG))]
        blocks.append(leaf_grid(machine["difference"]))
    return blocks


def _runs(machine: dict[str, Any]) -> str:
    told = f"revision {machine['revision']}"
    if machine["booted"] and machine["booted"] != machine["revision"]:
        told += f", booted with the inputs of {machine['booted']}"
    if machine["heading_for"] and machine["heading_for"] != machine["revision"]:
        told += f", on its way to {machine['heading_for']}"
    return told


def _ago(moment: str | None, now: datetime) -> str:
    return f"{age_of(moment, now)} ago" if moment else ""


def event_blocks(events: Iterable[dict[str, Any]]) -> list[Block]:
    """Return events, the oldest first, on the clock of whoever looks."""
    rows = tuple(
        (Toned(clock_text(event["at"]), QUIET), event["kind"], event["says"])
        for event in sorted(events, key=lambda event: str(event["at"]))
    )
    return [Grid(("AT", "EVENT", "SAYS"), rows)] if rows else [line("no event yet")]


def clock_text(moment: str) -> str:
    """Return an RFC 3339 moment in local time, to the second."""
    return datetime.fromisoformat(moment).astimezone().strftime("%Y-%m-%d %H:%M:%S")
