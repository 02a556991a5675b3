"""
What documents would do to every pool they touch, and the way to have exactly that done.

A proposal is written in a transaction, the next pass over each pool is thought through, and then
everything is taken back or kept: what is shown is what a pass finds, by construction. What was
shown is stored with the pool, and the passes that carry it out are bound by it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field, replace
from datetime import datetime

from fairlead.controller.describe_plan import View, plan_view
from fairlead.controller.observe import PoolDocuments, observe
from fairlead.controller.think import Thought, think
from fairlead.decision.decision import ReplaceMachines, Unknown
from fairlead.embedded.serve.admission import NODE_POOL, PLATFORM_CONFIG, Declared, admitted
from fairlead.embedded.serve.shown_plan import ShownPlan, excess_of
from fairlead.embedded.store.world import EmbeddedWorld
from fairlead.errors import ConflictError, InputError
from fairlead.inputs.leaf import Json


@dataclass(frozen=True, slots=True, kw_only=True)
class Proposal:
    """
    Documents, and what their owner was shown.

    shown: plans by pool, or None to take whatever is found. is_kept: whether to write.
    """

    documents: Sequence[Json]
    shown: Mapping[str, ShownPlan] | None = None
    is_kept: bool = False


@dataclass(frozen=True, slots=True)
class Outcome:
    """The plan of every pool concerned, and which documents say anything that is not so yet."""

    plans: list[View] = field(default_factory=list)
    applied: list[str] = field(default_factory=list)
    unchanged: list[str] = field(default_factory=list)


class _TakenBackError(Exception):
    """Ends a transaction that was never meant to be kept."""


def propose(world: EmbeddedWorld, proposal: Proposal, now: datetime) -> Outcome:
    """
    Return what the documents do; afterwards they are in force if the proposal is kept.

    Raises InputError by field if a document is bad and ConflictError if what is found exceeds
    what was shown; then nothing was written.
    """
    outcome = Outcome()
    with _trying(world, is_kept=proposal.is_kept):
        _carry_through(world, proposal, now, outcome)
    return outcome


def propose_deletion(world: EmbeddedWorld, pool: str, now: datetime, *, is_kept: bool) -> list[str]:
    """Return the machines that leave with a pool; afterwards they do, if that is kept."""
    leaving: list[str] = []
    with _trying(world, is_kept=is_kept):
        world.pools.request_deletion(pool)
        leaving += think(observe(pool, world.world()), now).shown.machines
    return leaving


@contextmanager
def _trying(world: EmbeddedWorld, *, is_kept: bool) -> Iterator[None]:
    with suppress(_TakenBackError), world.store.writing():
        yield
        if not is_kept:
            raise _TakenBackError


def merged(document: Json, patch: Json) -> Json:
    """Return a document with a JSON merge patch (RFC 7396): None removes, mappings are merged."""
    if not isinstance(patch, Mapping):
        return patch
    result = dict(document) if isinstance(document, Mapping) else {}
    for name, value in patch.items():
        if value is None:
            result.pop(name, None)
        else:
            result[name] = merged(result.get(name), value)
    return result


def _carry_through(
    world: EmbeddedWorld, proposal: Proposal, now: datetime, outcome: Outcome
) -> None:
    known = {pool: world.pools.read_documents(pool) for pool in world.pools.list_pools()}
    documents = admitted(
        proposal.documents, lambda pool: known[pool].pool if pool in known else None
    )
    concerned = _concerned(documents, known)
    before = {pool: known[pool] for pool in concerned if pool in known}
    anyway = {pool: _removed_anyway(world, pool, now) for pool in before} if proposal.shown else {}
    _write(world, documents, before, outcome)
    declared = {found.name for found in documents if found.kind == NODE_POOL}
    for pool in concerned:
        if pool in declared:
            world.pools.forget_plan(pool)  # a plan for what was declared before binds no more
        seen = observe(pool, world.world())
        thought = think(seen, now)
        if pool in declared:
            _refuse_unusable(thought, seen.documents)
        found = plan_view(seen, thought, before.get(pool))
        if proposal.shown is not None:
            shown = proposal.shown.get(pool)
            if excess := excess_of(found, shown, anyway.get(pool, frozenset())):
                raise ConflictError(f"{pool}: {excess}; nothing was written, plan again")
        if pool in declared:
            _bind(world, thought, proposal, pool)
        outcome.plans.append(found)


def _concerned(documents: Sequence[Declared], known: Mapping[str, PoolDocuments]) -> list[str]:
    """Return the pools that documents are about: every pool that stays, if the platform's is."""
    declared = {found.name for found in documents if found.kind == NODE_POOL}
    if any(found.kind == PLATFORM_CONFIG for found in documents):
        declared |= {pool for pool, found in known.items() if not found.is_leaving}
    return sorted(declared)


def _removed_anyway(world: EmbeddedWorld, pool: str, now: datetime) -> frozenset[str]:
    """Return the machines that leave whatever is proposed, since one failed in the meantime."""
    seen = observe(pool, world.world())
    removed = plan_view(seen, think(seen, now))["removed"]
    return frozenset(removed if isinstance(removed, list) else [])


def _write(
    world: EmbeddedWorld,
    documents: Sequence[Declared],
    before: Mapping[str, PoolDocuments],
    outcome: Outcome,
) -> None:
    for found in documents:
        if found.kind == PLATFORM_CONFIG:
            is_same = world.pools.read_platform() == found.document
            world.pools.write_platform(found.document)
        else:
            is_same = found.name in before and before[found.name].pool == found.document
            world.pools.write_pool(found.document)
        (outcome.unchanged if is_same else outcome.applied).append(found.title)


def _refuse_unusable(thought: Thought, documents: PoolDocuments) -> None:
    """Refuse what no machine can be made from. A secret may still be put in its place later."""
    if isinstance(thought.decision, Unknown) and not documents.resolved.problem:
        first = thought.decision.unusable.problems[0]
        if first.field.startswith("spec"):
            raise InputError(first.text, field=first.field)
        # Found in what the document renders to, by the names of that.
        is_config = first.field.startswith(("kubelet_config", "fairlead[config."))
        field = "spec.config" if is_config else "spec"
        raise InputError(f"the node config refuses {first}", field=field)


def _bind(world: EmbeddedWorld, thought: Thought, proposal: Proposal, pool: str) -> None:
    """
    Afterwards the passes are bound by what was shown, or by nothing if nothing was.

    A plan is for the rollout that follows it. Any other one would be found by a later rollout
    for the same intent, and hold it up.
    """
    shown = proposal.shown.get(pool) if proposal.shown is not None else None
    if shown and isinstance(thought.decision, ReplaceMachines):
        world.pools.write_plan(replace(thought.shown, machines=shown.disturbed))
