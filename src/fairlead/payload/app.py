"""
The door to the network: requests to facts, answers to responses, and what is recorded of them.

Every rule is in answer.py. A body is read only for a machine whose token is good, and never
further than LONGEST_READ.
"""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime
from typing import Protocol

from starlette.applications import Starlette
from starlette.requests import ClientDisconnect, Request
from starlette.responses import Response
from starlette.routing import Route
from starlette.types import Receive, Scope, Send

from fairlead.errors import UnavailableError
from fairlead.payload.answer import (
    NODE_CONFIG_PATH,
    Answer,
    config_answer,
    machine_named,
    refusal_of,
    refusal_of_token,
    report_answer,
    token_shown,
    too_large,
    unavailable,
)
from fairlead.payload.join import Join
from fairlead.payload.pool_secrets import PoolSecrets
from fairlead.revision.revision import Revision
from fairlead.rollout.machines import NodeSettings
from fairlead.rollout.secrets import TokenSecret, hashed

MACHINE_HEADER = "fairlead-machine"

# A report may have a sixteenth of this. Whoever still sends does not read an answer, so a body
# that is a little too long is read to its end, and its sender hears why.
LONGEST_READ = 1 << 20


class PayloadSource(Protocol):
    """
    What the service looks up and what it tells back.

    A machine's name is what the machine says of itself: the token proves its pool and nothing
    more. Whoever records must look whether that pool has such a machine. Every operation may
    raise UnavailableError.
    """

    def find_pair(self, token_hash: str) -> TokenSecret | None:
        """Return the pair whose present or previous token has this hash, or None."""

    def find_settings(self, pool: str, machine: str) -> NodeSettings:
        """Return the labels and taints that this machine boots with."""

    def find_secrets(self, revision: Revision) -> PoolSecrets:
        """Return what is there now under the names of this revision's secrets."""

    def record_fetch(self, pool: str, machine: str, revision: str) -> None:
        """Remember that a machine was given the inputs of this revision."""

    def record_problem(self, pool: str, pair: str, problem: str) -> None:
        """Remember why a pair cannot be served; '' if it can."""

    def record_report(self, pool: str, machine: str, report: bytes) -> None:
        """Keep a machine's boot report."""


def make_app(
    source: PayloadSource, now: Callable[[], datetime], join: Join | None = None
) -> Starlette:
    """Return the service. It logs nothing. join: how machines join, if no input says so."""
    # An object instead of a function: Starlette lets every method through to it.
    return Starlette(routes=[Route("/{path:path}", _Door(source, now, join))])


class _Door:
    def __init__(
        self, source: PayloadSource, now: Callable[[], datetime], join: Join | None
    ) -> None:
        self._source = source
        self._now = now
        self._join = join

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        request = Request(scope, receive)
        try:
            answer = await self._answer(request)
        except UnavailableError:
            answer = unavailable()
        except ClientDisconnect:
            return
        # A machine asks once. Closing also ends a body that nobody is going to read.
        headers = {**answer.headers, "Cache-Control": "no-store", "Connection": "close"}
        kind = "application/json" if answer.body else None
        response = Response(answer.body, answer.status, headers, media_type=kind)
        await response(scope, receive, send)

    async def _answer(self, request: Request) -> Answer:
        if refusal := refusal_of(request.method, request.scope["path"]):
            return refusal
        token = token_shown(request.headers.getlist("authorization"))
        pair = self._source.find_pair(hashed(token)) if token else None
        if refusal := refusal_of_token(token, pair, self._now()):
            return refusal
        assert pair is not None  # noqa: S101 - refused above
        machine = machine_named(request.headers.get(MACHINE_HEADER, ""))
        if request.scope["path"] == NODE_CONFIG_PATH:
            return self._give_config(pair, machine)
        return await self._take_report(request, pair, machine)

    def _give_config(self, pair: TokenSecret, machine: str) -> Answer:
        settings = self._source.find_settings(pair.pool, machine)
        secrets = self._source.find_secrets(pair.served)
        answer = config_answer(pair, settings, self._join, secrets)
        if answer.problem != pair.problem:
            self._source.record_problem(pair.pool, pair.id, answer.problem)
        if not answer.problem:
            self._source.record_fetch(pair.pool, machine, pair.served.id)
        return answer

    async def _take_report(self, request: Request, pair: TokenSecret, machine: str) -> Answer:
        body = bytearray()
        async for part in request.stream():
            body += part
            if len(body) > LONGEST_READ:
                return too_large()
        answer = report_answer(bytes(body), machine)
        if answer.status == 204:  # noqa: PLR2004 - accepted
            self._source.record_report(pair.pool, machine, bytes(body))
        return answer
