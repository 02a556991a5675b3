"""
The one place where a request is let through or refused: every route needs one role.

A route without a row here cannot be served at all.
"""

from __future__ import annotations

import os
import socket
from collections.abc import Iterable, Mapping

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route
from starlette.types import ASGIApp, Receive, Scope, Send

from fairlead.answers.words import Role
from fairlead.embedded.access.peer import Peer, peer_of, user_name
from fairlead.embedded.access.roles import Standing, standing_of
from fairlead.embedded.state_directory import StateDirectory
from fairlead.errors import InputError

# Method and path of every route, and who may use it. Whoever applies documents needs besides what
# each of them needs: see `refuse_others`.
ROLE_OF: Mapping[str, Role] = {
    "GET /v1/whoami": Role.VIEWER,
    "GET /v1/health": Role.VIEWER,
    "GET /v1/certificates": Role.VIEWER,
    "GET /v1/events": Role.VIEWER,
    "GET /v1/pools": Role.VIEWER,
    "GET /v1/pools/{name}": Role.VIEWER,
    "GET /v1/pools/{name}/history": Role.VIEWER,
    "GET /v1/machines": Role.VIEWER,
    "GET /v1/machines/{name}": Role.VIEWER,
    "GET /v1/machines/{name}/log": Role.VIEWER,
    "GET /v1/platform": Role.VIEWER,
    "POST /v1/plan": Role.VIEWER,
    "POST /v1/apply": Role.POOL_OWNER,
    "PATCH /v1/pools/{name}": Role.POOL_OWNER,
    "DELETE /v1/pools/{name}": Role.POOL_OWNER,
    "POST /v1/pools/{name}/faults": Role.POOL_OWNER,
    "DELETE /v1/machines/{name}": Role.POOL_OWNER,
    "POST /v1/machines/{name}/fault": Role.POOL_OWNER,
    "PATCH /v1/platform": Role.PLATFORM,
    "POST /v1/certificates": Role.PLATFORM,
    "POST /v1/stop": Role.PLATFORM,
    "POST /v1/copy": Role.PLATFORM,  # it stays in the state directory
}

# Where a request's scope has its peer.
SCOPE_KEY = "fairlead.peer"


class WithPeer:
    """An app that hears with every request who opened this connection."""

    def __init__(self, app: ASGIApp, connection: socket.socket) -> None:
        self._app = app
        self._peer = peer_of(connection)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request."""
        await self._app({**scope, SCOPE_KEY: self._peer}, receive, send)


class ForbiddenError(InputError):
    """Somebody asked for what their role does not cover; the hint says who can give another."""


def guarded(routes: Iterable[Route], directory: StateDirectory) -> list[Route]:
    """Return the routes, each behind the role that it needs. Raises KeyError if one needs none."""
    return [_guarded_route(route, directory) for route in routes]


def key_of(route: Route) -> str:
    """Return method and path of a route, as the table has them."""
    methods = (route.methods or set()) - {"HEAD"}
    return f"{','.join(sorted(methods))} {route.path}"


def standing_in(request: Request) -> Standing:
    """Return who asks."""
    standing: Standing = request.state.standing
    return standing


def refuse_others(request: Request, directory: StateDirectory, role: Role, what: str) -> None:
    """Raise ForbiddenError unless whoever asks has this role."""
    refuse_below(standing_in(request), role, what, directory)


def refuse_below(standing: Standing, role: Role, what: str, directory: StateDirectory) -> None:
    """Raise ForbiddenError that says who, what is needed, and who can give it."""
    if standing.may(role):
        return
    has = f"has the role {standing.role.value}" if standing.role else "has no role"
    owner = user_name(os.geteuid())
    hint = f"{owner} can give it, by a line in {directory.roles}"
    if standing.problem:
        has, hint = f"has no role, because nobody has: {standing.problem}", f"{owner} can mend it"
    raise ForbiddenError(f"{standing.name} {has}, and {what} needs {role.value}", hint=hint)


def _guarded_route(route: Route, directory: StateDirectory) -> Route:
    key = key_of(route)
    role, endpoint = ROLE_OF[key], route.endpoint

    async def guarded_endpoint(request: Request) -> Response:
        standing = _standing_of(request, directory)
        refuse_below(standing, role, key, directory)
        request.state.standing = standing
        answer: Response = await endpoint(request)
        return answer

    return Route(route.path, guarded_endpoint, methods=[*(route.methods or ())])


def _standing_of(request: Request, directory: StateDirectory) -> Standing:
    peer = request.scope.get(SCOPE_KEY)
    if not isinstance(peer, Peer):
        return Standing(name="somebody unknown", role=None)
    return standing_of(peer, directory)
