"""Platform leaves as people read them: what is set, by whom, and which pools hold it."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from fairlead.answers.leaf import PlatformLeaf
from fairlead.answers.plan import Plan
from fairlead.answers.words import LeafClass, WaitFor
from fairlead.cli.screens.blocks import BAD, GOOD, WAITING, Block, Grid, Toned, line
from fairlead.cli.screens.leaves import SEVERITY_TONES, value_text
from fairlead.cli.screens.plan import plan_blocks
from fairlead.telling.counted import counted, names_text


def platform_grid(leaves: Iterable[PlatformLeaf]) -> Grid:
    """Return a table of platform leaves."""
    rows = tuple(
        (
            leaf.leaf,
            leaf.owner,
            Toned(leaf.severity.value, SEVERITY_TONES[leaf.severity]),
            value_text(leaf.value),
            Toned(names_text(leaf.held_by), WAITING),
        )
        for leaf in leaves
    )
    return Grid(("LEAF", "OWNER", "SEVERITY", "VALUE", "HELD BY"), rows)


def effect_blocks(plans: Sequence[Plan]) -> list[Block]:
    """Return what a platform change does: how many pools hold it, and what is replaced, if any."""
    rolling = [plan for plan in plans if plan.disturbed]
    holding = [plan.pool for plan in plans if not plan.disturbed and _holds(plan)]
    blocks: list[Block] = []
    if holding:
        verb = "holds" if len(holding) == 1 else "hold"
        told = f"{counted(len(holding), 'pool')} {verb} this change ({names_text(holding)})"
        ending = "" if rolling else ", no machine is replaced"
        blocks.append(line(Toned(told + ending, WAITING if rolling else GOOD)))
    elif not rolling:
        told = "in force at once" if _is_in_force(plans) else "no pool holds this change"
        blocks.append(line(Toned(f"{told}, no machine is replaced", GOOD)))
    blocks += plan_blocks(rolling) if rolling else []
    return blocks + [line(Toned(text, BAD)) for plan in plans for text in _failures(plan)]


def _failures(plan: Plan) -> list[str]:
    """Return why a pool took no part in the change."""
    waits = [wait for wait in plan.waits if wait.wait_for is WaitFor.RETRY]
    return [f"{plan.pool}: {wait.says}" for wait in waits]


def _is_in_force(plans: Sequence[Plan]) -> bool:
    leaves = [leaf for plan in plans for leaf in plan.leaves]
    return any(leaf.leaf_class is LeafClass.IN_PLACE for leaf in leaves)


def _holds(plan: Plan) -> bool:
    return any(leaf.leaf_class in (LeafClass.PLATFORM, LeafClass.UNKNOWN) for leaf in plan.leaves)
