"""
Before code that hashes or spells otherwise acts: proof, over every pool, that equal inputs stay so.

Code that hashes two equal leaves apart would replace every machine of every pool. Whoever
starts a control plane runs this first, and does not act if anything is broken.
"""

from datetime import datetime

from fairlead.controller.attempt import attempt
from fairlead.controller.observe import World, observe
from fairlead.controller.revise import revise, revision_wanted
from fairlead.errors import InputError
from fairlead.revision.rebase import ReplayProof, replay_proof
from fairlead.revision.revision import Revision
from fairlead.revision.spelling import SPELLING


def prove_replay(world: World, now: datetime) -> ReplayProof:
    """Compare what every pool recorded by other code with what it wants now."""
    return replay_proof(
        pair
        for pool in world.pools.list_pools()
        if (pair := _pair_of(pool, world, now)) is not None
    )


def _pair_of(pool: str, world: World, now: datetime) -> tuple[Revision, Revision] | None:
    try:
        record = world.pools.find_record(pool)
    except InputError:
        return None  # what cannot be read is not acted on, under any scheme
    recorded = record.target if record else None
    current = (world.code.scheme.number, SPELLING)
    if recorded is None or (recorded.scheme, recorded.spelling) == current:
        return None
    # A pool that cannot be thought about replaces nothing, whatever its scheme.
    revision = attempt(lambda: revision_wanted(revise(observe(pool, world), now), recorded.force))
    return (recorded, revision) if isinstance(revision, Revision) else None
