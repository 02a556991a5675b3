"""
The door to the network: requests to facts, answers to responses, and what is recorded of them.

Every rule is in answer.py. A body is read only for a machine whose token is good, and never
further than LONGEST_READ.
"""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime
from typing import Protocol

from starlette.requests import ClientDisconnect, Request
from starlette.responses import Response
from starlette.types import ASGIApp, Receive, Scope, Send

from fairlead.aside import Aside, at_once
from fairlead.errors import UnavailableError
from fairlead.payload.answer import (
    NODE_CONFIG_PATH,
    Answer,
    config_answer,
    machine_named,
    refusal_of,
    refusal_of_fetch,
    refusal_of_machine,
    refusal_of_token,
    report_answer,
    token_shown,
    too_large,
    unavailable,
)
from fairlead.payload.bearer import Bearer, Standing
from fairlead.payload.join import BOOTSTRAP_LIFE, Joins
from fairlead.revision.revision import Revision
from fairlead.rollout.secrets import hashed
from fairlead.rollout.served.pool_secrets import PoolSecrets

MACHINE_HEADER = "fairlead-machine"

# A report may have a sixteenth of this. Whoever still sends does not read an answer, so a body
# that is a little too long is read to its end, and its sender hears why.
LONGEST_READ = 1 << 20


class PayloadSource(Protocol):
    """
    What the service looks up and what it tells back. Every operation may raise UnavailableError.

    What is told back is about a machine that was just found to be expected.
    """

    def find_bearer(self, token_hash: str, machine: str) -> Bearer | None:
        """
        Return who shows the token of this hash and calls itself by this name, or None.

        None: there is no such token. A name proves nothing: whether it is the token's, and
        whether such a machine is expected, is in the answer.
        """

    def find_secrets(self, pool: str, revision: Revision) -> PoolSecrets:
        """Return what is there now under the names of this revision's secrets, for this pool."""

    def record_fetch(self, pool: str, machine: str, revision: str) -> None:
        """Remember that a machine was given the inputs of this revision."""

    def record_problem(self, pool: str, pair: str, problem: str) -> None:
        """Remember why a pair cannot be served; '' if it can."""

    def record_report(self, pool: str, machine: str, report: bytes) -> None:
        """Keep a machine's boot report; from here on its token is spent."""


def make_app(
    source: PayloadSource,
    now: Callable[[], datetime],
    joins: Joins | None = None,
    on_defect: Callable[[Exception], None] = lambda _error: None,
    aside: Aside = at_once,
) -> ASGIApp:
    """
    Return the service. It logs nothing.

    joins: how machines join, if no input says so. on_defect: told of every request that failed for
    a reason that nobody foresaw. aside: where source and joins are asked.
    """
    return _Door(source, now, joins, on_defect, aside)


class _Door:
    def __init__(
        self,
        source: PayloadSource,
        now: Callable[[], datetime],
        joins: Joins | None,
        on_defect: Callable[[Exception], None],
        aside: Aside,
    ) -> None:
        self._source = source
        self._now = now
        self._joins = joins
        self._on_defect = on_defect
        self._aside = aside

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        request = Request(scope, receive)
        try:
            answer = await self._answer(request)
        except UnavailableError:
            answer = unavailable()
        except ClientDisconnect:
            return
        except Exception as error:  # noqa: BLE001 - door 4: a request's failure is its own
            self._on_defect(error)
            answer = unavailable()
        # A machine asks once. Closing also ends a body that nobody is going to read.
        headers = {**answer.headers, "Cache-Control": "no-store", "Connection": "close"}
        kind = "application/json" if answer.body else None
        response = Response(answer.body, answer.status, headers, media_type=kind)
        await response(scope, receive, send)

    async def _answer(self, request: Request) -> Answer:
        if refusal := refusal_of(request.method, request.scope["path"]):
            return refusal
        token = token_shown(request.headers.getlist("authorization"))
        machine = machine_named(request.headers.get(MACHINE_HEADER, ""))
        if request.scope["path"] == NODE_CONFIG_PATH:
            return await self._aside(lambda: self._answer_fetch(token, machine))
        found = await self._aside(lambda: self._find(token, machine))
        if isinstance(found, Answer):
            return found
        body = bytearray()
        async for part in request.stream():
            body += part
            if len(body) > LONGEST_READ:
                return too_large()
        return await self._aside(lambda: self._answer_report(token, machine, bytes(body)))

    def _answer_fetch(self, token: str | None, machine: str) -> Answer:
        found = self._find(token, machine)
        if isinstance(found, Answer):
            return found
        return refusal_of_fetch(found) or self._give_config(found, machine)

    def _answer_report(self, token: str | None, machine: str, body: bytes) -> Answer:
        # Looked up again: while this body was under way, another may have spent the token.
        found = self._find(token, machine)
        return found if isinstance(found, Answer) else self._take_report(found, machine, body)

    def _find(self, token: str | None, machine: str) -> Bearer | Answer:
        """Return whom a good token was shown by, for whom it is, or the answer to anybody else."""
        bearer = self._source.find_bearer(hashed(token), machine) if token else None
        if refusal := refusal_of_token(token, bearer, self._now()):
            return refusal
        assert bearer is not None  # noqa: S101 - refused above
        return refusal_of_machine(bearer, machine) or bearer

    def _give_config(self, bearer: Bearer, machine: str) -> Answer:
        pair, secrets = bearer.pair, self._source.find_secrets(bearer.pair.pool, bearer.pair.served)
        join = None
        if self._joins is not None:
            join = self._joins.admit(pair.pool, machine, self._now() + BOOTSTRAP_LIFE)
        answer = config_answer(bearer, join, secrets)
        if answer.problem != pair.problem:
            self._source.record_problem(pair.pool, pair.id, answer.problem)
        if not answer.problem:
            self._source.record_fetch(pair.pool, machine, pair.served.id)
        return answer

    def _take_report(self, bearer: Bearer, machine: str, body: bytes) -> Answer:
        answer = report_answer(body, bearer)
        if answer.status != 204:  # noqa: PLR2004 - accepted
            return answer
        if bearer.standing is Standing.EXPECTED:
            self._source.record_report(bearer.pair.pool, machine, body)
        # Also for a report that came before: its sender may be here again because this failed.
        if self._joins is not None:
            self._joins.dismiss(bearer.pair.pool, machine)
        return answer
