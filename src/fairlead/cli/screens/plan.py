"""A plan as people read it: what would be replaced, why, in what order, and how long it takes."""

from __future__ import annotations

from collections.abc import Iterable

from fairlead.answers.plan import Plan
from fairlead.answers.words import ChangeClass, LeafClass, WaitFor
from fairlead.cli.screens.blocks import GOOD, STRONG, WAITING, Block, Cell, Toned, fact, line
from fairlead.cli.screens.leaves import leaf_grid
from fairlead.telling.counted import names_text
from fairlead.telling.headline import headline_of
from fairlead.telling.spoken_time import duration_text

# Waits that belong to every rollout: a machine boots, drains, or its turn has not come. Those on
# an earlier plan end where this one is carried out, since it takes that one's place.
ORDINARY = (
    WaitFor.BUDGET,
    WaitFor.JOIN,
    WaitFor.READY,
    WaitFor.LEAVE,
    WaitFor.CHANGE,
    WaitFor.PLAN,
)


def plan_blocks(plans: Iterable[Plan]) -> list[Block]:
    """Return the plans, one after the other."""
    blocks: list[Block] = []
    for plan in plans:
        tone = WAITING if plan.disturbed else GOOD
        blocks.append(line(Toned(plan.pool, STRONG), ": ", Toned(headline_of(plan), tone)))
        if plan.leaves:
            blocks.append(leaf_grid(plan.leaves, _held_classes(plan)))
        blocks += [fact(name, text, width=11) for name, text in _facts(plan)]
    return blocks or [line("no pool is touched")]


def _facts(plan: Plan) -> list[tuple[str, Cell]]:
    facts: list[tuple[str, Cell]] = []
    if plan.machines:
        facts.append(("order", names_text(plan.machines)))
        facts.append(("takes", f"about {duration_text(plan.estimate_s)}"))
    if plan.removed:
        facts.append(("removes", names_text(plan.removed)))
    waits = [wait.says for wait in plan.waits if wait.wait_for not in ORDINARY]
    return facts + [("waits for", Toned(says, WAITING)) for says in waits]


def _held_classes(plan: Plan) -> tuple[LeafClass, ...]:
    """Return the classes of leaves that are held: where machines stay, those of the platform."""
    if plan.change is ChangeClass.REPLACE or plan.is_new:
        return ()
    return (LeafClass.PLATFORM, LeafClass.UNKNOWN)
