"""
A plan as its owner was shown it, and how what is found now exceeds it.

It comes back from the command that showed it. Only what it promises is read: how much is
disturbed, which machines, and the inputs that they are given.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from fairlead.controller.describe_plan import View
from fairlead.decision.explain import listed
from fairlead.errors import InputError
from fairlead.inputs.leaf import Json
from fairlead.inputs.shape import kind_of
from fairlead.rollout.record import ChangeClass

# What a class of change does to machines; a later one does more.
DOES = {
    ChangeClass.NONE: "does nothing",
    ChangeClass.IN_PLACE: "changes the pool in place",
    ChangeClass.REPLACE: "replaces machines",
    ChangeClass.DELETE: "deletes the pool",
}
_ORDER = list(DOES)


@dataclass(frozen=True, slots=True, kw_only=True)
class ShownPlan:
    """What was promised for one pool."""

    pool: str
    change: ChangeClass
    machines: tuple[str, ...]
    removed: tuple[str, ...]
    intent_hash: str
    platform_hash: str

    @property
    def disturbed(self) -> tuple[str, ...]:
        """Every machine that may be replaced, changed or removed."""
        return self.machines + self.removed


def parse_shown_plan(value: Json, field: str) -> ShownPlan:
    """Return a plan as a command sent it back. Raises InputError by field."""
    if not isinstance(value, Mapping):
        raise InputError(f"found {kind_of(value)}, expected a plan", field=field)
    change = _text(value, "change", field)
    if change not in {known.value for known in ChangeClass}:
        raise InputError(f"{change!r} is no class of change", field=f"{field}.change")
    return ShownPlan(
        pool=_text(value, "pool", field),
        change=ChangeClass(change),
        machines=_names(value, "machines", field),
        removed=_names(value, "removed", field),
        intent_hash=_text(value, "intent_hash", field),
        platform_hash=_text(value, "platform_hash", field),
    )


def excess_of(found: View, shown: ShownPlan | None, anyway: frozenset[str]) -> str:
    """
    Say in words how what is found exceeds what was shown, or ''.

    anyway: machines that leave whatever is proposed, because they failed since.
    """
    here = parse_shown_plan(found, "plan")
    if shown is None:
        is_quiet = here.change is ChangeClass.NONE
        return "" if is_quiet else f"it {DOES[here.change]}, and no plan of it was shown"
    if _ORDER.index(here.change) > _ORDER.index(shown.change):
        return f"it {DOES[here.change]}, and the plan that was shown {DOES[shown.change]}"
    if extra := set(here.disturbed) - anyway - set(shown.disturbed):
        return f"the plan that was shown does not hold {listed(extra)}"
    return _other_inputs(here, shown) if here.machines else ""


def _other_inputs(here: ShownPlan, shown: ShownPlan) -> str:
    if here.intent_hash != shown.intent_hash:
        return "the pool's own inputs are not those of the plan that was shown"
    if here.platform_hash != shown.platform_hash:
        return "platform inputs changed since the plan was shown"
    return ""


def _text(value: Mapping[str, Json], name: str, field: str) -> str:
    found = value.get(name)
    if not isinstance(found, str):
        raise InputError(f"found {kind_of(found)}, expected text", field=f"{field}.{name}")
    return found


def _names(value: Mapping[str, Json], name: str, field: str) -> tuple[str, ...]:
    found = value.get(name, [])
    if not isinstance(found, list) or not all(isinstance(item, str) for item in found):
        raise InputError("expected a list of names", field=f"{field}.{name}")
    return tuple(found)
