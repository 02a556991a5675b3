"""
Bytes as text that any consumer unpacks: base64, or gzip and base64 where that is shorter.

The same input gives the same output: the gzip header carries no time.
"""

from __future__ import annotations

import binascii
import zlib
from dataclasses import dataclass

# Below this a gzip header, and a second program on the node, buy nothing worth having.
SMALLEST_COMPRESSED = 2048

GZIP_WINDOW = 31  # of zlib: the largest window, in a gzip frame
BEST = 9

# RFC 2045 allows 76 characters per line of base64; 7bit allows 998.
LINE = 76


@dataclass(frozen=True)
class Packed:
    """Base64 text without line ends, and whether gzip is inside."""

    text: str
    is_compressed: bool

    def lines(self) -> list[str]:
        """Return the text in lines of at most LINE characters."""
        return [self.text[at : at + LINE] for at in range(0, len(self.text), LINE)]


def pack(content: bytes) -> Packed:
    """Return the shorter of the two forms; short content stays readable with base64 alone."""
    if len(content) >= SMALLEST_COMPRESSED:
        compressed = compress(content)
        if len(compressed) < len(content):
            return Packed(encode(compressed), is_compressed=True)
    return Packed(encode(content), is_compressed=False)


def compress(content: bytes) -> bytes:
    """Return the content as gzip."""
    compressor = zlib.compressobj(BEST, zlib.DEFLATED, GZIP_WINDOW)
    return compressor.compress(content) + compressor.flush()


def encode(content: bytes) -> str:
    """Return the content as base64 on one line."""
    return binascii.b2a_base64(content, newline=False).decode()
