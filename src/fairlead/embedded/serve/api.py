"""
The commands' door to the control plane: HTTP on a Unix socket, for its owner and for roles.

Every route runs on the event loop's own thread, as everything that touches the store must.
"""

from __future__ import annotations

from datetime import timedelta

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from fairlead.answering.events import DEFAULT_EVENTS, latest_events
from fairlead.answers.reply import Copied, Done, Identity
from fairlead.answers.words import Role
from fairlead.embedded.access.guard import guarded, standing_in
from fairlead.embedded.access.shared import keep_doors
from fairlead.embedded.certificates.authority import show
from fairlead.embedded.serve.api_kept import KeptRoutes
from fairlead.embedded.serve.api_machines import MachineRoutes
from fairlead.embedded.serve.api_pools import PoolRoutes
from fairlead.embedded.serve.api_request import (
    Plane,
    answer_error,
    answered,
    moment_asked,
    number_asked,
    read_fields,
)
from fairlead.embedded.state_directory import StateDirectory
from fairlead.embedded.store.backup import copy_database
from fairlead.errors import FairleadError, InputError
from fairlead.timeline.command import rotation_asked, stop_asked

MOST_EVENTS = 100_000
# A year: longer, and the next authority is announced by itself.
LONGEST_OVERLAP_S = 365 * 86400


def make_api(plane: Plane) -> Starlette:
    """Return the app that commands talk to."""
    routes = [
        *_PlaneRoutes(plane).routes(),
        *PoolRoutes(plane).routes(),
        *MachineRoutes(plane).routes(),
        *KeptRoutes(plane).routes(),
    ]
    return Starlette(
        routes=guarded(routes, plane.directory),
        exception_handlers={
            FairleadError: answer_error,
            HTTPException: answer_error,
            Exception: answer_error,
        },
    )


class _PlaneRoutes:
    def __init__(self, plane: Plane) -> None:
        self._plane = plane

    def routes(self) -> list[Route]:
        """Return the routes."""
        return [
            Route("/v1/whoami", self.whoami, methods=["GET"]),
            Route("/v1/health", self.health, methods=["GET"]),
            Route("/v1/certificates", self.certificates, methods=["GET"]),
            Route("/v1/certificates", self.rotate, methods=["POST"]),
            Route("/v1/stop", self.stop, methods=["POST"]),
            Route("/v1/copy", self.copy, methods=["POST"]),
            Route("/v1/events", self.list_events, methods=["GET"]),
        ]

    async def whoami(self, request: Request) -> Response:
        """Return who asks, as the control plane sees them; to its owner also what is amiss."""
        standing, directory = standing_in(request), self._plane.directory
        assert standing.role is not None  # noqa: S101 - the guard saw it
        problems = keep_doors(directory) if standing.may(Role.PLATFORM) else []
        return answered(
            Identity(
                name=standing.name,
                role=standing.role,
                because=standing.because,
                problems=tuple(problems),
            )
        )

    async def health(self, request: Request) -> Response:
        """Return what is running."""
        del request
        return answered(self._plane.health())

    async def certificates(self, request: Request) -> Response:
        """Return which authority machines trust, and which one comes next."""
        del request
        return answered(show(self._plane.directory.certificates, self._plane.now()))

    async def rotate(self, request: Request) -> Response:
        """Announce the next authority, to take over after so many seconds."""
        fields = await read_fields(request, {"overlap_s": int})
        overlap_s: int = fields["overlap_s"]
        if not 0 <= overlap_s <= LONGEST_OVERLAP_S:
            raise InputError(
                f"found {overlap_s}, expected 0 to {LONGEST_OVERLAP_S} seconds", field="overlap_s"
            )
        self._plane.rotate_authority(timedelta(seconds=overlap_s))
        now = self._plane.now()
        found = show(self._plane.directory.certificates, now)
        asked = rotation_asked(found.takes_over_at or now, standing_in(request).name, now)
        self._plane.world.journal.append([asked])
        return answered(found)

    async def stop(self, request: Request) -> Response:
        """Ask for an orderly end."""
        await read_fields(request, {})
        told = stop_asked(standing_in(request).name, self._plane.now())
        self._plane.world.journal.append([told])
        self._plane.stop()
        return answered(Done())

    async def copy(self, request: Request) -> Response:
        """Make a copy of the database, for a backup. Nothing is written meanwhile."""
        await read_fields(request, {})
        store = self._plane.world.store
        copy = copy_database(store, StateDirectory(store.path.parent))
        return answered(Copied(file=copy.name))

    async def list_events(self, request: Request) -> Response:
        """Return the latest events, oldest first; of one pool or machine, or since a moment."""
        limit = number_asked(request, "limit", DEFAULT_EVENTS, MOST_EVENTS)
        pool = request.query_params.get("pool", "")
        machine = request.query_params.get("machine", "")
        journal = self._plane.world.journal
        if machine:
            found = journal.read_machine_events(machine)
        else:
            found = journal.read_events(pool) if pool else journal.read_all(limit)
        return answered(latest_events(found, pool, moment_asked(request, "since"), limit))
