"""
One GET with a bearer token, whole body or an error, under one deadline and one size limit.

Redirects are not followed: the token is for the address that it came with. A body that ends
early is an error, never a shorter body. Looking up a name is the one thing that the deadline does
not bound; the resolver's own limits do.
"""

from __future__ import annotations

import time

from fairlead.agent.probe import status_of, trusting_context
from fairlead.contract.boot_document import address_of
from fairlead.errors import InputError

TYPE_CHECKING = False
if TYPE_CHECKING:
    import socket
    import ssl

# A node config with a 2 MiB bundle of certificates, and as much again.
LARGEST_BODY = 4 << 20

# A server that is there accepts within a round trip or two.
CONNECT_DEADLINE_S = 10.0

LONGEST_LINE = 16 * 1024
MOST_HEADERS = 200
HEX_DIGITS = b"0123456789abcdefABCDEF"
LONGEST_CHUNK_SIZE = 8  # hexadecimal digits

CONTINUE = range(100, 200)


def fetch(endpoint: str, ca: str, token: str, deadline_s: float) -> tuple[int, bytes]:
    """
    Return the status and the body that the address answers with.

    Raises OSError if nobody who is trusted answers in time; for a server that cannot prove itself
    the OSError has a `verify_code`. Raises InputError for an address, a certificate authority or
    a body size that no second try changes.
    """
    import socket

    end = time.monotonic() + deadline_s
    host, port, path = address_of(endpoint)
    context = _context_of(ca)
    connect_s = min(deadline_s, CONNECT_DEADLINE_S)
    with socket.create_connection((host, port), connect_s) as connection:
        connection.settimeout(_left(end))
        # Without ragged ends: a body that ends with the connection must end on purpose.
        with context.wrap_socket(
            connection, server_hostname=host, suppress_ragged_eofs=False
        ) as secured:
            secured.sendall(_request(host, port, path, token))
            return _read_answer(_Stream(secured, end), host)


def _context_of(ca: str) -> ssl.SSLContext:
    try:
        return trusting_context(ca_text=ca)
    except OSError as error:
        raise InputError(f"holds no usable certificate: {error}", field="ca") from error


def _request(host: str, port: int, path: str, token: str) -> bytes:
    shown = f"[{host}]" if ":" in host else host
    return (
        f"GET {path} HTTP/1.1\r\nHost: {shown}:{port}\r\nAuthorization: Bearer {token}\r\n"
        "Accept: application/json\r\nAccept-Encoding: identity\r\nConnection: close\r\n\r\n"
    ).encode("ascii")


def _read_answer(stream: _Stream, host: str) -> tuple[int, bytes]:
    status = 100
    while status in CONTINUE:
        status = status_of(stream.line(), host)
        headers = _read_headers(stream)
    if headers.get(b"transfer-encoding", b"").lower() == b"chunked":
        return status, _read_chunks(stream)
    length = headers.get(b"content-length")
    if length is None:
        return status, stream.rest()
    if not length.isdigit() or len(length) > LONGEST_CHUNK_SIZE * 2:
        raise OSError(f"no usable content length from {host}")
    return status, stream.take(int(length))


def _read_headers(stream: _Stream) -> dict[bytes, bytes]:
    headers: dict[bytes, bytes] = {}
    for _ in range(MOST_HEADERS):
        line = stream.line()
        if not line:
            return headers
        name, _, value = line.partition(b":")
        headers[name.strip().lower()] = value.strip()
    raise OSError("too many header lines")


def _read_chunks(stream: _Stream) -> bytes:
    body = b""
    while True:
        size = stream.line().partition(b";")[0].strip()
        if not size or len(size) > LONGEST_CHUNK_SIZE or size.strip(HEX_DIGITS):
            raise OSError("a chunk of the answer has no size")
        count = int(size, 16)
        if count == 0:
            return body
        _refuse_large(len(body) + count)
        body += stream.take(count)
        stream.line()


class _Stream:
    """Reads a connection until its deadline."""

    __slots__ = ("_buffer", "_connection", "_end")

    def __init__(self, connection: socket.socket, end: float) -> None:
        self._connection = connection
        self._end = end
        self._buffer = bytearray()

    def line(self) -> bytes:
        """Return the next line without its end."""
        while b"\n" not in self._buffer:
            if len(self._buffer) > LONGEST_LINE:
                raise OSError("a header line of the answer does not end")
            if not self._fill():
                raise OSError("the answer ends in its header")
        at = self._buffer.index(b"\n")
        return self._cut(at + 1).rstrip(b"\r\n")

    def take(self, count: int) -> bytes:
        """Return exactly this many bytes."""
        _refuse_large(count)
        while len(self._buffer) < count:
            if not self._fill():
                raise OSError(f"the answer ends after {len(self._buffer)} of {count} bytes")
        return self._cut(count)

    def rest(self) -> bytes:
        """Return everything until the other side closes."""
        while self._fill():
            _refuse_large(len(self._buffer))
        return bytes(self._buffer)

    def _fill(self) -> bool:
        self._connection.settimeout(_left(self._end))
        part = self._connection.recv(65536)
        self._buffer += part
        return bool(part)

    def _cut(self, count: int) -> bytes:
        piece = bytes(self._buffer[:count])
        del self._buffer[:count]
        return piece


def _left(end: float) -> float:
    left = end - time.monotonic()
    if left <= 0:
        raise TimeoutError("no whole answer in time")
    return left


def _refuse_large(size: int) -> None:
    if size > LARGEST_BODY:
        raise InputError(f"the answer is larger than {LARGEST_BODY} bytes")
