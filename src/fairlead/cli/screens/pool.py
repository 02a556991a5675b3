"""Pools as people read them: a table of all, one in full, and the sentence that explains one."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime
from typing import Any

from fairlead.cli.screens.blocks import (
    BAD,
    GOOD,
    QUIET,
    STRONG,
    WAITING,
    Block,
    Grid,
    Toned,
    line,
)
from fairlead.cli.screens.leaves import held_grid, leaf_grid
from fairlead.cli.screens.plan import counted, disturbed_by
from fairlead.cli.screens.rollout import STATE_TONES, machine_grid, wait_lines
from fairlead.cli.screens.spoken_time import age_of

CONDITION_TONES = {"True": GOOD, "False": QUIET, "Unknown": BAD}


def pool_grid(pools: Iterable[dict[str, Any]]) -> Grid:
    """Return a table of pools."""
    rows = tuple(
        (
            pool["name"],
            Toned(pool["state"], STATE_TONES.get(pool["state"], "")),
            pool["version"],
            str(pool["desired"]),
            str(pool["updated"]),
            str(pool["available"]),
            str(len(pool["held"]) or ""),
            "; ".join(wait["says"] for wait in pool["waits"]),
        )
        for pool in pools
    )
    headings = ("POOL", "STATE", "VERSION", "DESIRED", "UPDATED", "AVAILABLE", "HELD", "WAITS FOR")
    return Grid(headings, rows)


def summary_of(pool: dict[str, Any], now: datetime) -> str:
    """Return in one short sentence how a pool stands."""
    held, plan = pool["held"], pool.get("plan")
    if pool["rollout"]:
        return _rolling_summary(pool, now)
    if plan and disturbed_by(plan):
        return f"waiting: {counted(disturbed_by(plan))} will be disturbed"
    if held:
        oldest = age_of(min(change["since"] for change in held), now)
        changes = counted(len(held), "platform change")
        return f"held: {changes}, since {oldest}, no machine will be replaced"
    if pool["state"] == "Blocked":
        return "blocked: no machine will be replaced"
    if pool["available"] < pool["desired"]:
        return f"coming up: {pool['available']} of {pool['desired']} machines available"
    return "settled: every machine has what is declared, no machine will be replaced"


def _rolling_summary(pool: dict[str, Any], now: datetime) -> str:
    far = f"{pool['updated']} of {pool['desired']} machines up to date"
    if pool["halted"]:
        return f"halted: {far}, no machine will be replaced until it is resumed"
    if pool["is_paused"]:
        return f"paused: {far}, no machine will be replaced until the pause ends"
    begun = age_of(pool["rollout"]["started_at"], now)
    return f"rolling out: {far}" + (f", since {begun}" if begun else "")


def explain_blocks(pool: dict[str, Any], now: datetime) -> list[Block]:
    """Return why machines of a pool are, or are not, being replaced."""
    tone = STATE_TONES.get(pool["state"], "")
    blocks: list[Block] = [line(Toned(summary_of(pool, now), tone)), line(pool["sentence"])]
    if leaves := _rolling_leaves(pool):
        blocks += [line(Toned("what changed", STRONG)), leaf_grid(leaves)]
    if pool["held"]:
        blocks += [line(Toned("held", STRONG)), held_grid(pool["held"], now)]
    return blocks + wait_lines(pool["waits"], now)


def _rolling_leaves(pool: dict[str, Any]) -> list[dict[str, Any]]:
    """Return the leaves of the rollout under way, or of what the next pass does."""
    held = {change["leaf"] for change in pool["held"]}
    rollout = pool["rollout"]
    plan = rollout["plan"] if rollout and rollout["plan"] else pool["plan"]
    return [leaf for leaf in plan["leaves"] if leaf["leaf"] not in held]


def pool_blocks(pool: dict[str, Any], now: datetime) -> list[Block]:
    """Return one pool in full."""
    facts = (
        ("state", Toned(pool["state"], STATE_TONES.get(pool["state"], ""))),
        ("version", pool["version"]),
        ("machines", f"{pool['available']} of {pool['desired']} available, {pool['total']} in all"),
        ("strategy", pool["strategy"]),
        ("applied", _revision(pool["applied"])),
        ("target", _revision(pool["target"])),
        ("paused", "yes" if pool["is_paused"] else ""),
        ("halted", Toned(pool["halted"] or "", BAD)),
    )
    blocks: list[Block] = [line(Toned(pool["name"], STRONG), ": ", pool["sentence"])]
    for name, value in facts:
        if value and not (isinstance(value, Toned) and not value.text):
            blocks.append(line(Toned(f"  {name:<10}", QUIET), value))
    blocks += [line(), machine_grid(pool["machines"], now, indent=0)]
    if pool["held"]:
        blocks += [line(), held_grid(pool["held"], now, indent=0)]
    blocks += [line(), condition_grid(pool["conditions"], now)]
    return blocks + ([line(), *wait_lines(pool["waits"], now)] if pool["waits"] else [])


def condition_grid(conditions: Iterable[dict[str, Any]], now: datetime) -> Grid:
    """Return a table of conditions."""
    rows = tuple(
        (
            condition["type"],
            Toned(condition["status"], CONDITION_TONES.get(condition["status"], WAITING)),
            condition["reason"],
            age_of(condition["since"], now),
            condition["message"],
        )
        for condition in conditions
    )
    return Grid(("CONDITION", "STATUS", "REASON", "SINCE", "MESSAGE"), rows)


def _revision(revision: dict[str, Any] | None) -> str:
    return f"{revision['id']} ({revision['hashes']}), {revision['version']}" if revision else ""
