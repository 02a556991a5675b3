"""
The request that nearly every machine sends, read without a general parser.

One GET without a body, whole in one piece, every line of the plainest form. It is what h11 would
read, ten times as fast; whatever is spelled in any other way is not read here, and goes to h11,
which knows what to refuse and how. So do files of a depot: they are long, and go out in pieces.
"""

from __future__ import annotations

import re
from collections.abc import MutableMapping
from typing import Any

from uvicorn.protocols.http.h11_impl import STATUS_PHRASES

Header = tuple[bytes, bytes]

# No longer than a machine's own, with a token or an attested document; what is longer is none of
# theirs.
LONGEST_HEAD = 12 << 10

# How paths of files begin that are not read in one go.
LONG_FILES = b"/depot/"

_HEAD = re.compile(
    rb"GET (/[A-Za-z0-9/._-]{0,200})(?:\?([A-Za-z0-9=&._-]{0,200}))? HTTP/1\.([01])\r\n"
    rb"((?:[A-Za-z-]{1,40}: [!-~][ -~]*\r\n)+)\r\n"
)

# Names that change how a request is to be read; a request with one of them is h11's.
_MEANINGFUL = frozenset(
    (
        b"content-length",
        b"expect",
        b"transfer-encoding",
        b"te",
        b"trailer",
        b"upgrade",
    )
)


def read_plain_request(data: bytes) -> dict[str, Any] | None:
    """Return what ASGI is told of a request; None if a general parser must read it."""
    if len(data) > LONGEST_HEAD:
        return None
    found = _HEAD.fullmatch(data)
    if found is None or found[1].startswith(LONG_FILES):
        return None
    path, query, minor, lines = found.groups()
    pairs = [line.split(b": ", 1) for line in lines.splitlines()]
    headers = [(name.lower(), value.rstrip(b" ")) for name, value in pairs]
    names = [name for name, _ in headers]
    if names.count(b"host") != 1 or not _MEANINGFUL.isdisjoint(names):
        return None
    if any(value != b"close" for name, value in headers if name == b"connection"):
        return None
    return {
        "type": "http",
        "asgi": {"version": "3.0", "spec_version": "2.3"},
        "http_version": "1.1" if minor == b"1" else "1.0",
        "method": "GET",
        "scheme": "https",
        "root_path": "",
        "path": path.decode(),
        "raw_path": path,
        "query_string": query or b"",
        "headers": headers,
    }


def plain_answer(messages: list[MutableMapping[str, Any]], besides: list[Header]) -> bytes:
    """Return what ASGI sent, as it goes out. besides: headers that every answer has."""
    start, *bodies = messages
    status = start["status"]
    lines = [b"HTTP/1.1 %d %s" % (status, STATUS_PHRASES[status])]
    for name, value in (*besides, *start["headers"]):
        if name != b"connection":
            lines += (b"\r\n", name, b": ", value)
    lines.append(b"\r\nconnection: close")
    lines.append(b"\r\n\r\n")
    return b"".join((*lines, *(message.get("body", b"") for message in bodies)))
