"""
Headers of HTTP/2 (HPACK, RFC 7541): read whatever a server may send, write the plainest form.

What is written is never put into a table, so there is none to keep in step with the server. What
is read is bounded: the block by who calls, its meaning by LARGEST_LIST.
"""

from __future__ import annotations

from fairlead.agent.network.huffman import decode_huffman

TYPE_CHECKING = False
if TYPE_CHECKING:
    Header = tuple[bytes, bytes]

# Bytes of names and values with 32 for each pair, as the standard counts: an answer has 200, and
# a few hundred more with a message for people.
LARGEST_LIST = 16 * 1024

# What a server may use for its table: the standard's default, which we do not change.
LARGEST_TABLE = 4096
PAIR_OVERHEAD = 32

# No number in here is larger: bytes and places in a table.
LARGEST_NUMBER = 1 << 24

# Pairs that have a number from the start, in order; some stand for a name alone.
PAIRS = """:authority|:method GET|:method POST|:path /|:path /index.html|:scheme http|\
:scheme https|:status 200|:status 204|:status 206|:status 304|:status 400|:status 404|:status 500|\
accept-charset|accept-encoding gzip, deflate|accept-language|accept-ranges|accept|\
access-control-allow-origin|age|allow|authorization|cache-control|content-disposition|\
content-encoding|content-language|content-length|content-location|content-range|content-type|\
cookie|date|etag|expect|expires|from|host|if-match|if-modified-since|if-none-match|if-range|\
if-unmodified-since|last-modified|link|location|max-forwards|proxy-authenticate|\
proxy-authorization|range|referer|refresh|retry-after|server|set-cookie|\
strict-transport-security|transfer-encoding|user-agent|vary|via|www-authenticate"""
STATIC = [
    (name.encode(), value.encode())
    for name, _, value in (pair.partition(" ") for pair in PAIRS.split("|"))
]

# The kinds of fields by their first bits: how many bits of the first byte are left for a number.
INDEXED, INDEXED_BITS = 0x80, 7
ADDED, ADDED_BITS = 0x40, 6
RESIZED, RESIZED_BITS = 0x20, 5
PLAIN_BITS = 4
HUFFMAN, LENGTH_BITS = 0x80, 7


def encode_headers(headers: list[tuple[str, str]]) -> bytes:
    """Return a block of these: literals that are never put into a table."""
    block = bytearray()
    for name, value in headers:
        block.append(0x10)
        for text in (name.encode("ascii"), value.encode("ascii")):
            block += _encode_number(len(text), LENGTH_BITS) + text
    return bytes(block)


def _encode_number(number: int, bits: int) -> bytes:
    most = (1 << bits) - 1
    if number < most:
        return bytes([number])
    encoded = bytearray([most])
    number -= most
    while number >= 0x80:  # noqa: PLR2004 - seven bits at a time
        encoded.append(number & 0x7F | 0x80)
        number >>= 7
    encoded.append(number)
    return bytes(encoded)


class HeaderReader:
    """Reads the blocks of one connection, in their order: a table goes from one to the next."""

    __slots__ = ("_at", "_block", "_limit", "_size", "_table")

    def __init__(self) -> None:
        self._table: list[Header] = []
        self._size = 0
        self._limit = LARGEST_TABLE
        self._block = b""
        self._at = 0

    def read(self, block: bytes) -> list[Header]:
        """Return the headers of a block. Raises OSError for what nobody can mean."""
        self._block, self._at = block, 0
        headers: list[Header] = []
        size = 0
        while self._at < len(block):
            header = self._field(may_resize=not headers)
            if header is None:
                continue
            size += len(header[0]) + len(header[1]) + PAIR_OVERHEAD
            if size > LARGEST_LIST:
                raise OSError(f"the answer has more than {LARGEST_LIST} bytes of headers")
            headers.append(header)
        return headers

    def _field(self, *, may_resize: bool) -> Header | None:
        first = self._block[self._at]
        if first & INDEXED:
            return self._pair(self._number(INDEXED_BITS))
        if first & ADDED:
            header = self._literal(ADDED_BITS)
            self._add(header)
            return header
        if first & RESIZED:
            if not may_resize:
                raise OSError("a header table changes its size behind a header")
            self._resize(self._number(RESIZED_BITS))
            return None
        return self._literal(PLAIN_BITS)

    def _literal(self, bits: int) -> Header:
        index = self._number(bits)
        name = self._pair(index)[0] if index else self._text()
        return name, self._text()

    def _pair(self, index: int) -> Header:
        if 1 <= index <= len(STATIC):
            return STATIC[index - 1]
        place = index - len(STATIC) - 1
        if not 0 <= place < len(self._table):
            raise OSError(f"a header names place {index}, which no table has")
        return self._table[place]

    def _add(self, header: Header) -> None:
        self._table.insert(0, header)
        self._size += len(header[0]) + len(header[1]) + PAIR_OVERHEAD
        self._shrink()

    def _resize(self, limit: int) -> None:
        if limit > LARGEST_TABLE:
            raise OSError(f"a header table of {limit} bytes, expected at most {LARGEST_TABLE}")
        self._limit = limit
        self._shrink()

    def _shrink(self) -> None:
        while self._size > self._limit:
            name, value = self._table.pop()
            self._size -= len(name) + len(value) + PAIR_OVERHEAD

    def _text(self) -> bytes:
        is_huffman = self._byte_here() & HUFFMAN
        length = self._number(LENGTH_BITS)
        text = self._block[self._at : self._at + length]
        if len(text) != length:
            raise OSError("a header ends inside a text")
        self._at += length
        return decode_huffman(text) if is_huffman else text

    def _number(self, bits: int) -> int:
        most = (1 << bits) - 1
        number = self._byte_here() & most
        self._at += 1
        if number < most:
            return number
        shift = 0
        while True:
            byte = self._byte_here()
            self._at += 1
            number += (byte & 0x7F) << shift
            if number > LARGEST_NUMBER or shift > 28:  # noqa: PLR2004 - four bytes of seven bits
                raise OSError("a header holds a number that is too large")
            if not byte & 0x80:
                return number
            shift += 7

    def _byte_here(self) -> int:
        if self._at >= len(self._block):
            raise OSError("a header ends inside a field")
        return self._block[self._at]
