"""
What documents would do to every pool they touch. Nothing is written.

A proposal is the thought of the next pass over each pool, with the documents in the place of
those in force: what is shown is what a pass finds, by construction.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from functools import partial

from fairlead.answers.plan import Plan
from fairlead.answers.reply import Leaving
from fairlead.answers.wait import Wait
from fairlead.answers.words import ChangeClass, WaitFor
from fairlead.contract.canonical import digest_of, digest_of_text
from fairlead.contract.json_text import encode_json
from fairlead.controller.attempt import Failed, attempt
from fairlead.controller.observe import (
    PoolDocuments,
    Snapshot,
    World,
    observe,
    with_fixes_read,
)
from fairlead.controller.think import think
from fairlead.controller.thought import Thought
from fairlead.decision.decision import ReplaceMachines, Unknown
from fairlead.errors import ConflictError, InputError
from fairlead.inputs.brakes import with_brakes
from fairlead.inputs.declared import declared_pool
from fairlead.inputs.leaf import Json, Leaves, Unusable
from fairlead.inputs.parse import NodePool
from fairlead.proposal.amounts import beyond_capacity
from fairlead.proposal.complaint import refuse
from fairlead.proposal.growth import refuse_growth
from fairlead.proposal.judge import NODE_POOL, PLATFORM_CONFIG, judge, title_of
from fairlead.proposal.plan import once_there, record_after, whole_plan_of
from fairlead.proposal.versions import skewed
from fairlead.rollout.adoption import why_stopped
from fairlead.rollout.approval import Approval, approval_of
from fairlead.rollout.edge import no_way_to_replace
from fairlead.rollout.record import PoolRecord
from fairlead.rollout.served.config import TooLarge, too_large_in

BASE_DIGITS = 16


@dataclass(frozen=True, slots=True)
class Declared:
    """One document that may be put in force. base: a digest of what it replaces, or ''."""

    kind: str
    name: str
    document: Mapping[str, Json]
    base: str
    is_same: bool

    @property
    def title(self) -> str:
        """Its kind and name, as NodePool/workers."""
        return f"{self.kind}/{self.name}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Shown:
    """
    What was seen by whoever asks for documents to be put in force.

    plans: what the owner agreed to, or None to take whatever is found. bases: what each document
    takes the place of, as it was then. is_patch: a few fields are changed, which is no word about
    a rollout that was approved and waits.
    """

    plans: Sequence[Plan] | None = None
    bases: Mapping[str, str] = field(default_factory=dict)
    is_patch: bool = False


@dataclass(frozen=True, slots=True)
class Proposal:
    """
    What documents would do.

    plans: of every pool concerned, sorted. rollouts: of those pools whose document starts one,
    what it would do as a whole: if the plan is approved, passes are bound by it. agreed: the
    pools whose rollout is the one that was approved before, and waits. records: what the next
    pass over each pool concerned will remember of it.
    """

    documents: tuple[Declared, ...]
    plans: tuple[Plan, ...]
    rollouts: Mapping[str, Approval]
    agreed: frozenset[str] = frozenset()
    records: Mapping[str, PoolRecord] = field(default_factory=dict)

    @property
    def bases(self) -> dict[str, str]:
        """What each document would take the place of, by kind and name."""
        return {declared.title: declared.base for declared in self.documents}

    @property
    def pools(self) -> tuple[str, ...]:
        """The pools that a document of the proposal declares."""
        return tuple(found.name for found in self.documents if found.kind == NODE_POOL)

    def titles(self, *, is_same: bool) -> tuple[str, ...]:
        """Return kind and name of the documents that say what is so already, or of the others."""
        return tuple(found.title for found in self.documents if found.is_same is is_same)


def propose(
    world: World, documents: Sequence[Json], now: datetime, *, is_anew: bool = True
) -> Proposal:
    """
    Return what documents would do. Raises InputError by field if one is bad.

    is_anew: as if nothing was approved yet, to be shown and approved. Otherwise a rollout that
    was approved and waits goes on as it was shown, unless a document asks for another one.
    """
    world = with_fixes_read(world)
    known = _known(world, documents)
    declared = _declared(world, documents, known)
    platform = next(
        (found.document for found in declared if found.kind == PLATFORM_CONFIG),
        world.pools.read_platform(),
    )
    pools = {found.name: found.document for found in declared if found.kind == NODE_POOL}
    in_force = {pool: found.pool for pool, found in known.items() if not found.is_leaving}
    refuse(tuple(skewed(pools, in_force, platform, world.pools.read_platform())))
    plans: list[Plan] = []
    rollouts: dict[str, Approval] = {}
    agreed: set[str] = set()
    records: dict[str, PoolRecord] = {}
    for pool in _concerned(declared, known):
        before = known.get(pool)
        if pool not in pools and before:
            plans.append(_plan_beside(pool, world, (before, platform), now, records))
            continue
        seen = observe(pool, world, world.pools.documents_with(pools[pool], platform))
        if is_anew:
            seen = replace(seen, plan=None)
        thought = think(seen, now)
        plans.append(whole_plan_of(seen, thought, now, before))
        records[pool] = record_after(seen, thought)
        seen, thought = once_there(seen, thought, now)
        refuse_growth(world, pool, too_large_in(thought.decision), before, now)
        _refuse_unusable(thought, seen)
        if approval := _approval_for(seen, thought):
            rollouts[pool] = approval
        if thought.approved:
            agreed.add(pool)
    return Proposal(declared, tuple(plans), rollouts, frozenset(agreed), records)


def failed_plan(pool: str, failed: Failed) -> Plan:
    """Return that nothing is planned for a pool that cannot be thought about, and why."""
    wait = Wait(wait_for=WaitFor.RETRY, says=f"it cannot be thought about: {failed.says}")
    return Plan(pool=pool, change=ChangeClass.NONE, waits=(wait,))


def _plan_beside(
    pool: str,
    world: World,
    documents: tuple[PoolDocuments, Json],
    now: datetime,
    records: dict[str, PoolRecord],
) -> Plan:
    """
    Return what another platform does to a pool that no document declares.

    documents: those in force, and the platform's. records: takes what will be remembered of it.
    Raises InputError if it makes the pool too large to be served.
    """
    in_force, platform = documents

    def plan() -> tuple[Plan, TooLarge | None]:
        seen = observe(pool, world, world.pools.documents_with(in_force.pool, platform))
        thought = think(seen, now)
        records[pool] = record_after(seen, thought)
        return whole_plan_of(seen, thought, now, in_force), too_large_in(thought.decision)

    found = attempt(plan)
    if isinstance(found, Failed):
        return failed_plan(pool, found)
    plan_of_it, too_large = found
    # Refused is a document of the platform, whatever of the pool is the largest part.
    refuse_growth(world, pool, too_large and replace(too_large, field="spec"), in_force, now)
    return plan_of_it


def _known(world: World, documents: Sequence[Json]) -> dict[str, PoolDocuments]:
    """Return what is in force; a pool that cannot be read keeps nobody from changing another."""
    titled = {title_of(document).partition("/")[2] for document in documents}
    known = {}
    for pool in world.pools.list_pools():
        found = attempt(partial(world.pools.read_documents, pool))
        if not isinstance(found, Failed):
            known[pool] = found
        elif pool in titled:
            raise found.error
    return known


def propose_deletion(world: World, pool: str, now: datetime) -> Leaving:
    """Return the machines that would leave with a pool."""

    def leaving() -> Leaving:
        documents = replace(world.pools.read_documents(pool), is_leaving=True)
        machines = think(observe(pool, world, documents), now).shown.machines
        return Leaving(machines=machines, base=base_of(documents.pool))

    found = attempt(leaving)
    if isinstance(found, Failed):
        living = world.machines.list_machines(pool)
        return Leaving(machines=tuple(machine.name for machine in living))
    return found


def base_of(document: Json) -> str:
    """
    Return what a document in force is known by to those who change it.

    Also of one that has no canonical spelling, which an older release took: it must be replaced.
    """
    try:
        return digest_of("fairlead/document", document)[:BASE_DIGITS]
    except InputError:
        return digest_of_text("fairlead/document", encode_json(document))[:BASE_DIGITS]


def braked(world: World, documents: Iterable[Json]) -> list[Json]:
    """Return the documents of a file, which releases no brake that it does not mention."""
    pools = world.pools.list_pools()
    found = []
    for document in documents:
        kind, _, name = title_of(document).partition("/")
        live: Json = None
        if kind == PLATFORM_CONFIG:
            live = world.pools.read_platform()
        elif kind == NODE_POOL and name in pools:
            live = world.pools.read_documents(name).pool
        found.append(with_brakes(document, live))
    return found


def _declared(
    world: World, documents: Sequence[Json], known: Mapping[str, PoolDocuments]
) -> tuple[Declared, ...]:
    found: dict[str, Declared] = {}
    for document in documents:
        title = title_of(document)
        kind, _, name = title.partition("/")
        live = world.pools.read_platform() if kind == PLATFORM_CONFIG else None
        if kind == NODE_POOL and name in known:
            live = known[name].pool
        complaints = judge(document, world.code.find_zone, live)
        refuse(complaints, title if len(documents) > 1 else "")
        assert isinstance(document, Mapping)  # noqa: S101 - the judge saw it
        # There is one platform, whatever its document is called.
        key = kind if kind == PLATFORM_CONFIG else title
        if key in found:
            raise InputError(f"there are two documents {key}", field="metadata.name")
        if kind == NODE_POOL and name in known:
            _refuse_replacement(declared_pool(document), known[name])
        if kind == NODE_POOL:
            _refuse_unfit_secret(world, document, live)
            _refuse_too_many(world, document, live)
        base = base_of(live) if live is not None else ""
        found[key] = Declared(kind, name, document, base, is_same=live == document)
    return tuple(found.values())


def _refuse_replacement(pool: NodePool, in_force: PoolDocuments) -> None:
    if in_force.is_leaving:
        raise ConflictError(f"{pool.name} is being deleted; declare it again once it is gone")
    # What cannot be read any more says nothing that another document could differ from.
    declared = attempt(lambda: declared_pool(in_force.pool))
    if not isinstance(declared, Failed) and _is_in_place(declared) != _is_in_place(pool):
        raise InputError(
            "a pool that exists cannot change from or to InPlace",
            field="spec.management.type",
            hint="make another pool, then delete this one",
        )


def _refuse_unfit_secret(world: World, document: Json, live: Json) -> None:
    """Refuse to name a secret that no machine could use. One that is in force goes on."""
    unfit = world.pools.find_unfit_secret(document)
    known = world.pools.find_unfit_secret(live) if unfit and live is not None else None
    if unfit and unfit != known:
        raise InputError(unfit.text, field=unfit.field)


def _refuse_too_many(world: World, document: Json, live: Json) -> None:
    """Refuse more machines than this edge holds."""
    capacity = world.machines.capacity
    known = _settings_of(live) if live is not None else {}
    refuse(tuple(beyond_capacity(_settings_of(document), known, capacity.machines, capacity.why)))


def _settings_of(document: Json) -> Leaves:
    """Return what a document says how and how many; nothing if it cannot be read."""
    found = attempt(lambda: declared_pool(document).settings)
    return {} if isinstance(found, Failed | Unusable) else found


def _is_in_place(pool: NodePool) -> bool:
    settings = pool.settings
    return not isinstance(settings, Unusable) and settings.get("management.type") == "InPlace"


def _concerned(documents: Sequence[Declared], known: Mapping[str, PoolDocuments]) -> list[str]:
    """Return the pools that documents are about: every pool that stays, if the platform's is."""
    pools = {found.name for found in documents if found.kind == NODE_POOL}
    if any(found.kind == PLATFORM_CONFIG for found in documents):
        pools |= {pool for pool, found in known.items() if not found.is_leaving}
    return sorted(pools)


def _approval_for(seen: Snapshot, thought: Thought) -> Approval | None:
    """Return what is agreed to: for another revision, or for a fix; None if nothing begins."""
    if isinstance(thought.decision, ReplaceMachines):
        return approval_of(thought.shown.but(waits=()), thought.decision.wanted)
    record = record_after(seen, thought)
    is_new = seen.record is not None and record.adopted != seen.record.adopted
    if not is_new or record.adoption is None or record.target is None:
        return None
    shown = thought.shown.but(waits=(), target=record.target.id)
    return approval_of(shown, record.target, record.adopted)


def _refuse_fix(seen: Snapshot, thought: Thought) -> None:
    """Refuse to ask for a fix that no machine would boot with. What was asked for goes on."""
    without = thought.policy.without
    if not without.fix or (seen.record and seen.record.adopted == without.key):
        return
    field = "spec.rollout.replaceWithout.fix"
    if problem := seen.fixes.problem or why_stopped(without.fix, seen.fixes):
        hint = "fairlead hotfix list shows what is published"
        raise InputError(problem, field=field, hint=hint)
    count = thought.policy.replicas_from(seen.template.replicas if seen.template else 0)
    if seen.makes_by_itself and (no_way := no_way_to_replace(thought.policy, count)):
        hint = "set management.maxUnavailable to 1, or delete them: fairlead machine delete NAME"
        raise InputError(no_way, field="spec.rollout.replaceWithout", hint=hint)
    waves = seen.fixes.by_version[without.fix].waves
    if waves is not None and waves.part < 1:
        raise InputError(
            f"{without.fix} is given to {waves.part:.0%} of machines so far: most that took the "
            "place of others would boot without it",
            field=field,
            hint=f"wait for its waves (fairlead hotfix status), or give it to all: fairlead hotfix "
            f"promote {without.fix} --everyone",
        )


def _refuse_unusable(thought: Thought, seen: Snapshot) -> None:
    """Refuse what no machine can be made from. What a name points to may still come later."""
    _refuse_fix(seen, thought)
    if not isinstance(thought.decision, Unknown) or seen.documents.resolved.problem:
        return
    if too_large_in(thought.decision):
        return  # no larger than what is in force
    first = thought.decision.unusable.problems[0]
    if first.field.startswith("spec"):
        raise InputError(first.text, field=first.field)
    # Found in what the document renders to, by the names of that.
    is_config = first.field.startswith(("kubelet_config", "fairlead[config."))
    field = "spec.config" if is_config else "spec"
    raise InputError(f"the node config refuses {first}", field=field)
