"""
The plan: what a change does to one pool, as it is shown, approved, carried out and saved.

A machine is in one of two lists: `machines` are replaced or changed by a rollout, `removed` leave
in the very next pass for another reason (the pool shrinks, a machine is repaired, the pool goes),
also if a rollout would have replaced them. One that was told to leave before is in neither.
"""

import json
from collections.abc import Collection, Iterable

from fairlead.answers.document import Document, Json
from fairlead.answers.leaf import LeafDifference
from fairlead.answers.text import shortened
from fairlead.answers.wait import Wait
from fairlead.answers.words import ChangeClass, LeafClass

# Names and values in a sentence; all of them are in the plan.
NAMED_MACHINES = 3
MOST_LEAVES = 3
LONGEST_VALUE = 72

# What a class of change does; a later one does more.
DOES = {
    ChangeClass.NONE: "does nothing",
    ChangeClass.IN_PLACE: "changes the pool in place",
    ChangeClass.REPLACE: "replaces machines",
    ChangeClass.DELETE: "deletes the pool",
}
_ORDER = tuple(ChangeClass)

# Leaves that an owner changes.
OWNED = (LeafClass.INTENT, LeafClass.IN_PLACE)


class Plan(Document, frozen=True, kw_only=True):
    """
    What becomes of one pool. Carrying it out refuses to exceed it.

    because: a reason, to follow that word, if machines are disturbed; else a whole sentence.
    machines: in the order in which they go. target: the revision that they get; once it is the
    pool's target, the plan is used up. creates, removed and waits: of the very next pass.
    """

    pool: str
    change: ChangeClass
    because: str = ""
    leaves: tuple[LeafDifference, ...] = ()
    machines: tuple[str, ...] = ()
    estimate_s: float = 0.0
    creates: int = 0
    removes: int = 0
    removed: tuple[str, ...] = ()
    waits: tuple[Wait, ...] = ()
    intent_hash: str = ""
    platform_hash: str = ""
    target: str = ""
    is_new: bool = False

    @property
    def disturbed(self) -> tuple[str, ...]:
        """Every machine that is replaced, changed or removed."""
        return self.machines + self.removed


def beyond(plan: Plan, machines: Iterable[str]) -> list[str]:
    """Return those of the machines that a plan does not disturb, in their order."""
    held = set(plan.disturbed)
    return [name for name in machines if name not in held]


def exceeds(found: Plan, shown: Plan, besides: Collection[str] = ()) -> str:
    """
    Say in words how what is found does more than what was shown, or ''.

    besides: machines that leave whatever is planned, because they failed since.
    """
    if _ORDER.index(found.change) > _ORDER.index(shown.change):
        return f"it {DOES[found.change]}, and the plan that was shown {DOES[shown.change]}"
    if extra := sorted(set(beyond(shown, found.disturbed)).difference(besides)):
        return f"the plan that was shown does not hold {named(extra)}"
    if found.machines and found.intent_hash != shown.intent_hash:
        return "the pool's own inputs are not those of the plan that was shown"
    if found.machines and found.platform_hash != shown.platform_hash:
        return "platform inputs changed since the plan was shown"
    return ""


def moved(found: Plan, shown: Plan, besides: Collection[str] = ()) -> str:
    """Say in words what is no longer as the plan shows it, more or less than it, or ''."""
    if excess := exceeds(found, shown, besides):
        return excess
    if gone := sorted(set(beyond(found, shown.disturbed)).difference(besides)):
        return f"{named(gone)} of the plan that was shown would no longer be disturbed"
    before = {leaf.leaf: leaf.before for leaf in shown.leaves}
    changed = [
        leaf
        for leaf in found.leaves
        # What the platform changed is held where no machine is replaced, and else in its hash.
        if leaf.leaf_class in OWNED and leaf.before != before.get(leaf.leaf, leaf.after)
    ]
    return "; ".join(f"{leaf.leaf} is {_value(leaf.before)} now" for leaf in changed[:MOST_LEAVES])


def _value(value: Json) -> str:
    return "not set" if value is None else shortened(json.dumps(value), LONGEST_VALUE)


def named(names: Collection[str]) -> str:
    """Return the first names, and how many more there are."""
    shown = ", ".join(list(names)[:NAMED_MACHINES])
    rest = len(names) - NAMED_MACHINES
    return f"{shown} and {rest} more" if rest > 0 else shown
