"""
One request to the metadata service of a cloud, in plain HTTP at its one link-local address.

Never through a proxy: a document that proves this machine must not pass by anybody else.
"""

from __future__ import annotations

import time

from fairlead.agent.network.http_stream import Stream, read_answer
from fairlead.agent.network.tls_connection import connected

ADDRESS = ("169.254.169.254", 80)
LARGEST_BODY = 1 << 20


class Question:
    """One request to the metadata service."""

    __slots__ = ("headers", "host", "method", "path")

    def __init__(
        self, path: str, headers: dict[str, str], *, method: str = "GET", host: str = ADDRESS[0]
    ) -> None:
        self.path = path
        self.headers = headers
        self.method = method
        self.host = host


def ask(
    question: Question, deadline_s: float, address: tuple[str, int] = ADDRESS
) -> tuple[int, bytes]:
    """Return status and body of what the metadata service answers. Raises OSError, InputError."""
    end = time.monotonic() + deadline_s
    lines = [f"{question.method} {question.path} HTTP/1.1", f"Host: {question.host}"]
    lines += [f"{name}: {value}" for name, value in question.headers.items()]
    lines += ["Content-Length: 0"] if question.method != "GET" else []
    with connected(*address, end) as connection:
        stream = Stream(connection, end, LARGEST_BODY)
        stream.send("\r\n".join([*lines, "Connection: close", "", ""]).encode("ascii"))
        return read_answer(stream, address[0])
