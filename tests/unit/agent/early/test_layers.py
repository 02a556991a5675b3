"""User data as clouds and tools wrap it, down to the parts inside."""

import base64
import gzip
import zlib
from email.mime.multipart import MIMEMultipart
from email.mime.text import MIMEText

from hypothesis import given
from hypothesis import strategies as st

from fairlead.agent.early.layers import LARGEST_BYTES, Room, gunzip, leaf_parts, unwrap

DOCUMENT = b"#cloud-config\n# long enough to be a document\n{}\n"


def test_gzip_and_base64_come_off_in_any_order() -> None:
    for wrapped in (
        DOCUMENT,
        gzip.compress(DOCUMENT),
        base64.b64encode(DOCUMENT),
        base64.encodebytes(DOCUMENT),
        base64.b64encode(gzip.compress(DOCUMENT)),
        gzip.compress(base64.b64encode(DOCUMENT)),
    ):
        assert unwrap(wrapped, Room()) == DOCUMENT


def test_a_word_that_could_be_base64_stays_a_word() -> None:
    assert unwrap(b"hello", Room()) == b"hello"


def test_a_damaged_or_endless_gzip_is_not_unpacked() -> None:
    whole = gzip.compress(DOCUMENT)
    bomb = zlib.compressobj(9, zlib.DEFLATED, 31)
    huge = bomb.compress(bytes(LARGEST_BYTES + 1)) + bomb.flush()

    assert gunzip(whole[:-9], Room()) is None
    assert gunzip(whole[:12] + b"\xff" + whole[13:], Room()) is None
    assert gunzip(huge, Room()) is None


def test_parts_are_found_whatever_the_line_ends_and_encodings() -> None:
    text = (
        "MIME-Version: 1.0\nContent-Type: multipart/mixed;\n boundary=B\n\npreamble\n"
        "--B\nContent-Type: text/cloud-boothook\n\n#cloud-boothook\nfirst\n"
        "--B\nContent-Type: text/cloud-config\nContent-Transfer-Encoding: base64\n\n"
        "I2Nsb3VkLWNvbmZpZwo=\n"
        "--B\nContent-Type: text/plain\nContent-Transfer-Encoding: quoted-printable\n\n"
        "a=3Db\n"
        "--B--\nafterwards\n"
    )
    expected = [b"#cloud-boothook\nfirst", b"#cloud-config\n", b"a=b"]

    assert leaf_parts(text.encode(), Room()) == expected
    crlf = leaf_parts(text.replace("\n", "\r\n").encode(), Room())
    assert [part.replace(b"\r\n", b"\n") for part in crlf] == expected


def test_what_python_writes_as_mime_is_read() -> None:
    outer = MIMEMultipart()
    for kind, body in (("cloud-boothook", "#cloud-boothook\nöne\n"), ("cloud-config", "{}\n")):
        outer.attach(MIMEText(body, kind, "utf-8"))

    assert leaf_parts(outer.as_bytes(), Room()) == ["#cloud-boothook\nöne\n".encode(), b"{}\n"]


def test_a_document_that_was_cut_off_keeps_its_whole_parts() -> None:
    text = b'Content-Type: multipart/mixed; boundary="B"\n\n--B\n\none\n--B\n\ntwo'

    assert leaf_parts(text, Room()) == [b"one", b"two"]


def test_parts_may_be_compressed_or_hold_parts_themselves() -> None:
    inner = b'Content-Type: multipart/mixed; boundary="I"\n\n--I\n\none\n--I--\n'
    packed = base64.b64encode(gzip.compress(b"#two" * 20))
    outer = (
        b'Content-Type: multipart/mixed; boundary="B"\n\n--B\n'
        + inner
        + b"--B\nContent-Transfer-Encoding: base64\n\n"
        + packed
        + b"\n--B--\n"
    )

    assert leaf_parts(outer, Room()) == [b"one", b"#two" * 20]


@given(st.binary(max_size=300))
def test_no_bytes_make_it_raise(data: bytes) -> None:
    leaf_parts(data, Room())
    leaf_parts(b"Content-Type: multipart/mixed; boundary=B\n\n--B\n" + data, Room())
