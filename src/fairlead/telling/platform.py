"""The platform as it is told: its leaves, and the pools that do not have the latest. Pure."""

from collections.abc import Mapping

from fairlead.answers.leaf import PlatformLeaf
from fairlead.answers.reply import Platform
from fairlead.inputs.leaf import Json
from fairlead.inputs.parse import parse_platform_config
from fairlead.inputs.platform_inputs import with_code_defaults
from fairlead.inputs.registry import owner_of, severity_of
from fairlead.rollout.record import PoolRecord


def platform_answer(
    document: Json, defaults: Mapping[str, Json], records: Mapping[str, PoolRecord]
) -> Platform:
    """
    Return the platform's leaves, each with the pools that do not have its latest value.

    A leaf that was removed, and that a pool still runs with, is listed without a value.
    """
    leaves = with_code_defaults(parse_platform_config(document), defaults).leaves
    holders: dict[str, list[str]] = {}
    for pool, record in sorted(records.items()):
        for held in record.held:
            holders.setdefault(held.leaf, []).append(pool)
    return Platform(
        document=document,
        leaves=tuple(
            PlatformLeaf(
                leaf=path,
                owner=owner_of(path),
                severity=severity_of(path),
                value=leaves.get(path),
                held_by=tuple(holders.get(path, ())),
            )
            for path in sorted(leaves.keys() | holders.keys())
        ),
    )
