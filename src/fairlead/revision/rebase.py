"""
Stored revisions under the running code's scheme: hashed anew from their inputs, never rolled.

The id stays: templates, machines and secrets refer to it. Leaves are split by the registry of the
running code, so a leaf that moved to another class moves in the stored revision as well. What was
said in other words and means the same is told in those of the revision that it is compared with.
"""

import dataclasses
from collections.abc import Iterable

from fairlead.answers.words import LeafClass
from fairlead.contract.canonical import canonical_bytes
from fairlead.revision.hashing import Scheme, half_of, hashes_of
from fairlead.revision.revision import Revision, SecretContent
from fairlead.revision.spelling import SPELLING, respelled


def rebase(revision: Revision, content: SecretContent, scheme: Scheme) -> Revision:
    """Return the revision with hashes that can be compared under this scheme and content rule."""
    if revision.scheme == scheme.number and revision.content is content:
        return revision
    hashes = hashes_of(revision.leaves, content, scheme)
    return dataclasses.replace(
        revision,
        scheme=scheme.number,
        content=content,
        intent_hash=hashes.intent,
        platform_hash=hashes.platform,
    )


def in_words_of(wanted: Revision, stored: Revision) -> Revision:
    """Return the stored revision as it can be compared with the wanted one."""
    rebased = rebase(stored, wanted.content, Scheme(wanted.scheme))
    is_current = rebased.spelling == SPELLING
    if is_current and rebased.intent_hash == wanted.intent_hash:
        return rebased
    leaves = respelled(rebased.leaves, wanted.leaves, rebased.spelling)
    if is_current and leaves == rebased.leaves:
        return rebased
    hashes = hashes_of(leaves, wanted.content, Scheme(wanted.scheme))
    return dataclasses.replace(
        rebased,
        leaves=dict(sorted(leaves.items())),
        spelling=SPELLING,
        intent_hash=hashes.intent,
        platform_hash=hashes.platform,
    )


@dataclasses.dataclass(frozen=True, slots=True)
class ReplayProof:
    """How many pools were compared, and the ids of stored revisions that hash wrongly."""

    compared: int
    broken: tuple[str, ...]


def replay_proof(pools: Iterable[tuple[Revision, Revision]]) -> ReplayProof:
    """
    Show, for (stored, wanted) of every pool, that new code acts as the stored inputs say.

    In the words and under the scheme of `wanted`, the hash of a half differs exactly if a leaf of
    that half does. Run it over every pool before new code acts; act only if nothing is broken.
    """
    compared = 0
    broken = []
    for stored, wanted in pools:
        rebased = in_words_of(wanted, stored)
        compared += 1
        if _differs_by_hash(rebased, wanted) != _differs_by_leaf(rebased, wanted):
            broken.append(stored.id)
    return ReplayProof(compared, tuple(broken))


def _differs_by_hash(one: Revision, other: Revision) -> tuple[bool, bool]:
    return one.intent_hash != other.intent_hash, one.platform_hash != other.platform_hash


def _differs_by_leaf(one: Revision, other: Revision) -> tuple[bool, bool]:
    halves = {
        half_of(path, other.content)
        for path in one.leaves.keys() | other.leaves.keys()
        if path not in one.leaves
        or path not in other.leaves
        or canonical_bytes(one.leaves[path]) != canonical_bytes(other.leaves[path])
    }
    return LeafClass.INTENT in halves, LeafClass.PLATFORM in halves
