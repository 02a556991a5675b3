"""
What makes a pool too large to be served: refused, whoever adds the last byte.

A node config holds what the owner configures, what the platform adds and what secrets hold; any of
them can be the one too many. A pool that is too large already goes on as it is, and may shrink.
"""

from datetime import datetime

from fairlead.controller.attempt import Failed, attempt
from fairlead.controller.observe import PoolDocuments, World, observe
from fairlead.controller.think import think
from fairlead.errors import InputError
from fairlead.rollout.served.config import TooLarge, too_large_in

HINT = "put large files into the image, or have less of the parts that are named"


def refuse_growth(
    world: World, pool: str, found: TooLarge | None, before: PoolDocuments | None, now: datetime
) -> None:
    """
    Raise InputError if documents make a pool too large, or larger while it is.

    found: that it is, with them. before: its documents in force, or None if it is new.
    """
    if found is None:
        return
    known = _in_force(world, pool, before, now) if before else None
    if known is None or found.found > known.found:
        # A part that is not the pool's own stands in no document of a pool.
        field = found.field if found.field.startswith("spec") else "spec"
        raise InputError(f"{pool}: {found.text}", field=field, hint=HINT)


def _in_force(world: World, pool: str, before: PoolDocuments, now: datetime) -> TooLarge | None:
    """Return that a pool is too large as it is, secrets looked at now."""

    def present() -> TooLarge | None:
        documents = world.pools.documents_with(before.pool, world.pools.read_platform())
        return too_large_in(think(observe(pool, world, documents), now).decision)

    found = attempt(present)
    return None if isinstance(found, Failed) else found
