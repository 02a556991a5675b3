"""Strict DER: read as asn1crypto reads it, or refused."""

from random import Random

import pytest
from asn1crypto import core

from fairlead.hotfix.service.attestation.cms import parse_signed
from fairlead.hotfix.service.attestation.der import (
    INTEGER,
    OBJECT,
    SEQUENCE,
    DerError,
    Reader,
    integer,
    object_name,
    with_lengths,
)
from unit.hotfix.attested import aws_message, aws_signer, azure_chain, azure_message


@pytest.mark.parametrize("value", [0, 1, 127, 128, -1, -128, -129, 255, 256, 2**64, -(2**70)])
def test_numbers_are_read_as_asn1crypto_writes_them(value: int) -> None:
    assert integer(Reader(core.Integer(value).dump()).take(INTEGER)) == value


@pytest.mark.parametrize("name", ["1.2.840.113549.1.7.2", "2.5.29.17", "2.999.1", "0.9.2342"])
def test_object_identifiers_are_read_as_asn1crypto_writes_them(name: str) -> None:
    assert object_name(Reader(core.ObjectIdentifier(name).dump()).take(OBJECT)) == name


def only_number(data: bytes) -> int:
    reader = Reader(data)
    found = integer(reader.take(INTEGER))
    reader.end()
    return found


@pytest.mark.parametrize(
    "text",
    [
        "0281017f",  # a length in two bytes that fits one
        "02820080" + "01" * 128,  # a length that begins with a zero
        "0285000000000101",  # a length of five bytes
        "0202007f",  # a number with a zero too many
        "0202ff80",
        "0200",
        "02",
        "",
        "0202ff",
        "028001",  # no length
        "1f0101",  # a tag of several bytes
        "020101" + "00",
    ],
)
def test_numbers_in_a_second_spelling_are_refused(text: str) -> None:
    with pytest.raises(DerError):
        only_number(bytes.fromhex(text))


@pytest.mark.parametrize("text", ["0600", "06028001", "060181", "06032a8000"])
def test_object_identifiers_in_a_second_spelling_are_refused(text: str) -> None:
    with pytest.raises(DerError):
        object_name(Reader(bytes.fromhex(text)).take(OBJECT))


def test_elements_without_a_length_get_one_and_pieces_become_one() -> None:
    ber = bytes.fromhex("3080 020107 2480 040161 04026263 0000 0000".replace(" ", ""))

    assert with_lengths(ber) == bytes.fromhex("3008 020107 0403616263".replace(" ", ""))


@pytest.mark.parametrize(
    "text", ["3080", "30800000ff", "3080" * 9 + "0000" * 9, "02800000", "248002010100" + "00"]
)
def test_elements_without_an_end_or_too_deep_are_refused(text: str) -> None:
    with pytest.raises(DerError):
        with_lengths(bytes.fromhex(text))


def test_32_kib_of_open_elements_cost_nothing() -> None:
    with pytest.raises(DerError):
        with_lengths(b"\x30\x80" * 16_000)
    with pytest.raises(DerError):
        parse_signed(b"\x30\x84" + b"\xff" * 32_000)


def test_what_cannot_be_read_is_refused_as_such_and_in_no_other_way() -> None:
    random = Random(8)
    messages = [
        azure_message(b"{}", azure_chain().signer),
        with_lengths(aws_message(b"{}" * 150, aws_signer())),
    ]
    for count in range(4000):
        data = bytearray(messages[count % 2])
        for _ in range(random.choice((1, 3, 9))):
            data[random.randrange(len(data))] = random.randrange(256)
        try:
            parse_signed(bytes(data[: random.choice((len(data), random.randrange(len(data))))]))
        except DerError:
            continue


def test_two_signers_are_one_too_many() -> None:
    message = azure_message(b"{}", azure_chain().signer)
    explicit = Reader(message).inside(SEQUENCE)
    explicit.take(OBJECT)
    data = explicit.inside(0xA0).inside(SEQUENCE)
    parts = [data.take_any() for _ in range(5)]
    twice = parts[4].content * 2
    signers = b"\x31\x82" + len(twice).to_bytes(2, "big") + twice
    inner = b"".join(part.whole for part in parts[:4]) + signers
    for tag in (0x30, 0xA0):
        inner = bytes([tag, 0x82]) + len(inner).to_bytes(2, "big") + inner
    inner = bytes.fromhex("06092a864886f70d010702") + inner

    with pytest.raises(DerError, match="after the end"):
        parse_signed(b"\x30\x82" + len(inner).to_bytes(2, "big") + inner)
