"""
One unary gRPC call over HTTP/2, as bytes in and bytes out: no socket, no clock.

Stream 1 is the only one. The windows are opened for the largest answer at once, so that none has
to be opened later. Everything a server may send is bounded: frames, headers, the message.
"""

from __future__ import annotations

from fairlead.agent.network.grpc_status import CODE_NAMES, name_of_http, name_of_reset
from fairlead.agent.network.hpack import LARGEST_LIST, HeaderReader, encode_headers

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

PREFACE = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"

DATA, HEADERS, RST_STREAM, SETTINGS = 0, 1, 3, 4
PUSH_PROMISE, PING, GOAWAY, WINDOW_UPDATE, CONTINUATION = 5, 6, 7, 8, 9

# Flags; which of them counts depends on the type of the frame.
ACK = END_STREAM = 0x1
END_HEADERS = 0x4
PADDED = 0x8
HAS_PRIORITY = 0x20

FRAME_HEADER = 9
LARGEST_FRAME = 16 * 1024  # the standard's default, which we do not raise
STREAM = 1

# An answer with metadata of a hundred fixes has 200 KiB.
LARGEST_MESSAGE = 4 << 20
MESSAGE_HEADER = 5  # whether it is compressed, and its length

DEFAULT_WINDOW = 65535
WINDOW = LARGEST_MESSAGE + (1 << 20)

# The largest answer in frames of 1 KiB has 4096; who sends more means no good.
MOST_FRAMES = 16 * 1024

SETTING_SIZE = 6
ENABLE_PUSH, INITIAL_WINDOW, HEADER_LIST = 2, 4, 6
PING_SIZE = 8
GOAWAY_SIZE = 8
PRIORITY_SIZE = 5


class UnaryExchange:
    """
    What is said and heard on one connection for one call.

    `status` is '' until the call has ended, then a gRPC status name; with OK, `message` is the
    answer.
    """

    __slots__ = (
        "_block", "_data", "_ends_with_block", "_frames", "_has_headers", "_has_settings",
        "_headers", "_received", "_to_send", "message", "status",
    )  # fmt: skip

    def __init__(self, headers: list[tuple[str, str]], message: bytes) -> None:
        self.status = ""
        self.message = b""
        self._received = bytearray()
        self._headers = HeaderReader()
        # Of a header that goes on in the next frame; None: there is none.
        self._block: bytearray | None = None
        self._ends_with_block = False
        self._has_settings = False
        self._has_headers = False
        self._data = bytearray()
        self._frames = 0
        self._to_send = bytearray(PREFACE + _opening(headers, message))

    def take_to_send(self) -> bytes:
        """Return what must be sent now; it counts as sent."""
        found = bytes(self._to_send)
        self._to_send.clear()
        return found

    def receive(self, content: bytes) -> None:
        """Take what came. Raises OSError for what is no answer to this call."""
        self._received += content
        while not self.status and len(self._received) >= FRAME_HEADER:
            length = int.from_bytes(self._received[:3], "big")
            if length > LARGEST_FRAME:
                raise OSError(f"a frame of {length} bytes, expected at most {LARGEST_FRAME}")
            if len(self._received) < FRAME_HEADER + length:
                return
            kind, flags = self._received[3], self._received[4]
            stream = int.from_bytes(self._received[5:FRAME_HEADER], "big") & 0x7FFFFFFF
            payload = bytes(self._received[FRAME_HEADER : FRAME_HEADER + length])
            del self._received[: FRAME_HEADER + length]
            self._take_frame(kind, flags, stream, payload)

    def _take_frame(self, kind: int, flags: int, stream: int, payload: bytes) -> None:
        self._frames += 1
        if self._frames > MOST_FRAMES:
            raise OSError(f"more than {MOST_FRAMES} frames, and still no whole answer")
        if not self._has_settings and kind != SETTINGS:
            raise OSError("the server does not begin as HTTP/2 does")
        if (self._block is not None) != (kind == CONTINUATION):
            raise OSError("a header is interrupted, or goes on where there is none")
        if kind == PUSH_PROMISE:
            raise OSError("the server sends what was not asked for, though told not to")
        handler = HANDLERS.get(kind)
        if handler is None:
            return  # a priority, or of an extension that was not asked for
        expected = STREAM if kind in OF_STREAM else 0
        if kind not in OF_ANY and stream != expected:
            raise OSError(f"a frame of type {kind} for stream {stream}, expected {expected}")
        handler(self, flags, stream, payload)

    def _take_settings(self, flags: int, _stream: int, payload: bytes) -> None:
        if len(payload) % SETTING_SIZE or (flags & ACK and payload):
            raise OSError("settings of the server have no such length")
        self._has_settings = True
        # None of them changes what we send: everything of ours is on its way already.
        if not flags & ACK:
            self._to_send += _frame(SETTINGS, ACK, 0, b"")

    def _take_ping(self, flags: int, _stream: int, payload: bytes) -> None:
        if len(payload) != PING_SIZE:
            raise OSError(f"a ping of {len(payload)} bytes, expected {PING_SIZE}")
        if not flags & ACK:
            self._to_send += _frame(PING, ACK, 0, payload)

    def _take_window(self, _flags: int, _stream: int, payload: bytes) -> None:
        if len(payload) != 4 or not int.from_bytes(payload, "big") & 0x7FFFFFFF:  # noqa: PLR2004
            raise OSError("a window of the server grows by nothing")

    def _take_goaway(self, _flags: int, _stream: int, payload: bytes) -> None:
        if len(payload) < GOAWAY_SIZE:
            raise OSError("a farewell of the server is too short")
        if int.from_bytes(payload[:4], "big") & 0x7FFFFFFF < STREAM:
            self.status = "Unavailable"

    def _take_reset(self, _flags: int, _stream: int, payload: bytes) -> None:
        if len(payload) != 4:  # noqa: PLR2004
            raise OSError("a reset of the server has no such length")
        self.status = name_of_reset(int.from_bytes(payload, "big"))

    def _take_headers(self, flags: int, _stream: int, payload: bytes) -> None:
        block = _without_padding(flags, payload)
        if flags & HAS_PRIORITY:
            if len(block) < PRIORITY_SIZE:
                raise OSError("a header is shorter than its priority")
            block = block[PRIORITY_SIZE:]
        self._ends_with_block = bool(flags & END_STREAM)
        self._block = bytearray()
        self._take_continuation(flags, STREAM, block)

    def _take_continuation(self, flags: int, stream: int, payload: bytes) -> None:
        if self._block is None or stream != STREAM:
            raise OSError("a header goes on where there is none")
        self._block += payload
        if len(self._block) > LARGEST_LIST:
            raise OSError(f"the answer has more than {LARGEST_LIST} bytes of headers")
        if not flags & END_HEADERS:
            return
        headers = dict(self._headers.read(bytes(self._block)))
        self._block = None
        self._take_header_list(headers)

    def _take_header_list(self, headers: dict[bytes, bytes]) -> None:
        http = headers.get(b":status", b"")
        if http.startswith(b"1") and not self._ends_with_block:
            return  # more will come
        if b"grpc-status" in headers and self._ends_with_block:
            self._end(headers[b"grpc-status"])
        elif self._has_headers or self._ends_with_block:
            self.status = name_of_http(http) if http and http != b"200" else "Unknown"
        elif http != b"200":
            self.status = name_of_http(http)
        elif not headers.get(b"content-type", b"").startswith(b"application/grpc"):
            self.status = "Unknown"
        self._has_headers = True

    def _take_data(self, flags: int, _stream: int, payload: bytes) -> None:
        if not self._has_headers:
            raise OSError("the answer has content before its header")
        self._data += _without_padding(flags, payload)
        if len(self._data) > LARGEST_MESSAGE + MESSAGE_HEADER:
            raise OSError(f"the answer is larger than {LARGEST_MESSAGE} bytes")
        if flags & END_STREAM:
            self.status = "Unknown"  # there are no trailers to say how it went

    def _end(self, code: bytes) -> None:
        name = CODE_NAMES.get(code, "Unknown")
        if name != "OK":
            self.status = name
            return
        length = int.from_bytes(self._data[1:MESSAGE_HEADER], "big")
        if len(self._data) != MESSAGE_HEADER + length or self._data[0]:
            raise OSError("the answer holds no whole, plain message")
        self.message = bytes(self._data[MESSAGE_HEADER:])
        self.status = "OK"


HANDLERS: dict[int, Callable[[UnaryExchange, int, int, bytes], None]] = {
    DATA: UnaryExchange._take_data,  # noqa: SLF001 - a table of the class above
    HEADERS: UnaryExchange._take_headers,  # noqa: SLF001
    RST_STREAM: UnaryExchange._take_reset,  # noqa: SLF001
    SETTINGS: UnaryExchange._take_settings,  # noqa: SLF001
    PING: UnaryExchange._take_ping,  # noqa: SLF001
    GOAWAY: UnaryExchange._take_goaway,  # noqa: SLF001
    WINDOW_UPDATE: UnaryExchange._take_window,  # noqa: SLF001
    CONTINUATION: UnaryExchange._take_continuation,  # noqa: SLF001
}
OF_STREAM = (DATA, HEADERS, RST_STREAM, CONTINUATION)
OF_ANY = (WINDOW_UPDATE,)


def _opening(headers: list[tuple[str, str]], message: bytes) -> bytes:
    """Return settings, the call and its message: all that is ever sent unasked."""
    settings = b"".join(
        number.to_bytes(2, "big") + value.to_bytes(4, "big")
        for number, value in (
            (ENABLE_PUSH, 0),
            (INITIAL_WINDOW, WINDOW),
            (HEADER_LIST, LARGEST_LIST),
        )
    )
    frames = _frame(SETTINGS, 0, 0, settings)
    frames += _frame(WINDOW_UPDATE, 0, 0, (WINDOW - DEFAULT_WINDOW).to_bytes(4, "big"))
    block = encode_headers(headers)
    kind = HEADERS
    for start in range(0, len(block), LARGEST_FRAME):
        is_last = start + LARGEST_FRAME >= len(block)
        flags = END_HEADERS if is_last else 0
        frames += _frame(kind, flags, STREAM, block[start : start + LARGEST_FRAME])
        kind = CONTINUATION
    content = b"\0" + len(message).to_bytes(4, "big") + message
    if len(content) > LARGEST_FRAME:
        raise OSError(f"a question of {len(message)} bytes is too large for one frame")
    return frames + _frame(DATA, END_STREAM, STREAM, content)


def _frame(kind: int, flags: int, stream: int, payload: bytes) -> bytes:
    return (
        len(payload).to_bytes(3, "big") + bytes([kind, flags]) + stream.to_bytes(4, "big") + payload
    )


def _without_padding(flags: int, payload: bytes) -> bytes:
    if not flags & PADDED:
        return payload
    if not payload or payload[0] >= len(payload):
        raise OSError("a frame has more padding than bytes")
    return payload[1 : len(payload) - payload[0]]
