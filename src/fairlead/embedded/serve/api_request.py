"""
One request of a command, and its answer: JSON both ways.

An error travels as its class and its parts, so that the command raises what was raised here.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime, timedelta
from typing import Any, Protocol

from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response

from fairlead.answering.edge import NotFoundError
from fairlead.answers.document import Document
from fairlead.answers.reply import Health, Refusal, Refused
from fairlead.answers.text import encode
from fairlead.contract.json_text import Pairs, parse_json, plain
from fairlead.controller.loop import Failure
from fairlead.embedded.access.guard import ForbiddenError
from fairlead.embedded.machines.kind import Printed
from fairlead.embedded.state_directory import StateDirectory
from fairlead.embedded.store.world import EmbeddedWorld
from fairlead.errors import (
    ConflictError,
    FairleadError,
    InputError,
    InvariantError,
    TrustError,
    UnavailableError,
)
from fairlead.inputs.leaf import Json
from fairlead.inputs.shape import kind_of, moment_text
from fairlead.telling.told_pools import ToldPools

# Four times what a command reads from a file.
LARGEST_BODY = 16 << 20

STATUS_OF: Mapping[type[FairleadError], int] = {
    InputError: 400,
    TrustError: 403,
    ConflictError: 409,
    UnavailableError: 503,
    InvariantError: 500,
}
NOT_FOUND = 404
FORBIDDEN = 403


class Plane(Protocol):
    """What commands need of a control plane."""

    world: EmbeddedWorld
    directory: StateDirectory
    told: ToldPools

    def now(self) -> datetime:
        """Return this moment."""

    def wake(self) -> None:
        """Ask for a pass soon."""

    def stop(self) -> None:
        """Ask for an orderly end."""

    def health(self) -> Health:
        """Return what is running."""

    def rotate_authority(self, overlap: timedelta) -> None:
        """Announce the next authority, which takes over after this overlap."""

    def printed(self, machine: str) -> Printed:
        """Return the end of what a machine printed."""

    def failures(self) -> Mapping[str, Failure]:
        """Return the pools whose last pass failed, and why."""


async def read_fields(request: Request, kinds: Mapping[str, type]) -> dict[str, Any]:
    """
    Return the fields of a body, each of its kind; what is missing or null has its kind's empty
    value, or is None where the kind is `object`. Raises InputError by field.
    """
    body = bytearray()
    async for part in request.stream():
        body += part
        if len(body) > LARGEST_BODY:
            raise InputError(f"the request has more than {LARGEST_BODY} bytes")
    value = parse_json(bytes(body)) if body.strip() else Pairs()
    if not isinstance(value, Pairs):
        raise InputError(f"found {kind_of(value)}, expected a mapping")
    fields = plain(value)
    for name in fields:
        if name not in kinds:
            hint = "known: " + ", ".join(kinds) if kinds else "nothing is expected here"
            raise InputError("this field is not known", field=name, hint=hint)
    return {name: _field_of(fields.get(name), name, kind) for name, kind in kinds.items()}


def _field_of(value: Json, name: str, kind: type) -> Json:
    if value is None:
        return None if kind is object else kind()
    if not isinstance(value, kind):
        names = {list: "a list", dict: "a mapping", bool: "true or false", str: "text"}
        raise InputError(f"found {kind_of(value)}, expected {names[kind]}", field=name)
    return value


def number_asked(request: Request, name: str, otherwise: int, most: int) -> int:
    """Return a whole number of the query. Raises InputError."""
    text = request.query_params.get(name)
    if text is None:
        return otherwise
    if not text.isascii() or not text.isdigit() or not 0 < int(text[:15]) <= most:
        raise InputError(f"found {kind_of(text)}, expected a number from 1 to {most}", field=name)
    return int(text)


def moment_asked(request: Request, name: str) -> datetime | None:
    """Return a moment of the query, or None. Raises InputError."""
    text = request.query_params.get(name)
    return datetime.fromisoformat(moment_text(text, name)) if text else None


def answered(answer: Document, status: int = 200) -> Response:
    """Return an answer."""
    headers = {"Cache-Control": "no-store"}
    return Response(encode(answer) + "\n", status, headers, media_type="application/json")


async def answer_error(request: Request, error: Exception) -> Response:
    """Return the answer to a request that failed."""
    del request
    if isinstance(error, HTTPException):  # no such path, or no such method there
        error = InputError(f"the control plane has nothing there: {error.detail}")
        return answered(_refused(error), NOT_FOUND)
    if not isinstance(error, FairleadError):
        told = f"{type(error).__name__}: {error}"
        error = InvariantError(f"a defect of the control plane: {told}")
    kind = next(kind for kind in STATUS_OF if isinstance(error, kind))
    status = STATUS_OF[kind]
    if isinstance(error, NotFoundError | ForbiddenError):
        status = NOT_FOUND if isinstance(error, NotFoundError) else FORBIDDEN
    return answered(_refused(error), status)


def _refused(error: FairleadError) -> Refused:
    kind = next(kind.__name__ for kind in STATUS_OF if isinstance(error, kind))
    if isinstance(error, InputError):
        told = Refusal(kind=kind, problem=error.problem, field=error.field, hint=error.hint)
    else:
        told = Refusal(kind=kind, problem=str(error))
    return Refused(error=told)
