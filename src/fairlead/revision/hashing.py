"""
Inputs to hashes: a digest per leaf, and per half one digest over its leaves.

Raise HASH_SCHEME with any change of what a hash covers or how it is taken; stored revisions are
then hashed anew (rebase.py) and nothing rolls. A hash that changes under the same number
replaces every machine of every fleet.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache

from fairlead.contract.canonical import canonical_bytes, digest_of
from fairlead.inputs.leaf import Json, LeafClass, Leaves
from fairlead.inputs.registry import class_of
from fairlead.revision.node_config_text import render_node_config
from fairlead.revision.revision import Revision, SecretContent

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
) -> Revision:
    """Return the revision of these inputs. Raises InputError if no node config follows."""
    hashes = hashes_of(leaves, content, scheme)
    identity = {"intent": hashes.intent, "platform": hashes.platform, "force": force}
    return Revision(
        id=digest_of(f"fairlead/revision/{scheme.number}", identity)[:ID_DIGITS],
        scheme=scheme.number,
        intent_hash=hashes.intent,
        platform_hash=hashes.platform,
        leaves=dict(sorted(leaves.items())),
        node_config=render_node_config(leaves),
        content=content,
        force=force,
    )


def hashes_of(leaves: Leaves, content: SecretContent, scheme: Scheme) -> Hashes:
    """Return the hashes of both halves. No leaf is in both."""
    digests = leaf_digests(leaves, scheme)
    halves: dict[LeafClass, list[tuple[str, str]]] = {
        LeafClass.INTENT: [],
        LeafClass.PLATFORM: [],
    }
    for path in sorted(digests):
        half = half_of(path, content)
        if half in halves:
            halves[half].append((path, digests[path]))
    return Hashes(
        intent=digest_of(f"fairlead/intent/{scheme.number}", halves[LeafClass.INTENT]),
        platform=digest_of(f"fairlead/platform/{scheme.number}", halves[LeafClass.PLATFORM]),
    )


def leaf_digests(leaves: Leaves, scheme: Scheme) -> Mapping[str, str]:
    """Return the digest of each leaf: what two revisions are compared by."""
    return {path: _leaf_digest(path, _text_of(leaves[path]), scheme.number) for path in leaves}


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


def _text_of(value: Json) -> bytes:
    return canonical_bytes(value)


# Pools share the platform's leaves and most values of their own, so a pass over a fleet takes
# few digests; the size is about 20 MB when full.
@lru_cache(maxsize=1 << 16)
def _leaf_digest(path: str, text: bytes, scheme: int) -> str:
    return digest_of(f"fairlead/leaf/{scheme}", [path, text.decode()])
