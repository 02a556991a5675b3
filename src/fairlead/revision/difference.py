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
from fairlead.revision.hashing import Scheme, half_of, leaf_digest
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


def difference_of(before: Revision, after: Revision) -> Difference:
    """Return what differs. Both revisions must be hashed under one scheme and one content rule."""
    if (before.scheme, before.content) != (after.scheme, after.content):
        raise InvariantError(f"compared {before} with {after} before rebasing it")
    if (before.intent_hash, before.platform_hash) == (after.intent_hash, after.platform_hash):
        return Difference((), ())
    scheme = Scheme(after.scheme)
    changes = []
    for path in sorted(before.leaves.keys() | after.leaves.keys()):
        old, new = before.leaves.get(path), after.leaves.get(path)
        if _is_spelled_alike(old, new):
            continue  # most leaves; their digests are equal too
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


def _is_spelled_alike(one: Json, other: Json) -> bool:
    # Not by ==, for which 1, 1.0 and True are one.
    return type(one) is type(other) and (
        one == other if isinstance(one, str) else repr(one) == repr(other)
    )


def _digest(path: str, value: Json, scheme: Scheme) -> str:
    return "" if value is None else leaf_digest(path, value, scheme)
