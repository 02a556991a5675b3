"""Whatever a server sends, a call ends with a status or an OSError, and holds little meanwhile."""

from hypothesis import given, settings
from hypothesis import strategies as st

from example_counts import examples
from fairlead.agent.hotfix.asking.live_patching import config_in
from fairlead.agent.network.hpack import HeaderReader
from fairlead.agent.network.huffman import decode_huffman
from fairlead.agent.network.unary_exchange import UnaryExchange

SETTINGS = bytes.fromhex("000000040000000000")

FRAMES = st.builds(
    lambda kind, flags, stream, payload: (
        len(payload).to_bytes(3, "big") + bytes([kind, flags]) + stream.to_bytes(4, "big") + payload
    ),
    st.integers(0, 10),
    st.sampled_from([0, 1, 4, 5, 8, 12, 0x20, 0x2D]) | st.integers(0, 255),
    st.sampled_from([0, 1, 1, 1, 3]),
    st.binary(max_size=60)
    | st.sampled_from([b"\x88\x5f\x10application/grpc", b"\x88", b"\0\x0bgrpc-status\x010"]),
)


@settings(max_examples=examples(600), deadline=None)
@given(st.lists(FRAMES, max_size=12), st.binary(max_size=40), st.integers(1, 50))
def test_a_call_survives_any_frames(frames: list[bytes], rest: bytes, step: int) -> None:
    exchange = UnaryExchange([(":method", "POST")], b"")
    exchange.take_to_send()
    content = SETTINGS + b"".join(frames) + rest
    try:
        for start in range(0, len(content), step):
            exchange.receive(content[start : start + step])
    except OSError:
        pass
    # Every frame is answered with at most one frame of at most 17 bytes.
    assert len(exchange.take_to_send()) <= 17 * (len(frames) + 2 + len(rest))
    assert exchange.status != "OK" or len(exchange.message) <= len(content)


@settings(max_examples=examples(600), deadline=None)
@given(st.lists(st.binary(max_size=200), max_size=5))
def test_headers_are_read_or_refused(blocks: list[bytes]) -> None:
    reader = HeaderReader()
    for block in blocks:
        try:
            found = reader.read(block)
        except OSError:
            return
        assert sum(len(name) + len(text) for name, text in found) <= 16384


@given(st.binary(max_size=100))
def test_texts_and_messages_are_read_or_refused(content: bytes) -> None:
    for read in (decode_huffman, config_in):
        try:
            read(content)
        except OSError:
            continue
