"""
HTTP/1.1 over a connection, under one deadline and one limit of size.

A body is whole when its length or its last chunk says so. The end of the connection says nothing:
whoever can cut it could shorten a body, and Python 3.11.2 tells a cut from a TLS goodbye no more
than we do.
"""

from __future__ import annotations

from fairlead.agent.network.tls_connection import left
from fairlead.agent.probe import status_of
from fairlead.errors import InputError

TYPE_CHECKING = False
if TYPE_CHECKING:
    import socket

LONGEST_LINE = 16 * 1024
MOST_HEADERS = 200
HEX_DIGITS = b"0123456789abcdefABCDEF"
LONGEST_CHUNK_SIZE = 8  # hexadecimal digits

# What one write gives to the connection; the deadline is looked at between two of them.
SENT_AT_ONCE = 16 * 1024

CONTINUE = range(100, 200)
SUCCESS = range(200, 300)
NO_CONTENT = 204


class Stream:
    """Writes to and reads from a connection until its deadline, bodies of `largest` bytes."""

    __slots__ = ("_buffer", "_connection", "_end", "_largest")

    def __init__(self, connection: socket.socket, end: float, largest: int) -> None:
        self._connection = connection
        self._end = end
        self._largest = largest
        self._buffer = bytearray()

    def send(self, content: bytes) -> None:
        """Send everything, unless the other side hangs up: reading tells what became of it."""
        for start in range(0, len(content), SENT_AT_ONCE):
            self._connection.settimeout(left(self._end))
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
        self.refuse_large(count)
        while len(self._buffer) < count:
            if not self._fill():
                raise OSError(f"the answer ends after {len(self._buffer)} of {count} bytes")
        return self._cut(count)

    def refuse_large(self, size: int) -> None:
        """Return if a body may have this size."""
        if size > self._largest:
            raise InputError(f"the answer is larger than {self._largest} bytes")

    def _fill(self) -> bool:
        self._connection.settimeout(left(self._end))
        part = self._connection.recv(65536)
        self._buffer += part
        return bool(part)

    def _cut(self, count: int) -> bytes:
        piece = bytes(self._buffer[:count])
        del self._buffer[:count]
        return piece


def read_answer(stream: Stream, host: str) -> tuple[int, bytes]:
    """Return the status and the whole body of the next answer."""
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


def _read_headers(stream: Stream) -> dict[bytes, bytes]:
    headers: dict[bytes, bytes] = {}
    for _ in range(MOST_HEADERS):
        line = stream.line()
        if not line:
            return headers
        name, _, value = line.partition(b":")
        headers[name.strip().lower()] = value.strip()
    raise OSError("too many header lines")


def _read_chunks(stream: Stream) -> bytes:
    body = b""
    while True:
        size = stream.line().partition(b";")[0].strip()
        if not size or len(size) > LONGEST_CHUNK_SIZE or size.strip(HEX_DIGITS):
            raise OSError("a chunk of the answer has no size")
        count = int(size, 16)
        if count == 0:
            return body
        stream.refuse_large(len(body) + count)
        body += stream.take(count)
        stream.line()
