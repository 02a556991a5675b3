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

# A small document must not unpack to a full memory.
LARGEST_BYTES = 64 * 1024 * 1024

# base64 of gzip of a document is two; a part may add two of its own.
MOST_LAYERS = 4
DEEPEST_PART = 3

BASE64 = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/=\r\n \t"

# Shorter texts are words, not documents.
SHORTEST_BASE64 = 24


def unwrap(data: bytes) -> bytes:
    """Return what is inside the gzip and base64 layers; what cannot be unpacked stays as it is."""
    for _ in range(MOST_LAYERS):
        inner = _unwrap_one(data)
        if inner is None:
            break
        data = inner
    return data


def gunzip(data: bytes) -> bytes | None:
    """Return the content of a gzip file; None if it is damaged, or larger than LARGEST_BYTES."""
    unpacker = zlib.decompressobj(GZIP_WINDOW)
    try:
        content = unpacker.decompress(data, LARGEST_BYTES)
    except zlib.error:
        return None
    return content if unpacker.eof else None


def decode_base64(text: bytes) -> bytes | None:
    """Return the bytes of base64 text, line ends allowed; None if it is not base64."""
    if text.translate(None, BASE64):
        return None
    try:
        return binascii.a2b_base64(text)
    except binascii.Error:
        return None


def leaf_parts(document: bytes, depth: int = 0) -> list[bytes]:
    """Return the parts of a MIME document, unwrapped, in order; one part if it is not MIME."""
    document = unwrap(document)
    headers, body = _split_headers(document)
    boundary = _boundary_of(headers.get("content-type", ""))
    if boundary is None or depth >= DEEPEST_PART:
        return [document] if depth == 0 else [unwrap(_decode_body(headers, body))]
    parts: list[bytes] = []
    for part in _split_parts(body, boundary.encode()):
        parts += leaf_parts(part, depth + 1)
    return parts


def _unwrap_one(data: bytes) -> bytes | None:
    if data.startswith(GZIP_MAGIC):
        return gunzip(data)
    if len(data) >= SHORTEST_BASE64:
        return decode_base64(data)
    return None


def _split_headers(document: bytes) -> tuple[dict[str, str], bytes]:
    """Return the header fields in lower case, and what follows the first empty line."""
    headers: dict[str, str] = {}
    name = ""
    at = 0
    while at < len(document):
        end = document.find(b"\n", at)
        end = len(document) if end < 0 else end
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


def _split_parts(body: bytes, boundary: bytes) -> list[bytes]:
    """Return what lies between the boundary lines; a missing last one ends with the body."""
    parts = []
    for piece in (b"\n" + body).split(b"\n--" + boundary)[1:]:
        if piece.startswith(b"--"):
            break
        _, _, part = piece.partition(b"\n")
        parts.append(part.removesuffix(b"\r"))
    return parts


def _decode_body(headers: dict[str, str], body: bytes) -> bytes:
    encoding = headers.get("content-transfer-encoding", "").lower()
    if encoding == "base64":
        return decode_base64(body) or b""
    if encoding == "quoted-printable":
        return binascii.a2b_qp(body)
    return body
