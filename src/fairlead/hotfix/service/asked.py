"""
One question for a pointer and its answer, whatever wire it came over.

HTTPS (http_app.py) and gRPC (grpc_server.py) turn their wire into a Question and a Reply into
their wire; what is answered is decided once, in pointers.py.
"""

from __future__ import annotations

import enum
from dataclasses import dataclass
from datetime import datetime
from typing import Protocol


class Status(enum.Enum):
    """How a question ended: the name and number of gRPC, and the status of HTTP."""

    OK = (0, 200)
    INVALID_ARGUMENT = (3, 400)
    NOT_FOUND = (5, 404)
    PERMISSION_DENIED = (7, 403)
    RESOURCE_EXHAUSTED = (8, 429)
    INTERNAL = (13, 500)
    UNAVAILABLE = (14, 503)
    UNAUTHENTICATED = (16, 401)

    @property
    def grpc(self) -> int:
        """The status code of gRPC."""
        return self.value[0]

    @property
    def http(self) -> int:
        """The status of HTTP."""
        return self.value[1]


@dataclass(frozen=True, slots=True, kw_only=True)
class Question:
    """
    Who asks for what.

    component: contract/hotfix/answer.py has the names. proof: what was shown for attestation.
    machine: how it calls itself, '' if it does not say. version: of the agent that asks, '' if it
    does not say. wants_update: it verifies signed metadata.
    """

    component: str
    proof: str
    machine: str = ""
    version: str = ""
    wants_update: bool = True


@dataclass(frozen=True, slots=True, kw_only=True)
class Reply:
    """The answer: a body of contract/hotfix/answer.py if OK, else a sentence without secrets."""

    status: Status
    body: bytes = b""
    problem: str = ""


class Pointers(Protocol):
    """What both wires ask."""

    def answer(self, question: Question, now: datetime) -> Reply:
        """Return the answer. Never raises."""
