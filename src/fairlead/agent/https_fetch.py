"""
One GET or POST with a bearer token, whole answer or an error, under one deadline and size limit.

Redirects are not followed: the token is for the address that it came with. Looking up a name is
the one thing that the deadline does not bound: agent/network/tls_connection.py.
"""

from __future__ import annotations

import time

from fairlead.agent.network.http_stream import Stream, read_answer
from fairlead.agent.network.tls_connection import Peer, connect
from fairlead.contract.boot_document import address_of

# A node config with a 2 MiB bundle of certificates, and as much again.
LARGEST_BODY = 4 << 20


class Request:
    """
    One question: an https:// address, whom to trust, and who asks.

    `ca` is PEM text. `machine` is the name of the machine, '' where it has none. Without a `body`
    it is a GET, with one it is a POST of JSON. `server_name` is for whom the certificate must be,
    '' for the host of the address, which is what the server is told either way. `alpn` is what
    the server is offered to speak; the answer is HTTP/1.1 whatever it picks.
    """

    __slots__ = ("alpn", "body", "ca", "endpoint", "machine", "server_name", "token")

    def __init__(
        self, endpoint: str, ca: str, token: str, machine: str = "", body: bytes | None = None
    ) -> None:
        self.endpoint = endpoint
        self.ca = ca
        self.token = token
        self.machine = machine
        self.body = body
        self.server_name = ""
        self.alpn: tuple[str, ...] = ()


def fetch(request: Request, deadline_s: float) -> tuple[int, bytes]:
    """
    Return the status and the body that the address answers with.

    Raises OSError if nobody who is trusted answers in time; for a server that cannot prove itself
    the OSError has a `verify_code`. Raises InputError for an address, a certificate authority or
    a body size that no second try changes.
    """
    end = time.monotonic() + deadline_s
    host, port, path = address_of(request.endpoint)
    peer = Peer(host, port, request.ca)
    peer.server_name = request.server_name or host
    peer.alpn = request.alpn
    with connect(peer, end) as secured:
        stream = Stream(secured, end, LARGEST_BODY)
        stream.send(_text_of(request, (host, port, path)))
        return read_answer(stream, host)


def _text_of(request: Request, address: tuple[str, int, str]) -> bytes:
    host, port, path = address
    shown = f"[{host}]" if ":" in host else host
    lines = [
        f"{'GET' if request.body is None else 'POST'} {path} HTTP/1.1",
        f"Host: {shown}:{port}",
        f"Authorization: Bearer {request.token}",
        "Accept: application/json",
        "Accept-Encoding: identity",
        "Connection: close",
    ]
    if request.machine:
        lines.append(f"Fairlead-Machine: {request.machine}")
    if request.body is not None:
        lines += ["Content-Type: application/json", f"Content-Length: {len(request.body)}"]
    return "\r\n".join([*lines, "", ""]).encode("ascii") + (request.body or b"")
