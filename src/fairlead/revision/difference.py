"""
Which leaves differ between two revisions, and whose they are: the explanation of a decision.

Compared leaf by leaf through their digests, so the hashes differ exactly if this list is not
empty.
"""

from dataclasses import dataclass

from fairlead.answers.words import LeafClass
from fairlead.errors import InvariantError
from fairlead.inputs.leaf import Json
from fairlead.inputs.registry import owner_of
from fairlead.inputs.remembered import Last
from fairlead.revision.hashing import Scheme, half_of, leaf_digest, spelled_otherwise
from fairlead.revision.revision import Revision


@dataclass(frozen=True, slots=True, kw_only=True)
class LeafChange:
    """One leaf that differs. None stands for not set."""

    leaf: str
    half: LeafClass
    owner: str
    before: Json
    after: Json
    digest: str

    def __str__(self) -> str:
        return self.leaf


@dataclass(frozen=True, slots=True)
class Difference:
    """Everything that differs between two revisions, by owner, sorted by leaf."""

    intent: tuple[LeafChange, ...]
    platform: tuple[LeafChange, ...]


# One pass asks for the same several times.
_LAST: Last[Difference] = Last()


def difference_of(before: Revision, after: Revision) -> Difference:
    """Return what differs. Both revisions must be hashed under one scheme and one content rule."""
    if (before.scheme, before.content) != (after.scheme, after.content):
        raise InvariantError(f"compared {before} with {after} before rebasing it")
    if (before.intent_hash, before.platform_hash) == (after.intent_hash, after.platform_hash):
        return Difference((), ())
    known = _LAST.find(before, after)
    return known or _LAST.keep(before, after, _difference(before, after))


def _difference(before: Revision, after: Revision) -> Difference:
    scheme = Scheme(after.scheme)
    changes = []
    for path in spelled_otherwise(before.leaves, after.leaves):
        old, new = before.leaves.get(path), after.leaves.get(path)
        digest = _digest(path, new, scheme)
        if digest != _digest(path, old, scheme):
            changes.append(
                LeafChange(
                    leaf=path,
                    half=half_of(path, after.content),
                    owner=owner_of(path),
                    before=old,
                    after=new,
                    digest=digest,
                )
            )
    return Difference(
        tuple(change for change in changes if change.half is LeafClass.INTENT),
        tuple(change for change in changes if change.half is LeafClass.PLATFORM),
    )


def _digest(path: str, value: Json, scheme: Scheme) -> str:
    return "" if value is None else leaf_digest(path, value, scheme)
