"""
The door to the network over HTTPS: pointers, boot reports, and the files of the depot.

What is answered is decided in pointers.py, what is counted in reports.py, what may be read in
depot_files.py. ROUTES is all that there is. A body is read only for a machine that has proven who
it is, and never further than LONGEST_READ.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from datetime import datetime
from urllib.parse import parse_qsl

from starlette.requests import ClientDisconnect, Request
from starlette.responses import Response
from starlette.types import ASGIApp, Receive, Scope, Send

from fairlead.aside import Aside, at_once
from fairlead.contract.boot_report import parse_report
from fairlead.contract.hotfix.answer import DEPOT_PATH, HOTFIX_PATH, REPORT_PATH
from fairlead.contract.json_text import encode_json
from fairlead.errors import InputError, UnavailableError
from fairlead.hotfix.service.asked import Question, Reply, Status
from fairlead.hotfix.service.depot_files import OpenFile, open_public
from fairlead.hotfix.service.openapi import OPENAPI_PATH, document_text
from fairlead.hotfix.service.pointers import ServedPointers
from fairlead.hotfix.service.reports import LARGEST_REPORT, ended_boot

HEALTH_PATH = "/healthz"

# A report may have a sixteenth of this. Whoever still sends does not read an answer, so a body
# that is a little too long is read to its end, and its sender hears why.
LONGEST_READ = 1 << 20

LONGEST_QUERY = 400
MOST_PARAMETERS = 8

JSON = "application/json"
BYTES = "application/octet-stream"

# Of an answer of this app, beside what the general ones have.
Headers = dict[str, str]


@dataclass(frozen=True, slots=True, kw_only=True)
class Route:
    """One thing to ask for. path: whole, or how it begins if it ends with a slash."""

    path: str
    methods: tuple[str, ...]
    needs_proof: bool
    summary: str


ROUTES = (
    Route(path=HOTFIX_PATH, methods=("GET",), needs_proof=True, summary="the pointer of a machine"),
    Route(
        path=REPORT_PATH, methods=("POST",), needs_proof=True, summary="how a machine's boot ended"
    ),
    Route(
        path=f"{DEPOT_PATH}/",
        methods=("GET", "HEAD"),
        needs_proof=False,
        summary="signed files of the depot",
    ),
    Route(
        path=HEALTH_PATH, methods=("GET", "HEAD"), needs_proof=False, summary="is the service up"
    ),
    Route(path=OPENAPI_PATH, methods=("GET", "HEAD"), needs_proof=False, summary="this document"),
)


@dataclass(slots=True)
class _Told:
    """One answer of this app."""

    status: int
    body: bytes = b""
    headers: Headers = field(default_factory=dict)
    kind: str = JSON
    file: OpenFile | None = None


def make_hotfix_app(
    pointers: ServedPointers,
    now: Callable[[], datetime],
    on_defect: Callable[[Exception], None] = lambda _error: None,
    aside: Aside = at_once,
) -> ASGIApp:
    """
    Return the service. on_defect: told of requests that failed for a reason nobody foresaw.

    aside: where proofs and the ledger are asked.
    """
    return _Door(pointers, now, on_defect, aside)


def is_hotfix_path(path: str) -> bool:
    """Say whether a request for this path is this app's."""
    return _route_of(path) is not None


def _route_of(path: str) -> Route | None:
    for route in ROUTES:
        if path == route.path or (route.path.endswith("/") and path.startswith(route.path)):
            return route
    return None


class _Door:
    def __init__(
        self,
        pointers: ServedPointers,
        now: Callable[[], datetime],
        on_defect: Callable[[Exception], None],
        aside: Aside,
    ) -> None:
        self._aside = aside
        self._pointers = pointers
        self._now = now
        self._on_defect = on_defect
        self._ways: dict[str, Callable[[Request], Awaitable[_Told]]] = {
            HOTFIX_PATH: self._give_pointer,
            REPORT_PATH: self._take_report,
            f"{DEPOT_PATH}/": self._give_file,
            HEALTH_PATH: self._give_health,
            OPENAPI_PATH: self._give_document,
        }

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        request = Request(scope, receive)
        try:
            told = await self._answer(request)
        except (UnavailableError, OSError) as error:
            self._on_defect(error)
            told = _refusal(503, "not available for the moment")
        except ClientDisconnect:
            return
        except Exception as error:  # noqa: BLE001 - door 4: a request's failure is its own
            self._on_defect(error)
            told = _refusal(500, "the service failed")
        await self._send(told, scope, receive, send)

    async def _answer(self, request: Request) -> _Told:
        route = _route_of(request.scope["path"])
        if route is None:
            return _refusal(404, "there is nothing at this path")
        if request.method not in route.methods:
            allowed = ", ".join(route.methods)
            return _refusal(405, f"this path takes {allowed} only", {"Allow": allowed})
        return await self._ways[route.path](request)

    async def _give_pointer(self, request: Request) -> _Told:
        parameters = _parameters_of(request)
        if parameters is None:
            return _refusal(400, "the query cannot be read")
        question = Question(
            component=parameters.get("component", ""),
            proof=_proof_of(request),
            machine=_machine_of(request),
            version=parameters.get("version", ""),
        )
        now = self._now()
        return _told(await self._aside(lambda: self._pointers.answer(question, now)))

    async def _take_report(self, request: Request) -> _Told:
        pointers = self._pointers
        proof, machine, now = _proof_of(request), _machine_of(request), self._now()
        claims = await self._aside(lambda: pointers.attested(proof, machine, now))
        if isinstance(claims, Reply):
            return _told(claims)
        body = bytearray()
        async for part in request.stream():
            body += part
            if len(body) > LONGEST_READ:
                break
        if len(body) > LARGEST_REPORT:
            return _refusal(413, f"a boot report has at most {LARGEST_REPORT} bytes")
        try:
            report = parse_report(bytes(body))
        except InputError as error:
            return _refusal(400, f"not a boot report: {error}")
        now = self._now()
        pointers.shelf.look(now)
        catalog = pointers.shelf.catalog
        ended = ended_boot(report, claims, catalog)
        await self._aside(lambda: pointers.ledger.count(ended, catalog.fixes, now))
        return _Told(204)

    async def _give_file(self, request: Request) -> _Told:
        shelf = self._pointers.shelf
        shelf.look(self._now())
        path = request.scope["path"].removeprefix(f"{DEPOT_PATH}/")
        file = open_public(shelf.depot, path, shelf.catalog)
        if file is None:
            return _refusal(404, "the depot serves no such file")
        return _Told(200, kind=BYTES, file=file)

    async def _give_health(self, _: Request) -> _Told:
        return _Told(200, _json({"status": "up"}))

    async def _give_document(self, _: Request) -> _Told:
        return _Told(200, document_text())

    async def _send(self, told: _Told, scope: Scope, receive: Receive, send: Send) -> None:
        # A machine asks once. Closing also ends a body that nobody is going to read.
        headers = {**told.headers, "Cache-Control": "no-store", "Connection": "close"}
        if told.file is None:
            body = told.body if scope["method"] != "HEAD" else b""
            kind = told.kind if told.body else None
            await Response(body, told.status, headers, media_type=kind)(scope, receive, send)
            return
        try:
            await _send_file(told.file, headers, scope["method"] == "HEAD", send)
        finally:
            told.file.close()


async def _send_file(file: OpenFile, headers: Headers, is_head: bool, send: Send) -> None:  # noqa: FBT001
    fields = {**headers, "Content-Type": BYTES, "Content-Length": str(file.size)}
    raw = [(name.lower().encode(), value.encode()) for name, value in fields.items()]
    await send({"type": "http.response.start", "status": 200, "headers": raw})
    for part in () if is_head else file.chunks():
        await send({"type": "http.response.body", "body": part, "more_body": True})
    await send({"type": "http.response.body", "body": b""})


def _proof_of(request: Request) -> str:
    """Return what was shown, or '' unless it was shown once, and as a bearer."""
    shown = request.headers.getlist("authorization")
    scheme, _, proof = shown[0].strip(" \t").partition(" ") if len(shown) == 1 else ("", "", "")
    return proof.strip(" ") if scheme.lower() == "bearer" else ""


def _machine_of(request: Request) -> str:
    named = request.headers.getlist("fairlead-machine")
    return named[0] if len(named) == 1 and named[0].isprintable() else ""


def _parameters_of(request: Request) -> dict[str, str] | None:
    """Return the query, or None if it says one thing twice or cannot be read."""
    query = request.scope["query_string"]
    if len(query) > LONGEST_QUERY:
        return None
    try:
        pairs = parse_qsl(
            query.decode("ascii"),
            keep_blank_values=True,
            max_num_fields=MOST_PARAMETERS,
            errors="strict",
        )
    except ValueError:
        return None
    parameters = dict(pairs)
    return parameters if len(parameters) == len(pairs) else None


def _told(reply: Reply) -> _Told:
    if reply.status is Status.OK:
        return _Told(200, reply.body)
    headers = {"WWW-Authenticate": "Bearer"} if reply.status is Status.UNAUTHENTICATED else {}
    return _refusal(reply.status.http, reply.problem, headers)


def _refusal(status: int, problem: str, headers: Headers | None = None) -> _Told:
    return _Told(status, _json({"error": problem}), headers or {})


def _json(fields: dict[str, str]) -> bytes:
    return encode_json(fields).encode() + b"\n"
