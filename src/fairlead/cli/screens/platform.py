"""Platform leaves as people read them: what is set, by whom, and which pools hold it."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from fairlead.cli.screens.blocks import GOOD, QUIET, WAITING, Block, Grid, Toned, line
from fairlead.cli.screens.leaves import value_text
from fairlead.cli.screens.plan import counted, disturbed_by, names_text, plan_blocks


def platform_grid(leaves: Iterable[dict[str, Any]]) -> Grid:
    """Return a table of platform leaves."""
    rows = tuple(
        (
            leaf["leaf"],
            leaf["owner"],
            Toned(leaf["severity"], QUIET if leaf["severity"] == "routine" else WAITING),
            value_text(leaf["value"]),
            Toned(names_text(leaf["held_by"]), WAITING),
        )
        for leaf in leaves
    )
    return Grid(("LEAF", "OWNER", "SEVERITY", "VALUE", "HELD BY"), rows)


def effect_blocks(plans: list[dict[str, Any]]) -> list[Block]:
    """Return what a platform change does: how many pools hold it, and what is replaced, if any."""
    rolling = [plan for plan in plans if disturbed_by(plan)]
    holding = [plan["pool"] for plan in plans if plan not in rolling and _holds(plan)]
    blocks: list[Block] = []
    if holding:
        verb = "holds" if len(holding) == 1 else "hold"
        told = f"{counted(len(holding), 'pool')} {verb} this change ({names_text(holding)})"
        ending = "" if rolling else ", no machine is replaced"
        blocks.append(line(Toned(told + ending, WAITING if rolling else GOOD)))
    elif not rolling:
        told = "in force at once" if _is_in_force(plans) else "no pool holds this change"
        blocks.append(line(Toned(f"{told}, no machine is replaced", GOOD)))
    return blocks + (plan_blocks(rolling) if rolling else [])


def _is_in_force(plans: list[dict[str, Any]]) -> bool:
    leaves = [leaf for plan in plans for leaf in plan["leaves"]]
    return any(leaf["class"] == "in-place" for leaf in leaves)


def _holds(plan: dict[str, Any]) -> bool:
    return any(leaf["class"] in ("platform", "unknown") for leaf in plan["leaves"])
