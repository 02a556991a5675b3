"""
Take the wrappings off user data: base64, gzip and zlib, in any order, as often as they occur.

Bounded: a few bytes of gzip can stand for gigabytes.
"""

from __future__ import annotations

import binascii
import zlib
from dataclasses import dataclass

MOST_LAYERS = 4
# All that one document may hold once every layer of it, its parts and its files is off.
LARGEST_CONTENT = 16 << 20
# Of one document.
MOST_FILES = 500
# Lines of base64 fill them with all that it may hold.
MOST_LINES = 300_000
# A value takes up to thirty times its text in memory.
LARGEST_JSON = 6 << 20

GZIP_MAGIC = b"\x1f\x8b"
ZLIB_MAGICS = (b"\x78\x01", b"\x78\x5e", b"\x78\x9c", b"\x78\xda")
ANY_WINDOW = 47  # of zlib: take a gzip or a zlib frame, whichever is there

BASE64_CHARACTERS = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/="
WHITE_SPACE = b" \t\n\r\v\f"
# Shorter texts of these characters are words.
SHORTEST_BASE64 = 16


@dataclass(frozen=True)
class Unwrapped:
    """What was inside, and the wrappings from the outside in."""

    content: bytes
    layers: tuple[str, ...]
    problem: str = ""


class Room:
    """What is left for one document to unpack into, in bytes and files. It never grows back."""

    def __init__(self) -> None:
        self.bytes = LARGEST_CONTENT
        self.files = MOST_FILES
        self.was_too_small = False

    def take_file(self) -> bool:
        """Say whether there is room for one more file, which it takes."""
        self.files -= 1
        self.was_too_small |= self.files < 0
        return self.files >= 0


def unwrap(data: bytes, room: Room) -> Unwrapped:
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
            data, problem = _decompress(data, layer, room)
    return Unwrapped(data, tuple(layers), problem)


def find_gunzipped(data: bytes, room: Room) -> bytes | None:
    """Return what this gzip holds, one layer only, as far as there is room; None if it is none."""
    return _decompress(data, "gzip", room)[0] if data.startswith(GZIP_MAGIC) else None


def decode_base64(text: bytes) -> bytes | None:
    """Return what this base64 text stands for, line ends ignored; None if it is no base64."""
    packed = text.translate(None, WHITE_SPACE)
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


def _decompress(data: bytes, layer: str, room: Room) -> tuple[bytes, str]:
    decompressor = zlib.decompressobj(ANY_WINDOW)
    try:
        # One more than fits: 0 would mean without a limit.
        content = decompressor.decompress(data, room.bytes + 1)
    except zlib.error as error:
        return b"", f"the {layer} is damaged: {error}"
    if len(content) > room.bytes:
        content = content[: room.bytes]
        room.bytes = 0
        room.was_too_small = True
        return content, f"the {layer} holds more than {LARGEST_CONTENT} bytes; the rest is left out"
    room.bytes -= len(content)
    return content, "" if decompressor.eof else f"the {layer} is cut off"
