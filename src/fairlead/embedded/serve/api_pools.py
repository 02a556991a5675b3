"""What commands ask about pools and the platform, and how they change them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from datetime import datetime
from functools import partial
from typing import TypeVar

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from fairlead.answers.plan import Plan
from fairlead.answers.pool import PoolAnswer, PoolDetail, Pools, PoolStatus
from fairlead.answers.reply import (
    Applied,
    Done,
    Leaving,
    PatchedPlatform,
    PatchedPool,
    Platform,
    Proposed,
)
from fairlead.answers.text import read_as
from fairlead.answers.wait import Wait
from fairlead.answers.words import WaitFor
from fairlead.controller.attempt import Failed, attempt
from fairlead.controller.observe import World, observe
from fairlead.controller.think import think
from fairlead.embedded.serve.api_machines import parse_fault, stored_answer
from fairlead.embedded.serve.api_request import Plane, answered, no_such, read_fields
from fairlead.embedded.serve.apply import apply
from fairlead.errors import InputError
from fairlead.inputs.leaf import Json
from fairlead.proposal.judge import NODE_POOL
from fairlead.proposal.moved import refuse_moved, refuse_other_deletion
from fairlead.proposal.patch import merged
from fairlead.proposal.plan import record_after
from fairlead.proposal.propose import (
    Proposal,
    Shown,
    braked,
    propose,
    propose_deletion,
)
from fairlead.rollout.record import PoolRecord
from fairlead.telling.failed import failed_answer, failed_conditions, failed_detail
from fairlead.telling.platform import platform_answer
from fairlead.telling.pool import pool_answer, pool_detail, unreadable_pool
from fairlead.telling.told_pools import ToldPools

T = TypeVar("T")


class PoolRoutes:
    """Routes about what is declared, over one control plane."""

    def __init__(self, plane: Plane) -> None:
        self._plane = plane
        self._pools = plane.world.pools
        self._told = ToldPools()

    def routes(self) -> list[Route]:
        """Return the routes."""
        return [
            Route("/v1/pools", self.list_all, methods=["GET"]),
            Route("/v1/pools/{name}", self.show, methods=["GET"]),
            Route("/v1/pools/{name}", self.patch, methods=["PATCH"]),
            Route("/v1/pools/{name}", self.delete, methods=["DELETE"]),
            Route("/v1/pools/{name}/faults", self.queue_faults, methods=["POST"]),
            Route("/v1/platform", self.show_platform, methods=["GET"]),
            Route("/v1/platform", self.patch_platform, methods=["PATCH"]),
            Route("/v1/plan", self.plan, methods=["POST"]),
            Route("/v1/apply", self.apply, methods=["POST"]),
        ]

    async def list_all(self, request: Request) -> Response:
        """Return every pool in short."""
        del request
        failures = self._plane.failures()
        # A pass that fails may write nothing.
        markers = [
            (pool, f"{marker} {failures[pool].count}" if pool in failures else marker)
            for pool, marker in self._pools.markers()
        ]
        return answered(Pools(pools=self._told.all(markers, self._plane.now(), self._listed)))

    def _listed(self, pool: str) -> PoolAnswer:
        """Return a pool in short; one that cannot be read keeps no other from being listed."""
        try:
            return self._pool_answer(pool)
        except InputError as error:
            return unreadable_pool(pool, str(error), self._failure_waits(pool))

    async def show(self, request: Request) -> Response:
        """Return one pool in full."""
        pool, now = self._find(request), self._plane.now()
        found = _tried(partial(self._detail, pool, now))
        return answered(
            self._failed_detail(pool, found, now) if isinstance(found, Failed) else found
        )

    async def patch(self, request: Request) -> Response:
        """Change fields of a pool, within the plan that was shown for it."""
        kinds = {"spec": dict, "plan": object, "base": str, "dry_run": bool}
        fields = await read_fields(request, kinds)
        pool = self._find(request)
        shown = None
        if fields["plan"] is not None:
            shown = [read_as(Plan, fields["plan"], "plan")]
            if shown[0].pool != pool:
                raise InputError(f"is a plan of {shown[0].pool!r}", field="plan.pool")
        document = merged(self._pools.read_documents(pool).pool, {"spec": fields["spec"]})
        bases = {f"{NODE_POOL}/{pool}": fields["base"]} if fields["base"] else {}
        seen = Shown(plans=shown, bases=bases, is_patch=True)
        proposal = self._propose([document], seen, is_kept=not fields["dry_run"])
        return answered(
            PatchedPool(
                plan=proposal.plans[0],
                base=next(iter(proposal.bases.values())),
                pool=self._pool_answer(pool),
                applied=proposal.titles(is_same=False),
            )
        )

    async def delete(self, request: Request) -> Response:
        """Let a pool go, with all its machines, if they are those that were shown."""
        fields = await read_fields(request, {"shown": object, "dry_run": bool})
        pool, world = self._find(request), self._plane.world
        leaving = propose_deletion(world.world(), pool, self._plane.now())
        if fields["shown"] is not None:
            shown = read_as(Leaving, fields["shown"], "shown")
            refuse_other_deletion(world.world(), pool, leaving, shown)
        if not fields["dry_run"]:
            world.pools.request_deletion(pool)
            self._plane.wake()
        return answered(leaving)

    async def queue_faults(self, request: Request) -> Response:
        """Say what the next machines of a pool do wrong."""
        fields = await read_fields(request, {"faults": list})
        pool = self._find(request)
        faults = tuple(
            parse_fault(value, f"faults[{at}]") for at, value in enumerate(fields["faults"])
        )
        self._plane.world.machines.queue_faults(pool, faults)
        return answered(Done())

    async def show_platform(self, request: Request) -> Response:
        """Return what the platform adds on its own, and which pools lack it."""
        del request
        return answered(self._platform_answer())

    async def patch_platform(self, request: Request) -> Response:
        """Change fields of the platform's document."""
        fields = await read_fields(request, {"spec": dict, "dry_run": bool})
        document = merged(self._pools.read_platform(), {"spec": fields["spec"]})
        proposal = self._propose([document], Shown(), is_kept=not fields["dry_run"])
        return answered(
            PatchedPlatform(
                plans=proposal.plans,
                platform=self._platform_answer(None if fields["dry_run"] else proposal.records),
                applied=proposal.titles(is_same=False),
            )
        )

    async def plan(self, request: Request) -> Response:
        """Return what documents would do. Writes nothing."""
        fields = await read_fields(request, {"documents": list})
        documents = braked(self._plane.world.world(), fields["documents"])
        proposal = self._propose(documents, Shown(), is_kept=False)
        return answered(Proposed(plans=proposal.plans, bases=proposal.bases))

    async def apply(self, request: Request) -> Response:
        """Put documents in force, if that does what was shown for them."""
        kinds = {"documents": list, "plans": object, "bases": dict, "dry_run": bool}
        fields = await read_fields(request, kinds)
        shown = None
        if fields["plans"] is not None:
            shown = read_as(list[Plan], fields["plans"], "plans")
        bases = read_as(dict[str, str], fields["bases"], "bases")
        documents = braked(self._plane.world.world(), fields["documents"])
        seen = Shown(plans=shown, bases=bases)
        proposal = self._propose(documents, seen, is_kept=not fields["dry_run"])
        return answered(
            Applied(
                plans=proposal.plans,
                bases=proposal.bases,
                applied=proposal.titles(is_same=False),
                unchanged=proposal.titles(is_same=True),
            )
        )

    def _propose(self, documents: list[Json], shown: Shown, *, is_kept: bool) -> Proposal:
        if not documents:
            raise InputError("there is no document", field="documents")
        world, now = self._plane.world, self._plane.now()
        if not is_kept:
            proposal = propose(world.world(), documents, now, is_anew=not shown.is_patch)
            refuse_moved(world.world(), proposal, shown, now)
            return proposal
        proposal = apply(world, documents, shown, now)
        self._plane.wake()
        return proposal

    def _find(self, request: Request) -> str:
        name: str = request.path_params["name"]
        known = self._pools.list_pools()
        if name not in known:
            raise no_such("pool", name, known)
        return name

    def _pool_answer(self, pool: str) -> PoolAnswer:
        now, besides = self._plane.now(), self._failure_waits(pool)

        def answer() -> PoolAnswer:
            seen = observe(pool, self._plane.world.world())
            return pool_answer(seen, think(seen, now), now, besides)

        found = _tried(answer)
        return self._failed_answer(pool, found, now) if isinstance(found, Failed) else found

    def _detail(self, pool: str, now: datetime) -> PoolDetail:
        seen = observe(pool, self._plane.world.world())
        machines = [stored_answer(one) for one in self._plane.world.machines.list_stored(pool)]
        return pool_detail(seen, think(seen, now), now, machines, self._failure_waits(pool))

    def _failed_answer(self, pool: str, failed: Failed, now: datetime) -> PoolAnswer:
        """Return what is known of a pool that cannot be thought about."""
        return failed_answer(pool, failed, self._find_status(pool), now, self._failure_waits(pool))

    def _failed_detail(self, pool: str, failed: Failed, now: datetime) -> PoolDetail:
        machines = attempt(partial(self._plane.world.machines.list_stored, pool))
        document = attempt(partial(self._pools.read_documents, pool))
        return failed_detail(
            self._failed_answer(pool, failed, now),
            failed,
            failed_conditions(pool, failed, self._find_status(pool), now),
            None if isinstance(document, Failed) else document.pool,
            () if isinstance(machines, Failed) else tuple(stored_answer(one) for one in machines),
        )

    def _find_status(self, pool: str) -> PoolStatus | None:
        found = attempt(partial(self._pools.find_status, pool))
        return None if isinstance(found, Failed) else found

    def _failure_waits(self, pool: str) -> tuple[Wait, ...]:
        """Return that a pool waits for its next pass, if the last one failed."""
        failure = self._plane.failures().get(pool)
        if failure is None:
            return ()
        says = f"the last pass failed: {failure.says}"
        return (Wait(wait_for=WaitFor.RETRY, says=says, until=failure.retry_at),)

    def _platform_answer(self, known: Mapping[str, PoolRecord] | None = None) -> Platform:
        """Return the platform as it is told. known: what the next passes will remember of pools."""
        world, now = self._plane.world, self._plane.now()
        records = dict(known or {})
        if known is not None:
            return platform_answer(self._pools.read_platform(), world.code.defaults, records)
        for pool in self._pools.list_pools():
            found = attempt(partial(_record_of, pool, world.world(), now))
            if not isinstance(found, Failed):
                records[pool] = found
        return platform_answer(self._pools.read_platform(), world.code.defaults, records)


def _tried(think_about: Callable[[], T]) -> T | Failed:
    """Return what thinking gives, or why not. Raises InputError if the pool cannot be read."""
    found = attempt(think_about)
    if isinstance(found, Failed) and isinstance(found.error, InputError):
        raise found.error
    return found


def _record_of(pool: str, world: World, now: datetime) -> PoolRecord:
    seen = observe(pool, world)
    return record_after(seen, think(seen, now))
