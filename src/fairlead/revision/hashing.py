"""
Inputs to hashes: a digest per leaf, and per half one digest over its leaves.

Raise HASH_SCHEME with any change of how a hash is taken; stored revisions are then hashed anew
(rebase.py) and nothing rolls. A hash that changes under the same number replaces every machine of
every fleet. How leaves are spelled is another number: spelling.py.
"""

from dataclasses import dataclass
from functools import lru_cache

from fairlead.answers.words import LeafClass
from fairlead.contract.canonical import canonical_bytes, digest_of
from fairlead.inputs.leaf import Json, Leaves
from fairlead.inputs.registry import class_of
from fairlead.inputs.spelled import Spelled
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

    known: a revision that may be the very same; then it is returned and nothing is rendered.
    """
    hashes = hashes_of(leaves, content, scheme)
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
        leaves=dict(sorted(leaves.items())),
        node_config=render_node_config(leaves),
        content=content,
        force=force,
        spelling=SPELLING,
    )


def id_of(hashes: Hashes, scheme: Scheme, force: str) -> str:
    """Return the id of a revision."""
    identity = {"intent": hashes.intent, "platform": hashes.platform, "force": force}
    return digest_of(f"fairlead/revision/{scheme.number}", identity)[:ID_DIGITS]


def hashes_of(leaves: Leaves, content: SecretContent, scheme: Scheme) -> Hashes:
    """Return the hashes of both halves. No leaf is in both."""
    intent: list[tuple[str, str]] = []
    platform: list[tuple[str, str]] = []
    for path in sorted(leaves):
        half = half_of(path, content)
        if half is LeafClass.INTENT:
            intent.append((path, leaf_digest(path, leaves[path], scheme)))
        elif half is LeafClass.PLATFORM:
            platform.append((path, leaf_digest(path, leaves[path], scheme)))
    return Hashes(
        intent=digest_of(f"fairlead/intent/{scheme.number}", intent),
        platform=_platform_hash(tuple(platform), scheme.number),
    )


def leaf_digest(path: str, value: Json, scheme: Scheme) -> str:
    """Return the digest of one leaf."""
    if isinstance(value, str):
        return _text_digest(path, value, scheme.number)
    return _value_digest(path, Spelled(value), scheme.number)


def half_of(path: str, content: SecretContent) -> LeafClass:
    """Return the half that a leaf counts for, which for secrets' content is the pool's choice."""
    leaf_class = class_of(path)
    if leaf_class is not LeafClass.CONTENT:
        return leaf_class
    return {
        SecretContent.IGNORE: LeafClass.IGNORED,
        SecretContent.DRIFT: LeafClass.PLATFORM,
        SecretContent.ROLL: LeafClass.INTENT,
    }[content]


# The platform's half is the same for most pools of a fleet.
@lru_cache(maxsize=1 << 8)
def _platform_hash(digests: tuple[tuple[str, str], ...], scheme: int) -> str:
    return digest_of(f"fairlead/platform/{scheme}", digests)


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
