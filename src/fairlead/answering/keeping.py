"""
A proposal that is put in force: what must still be true, what is told, what passes are bound by.

How it is written is the edge's own.
"""

from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime

from fairlead.answers.event import Event
from fairlead.answers.plan import Plan
from fairlead.controller.observe import World
from fairlead.inputs.leaf import Json
from fairlead.proposal.judge import PLATFORM_CONFIG
from fairlead.proposal.moved import refuse_moved
from fairlead.proposal.propose import Declared, Proposal, Shown, propose
from fairlead.rollout.approval import Approval
from fairlead.timeline.command import platform_declared, pool_declared


def proposal_to_keep(
    world: World, documents: Sequence[Json], shown: Shown, now: datetime
) -> Proposal:
    """
    Return what is to be put in force.

    Raises InputError by field if a document is bad, and ConflictError if what is found is not what
    was shown.
    """
    is_anew = shown.plans is not None and not shown.is_patch
    proposal = propose(world, documents, now, is_anew=is_anew)
    refuse_moved(world, proposal, shown, now)
    return proposal


def declared_event(world: World, declared: Declared, actor: str, now: datetime) -> Event:
    """Return that somebody declares this, in the place of what is in force."""
    if declared.kind == PLATFORM_CONFIG:
        before = world.pools.read_platform()
        return platform_declared(before, declared.document, actor, now)
    is_known = declared.name in world.pools.list_pools()
    before = world.pools.read_documents(declared.name).pool if is_known else None
    return pool_declared(declared.name, before, declared.document, actor, now)


def bindings_of(proposal: Proposal, plans: Sequence[Plan]) -> Iterator[tuple[str, Approval | None]]:
    """
    Yield the pools whose passes are bound by what was shown, or by nothing if nothing was.

    A plan is for the rollout that follows it. Any other one would be found by a later rollout
    for the same intent, and hold it up. The one that a rollout waits with stays: it is what was
    agreed to, whoever scales the pool or ends a pause meanwhile.
    """
    shown: Mapping[str, Plan] = {plan.pool: plan for plan in plans}
    for pool in proposal.pools:
        if pool in proposal.agreed:
            continue
        approval = None
        if pool in shown and pool in proposal.rollouts:
            approval = proposal.rollouts[pool].but(machines=shown[pool].disturbed)
        yield pool, approval
