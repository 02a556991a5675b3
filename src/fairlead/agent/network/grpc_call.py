"""
One unary gRPC call over TLS, with its deadline: the connection is made for it and ends with it.
"""

from __future__ import annotations

import time

from fairlead.agent.network.tls_connection import connect, left
from fairlead.agent.network.unary_exchange import UnaryExchange

TYPE_CHECKING = False
if TYPE_CHECKING:
    import ssl

    from fairlead.agent.network.tls_connection import Peer


class UnaryCall:
    """
    Whom to ask what. `path` is /SERVICE/METHOD.

    metadata: names in lower case; their values may be secret and are told to nobody else.
    """

    __slots__ = ("message", "metadata", "path", "peer")

    def __init__(self, peer: Peer, path: str, metadata: dict[str, str], message: bytes) -> None:
        self.peer = peer
        self.path = path
        self.metadata = metadata
        self.message = message


def call(asked: UnaryCall, deadline_s: float) -> tuple[str, bytes]:
    """
    Return the name of a gRPC status and, if that is OK, the message of the answer.

    Raises OSError if nobody who is trusted answers in time, or with what is no answer.
    """
    end = time.monotonic() + deadline_s
    with connect(asked.peer, end) as secured:
        if secured.selected_alpn_protocol() not in asked.peer.alpn:
            raise OSError(f"{asked.peer.host} speaks none of {', '.join(asked.peer.alpn)}")
        exchange = UnaryExchange(_headers_of(asked, deadline_s), asked.message)
        _converse(secured, exchange, end)
    return exchange.status, exchange.message


def _converse(secured: ssl.SSLSocket, exchange: UnaryExchange, end: float) -> None:
    while True:
        content = exchange.take_to_send()
        if content:
            secured.settimeout(left(end))
            secured.sendall(content)
        if exchange.status:
            return
        secured.settimeout(left(end))
        received = secured.recv(65536)
        if not received:
            raise ConnectionError("the connection ends before the answer does")
        exchange.receive(received)


def _headers_of(asked: UnaryCall, deadline_s: float) -> list[tuple[str, str]]:
    peer = asked.peer
    return [
        (":method", "POST"),
        (":scheme", "https"),
        (":path", asked.path),
        (":authority", peer.host if peer.port == 443 else f"{peer.host}:{peer.port}"),  # noqa: PLR2004
        ("te", "trailers"),
        ("content-type", "application/grpc"),
        ("grpc-timeout", f"{int(deadline_s * 1000)}m"),
        *asked.metadata.items(),
    ]
