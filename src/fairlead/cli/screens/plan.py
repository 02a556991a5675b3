"""A plan as people read it: what would be replaced, why, in what order, and how long it takes."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from fairlead.cli.screens.blocks import (
    GOOD,
    QUIET,
    STRONG,
    WAITING,
    Block,
    Cell,
    Toned,
    line,
)
from fairlead.cli.screens.leaves import leaf_grid
from fairlead.cli.screens.spoken_time import duration_text

# Names on one line; all of them are in --json.
MOST_NAMES = 12

# Waits that belong to every rollout: a machine boots, drains, or its turn has not come. Those on
# an earlier plan end where this one is carried out, since it takes that one's place.
ORDINARY = (
    "BudgetSpent",
    "MachineNotJoined",
    "MachineNotReady",
    "MachineLeaving",
    "MachineChanging",
    "PlanExceeded",
)


def counted(count: int, noun: str = "machine") -> str:
    """Return `1 machine` or `3 machines`."""
    return f"{count} {noun}" if count == 1 else f"{count} {noun}s"


# class of a plan: what it does to its machines
VERBS = {"replace": "replaced", "in-place": "changed in place", "delete": "removed"}


def disturbed_by(plan: dict[str, Any]) -> int:
    """Return how many machines a plan replaces, changes or removes."""
    return len(plan["machines"]) + int(plan["removes"])


def headline_of(plan: dict[str, Any]) -> str:
    """Return what a plan does to machines, in one sentence without its end."""
    told = []
    if plan["machines"]:
        verb = VERBS[plan["change"]]
        because = f" because {plan['because']}" if plan["because"] else ""
        told.append(f"{counted(len(plan['machines']))} will be {verb}{because}")
    if plan["creates"] and not plan["machines"]:
        told.append(f"{counted(plan['creates'])} will be created")
    if plan["removes"]:
        told.append(f"{counted(plan['removes'])} will be removed")
    if plan["change"] == "delete":
        told.append("the pool goes")
    if plan["is_new"]:
        told.insert(0, "new pool")
    return ", ".join(told) or _quiet_headline(plan)


def _quiet_headline(plan: dict[str, Any]) -> str:
    held = sum(leaf["class"] == "platform" for leaf in plan["leaves"])
    if plan["change"] == "in-place":
        return "changed in place, no machine will be replaced"
    if held:
        return f"{counted(held, 'platform change')} held, no machine will be replaced"
    if plan["leaves"]:
        return "no machine will be replaced"
    return "nothing changes, no machine will be replaced"


def plan_blocks(plans: Iterable[dict[str, Any]]) -> list[Block]:
    """Return the plans, one after the other."""
    blocks: list[Block] = []
    for plan in plans:
        tone = WAITING if disturbed_by(plan) else GOOD
        blocks.append(line(Toned(plan["pool"], STRONG), ": ", Toned(headline_of(plan), tone)))
        if plan["leaves"]:
            blocks.append(leaf_grid(_marked(plan)))
        blocks += [line("  ", Toned(f"{name:<11}", QUIET), text) for name, text in _facts(plan)]
    return blocks or [line("no pool is touched")]


def _facts(plan: dict[str, Any]) -> list[tuple[str, Cell]]:
    facts: list[tuple[str, Cell]] = []
    if plan["machines"]:
        facts.append(("order", names_text(plan["machines"])))
        facts.append(("takes", f"about {duration_text(plan['estimate_s'])}"))
    if plan["removed"]:
        facts.append(("removes", names_text(plan["removed"])))
    waits = [wait["says"] for wait in plan["waits"] if wait["for"] not in ORDINARY]
    return facts + [("waits for", Toned(says, WAITING)) for says in waits]


def _marked(plan: dict[str, Any]) -> list[dict[str, Any]]:
    """Return the leaves; where machines stay, those of the platform are held."""
    if plan["change"] == "replace" or plan["is_new"]:
        return list(plan["leaves"])
    return [
        {**leaf, "class": "held"} if leaf["class"] in ("platform", "unknown") else leaf
        for leaf in plan["leaves"]
    ]


def names_text(names: list[str]) -> str:
    """Return the first names, and how many more there are."""
    rest = len(names) - MOST_NAMES
    return ", ".join(names[:MOST_NAMES]) + (f" and {rest} more" if rest > 0 else "")
