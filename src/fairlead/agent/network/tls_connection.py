"""
A TLS connection to somebody who proved to be who was meant, before anything is said to it.

No proxy is ever used, whatever the environment names: these addresses are reached directly, and a
proxy would learn who asks. Looking up a name is the one thing that no deadline in here bounds;
the resolver's own limits do, or whoever watches this process from outside.
"""

from __future__ import annotations

import time

from fairlead.agent.probe import trusting_context
from fairlead.errors import InputError

TYPE_CHECKING = False
if TYPE_CHECKING:
    import socket
    import ssl
    from typing import Any

# A server that is there accepts within a round trip or two.
CONNECT_DEADLINE_S = 10.0

# OpenSSL's "hostname mismatch".
OTHER_NAME = 62


class Peer:
    """
    Whom to connect to, and who it must prove to be.

    `ca` is PEM text. The host is what the server is told that we want (SNI); the certificate must
    be for `server_name`, which is the host unless it is set. `alpn`: what we speak, best first.
    """

    __slots__ = ("alpn", "ca", "host", "port", "server_name")

    def __init__(self, host: str, port: int, ca: str) -> None:
        self.host = host
        self.port = port
        self.ca = ca
        self.server_name = host
        self.alpn: tuple[str, ...] = ()


def connect(peer: Peer, end: float) -> ssl.SSLSocket:
    """
    Return a connection that is proven. `end` is on the monotonic clock.

    Raises OSError, with a `verify_code` if it is the proof that failed, and InputError for a
    certificate authority that is none.
    """
    context = _context_of(peer)
    with connected(peer.host, peer.port, end) as connection:
        connection.settimeout(left(end))
        secured = context.wrap_socket(connection, server_hostname=peer.host)
    if peer.server_name != peer.host:
        try:
            _refuse_other_name(secured, peer.server_name)
        except OSError:
            secured.close()
            raise
    return secured


def connected(host: str, port: int, end: float) -> socket.socket:
    """Return a connection to the first address of this name that accepts one."""
    import socket

    last: OSError = ConnectionError(f"{host} has no address")
    for family, kind, protocol, _, address in socket.getaddrinfo(
        host, port, type=socket.SOCK_STREAM
    ):
        connection = socket.socket(family, kind, protocol)
        try:
            connection.settimeout(min(left(end), CONNECT_DEADLINE_S))
            connection.connect(address)
        except OSError as error:
            connection.close()
            last = error
        else:
            return connection
    raise last


def left(end: float) -> float:
    """Return the seconds until `end`. Raises TimeoutError if there are none."""
    seconds = end - time.monotonic()
    if seconds <= 0:
        raise TimeoutError("no whole answer in time")
    return seconds


def _context_of(peer: Peer) -> ssl.SSLContext:
    import ssl

    try:
        context = trusting_context(ca_text=peer.ca)
    except OSError as error:
        raise InputError(f"holds no usable certificate: {error}", field="ca") from error
    context.minimum_version = ssl.TLSVersion.TLSv1_2
    if peer.alpn:
        context.set_alpn_protocols(list(peer.alpn))
    # OpenSSL compares names itself, but with the one that it sends.
    context.check_hostname = peer.server_name == peer.host
    return context


def _refuse_other_name(secured: ssl.SSLSocket, name: str) -> None:
    """Return if the certificate, whose chain was verified, is for this name."""
    import ssl

    certificate: dict[str, Any] = secured.getpeercert() or {}
    names = [value for kind, value in certificate.get("subjectAltName", ()) if kind == "DNS"]
    if any(is_name_of(pattern, name) for pattern in names):
        return
    error = ssl.SSLCertVerificationError(
        f"the certificate is for {', '.join(names)[:200] or 'no name'}, expected {name}"
    )
    error.verify_code = OTHER_NAME
    raise error


def is_name_of(pattern: str, name: str) -> bool:
    """Say whether a name of a certificate covers this one; `*` stands for one whole first label."""
    found, wanted = pattern.lower(), name.lower().removesuffix(".")
    if found.startswith("*."):
        label, _, rest = wanted.partition(".")
        return bool(label) and "." in rest and rest == found[2:]
    return found == wanted
