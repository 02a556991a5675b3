"""
Platform changes that a pool does not have: each with an id, an owner, a severity and an age.

The age is that of the leaf, not of its latest value: a leaf that changes every week must not
stay young for ever.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from functools import lru_cache

from fairlead.answers.words import Severity
from fairlead.contract.canonical import digest_of
from fairlead.inputs.platform_inputs import ChangeNotice
from fairlead.inputs.registry import severity_of
from fairlead.revision.difference import LeafChange

ID_DIGITS = 8


@dataclass(frozen=True, slots=True, kw_only=True)
class HeldChange:
    """One platform change that waits for the next rollout."""

    id: str
    leaf: str
    owner: str
    severity: Severity
    since: datetime


def held_changes(
    changes: tuple[LeafChange, ...],
    notices: Mapping[str, ChangeNotice],
    known: tuple[HeldChange, ...],
    now: datetime,
) -> tuple[HeldChange, ...]:
    """Return the changes as held, each since the moment that its leaf was first seen to differ."""
    since = {held.leaf: held.since for held in known}
    return tuple(
        _held(change, notices.get(change.leaf, ChangeNotice()), since.get(change.leaf, now))
        for change in changes
    )


def _held(change: LeafChange, notice: ChangeNotice, since: datetime) -> HeldChange:
    return HeldChange(
        id=notice.id or _id_of(change.leaf, change.digest),
        leaf=change.leaf,
        owner=notice.owner or change.owner,
        severity=notice.severity or severity_of(change.leaf),
        since=since,
    )


# A change of the platform is one for all pools.
@lru_cache(maxsize=1 << 8)
def _id_of(leaf: str, digest: str) -> str:
    return "pc-" + digest_of("fairlead/platform-change", [leaf, digest])[:ID_DIGITS]


def overdue_at(held: HeldChange, maximum_age: Mapping[Severity, timedelta]) -> datetime | None:
    """Return when a held change becomes a rollout, or None if its severity has no limit."""
    limit = maximum_age.get(held.severity)
    return held.since + limit if limit is not None else None
