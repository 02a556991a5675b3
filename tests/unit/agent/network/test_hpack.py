"""Headers of HTTP/2 as RFC 7541 writes them in its appendix C."""

import pytest

from fairlead.agent.network.hpack import HeaderReader, encode_headers
from fairlead.agent.network.huffman import decode_huffman

FIRST = [
    (b":status", b"302"),
    (b"cache-control", b"private"),
    (b"date", b"Mon, 21 Oct 2013 20:13:21 GMT"),
    (b"location", b"https://www.example.com"),
]
SECOND = [(b":status", b"307"), *FIRST[1:]]


@pytest.mark.parametrize(
    ("first", "second"),
    [
        (  # C.5, texts as they are
            "4803333032580770726976617465611d4d6f6e2c203231204f637420323031332032303a31333a323120"
            "474d546e1768747470733a2f2f7777772e6578616d706c652e636f6d",
            "4803333037c1c0bf",
        ),
        (  # C.6, texts in Huffman's code
            "488264025885aec3771a4b6196d07abe941054d444a8200595040b8166e082a62d1bff6e919d29ad1718"
            "63c78f0b97c8e9ae82ae43d3",
            "4883640effc1c0bf",
        ),
    ],
)
def test_blocks_of_the_standard_are_read_with_the_table_that_they_share(
    first: str, second: str
) -> None:
    reader = HeaderReader()

    assert reader.read(bytes.fromhex(first)) == FIRST
    assert reader.read(bytes.fromhex(second)) == SECOND


@pytest.mark.parametrize(
    ("encoded", "text"),
    [
        ("f1e3c2e5f23a6ba0ab90f4ff", b"www.example.com"),
        ("25a849e95ba97d7f", b"custom-key"),
        ("", b""),
    ],
)
def test_texts_of_the_standard_are_decoded(encoded: str, text: bytes) -> None:
    assert decode_huffman(bytes.fromhex(encoded)) == text


def test_what_we_write_is_read_back_and_needs_no_table() -> None:
    block = encode_headers([(":path", "/x"), ("authorization", "t" * 20_000)])

    assert block.startswith(b"\x10\x05:path\x02/x\x10\x0dauthorization\x7f")
    with pytest.raises(OSError, match="more than 16384 bytes of headers"):
        HeaderReader().read(block)
    assert HeaderReader().read(block[:10]) == [(b":path", b"/x")]


@pytest.mark.parametrize(
    ("block", "problem"),
    [
        ("be", "place 62, which no table has"),
        ("80", "place 0, which no table has"),
        ("4803", "ends inside a text"),
        ("48", "ends inside a field"),
        ("ffffffffffff7f", "a number that is too large"),
        ("3fe21f", "a header table of 4097 bytes"),
        ("8820", "changes its size behind a header"),
        ("0001618400000000", "does not end where it should"),
        ("00016184ffffffff", "the end of a Huffman text inside"),
    ],
)
def test_what_nobody_can_mean_is_refused(block: str, problem: str) -> None:
    with pytest.raises(OSError, match=problem):
        HeaderReader().read(bytes.fromhex(block))


def test_a_small_header_that_is_named_often_is_bounded_by_what_it_means() -> None:
    reader = HeaderReader()
    reader.read(bytes.fromhex("4001617f810f") + b"b" * 2048)

    with pytest.raises(OSError, match="more than 16384 bytes of headers"):
        reader.read(b"\xbe" * 16)
