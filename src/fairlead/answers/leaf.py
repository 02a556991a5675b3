"""Leaves in answers: what differs, what a pool holds, what the platform has set."""

from msgspec import field

from fairlead.answers.document import Document, Json, Moment
from fairlead.answers.words import LeafClass, Severity


class LeafDifference(Document, frozen=True, kw_only=True):
    """One leaf that differs. None stands for not set."""

    leaf: str
    leaf_class: LeafClass = field(name="class")
    owner: str
    before: Json
    after: Json


class HeldLeaf(Document, frozen=True, kw_only=True):
    """A platform change that waits for the pool's next rollout."""

    id: str
    leaf: str
    owner: str
    severity: Severity
    since: Moment
    before: Json
    after: Json


class PlatformLeaf(Document, frozen=True, kw_only=True):
    """One leaf of the platform; None if it was removed and a pool still runs with it."""

    leaf: str
    owner: str
    severity: Severity
    value: Json
    held_by: tuple[str, ...]
