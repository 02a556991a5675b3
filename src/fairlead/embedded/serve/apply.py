"""
A proposal put in force: everything of it, or nothing, and only if it is what was shown.

What was shown is stored with the pool, and the passes that carry it out are bound by it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime

from fairlead.answers.plan import Plan
from fairlead.embedded.store.world import EmbeddedWorld
from fairlead.inputs.leaf import Json
from fairlead.proposal.judge import PLATFORM_CONFIG
from fairlead.proposal.moved import refuse_moved
from fairlead.proposal.propose import Proposal, Shown, propose


def apply(
    world: EmbeddedWorld,
    documents: Sequence[Json],
    shown: Shown,
    now: datetime,
) -> Proposal:
    """
    Put documents in force; return what that does.

    Raises InputError by field if a document is bad, and ConflictError if what is found is not what
    was shown; then nothing was written.
    """
    with world.store.writing():
        is_anew = shown.plans is not None and not shown.is_patch
        proposal = propose(world.world(), documents, now, is_anew=is_anew)
        refuse_moved(world.world(), proposal, shown, now)
        for declared in proposal.documents:
            if declared.kind == PLATFORM_CONFIG:
                world.pools.write_platform(declared.document)
            else:
                world.pools.write_pool(declared.document)
        _bind(world, proposal, {plan.pool: plan for plan in shown.plans or ()})
    return proposal


def _bind(world: EmbeddedWorld, proposal: Proposal, shown: Mapping[str, Plan]) -> None:
    """
    Afterwards the passes are bound by what was shown, or by nothing if nothing was.

    A plan is for the rollout that follows it. Any other one would be found by a later rollout
    for the same intent, and hold it up. The one that a rollout waits with stays: it is what was
    agreed to, whoever scales the pool or ends a pause meanwhile.
    """
    for pool in proposal.pools:
        if pool in proposal.agreed:
            continue
        world.pools.forget_plan(pool)
        if pool in shown and pool in proposal.rollouts:
            rollout = proposal.rollouts[pool]
            world.pools.write_plan(rollout.but(machines=shown[pool].disturbed))
