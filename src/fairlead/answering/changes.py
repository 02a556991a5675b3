"""
What commands change: shown first, then kept by the edge if it is still what was shown.

keep: puts documents in force, whole or not at all, and only as they were shown; it returns what
that does. None: only say what would be done.
"""

from collections.abc import Callable, Mapping, Sequence

from fairlead.answering.edge import Edge
from fairlead.answering.pools import PoolAnswers
from fairlead.answers.plan import Plan
from fairlead.answers.reply import Applied, Leaving, PatchedPlatform, PatchedPool, Proposed
from fairlead.errors import InputError
from fairlead.inputs.leaf import Json
from fairlead.proposal.judge import NODE_POOL
from fairlead.proposal.moved import refuse_moved, refuse_other_deletion
from fairlead.proposal.patch import merged
from fairlead.proposal.propose import Proposal, Shown, braked, propose, propose_deletion

Keep = Callable[[Sequence[Json], Shown], Proposal]


class Changes:
    """What becomes of documents on one edge."""

    def __init__(self, edge: Edge) -> None:
        self._edge = edge
        self._pools = PoolAnswers(edge)

    def braked(self, documents: Sequence[Json]) -> list[Json]:
        """Return the documents of a file, which releases no brake that it does not mention."""
        return braked(self._edge.world(), documents)

    def plan(self, documents: Sequence[Json]) -> Proposed:
        """Return what documents would do."""
        proposal = self._propose(self.braked(documents), Shown(), None)
        return Proposed(plans=proposal.plans, bases=proposal.bases)

    def apply(self, documents: Sequence[Json], shown: Shown, keep: Keep | None) -> Applied:
        """Put documents in force that were braked, if that does what was shown for them."""
        proposal = self._propose(documents, shown, keep)
        return Applied(
            plans=proposal.plans,
            bases=proposal.bases,
            applied=proposal.titles(is_same=False),
            unchanged=proposal.titles(is_same=True),
        )

    def patch_pool(
        self,
        pool: str,
        spec: Mapping[str, Json],
        shown: tuple[Plan | None, str],
        keep: Keep | None,
    ) -> PatchedPool:
        """Change fields of a pool. shown: the plan, and the base that it was shown for, or ''."""
        plan, base = shown
        if plan is not None and plan.pool != pool:
            raise InputError(f"is a plan of {plan.pool!r}", field="plan.pool")
        live = self._edge.world().pools.read_documents(pool).pool
        seen = Shown(
            plans=None if plan is None else [plan],
            bases={f"{NODE_POOL}/{pool}": base} if base else {},
            is_patch=True,
        )
        proposal = self._propose([merged(live, {"spec": spec})], seen, keep)
        return PatchedPool(
            plan=proposal.plans[0],
            base=next(iter(proposal.bases.values())),
            pool=self._pools.in_short(pool),
            applied=proposal.titles(is_same=False),
        )

    def patch_platform(self, spec: Mapping[str, Json], keep: Keep | None) -> PatchedPlatform:
        """Change fields of the platform's document."""
        document = merged(self._edge.world().pools.read_platform(), {"spec": spec})
        proposal = self._propose([document], Shown(), keep)
        return PatchedPlatform(
            plans=proposal.plans,
            platform=self._pools.platform(None if keep is None else proposal.records),
            applied=proposal.titles(is_same=False),
        )

    def leaving(self, pool: str, shown: Leaving | None) -> Leaving:
        """Return what leaves with a pool. Raises ConflictError if more does than was shown."""
        world = self._edge.world()
        found = propose_deletion(world, pool, self._edge.now())
        if shown is not None:
            refuse_other_deletion(world, pool, found, shown)
        return found

    def _propose(self, documents: Sequence[Json], shown: Shown, keep: Keep | None) -> Proposal:
        if not documents:
            raise InputError("there is no document", field="documents")
        if keep is not None:
            return keep(documents, shown)
        world, now = self._edge.world(), self._edge.now()
        proposal = propose(world, documents, now, is_anew=not shown.is_patch)
        refuse_moved(world, proposal, shown, now)
        return proposal
