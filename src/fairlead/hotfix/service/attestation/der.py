"""
A strict reader of DER, for what signed documents of clouds are made of.

Anything that has two spellings is refused: lengths that are not minimal, tags of several bytes,
bytes after the end. Nothing is copied more than once a level, and a level never looks ahead, so
a document costs time and memory by its size, which the caller bounds.
"""

from __future__ import annotations

from dataclasses import dataclass

INTEGER = 0x02
OCTETS = 0x04
NULL = 0x05
OBJECT = 0x06
SEQUENCE = 0x30
SET = 0x31
# [0] and [1] with something inside.
FIRST = 0xA0
SECOND = 0xA1

_CONSTRUCTED = 0x20
_LONG_TAG = 0x1F
_LONG_LENGTH = 0x80
# Bytes of a length. Three: 16 MiB, more than any caller takes.
_MOST_LENGTH_BYTES = 3

# Elements without a length inside each other: AWS writes six.
_DEEPEST = 8


class DerError(ValueError):
    """These bytes are not DER, or not what was expected here."""


@dataclass(frozen=True, slots=True)
class Element:
    """One element. whole: with its tag and length, as it was written."""

    tag: int
    content: bytes
    whole: bytes


class Reader:
    """Takes elements off the front of a content."""

    def __init__(self, content: bytes) -> None:
        self._content = content
        self._at = 0

    def take(self, tag: int) -> Element:
        """Return the next element. Raises DerError if it is another one, or none."""
        element = self.take_any()
        if element.tag != tag:
            raise DerError(f"found tag {element.tag:#x}, expected {tag:#x}")
        return element

    def take_if(self, tag: int) -> Element | None:
        """Return the next element if it is of this tag."""
        if self._content[self._at : self._at + 1] != bytes([tag]):
            return None
        return self.take_any()

    def take_any(self) -> Element:
        """Return the next element."""
        tag, start, end = _header(self._content, self._at)
        if end is None:
            raise DerError("found an element without a length")
        element = Element(tag, self._content[start:end], self._content[self._at : end])
        self._at = end
        return element

    def inside(self, tag: int) -> Reader:
        """Return a reader of what is inside the next element."""
        return Reader(self.take(tag).content)

    @property
    def is_at_end(self) -> bool:
        """Whether nothing is left."""
        return self._at == len(self._content)

    def end(self) -> None:
        """Raise DerError if something is left."""
        if not self.is_at_end:
            raise DerError(f"found {len(self._content) - self._at} bytes after the end")


def object_name(element: Element) -> str:
    """Return an object identifier with dots."""
    if not element.content or element.content[-1] >= _LONG_LENGTH:
        raise DerError("found an object identifier without an end")
    arcs = []
    value = 0
    starts = True
    for byte in element.content:
        if starts and byte == _LONG_LENGTH:
            raise DerError("found an object identifier that is not minimal")
        value = value << 7 | byte & 0x7F
        starts = byte < _LONG_LENGTH
        if starts:
            arcs.append(value)
            value = 0
    first = min(arcs[0] // 40, 2)
    return ".".join(map(str, (first, arcs[0] - 40 * first, *arcs[1:])))


def integer(element: Element) -> int:
    """Return a number."""
    content = element.content
    is_long = len(content) > 1 and (
        (content[0] == 0 and content[1] < _LONG_LENGTH)
        or (content[0] == 0xFF and content[1] >= _LONG_LENGTH)  # noqa: PLR2004 - all bits of a byte
    )
    if not content or is_long:
        raise DerError("found a number that is not minimal")
    return int.from_bytes(content, "big", signed=True)


def with_lengths(data: bytes) -> bytes:
    """
    Return a document whose outer elements have no length with lengths, as DER has them.

    AWS writes its documents so: BER. Signatures do not cover the outer elements, so nothing that
    is signed changes. What has a length is left as it is, with all that is inside.
    """
    whole, end = _with_length(data, 0, _DEEPEST)
    if end != len(data):
        raise DerError(f"found {len(data) - end} bytes after the end")
    return whole


def _with_length(data: bytes, at: int, levels: int) -> tuple[bytes, int]:
    tag, start, end = _header(data, at)
    if end is not None:
        return data[at:end], end
    if levels == 0 or not tag & _CONSTRUCTED:
        raise DerError("found elements without a length inside each other, or without a content")
    parts = []
    at = start
    while data[at : at + 2] != b"\0\0":
        part, at = _with_length(data, at, levels - 1)
        parts.append(part)
    if tag == OCTETS | _CONSTRUCTED:  # bytes in several pieces
        content = b"".join(Reader(part).take(OCTETS).content for part in parts)
        return _element(OCTETS, content), at + 2
    return _element(tag, b"".join(parts)), at + 2


def _element(tag: int, content: bytes) -> bytes:
    size = len(content)
    if size < _LONG_LENGTH:
        return bytes([tag, size]) + content
    length = size.to_bytes((size.bit_length() + 7) // 8, "big")
    return bytes([tag, _LONG_LENGTH | len(length)]) + length + content


def _header(data: bytes, at: int) -> tuple[int, int, int | None]:
    """Return the tag, where the content starts and where it ends, None if it does not say."""
    if len(data) < at + 2:
        raise DerError("found the end, expected an element")
    tag, length = data[at], data[at + 1]
    if tag & _LONG_TAG == _LONG_TAG:
        raise DerError("found a tag of several bytes")
    start = at + 2
    if length == _LONG_LENGTH:
        return tag, start, None
    if length > _LONG_LENGTH:
        count = length - _LONG_LENGTH
        written = data[start : start + count]
        length = int.from_bytes(written, "big")
        is_minimal = count <= _MOST_LENGTH_BYTES and len(written) == count and written[0] != 0
        if not is_minimal or length < _LONG_LENGTH:
            raise DerError("found a length that is not minimal, or too large")
        start += count
    if start + length > len(data):
        raise DerError("found the end inside an element")
    return tag, start, start + length
