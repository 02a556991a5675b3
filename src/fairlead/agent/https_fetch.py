"""
One GET or POST with a bearer token, whole answer or an error, under one deadline and size limit.

Redirects are not followed: the token is for the address that it came with. A body is whole when
its length or its last chunk says so. The end of the connection says nothing: whoever can cut it
could shorten a body, and Python 3.11.2 tells a cut from a TLS goodbye no more than we do. Looking
up a name is the one thing that the deadline does not bound; the resolver's own limits do.
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

# What one write gives to TLS; the deadline is looked at between two of them.
SENT_AT_ONCE = 16 * 1024

CONTINUE = range(100, 200)
SUCCESS = range(200, 300)
NO_CONTENT = 204


class Request:
    """
    One question: an https:// address, whom to trust, and who asks.

    `ca` is PEM text. `machine` is the name of the machine, '' where it has none. Without a `body`
    it is a GET, with one it is a POST of JSON.
    """

    __slots__ = ("body", "ca", "endpoint", "machine", "token")

    def __init__(
        self, endpoint: str, ca: str, token: str, machine: str = "", body: bytes | None = None
    ) -> None:
        self.endpoint = endpoint
        self.ca = ca
        self.token = token
        self.machine = machine
        self.body = body


def fetch(request: Request, deadline_s: float) -> tuple[int, bytes]:
    """
    Return the status and the body that the address answers with.

    Raises OSError if nobody who is trusted answers in time; for a server that cannot prove itself
    the OSError has a `verify_code`. Raises InputError for an address, a certificate authority or
    a body size that no second try changes.
    """
    import socket

    end = time.monotonic() + deadline_s
    host, port, path = address_of(request.endpoint)
    context = _context_of(request.ca)
    connect_s = min(deadline_s, CONNECT_DEADLINE_S)
    with socket.create_connection((host, port), connect_s) as connection:
        connection.settimeout(_left(end))
        with context.wrap_socket(connection, server_hostname=host) as secured:
            stream = _Stream(secured, end)
            stream.send(_text_of(request, (host, port, path)))
            return _read_answer(stream, host)


def _context_of(ca: str) -> ssl.SSLContext:
    try:
        return trusting_context(ca_text=ca)
    except OSError as error:
        raise InputError(f"holds no usable certificate: {error}", field="ca") from error


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


def _read_answer(stream: _Stream, host: str) -> tuple[int, bytes]:
    status = 100
    while status in CONTINUE:
        status = status_of(stream.line(), host)
        headers = _read_headers(stream)
    if headers.get(b"transfer-encoding", b"").lower() == b"chunked":
        return status, _read_chunks(stream)
    length = headers.get(b"content-length")
    if length is None:
        return status, _body_without_length(status, host)
    if not length.isdigit() or len(length) > LONGEST_CHUNK_SIZE * 2:
        raise OSError(f"no usable content length from {host}")
    return status, stream.take(int(length))


def _body_without_length(status: int, host: str) -> bytes:
    """Return b'' where the status alone says everything; nothing else is known to be whole."""
    if status in SUCCESS and status != NO_CONTENT:
        raise OSError(
            f"the answer of {host} has neither Content-Length nor chunks, so nobody can say "
            "whether it is whole"
        )
    return b""


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
    """Writes to and reads from a connection until its deadline."""

    __slots__ = ("_buffer", "_connection", "_end")

    def __init__(self, connection: socket.socket, end: float) -> None:
        self._connection = connection
        self._end = end
        self._buffer = bytearray()

    def send(self, content: bytes) -> None:
        """Send everything, unless the other side hangs up: reading tells what became of it."""
        for start in range(0, len(content), SENT_AT_ONCE):
            self._connection.settimeout(_left(self._end))
            try:
                self._connection.sendall(content[start : start + SENT_AT_ONCE])
            except TimeoutError:
                raise
            except OSError:
                # A server that refuses by the header alone need not take the body. Its answer
                # may be here already.
                return

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
