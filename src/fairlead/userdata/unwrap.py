"""
Take the wrappings off user data: base64, gzip and zlib, in any order, as often as they occur.

Bounded: a few bytes of gzip can stand for gigabytes.
"""

from __future__ import annotations

import binascii
import zlib
from dataclasses import dataclass

MOST_LAYERS = 4
LARGEST_CONTENT = 64 << 20

GZIP_MAGIC = b"\x1f\x8b"
ZLIB_MAGICS = (b"\x78\x01", b"\x78\x5e", b"\x78\x9c", b"\x78\xda")
ANY_WINDOW = 47  # of zlib: take a gzip or a zlib frame, whichever is there

BASE64_CHARACTERS = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/="
# Shorter texts of these characters are words.
SHORTEST_BASE64 = 16


@dataclass(frozen=True)
class Unwrapped:
    """What was inside, and the wrappings from the outside in."""

    content: bytes
    layers: tuple[str, ...]
    problem: str = ""


def unwrap(data: bytes) -> Unwrapped:
    """Return the content without its wrappings. Never raises; a broken one is a problem."""
    layers: list[str] = []
    problem = ""
    while len(layers) < MOST_LAYERS and not problem:
        layer = _layer_of(data)
        if not layer:
            break
        layers.append(layer)
        if layer == "base64":
            data = decode_base64(data) or b""
        else:
            data, problem = _decompress(data, layer)
    return Unwrapped(data, tuple(layers), problem)


def find_gunzipped(data: bytes) -> bytes | None:
    """Return what this gzip holds, one layer only; None if it is no gzip."""
    return _decompress(data, "gzip")[0] if data.startswith(GZIP_MAGIC) else None


def decode_base64(text: bytes) -> bytes | None:
    """Return what this base64 text stands for, line ends ignored; None if it is no base64."""
    packed = b"".join(text.split())
    if packed.strip(BASE64_CHARACTERS) or len(packed) % 4 or b"=" in packed.rstrip(b"="):
        return None
    try:
        return binascii.a2b_base64(packed)
    except binascii.Error:
        return None


def _layer_of(data: bytes) -> str:
    if data.startswith(GZIP_MAGIC):
        return "gzip"
    if data.startswith(ZLIB_MAGICS) and not data.isascii():
        return "zlib"
    is_base64 = len(data.strip()) >= SHORTEST_BASE64 and decode_base64(data) is not None
    return "base64" if is_base64 else ""


def _decompress(data: bytes, layer: str) -> tuple[bytes, str]:
    decompressor = zlib.decompressobj(ANY_WINDOW)
    try:
        content = decompressor.decompress(data, LARGEST_CONTENT)
    except zlib.error as error:
        return b"", f"the {layer} is damaged: {error}"
    if decompressor.unconsumed_tail:
        return content, f"the {layer} holds more than {LARGEST_CONTENT} bytes; the rest is left out"
    if not decompressor.eof:
        return content, f"the {layer} is cut off"
    return content, ""
