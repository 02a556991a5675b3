"""What commands ask about pools and the platform, and how they change them."""

from __future__ import annotations

from collections.abc import Mapping

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from fairlead.controller.describe import platform_view, pool_detail, pool_view
from fairlead.controller.describe_plan import View, record_after, wait_view
from fairlead.controller.observe import observe
from fairlead.controller.think import think
from fairlead.embedded.serve.api_machines import parse_fault, stored_view
from fairlead.embedded.serve.api_request import Plane, answered, no_such, read_fields
from fairlead.embedded.serve.proposal import Outcome, Proposal, merged, propose, propose_deletion
from fairlead.embedded.serve.shown_plan import ShownPlan, parse_shown_plan
from fairlead.errors import InputError
from fairlead.inputs.brakes import with_brakes
from fairlead.inputs.leaf import Json
from fairlead.inputs.shape import kind_of
from fairlead.rollout.wait import Wait, WaitFor


class PoolRoutes:
    """Routes about what is declared, over one control plane."""

    def __init__(self, plane: Plane) -> None:
        self._plane = plane
        self._pools = plane.world.pools

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
        return answered({"pools": [self._view(pool) for pool in self._pools.list_pools()]})

    async def show(self, request: Request) -> Response:
        """Return one pool in full."""
        pool, now = self._find(request), self._plane.now()
        seen = observe(pool, self._plane.world.world())
        machines = self._plane.world.machines.list_stored(pool)
        detail = self._with_failure(pool_detail(seen, think(seen, now), now))
        return answered({**detail, "machines": [stored_view(stored) for stored in machines]})

    async def patch(self, request: Request) -> Response:
        """Change fields of a pool, within the plan that was shown for it."""
        fields = await read_fields(request, {"spec": dict, "plan": object, "dry_run": bool})
        pool = self._find(request)
        shown = None
        if fields["plan"] is not None:
            found = parse_shown_plan(fields["plan"], "plan")
            if found.pool != pool:
                raise InputError(f"is a plan of {found.pool!r}", field="plan.pool")
            shown = {pool: found}
        document = _patched(self._pools.read_documents(pool).pool, fields["spec"])
        proposal = Proposal(documents=[document], shown=shown, is_kept=not fields["dry_run"])
        outcome = self._propose(proposal)
        return answered(
            {"plan": outcome.plans[0], "pool": self._view(pool), "applied": outcome.applied}
        )

    async def delete(self, request: Request) -> Response:
        """Let a pool go, with all its machines."""
        fields = await read_fields(request, {"dry_run": bool})
        pool, is_kept = self._find(request), not fields["dry_run"]
        leaving = propose_deletion(self._plane.world, pool, self._plane.now(), is_kept=is_kept)
        self._plane.wake()
        return answered({"machines": leaving})

    async def queue_faults(self, request: Request) -> Response:
        """Say what the next machines of a pool do wrong."""
        fields = await read_fields(request, {"faults": list})
        pool = self._find(request)
        faults = tuple(
            parse_fault(value, f"faults[{at}]") for at, value in enumerate(fields["faults"])
        )
        self._plane.world.machines.queue_faults(pool, faults)
        return answered({})

    async def show_platform(self, request: Request) -> Response:
        """Return what the platform adds on its own, and which pools lack it."""
        del request
        return answered(self._platform_view())

    async def patch_platform(self, request: Request) -> Response:
        """Change fields of the platform's document."""
        fields = await read_fields(request, {"spec": dict, "dry_run": bool})
        document = _patched(self._pools.read_platform(), fields["spec"])
        outcome = self._propose(Proposal(documents=[document], is_kept=not fields["dry_run"]))
        return answered(
            {
                "plans": outcome.plans,
                "platform": self._platform_view(),
                "applied": outcome.applied,
            }
        )

    async def plan(self, request: Request) -> Response:
        """Return what documents would do. Writes nothing."""
        fields = await read_fields(request, {"documents": list})
        proposal = Proposal(documents=self._with_brakes(fields["documents"]))
        return answered({"plans": self._propose(proposal).plans})

    async def apply(self, request: Request) -> Response:
        """Put documents in force, within the plans that were shown for them."""
        kinds = {"documents": list, "plans": object, "dry_run": bool}
        fields = await read_fields(request, kinds)
        proposal = Proposal(
            documents=self._with_brakes(fields["documents"]),
            shown=_shown_plans(fields["plans"]),
            is_kept=not fields["dry_run"],
        )
        outcome = self._propose(proposal)
        return answered(
            {
                "plans": outcome.plans,
                "applied": outcome.applied,
                "unchanged": outcome.unchanged,
            }
        )

    def _propose(self, proposal: Proposal) -> Outcome:
        if not proposal.documents:
            raise InputError("there is no document", field="documents")
        outcome = propose(self._plane.world, proposal, self._plane.now())
        if proposal.is_kept:
            self._plane.wake()
        return outcome

    def _with_brakes(self, documents: list[Json]) -> list[Json]:
        """Return the documents of a file, which releases no brake that it does not mention."""
        return [with_brakes(document, self._live_of(document)) for document in documents]

    def _live_of(self, document: Json) -> Json:
        name = _pool_named(document)
        if not name:
            return self._pools.read_platform()
        return self._pools.read_documents(name).pool if name in self._pools.list_pools() else None

    def _find(self, request: Request) -> str:
        name: str = request.path_params["name"]
        known = self._pools.list_pools()
        if name not in known:
            raise no_such("pool", name, known)
        return name

    def _view(self, pool: str) -> View:
        now = self._plane.now()
        seen = observe(pool, self._plane.world.world())
        return self._with_failure(pool_view(seen, think(seen, now), now))

    def _with_failure(self, view: View) -> View:
        """Return the view of a pool that waits for its next pass, if the last one failed."""
        failure = self._plane.failures().get(str(view["name"]))
        if failure is None:
            return view
        says = f"the last pass failed: {failure.says}"
        wait = Wait(wait_for=WaitFor.RETRY, says=says, until=failure.retry_at)
        waits = view["waits"]
        return {**view, "waits": [wait_view(wait), *(waits if isinstance(waits, list) else [])]}

    def _platform_view(self) -> View:
        world, now = self._plane.world, self._plane.now()
        records = {}
        for pool in self._pools.list_pools():
            seen = observe(pool, world.world())
            records[pool] = record_after(seen, think(seen, now))
        return platform_view(self._pools.read_platform(), world.code.defaults, records)


def _pool_named(document: Json) -> str:
    """Return the name in a NodePool document; '' for any other."""
    if not isinstance(document, Mapping) or document.get("kind") != "NodePool":
        return ""
    metadata = document.get("metadata")
    return str(metadata.get("name")) if isinstance(metadata, Mapping) else ""


def _patched(document: Json, patch: Mapping[str, Json]) -> Json:
    return merged(document, {"spec": patch})


def _shown_plans(value: Json) -> dict[str, ShownPlan] | None:
    if value is None:
        return None
    if not isinstance(value, list):
        raise InputError(f"found {kind_of(value)}, expected a list of plans", field="plans")
    plans = [parse_shown_plan(item, f"plans[{at}]") for at, item in enumerate(value)]
    return {plan.pool: plan for plan in plans}
