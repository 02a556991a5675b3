"""
Inputs to hashes: a digest per leaf, and per half one digest over its leaves.

Raise HASH_SCHEME with any change of how a hash is taken; stored revisions are then hashed anew
(rebase.py) and nothing rolls. A hash that changes under the same number replaces every machine of
every fleet. How leaves are spelled is another number: spelling.py.
"""

from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from fairlead.answers.words import LeafClass
from fairlead.contract.canonical import canonical_bytes, digest_of, digest_of_text
from fairlead.inputs.leaf import Json, Leaves
from fairlead.inputs.registry import class_of
from fairlead.inputs.remembered import Last
from fairlead.inputs.spelled import LARGEST_KEPT, Spelled
from fairlead.revision.node_config_text import render_node_config
from fairlead.revision.revision import Revision, SecretContent
from fairlead.revision.spelling import SPELLING

HASH_SCHEME = 1

# 64 bits: among a million revisions of one pool two share an id with odds of 1 in 10^7.
ID_DIGITS = 16


@dataclass(frozen=True, slots=True)
class Scheme:
    """How hashes are taken. The number is in the purpose of every digest."""

    number: int = HASH_SCHEME


CURRENT = Scheme()

# A leaf may be there and hold nothing, which is hashed.
_NOT_THERE = object()

# Values that may be equal by == and spelled in two ways, although they are of one type.
_NESTED = (dict, list)

PURPOSES = {LeafClass.INTENT: "intent", LeafClass.PLATFORM: "platform"}

CONTENT_HALVES = {
    SecretContent.IGNORE: LeafClass.IGNORED,
    SecretContent.DRIFT: LeafClass.PLATFORM,
    SecretContent.ROLL: LeafClass.INTENT,
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Hashes:
    """The two hashes of one set of leaves."""

    intent: str
    platform: str


def revision_of(
    leaves: Leaves,
    *,
    content: SecretContent = SecretContent.IGNORE,
    scheme: Scheme = CURRENT,
    force: str = "",
    known: Revision | None = None,
) -> Revision:
    """
    Return the revision of these inputs. Raises InputError if no node config follows.

    known: a revision that may be the very same; then it is returned and nothing is rendered. Where
    only the platform's half differs from it, only that is hashed.
    """
    leaves = dict(sorted(leaves.items()))
    hashes = _hashes_from(known, leaves, content, scheme)
    name = id_of(hashes, scheme, force)
    told = (known.id, known.scheme, known.content) if known else None
    # With the id the hashes are equal; leaves that no hash covers may still differ.
    if known and told == (name, scheme.number, content) and known.leaves == leaves:
        return known
    return Revision(
        id=name,
        scheme=scheme.number,
        intent_hash=hashes.intent,
        platform_hash=hashes.platform,
        leaves=leaves,
        node_config=render_node_config(leaves),
        content=content,
        force=force,
        spelling=SPELLING,
    )


def id_of(hashes: Hashes, scheme: Scheme, force: str) -> str:
    """Return the id of a revision."""
    forced = f'"force":{_spelled(force)}'
    identity = f'{{{forced},"intent":"{hashes.intent}","platform":"{hashes.platform}"}}'
    return digest_of_text(f"fairlead/revision/{scheme.number}", identity)[:ID_DIGITS]


def hashes_of(leaves: Leaves, content: SecretContent, scheme: Scheme) -> Hashes:
    """Return the hashes of both halves. No leaf is in both."""
    return Hashes(
        intent=_half_hash(LeafClass.INTENT, leaves, content, scheme),
        platform=_half_hash(LeafClass.PLATFORM, leaves, content, scheme),
    )


def _hashes_from(
    known: Revision | None, leaves: Leaves, content: SecretContent, scheme: Scheme
) -> Hashes:
    """Return the hashes. A half that is spelled as in a known revision has the hash of that."""
    if known is None or (known.scheme, known.content) != (scheme.number, content):
        return hashes_of(leaves, content, scheme)
    halves = {half_of(path, content) for path in spelled_otherwise(known.leaves, leaves)}
    intent, platform = known.intent_hash, known.platform_hash
    if LeafClass.INTENT in halves:
        intent = _half_hash(LeafClass.INTENT, leaves, content, scheme)
    if LeafClass.PLATFORM in halves:
        platform = _half_hash(LeafClass.PLATFORM, leaves, content, scheme)
    return Hashes(intent=intent, platform=platform)


# Hashed by what differs from a known revision, a new one is compared with that very revision next.
_LAST: Last[tuple[str, ...]] = Last()


def spelled_otherwise(before: Leaves, after: Leaves) -> tuple[str, ...]:
    """Return the paths whose values are spelled in two ways. All others have equal digests."""
    known = _LAST.find(before, after)
    return known if known is not None else _LAST.keep(before, after, _other_paths(before, after))


def _other_paths(before: Leaves, after: Leaves) -> tuple[str, ...]:
    found = [path for path in before if path not in after]
    for path, new in after.items():
        old = before.get(path, _NOT_THERE)
        if old is new:
            continue
        # Not by ==, for which 1, 1.0 and True are one, also inside of lists and mappings.
        kind = type(new)
        if (
            type(old) is not kind
            or old != new
            or (kind is not str and isinstance(new, _NESTED) and repr(old) != repr(new))
        ):
            found.append(path)
    return tuple(sorted(found))


def _half_hash(half: LeafClass, leaves: Leaves, content: SecretContent, scheme: Scheme) -> str:
    found = {path: leaves[path] for path in sorted(leaves) if half_of(path, content) is half}
    if half is LeafClass.PLATFORM:
        spelled = Spelled(found)
        if spelled.is_kept:
            return _platform_hash(spelled, scheme.number)
    return _hash_of_half(half, found, scheme)


# One platform is the half of all pools, but for what a pool itself adds to it.
@lru_cache(maxsize=1 << 8)
def _platform_hash(spelled: Spelled, scheme: int) -> str:
    found: Any = spelled.value
    return _hash_of_half(LeafClass.PLATFORM, found, Scheme(scheme))


def _hash_of_half(half: LeafClass, found: Leaves, scheme: Scheme) -> str:
    """Return the hash of a half, given its leaves sorted by path."""
    # Pairs of a path and hexadecimal digits, each in its canonical spelling: so is the list.
    pairs = [
        f'[{_spelled(path)},"{leaf_digest(path, value, scheme)}"]' for path, value in found.items()
    ]
    return digest_of_text(f"fairlead/{PURPOSES[half]}/{scheme.number}", f"[{','.join(pairs)}]")


# Paths are those of the registry, and what owners name in documents of their own.
@lru_cache(maxsize=1 << 12)
def _spelled(text: str) -> str:
    return canonical_bytes(text).decode()


def leaf_digest(path: str, value: Json, scheme: Scheme) -> str:
    """Return the digest of one leaf."""
    if isinstance(value, str):
        read = _text_digest if len(value) <= LARGEST_KEPT else _digest_of_leaf
        return read(path, value, scheme.number)
    spelled = Spelled(value)
    if not spelled.is_kept:
        return _digest_of_leaf(path, value, scheme.number)
    return _value_digest(path, spelled, scheme.number)


def half_of(path: str, content: SecretContent) -> LeafClass:
    """Return the half that a leaf counts for, which for secrets' content is the pool's choice."""
    leaf_class = class_of(path)
    return leaf_class if leaf_class is not LeafClass.CONTENT else CONTENT_HALVES[content]


# Pools share the platform's leaves and most values of their own, and what did not change since the
# last pass is asked for again, so a pass over a fleet takes few digests. Full, both hold 40 MB.
@lru_cache(maxsize=1 << 16)
def _text_digest(path: str, text: str, scheme: int) -> str:
    return _digest_of_leaf(path, text, scheme)


@lru_cache(maxsize=1 << 16)
def _value_digest(path: str, spelled: Spelled, scheme: int) -> str:
    return _digest_of_leaf(path, spelled.value, scheme)


def _digest_of_leaf(path: str, value: Json, scheme: int) -> str:
    return digest_of(f"fairlead/leaf/{scheme}", [path, canonical_bytes(value).decode()])
