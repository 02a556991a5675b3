"""What asking for a fix gives: an answer, a refusal, or nobody who could be believed."""

from __future__ import annotations


class Served:
    """The service answered with a pointer document: contract/hotfix/answer.py."""

    __slots__ = ("body",)

    def __init__(self, body: bytes) -> None:
        self.body = body


class Rejected:
    """The service answered and refused; `status` is a gRPC status name."""

    __slots__ = ("status",)

    def __init__(self, status: str) -> None:
        self.status = status


class Unreachable:
    """There was no usable answer: no endpoint, no trust, no network, no time."""

    __slots__ = ("reason",)

    def __init__(self, reason: str) -> None:
        self.reason = reason
