"""
A decision as one sentence for the pool's owner: in the condition, the command line, the console.

A sentence says since when, never how long: an age would change a condition on every pass.
"""

from collections.abc import Iterable
from datetime import UTC, datetime
from typing import assert_never

from fairlead.decision.decision import (
    Adopt,
    ChangedIntent,
    Decision,
    DeletePool,
    Forced,
    HoldPlatformChange,
    Keep,
    Overdue,
    Reason,
    ReplaceMachines,
    Unknown,
)
from fairlead.revision.newest import CLOUD_CONFIG

# A condition message is read in one line of a terminal; the rest is in the list of leaves.
NAMED_LEAVES = 3


def explain(decision: Decision, *, refreshes: bool = False, in_place: bool = False) -> str:
    """
    Return why machines are, or are not, replaced.

    refreshes: new machines get held changes. in_place: machines are changed, and none is replaced.
    """
    match decision:
        case Keep():
            return "Up to date: every input is as recorded; no machine will be replaced."
        case Adopt():
            return _explain_adoption(decision)
        case HoldPlatformChange():
            return _explain_hold(decision, refreshes=refreshes)
        case ReplaceMachines():
            verb = "changed in place" if in_place else "replaced"
            return f"Machines are {verb} because {reason_text(decision.because)}" + (
                f"; {_counted(len(decision.takes_along), 'platform change')} along."
                if decision.takes_along
                else "."
            )
        case Unknown():
            return f"Unknown: {decision.unusable}; no machine will be replaced."
        case DeletePool():
            return "The pool was deleted: its machines leave, then its secrets go."
        case _:
            assert_never(decision)


def reason_text(reason: Reason) -> str:
    """Return the reason that a replaced machine keeps."""
    match reason:
        case ChangedIntent():
            leaves = listed(change.leaf for change in reason.changes)
            return f"the pool's owner changed {leaves}"
        case Forced():
            return f"the pool's owner forced it ({reason.value})"
        case Overdue():
            return f"{listed(held.leaf for held in reason.held)} was held for too long"
        case _:
            assert_never(reason)


def listed(names: Iterable[str]) -> str:
    """Return the first names, sorted, and how many more there are."""
    ordered = sorted(names)
    shown = ", ".join(ordered[:NAMED_LEAVES])
    rest = len(ordered) - NAMED_LEAVES
    return f"{shown} and {rest} more" if rest > 0 else shown


def moment(when: datetime) -> str:
    """Return a moment as people and Kubernetes write it, in UTC, to the second."""
    return f"{when.astimezone(UTC).replace(tzinfo=None).isoformat(timespec='seconds')}Z"


def _explain_adoption(decision: Adopt) -> str:
    if decision.is_new:
        return f"New pool: machines are made from revision {decision.wanted}."
    return f"No machine runs: revision {decision.wanted} is taken at once."


def _explain_hold(decision: HoldPlatformChange, *, refreshes: bool) -> str:
    held = decision.held
    oldest = min((change.since for change in held), default=None)
    since = f" since {moment(oldest)}" if oldest else ""
    return (
        f"Held: {_noun(len(held), 'platform change')} ({listed(change.leaf for change in held)})"
        f"{since}; no machine will be replaced, {_new_machines(decision, refreshes=refreshes)}."
    )


def _new_machines(decision: HoldPlatformChange, *, refreshes: bool) -> str:
    leaves = {change.leaf for change in decision.held}
    if refreshes or leaves == {CLOUD_CONFIG}:
        return "new machines get it"
    if CLOUD_CONFIG in leaves:
        return f"new machines get {CLOUD_CONFIG} and boot like their siblings otherwise"
    return "new machines boot like their siblings"


def _noun(count: int, noun: str) -> str:
    return f"{count} {noun}" + ("" if count == 1 else "s")


def _counted(count: int, noun: str) -> str:
    return _noun(count, noun) + (" goes" if count == 1 else " go")
