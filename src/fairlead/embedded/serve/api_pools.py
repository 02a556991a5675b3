"""What commands ask about pools and the platform, and how they change them."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from fairlead.answering.changes import Changes, Keep
from fairlead.answering.pools import PoolAnswers
from fairlead.answers.machine import MachineAnswer
from fairlead.answers.plan import Plan
from fairlead.answers.pool import Pools
from fairlead.answers.reply import Done, Leaving
from fairlead.answers.text import read_as
from fairlead.answers.wait import Wait
from fairlead.answers.words import Role, WaitFor
from fairlead.controller.observe import World
from fairlead.embedded.access.guard import refuse_others, standing_in
from fairlead.embedded.serve.api_machines import parse_fault, stored_answer
from fairlead.embedded.serve.api_request import Plane, answered, read_fields
from fairlead.embedded.serve.apply import apply
from fairlead.inputs.leaf import Json
from fairlead.proposal.judge import PLATFORM_CONFIG, title_of
from fairlead.proposal.propose import Proposal, Shown
from fairlead.timeline.command import deletion_asked, fault_asked


class _PlaneEdge:
    """A control plane as questions need it."""

    def __init__(self, plane: Plane) -> None:
        self._plane = plane

    def now(self) -> datetime:
        return self._plane.now()

    def world(self) -> World:
        return self._plane.world.world()

    def machine_answers(self, pool: str) -> tuple[MachineAnswer, ...]:
        return tuple(stored_answer(one) for one in self._plane.world.machines.list_stored(pool))

    def waits_beside(self, pool: str) -> tuple[Wait, ...]:
        """Return that a pool waits for its next pass, if the last one failed."""
        failure = self._plane.failures().get(pool)
        if failure is None:
            return ()
        says = f"the last pass failed: {failure.says}"
        return (Wait(wait_for=WaitFor.RETRY, says=says, until=failure.retry_at),)


class PoolRoutes:
    """Routes about what is declared, over one control plane."""

    def __init__(self, plane: Plane) -> None:
        self._plane = plane
        self._pools = plane.world.pools
        self.answers = PoolAnswers(_PlaneEdge(plane))
        self._changes = Changes(_PlaneEdge(plane))

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
        found = self._plane.told.all(markers, self._plane.now(), self.answers.listing())
        return answered(Pools(pools=found))

    async def show(self, request: Request) -> Response:
        """Return one pool in full."""
        return answered(self.answers.in_full(self._find(request)))

    async def patch(self, request: Request) -> Response:
        """Change fields of a pool, within the plan that was shown for it."""
        kinds = {"spec": dict, "plan": object, "base": str, "dry_run": bool}
        fields = await read_fields(request, kinds)
        pool = self._find(request)
        plan = read_as(Plan, fields["plan"], "plan") if fields["plan"] is not None else None
        keep = self._keep(request, is_kept=not fields["dry_run"])
        shown = (plan, fields["base"])
        return answered(self._changes.patch_pool(pool, fields["spec"], shown, keep))

    async def delete(self, request: Request) -> Response:
        """Let a pool go, with all its machines, if they are those that were shown."""
        fields = await read_fields(request, {"shown": object, "dry_run": bool})
        pool, world = self._find(request), self._plane.world
        shown = None
        if fields["shown"] is not None:
            shown = read_as(Leaving, fields["shown"], "shown")
        leaving = self._changes.leaving(pool, shown)
        if not fields["dry_run"]:
            with world.store.writing():
                world.pools.request_deletion(pool)
                asked = deletion_asked(pool, standing_in(request).name, self._plane.now())
                world.journal.append([asked])
            self._plane.wake()
        return answered(leaving)

    async def queue_faults(self, request: Request) -> Response:
        """Say what the next machines of a pool do wrong."""
        fields = await read_fields(request, {"faults": list})
        pool = self._find(request)
        faults = tuple(
            parse_fault(value, f"faults[{at}]") for at, value in enumerate(fields["faults"])
        )
        world, now = self._plane.world, self._plane.now()
        names = [fault.value for fault in faults]
        with world.store.writing():
            world.machines.queue_faults(pool, faults)
            actor = standing_in(request).name
            world.journal.append([fault_asked(pool, "", names, actor, now)])
        return answered(Done())

    async def show_platform(self, request: Request) -> Response:
        """Return what the platform adds on its own, and which pools lack it."""
        del request
        return answered(self.answers.platform())

    async def patch_platform(self, request: Request) -> Response:
        """Change fields of the platform's document."""
        fields = await read_fields(request, {"spec": dict, "dry_run": bool})
        keep = self._keep(request, is_kept=not fields["dry_run"])
        return answered(self._changes.patch_platform(fields["spec"], keep))

    async def plan(self, request: Request) -> Response:
        """Return what documents would do. Writes nothing."""
        fields = await read_fields(request, {"documents": list})
        return answered(self._changes.plan(fields["documents"]))

    async def apply(self, request: Request) -> Response:
        """Put documents in force, if that does what was shown for them."""
        kinds = {"documents": list, "plans": object, "bases": dict, "dry_run": bool}
        fields = await read_fields(request, kinds)
        plans = None
        if fields["plans"] is not None:
            plans = read_as(list[Plan], fields["plans"], "plans")
        bases = read_as(dict[str, str], fields["bases"], "bases")
        documents = self._changes.braked(fields["documents"])
        self._refuse_platform(request, documents)
        keep = self._keep(request, is_kept=not fields["dry_run"])
        shown = Shown(plans=plans, bases=bases)
        return answered(self._changes.apply(documents, shown, keep))

    def _refuse_platform(self, request: Request, documents: list[Json]) -> None:
        """Raise ForbiddenError if documents change the platform, and whoever asks must not."""
        live = self._pools.read_platform()
        for document in documents:
            if title_of(document).partition("/")[0] == PLATFORM_CONFIG and document != live:
                what = f"a {PLATFORM_CONFIG} that says anything new"
                refuse_others(request, self._plane.directory, Role.PLATFORM, what)

    def _keep(self, request: Request, *, is_kept: bool) -> Keep | None:
        if not is_kept:
            return None

        def keep(documents: Sequence[Json], shown: Shown) -> Proposal:
            now, actor = self._plane.now(), standing_in(request).name
            proposal = apply(self._plane.world, documents, shown, now, actor)
            self._plane.wake()
            return proposal

        return keep

    def _find(self, request: Request) -> str:
        return self.answers.known(request.path_params["name"])
