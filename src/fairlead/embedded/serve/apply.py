"""
A proposal put in force: everything of it, or nothing, and only if it is what was shown.

What was shown is stored with the pool, and the passes that carry it out are bound by it.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime

from fairlead.answering.keeping import bindings_of, declared_event, proposal_to_keep
from fairlead.embedded.store.world import EmbeddedWorld
from fairlead.inputs.leaf import Json
from fairlead.proposal.judge import PLATFORM_CONFIG
from fairlead.proposal.propose import Proposal, Shown


def apply(
    world: EmbeddedWorld,
    documents: Sequence[Json],
    shown: Shown,
    now: datetime,
    actor: str = "",
) -> Proposal:
    """
    Put documents in force; return what that does. actor: who asks for it.

    Raises InputError by field if a document is bad, and ConflictError if what is found is not what
    was shown; then nothing was written.
    """
    with world.store.writing():
        proposal = proposal_to_keep(world.world(), documents, shown, now)
        for declared in proposal.documents:
            if not declared.is_same:
                world.journal.append([declared_event(world.world(), declared, actor, now)])
            if declared.kind == PLATFORM_CONFIG:
                world.pools.write_platform(declared.document)
            else:
                world.pools.write_pool(declared.document, actor)
        for pool, approval in bindings_of(proposal, shown.plans or ()):
            world.pools.forget_plan(pool)
            if approval is not None:
                world.pools.write_plan(approval)
    return proposal
