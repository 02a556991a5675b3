"""The leaves in which two documents of one kind differ, in canonical form."""

from contextlib import suppress
from dataclasses import fields
from functools import lru_cache

from fairlead.answers.leaf import LeafDifference
from fairlead.answers.words import LeafClass
from fairlead.contract.canonical import canonical_bytes
from fairlead.controller.observe import PoolDocuments
from fairlead.errors import InputError
from fairlead.inputs.declared import declared_pool
from fairlead.inputs.leaf import Json, Leaves, Unusable
from fairlead.inputs.parse import parse_platform_config
from fairlead.inputs.platform_inputs import PLATFORM
from fairlead.inputs.registry import class_of, find_row, owner_of
from fairlead.inputs.spelled import Spelled
from fairlead.revision.difference import LeafChange


def pool_differences(before: Json | None, after: Json) -> tuple[LeafDifference, ...]:
    """Return the leaves in which two NodePool documents differ; before: None if there is none."""
    return _differences(_pool_leaves(before) if before is not None else {}, _pool_leaves(after))


def platform_differences(before: Json, after: Json) -> tuple[LeafDifference, ...]:
    """Return the leaves in which two PlatformConfig documents differ. Raises InputError."""
    return _differences(_platform_leaves(before), _platform_leaves(after))


def in_place_differences(before: PoolDocuments, after: PoolDocuments) -> tuple[LeafDifference, ...]:
    """Return what differs between two pairs of documents and is applied in place."""
    # Under another platform most pools are what they were: the very same document.
    found = () if before.pool is after.pool else pool_differences(before.pool, after.pool)
    with suppress(InputError):  # a platform that cannot be used changes nothing
        found += _differences_once(Spelled(before.platform), Spelled(after.platform))
    kept = [leaf for leaf in found if leaf.leaf_class is LeafClass.IN_PLACE]
    return tuple(sorted(kept, key=lambda leaf: leaf.leaf))


# A change of the platform is asked about for every pool.
@lru_cache(maxsize=4)
def _differences_once(before: Spelled, after: Spelled) -> tuple[LeafDifference, ...]:
    return platform_differences(before.value, after.value)


def leaf_difference(change: LeafChange) -> LeafDifference:
    """Return a change between two revisions as it is told."""
    return _difference(change.leaf, change.before, change.after)


def _differences(before: Leaves, after: Leaves) -> tuple[LeafDifference, ...]:
    return tuple(
        _difference(leaf, before.get(leaf), after.get(leaf))
        for leaf in sorted(before.keys() | after.keys())
        if not _is_same(before.get(leaf), after.get(leaf))
    )


def _is_same(before: Json, after: Json) -> bool:
    # Of a document that did not change the very same values are found: most of a fleet's.
    return before is after or canonical_bytes(before) == canonical_bytes(after)


def _difference(leaf: str, before: Json, after: Json) -> LeafDifference:
    return LeafDifference(
        leaf=leaf,
        leaf_class=class_of(leaf) if find_row(leaf) else LeafClass.UNKNOWN,
        owner=owner_of(leaf),
        before=before,
        after=after,
    )


def _pool_leaves(document: Json) -> Leaves:
    pool = declared_pool(document)
    intent = {} if isinstance(pool.intent, Unusable) else pool.intent.leaves
    settings = {} if isinstance(pool.settings, Unusable) else pool.settings
    return {**intent, **settings, **pool.unknown}


def _platform_leaves(document: Json) -> Leaves:
    inputs = parse_platform_config(document)
    written = {part.name: getattr(inputs.stub, part.name) for part in fields(inputs.stub)}
    stub = {f"{PLATFORM}stub.{name}": value for name, value in written.items() if value}
    stopped: Leaves = {f"{PLATFORM}stopEverything": True} if inputs.is_stopped else {}
    version = inputs.control_plane_version
    held_against: Leaves = {f"{PLATFORM}controlPlaneVersion": version} if version else {}
    return {**inputs.leaves, **stub, **stopped, **held_against}
