"""Two documents to the leaves in which they differ, in canonical form."""

from __future__ import annotations

from dataclasses import fields
from typing import Any

from fairlead.contract.canonical import canonical_bytes
from fairlead.inputs.leaf import Json, Leaves, Unusable
from fairlead.inputs.parse import parse_node_pool, parse_platform_config
from fairlead.inputs.platform_inputs import PLATFORM
from fairlead.inputs.registry import class_of, find_row, owner_of


def leaf_differences(kind: str, live: Json, document: Json) -> list[dict[str, Any]]:
    """Return the leaves that differ, sorted; `live` is None if there is nothing yet."""
    leaves_of = {"NodePool": _pool_leaves, "PlatformConfig": _platform_leaves}[kind]
    before = leaves_of(live) if live is not None else {}
    after = leaves_of(document)
    return [
        {
            "leaf": leaf,
            "class": class_of(leaf).value if find_row(leaf) else "unknown",
            "owner": owner_of(leaf),
            "before": before.get(leaf),
            "after": after.get(leaf),
        }
        for leaf in sorted(before.keys() | after.keys())
        if not _is_equal(before.get(leaf), after.get(leaf))
    ]


def _is_equal(a: Json, b: Json) -> bool:
    return canonical_bytes(a) == canonical_bytes(b)


def _pool_leaves(document: Json) -> Leaves:
    pool = parse_node_pool(document)
    intent = {} if isinstance(pool.intent, Unusable) else pool.intent.leaves
    settings = {} if isinstance(pool.settings, Unusable) else pool.settings
    return {**intent, **settings, **pool.unknown}


def _platform_leaves(document: Json) -> Leaves:
    inputs = parse_platform_config(document)
    written = {part.name: getattr(inputs.stub, part.name) for part in fields(inputs.stub)}
    stub = {f"{PLATFORM}stub.{name}": value for name, value in written.items() if value}
    stopped: Leaves = {f"{PLATFORM}stopEverything": True} if inputs.is_stopped else {}
    return {**inputs.leaves, **stub, **stopped}
