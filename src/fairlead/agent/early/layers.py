"""
Take off what clouds and tools wrap user data in: gzip, base64, and MIME.

`email` costs 30 ms of start-up, and reads far more than cloud-init's documents need. What cannot
be read here is not an error: cloud-init reads it later, and its boothook is the second line.
"""

from __future__ import annotations

import binascii
import zlib

GZIP_MAGIC = b"\x1f\x8b"
GZIP_WINDOW = 31  # of zlib: the largest window, in a gzip frame

# All that one document may hold once every layer is off, and each of them on the way. A node config
# with 2 MiB of certificates takes 7 MiB, in the worst wrapping.
LARGEST_BYTES = 16 << 20

# base64 of gzip of a document is two; a part may add two of its own.
MOST_LAYERS = 4
DEEPEST_PART = 3
MOST_PARTS = 64

# The header of a part; longer ones are text.
LONGEST_HEADER = 16 << 10

BASE64 = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/=\r\n \t"

# Shorter texts are words, not documents.
SHORTEST_BASE64 = 24


class Room:
    """What is left for one document to unpack into. It never grows back."""

    __slots__ = ("left", "parts")

    def __init__(self) -> None:
        self.left = LARGEST_BYTES
        self.parts = MOST_PARTS

    def take(self, content: bytes) -> bytes | None:
        """Return the content if there is room for it, which it takes; else no room is left."""
        if len(content) > self.left:
            self.left = 0
            return None
        self.left -= len(content)
        return content


def unwrap(data: bytes, room: Room) -> bytes:
    """Return what is inside the gzip and base64 layers; what cannot be unpacked stays as it is."""
    for _ in range(MOST_LAYERS):
        inner = _unwrap_one(data, room)
        if inner is None:
            break
        data = inner
    return data


def gunzip(data: bytes, room: Room) -> bytes | None:
    """Return the content of a gzip file; None if it is damaged, or there is no room for it."""
    unpacker = zlib.decompressobj(GZIP_WINDOW)
    try:
        # One more than fits: 0 would mean without a limit.
        content = unpacker.decompress(data, room.left + 1)
    except zlib.error:
        return None
    taken = room.take(content)
    return taken if unpacker.eof else None


def decode_base64(text: bytes, room: Room) -> bytes | None:
    """Return the bytes of base64 text, line ends allowed; None if it is not, or without room."""
    if text.translate(None, BASE64):
        return None
    try:
        return room.take(binascii.a2b_base64(text))
    except binascii.Error:
        return None


def leaf_parts(document: bytes, room: Room, depth: int = 0) -> list[bytes]:
    """Return the parts of a MIME document, unwrapped, in order; one part if it is not MIME."""
    document = unwrap(document, room)
    headers, body = _split_headers(document)
    boundary = _boundary_of(headers.get("content-type", ""))
    if boundary is None or depth >= DEEPEST_PART:
        return [document] if depth == 0 else [unwrap(_decode_body(headers, body, room), room)]
    parts: list[bytes] = []
    for part in _split_parts(body, boundary.encode(), room):
        parts += leaf_parts(part, room, depth + 1)
    return parts


def _unwrap_one(data: bytes, room: Room) -> bytes | None:
    if data.startswith(GZIP_MAGIC):
        return gunzip(data, room)
    if len(data) >= SHORTEST_BASE64:
        return decode_base64(data, room)
    return None


def _split_headers(document: bytes) -> tuple[dict[str, str], bytes]:
    """Return the header fields in lower case, and what follows the first empty line."""
    headers: dict[str, str] = {}
    name = ""
    at = 0
    longest = min(len(document), LONGEST_HEADER)
    while at < longest:
        end = document.find(b"\n", at, longest)
        end = longest if end < 0 else end
        line = document[at:end].rstrip(b"\r").decode("latin-1")
        at = end + 1
        if not line:
            return headers, document[at:]
        if line[0] in " \t" and name:
            headers[name] += line
            continue
        name, colon, value = line.partition(":")
        name = name.strip().lower()
        if not colon or " " in name:
            break  # Not a header: this document has none.
        headers[name] = value.strip()
    return {}, document


def _boundary_of(content_type: str) -> str | None:
    kind, *parameters = content_type.split(";")
    if not kind.strip().lower().startswith("multipart/"):
        return None
    for parameter in parameters:
        name, _, value = parameter.partition("=")
        if name.strip().lower() == "boundary":
            return value.strip().strip('"')
    return None


def _split_parts(body: bytes, boundary: bytes, room: Room) -> list[bytes]:
    """Return what lies between the boundary lines; a missing last one ends with the body."""
    parts = []
    # The rest behind the last piece that there is room for stays in one piece.
    for piece in (b"\n" + body).split(b"\n--" + boundary, room.parts + 1)[1:]:
        if piece.startswith(b"--") or room.parts == 0:
            break
        room.parts -= 1
        _, _, part = piece.partition(b"\n")
        parts.append(part.removesuffix(b"\r"))
    return parts


def _decode_body(headers: dict[str, str], body: bytes, room: Room) -> bytes:
    encoding = headers.get("content-transfer-encoding", "").lower()
    if encoding == "base64":
        return decode_base64(body, room) or b""
    if encoding == "quoted-printable":
        return binascii.a2b_qp(body)
    return body
