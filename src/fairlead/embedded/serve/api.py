"""
The commands' door to the control plane: HTTP on a Unix socket that only its owner can open.

Every route runs on the event loop's own thread, as everything that touches the store must.
"""

from __future__ import annotations

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from fairlead.answers.event import Events
from fairlead.answers.reply import Copied, Done
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
from fairlead.errors import FairleadError

DEFAULT_EVENTS = 100
MOST_EVENTS = 100_000


def make_api(plane: Plane) -> Starlette:
    """Return the app that commands talk to."""
    own = _PlaneRoutes(plane)
    return Starlette(
        routes=[
            Route("/v1/health", own.health, methods=["GET"]),
            Route("/v1/stop", own.stop, methods=["POST"]),
            Route("/v1/copy", own.copy, methods=["POST"]),
            Route("/v1/events", own.list_events, methods=["GET"]),
            *PoolRoutes(plane).routes(),
            *MachineRoutes(plane).routes(),
            *KeptRoutes(plane).routes(),
        ],
        exception_handlers={
            FairleadError: answer_error,
            HTTPException: answer_error,
            Exception: answer_error,
        },
    )


class _PlaneRoutes:
    def __init__(self, plane: Plane) -> None:
        self._plane = plane

    async def health(self, request: Request) -> Response:
        """Return what is running."""
        del request
        return answered(self._plane.health())

    async def stop(self, request: Request) -> Response:
        """Ask for an orderly end."""
        await read_fields(request, {})
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
        since = moment_asked(request, "since")
        kept = tuple(
            event
            for event in found
            if (not pool or event.pool == pool) and (since is None or event.at >= since)
        )
        return answered(Events(events=kept[-limit:]))
