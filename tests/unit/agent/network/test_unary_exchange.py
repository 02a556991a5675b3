"""One unary call as bytes: what a server may answer, and what becomes of the call."""

import pytest

from fairlead.agent.hotfix.asking.live_patching import config_in, encode_request
from fairlead.agent.network.hpack import encode_headers
from fairlead.agent.network.unary_exchange import UnaryExchange

SETTINGS = bytes.fromhex("000000040000000000")


def frame(kind: int, flags: int, stream: int, payload: bytes = b"") -> bytes:
    header = len(payload).to_bytes(3, "big") + bytes([kind, flags])
    return header + stream.to_bytes(4, "big") + payload


def headers(flags: int, **fields: str) -> bytes:
    named = [(name.replace("_", "-").replace("X", ":"), text) for name, text in fields.items()]
    return frame(1, flags, 1, encode_headers(named))


OPEN = headers(4, Xstatus="200", content_type="application/grpc")
DONE = headers(5, grpc_status="0")


def data(message: bytes, flags: int = 0) -> bytes:
    return frame(0, flags, 1, b"\0" + len(message).to_bytes(4, "big") + message)


def exchange_after(*content: bytes) -> UnaryExchange:
    exchange = UnaryExchange([(":method", "POST")], b"question")
    exchange.take_to_send()
    exchange.receive(b"".join(content))
    return exchange


def test_a_call_begins_with_everything_that_it_has_to_say() -> None:
    sent = UnaryExchange([(":method", "POST")], b"question").take_to_send()

    assert sent == (
        b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"
        + frame(4, 0, 0, bytes.fromhex("000200000000000400500000000600004000"))
        + frame(8, 0, 0, (0x500000 - 65535).to_bytes(4, "big"))
        + frame(1, 4, 1, b"\x10\x07:method\x04POST")
        + frame(0, 1, 1, b"\0\0\0\0\x08question")
    )


def test_a_long_token_goes_on_in_further_frames() -> None:
    sent = UnaryExchange([("authorization", "t" * 40_000)], b"").take_to_send()

    at, kinds = 24, []
    while at < len(sent):
        length = int.from_bytes(sent[at : at + 3], "big")
        kinds.append((sent[at + 3], sent[at + 4]))
        assert length <= 16384
        at += 9 + length
    assert kinds == [(4, 0), (8, 0), (1, 0), (9, 0), (9, 4), (0, 1)]


def test_an_answer_is_whole_with_its_trailers() -> None:
    exchange = exchange_after(SETTINGS, OPEN, data(b"answer"))
    assert exchange.status == ""

    exchange.receive(DONE)

    assert (exchange.status, exchange.message) == ("OK", b"answer")


def test_an_answer_may_come_byte_by_byte_and_with_padding() -> None:
    exchange = exchange_after()
    padded = frame(0, 8, 1, b"\x03" + b"\0\0\0\0\x02ok" + b"\0\0\0")
    for byte in SETTINGS + OPEN + padded + DONE:
        exchange.receive(bytes([byte]))

    assert (exchange.status, exchange.message) == ("OK", b"ok")


def test_settings_and_pings_are_answered_and_other_frames_passed_over() -> None:
    exchange = exchange_after(
        SETTINGS,
        frame(6, 0, 0, b"12345678"),
        frame(6, 1, 0, b"87654321"),
        frame(4, 1, 0),
        frame(8, 0, 0, b"\0\0\0\1"),
        frame(2, 0, 1, b"\0\0\0\0\0"),
        frame(0xFA, 0, 7, b"unknown"),
    )

    assert exchange.take_to_send() == frame(4, 1, 0) + frame(6, 1, 0, b"12345678")
    assert exchange.status == ""


@pytest.mark.parametrize(
    ("content", "status"),
    [
        (headers(5, Xstatus="200", grpc_status="16"), "Unauthenticated"),
        (headers(5, Xstatus="200", grpc_status="7"), "PermissionDenied"),
        (headers(5, Xstatus="200", grpc_status="99"), "Unknown"),
        (OPEN + headers(5, grpc_status="14"), "Unavailable"),
        (OPEN + data(b"x") + headers(5, grpc_status="3"), "InvalidArgument"),
        (OPEN + headers(5, other="x"), "Unknown"),
        (OPEN + data(b"x", flags=1), "Unknown"),
        (headers(4, Xstatus="503"), "Unavailable"),
        (headers(5, Xstatus="404"), "Unimplemented"),
        (headers(4, Xstatus="200", content_type="text/html"), "Unknown"),
        (headers(4, Xstatus="103") + OPEN + headers(5, grpc_status="5"), "NotFound"),
        (frame(3, 0, 1, b"\0\0\0\x07"), "Unavailable"),
        (frame(3, 0, 1, b"\0\0\0\x0b"), "ResourceExhausted"),
        (frame(3, 0, 1, b"\0\0\0\x02"), "Internal"),
        (frame(7, 0, 0, b"\0\0\0\0\0\0\0\0bye"), "Unavailable"),
        (frame(7, 0, 0, b"\0\0\0\x01\0\0\0\0") + OPEN + data(b"x") + DONE, "OK"),
    ],
)
def test_every_other_end_has_its_status(content: bytes, status: str) -> None:
    assert exchange_after(SETTINGS, content).status == status


@pytest.mark.parametrize(
    ("content", "problem"),
    [
        (frame(6, 0, 0, b"12345678"), "does not begin as HTTP/2 does"),
        (b"HTTP/1.1 400 Bad Request\r\n\r\n", "a frame of 4740180 bytes"),
        (SETTINGS + frame(4, 0, 0, b"12345"), "no such length"),
        (SETTINGS + frame(6, 0, 0, b"1"), "a ping of 1 bytes"),
        (SETTINGS + frame(5, 4, 1, b"\0\0\0\2"), "though told not to"),
        (SETTINGS + frame(1, 4, 3, b""), "for stream 3, expected 1"),
        (SETTINGS + frame(0, 0, 1, b"x"), "content before its header"),
        (SETTINGS + frame(9, 4, 1, b""), "goes on where there is none"),
        (SETTINGS + frame(1, 0, 1, b"") + frame(0, 0, 1, b"x"), "a header is interrupted"),
        (SETTINGS + frame(1, 0, 1, b"") + frame(9, 0, 1, b"a" * 16384) * 2, "of headers"),
        (SETTINGS + frame(1, 0, 1, b"") + frame(9, 0, 1, b"") * 20_000, "more than 16384 frames"),
        (SETTINGS + frame(1, 12, 1, b"\x05abc"), "more padding than bytes"),
        (SETTINGS + frame(8, 0, 0, b"\0\0\0\0"), "grows by nothing"),
        (SETTINGS + OPEN + frame(0, 0, 1, b"x" * 16384) * 300, "larger than 4194304 bytes"),
        (SETTINGS + OPEN + frame(0, 0, 1, b"\1\0\0\0\1x") + DONE, "no whole, plain message"),
        (SETTINGS + OPEN + data(b"x") + data(b"y") + DONE, "no whole, plain message"),
        (SETTINGS + OPEN + DONE, "no whole, plain message"),
    ],
)
def test_what_is_no_answer_is_refused(content: bytes, problem: str) -> None:
    with pytest.raises(OSError, match=problem):
        exchange_after(content)


def test_messages_are_those_of_the_live_patching_contract() -> None:
    assert encode_request("aksNodeController") == b"\x0a\x11aksNodeController"
    answer = b"\x0a\x01x" + b"\x18\x96\x01" + b"\x12\x02{}" + b"\x25\0\0\0\0"
    assert config_in(answer) == b"{}"
    assert config_in(b"") == b""


@pytest.mark.parametrize("message", [b"\x12\x05{}", b"\x12", b"\xff" * 11, b"\x13", b"\x21\0"])
def test_a_message_that_is_cut_is_no_answer(message: bytes) -> None:
    with pytest.raises(OSError, match="the answer"):
        config_in(message)
