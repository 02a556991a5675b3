"""
Properties of systemd and its units, asked for on systemd's own socket, without a process.

Two `systemctl show` cost a boot two processes before its verdict; this is one write and a few
reads. A small part of D-Bus: one greeting that waits for no answer, method calls of
Properties.Get, replies that hold a text or a number (D-Bus specification, sections "Message
Protocol" and "Authentication Protocol"). Whatever else comes back counts as no answer.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from fairlead.agent.host import Host

    # Object, interface, property.
    Question = tuple[str, str, str]

# Of root alone, and there before any message bus is.
SOCKET = "/run/systemd/private"

MANAGER = "/org/freedesktop/systemd1"
MANAGER_INTERFACE = "org.freedesktop.systemd1.Manager"
UNIT_INTERFACE = "org.freedesktop.systemd1.Unit"

# Nothing is asked that needs a tenth of this.
LARGEST_ANSWER = 1 << 20

# "0" as a user id in hexadecimal, which the socket checks against the credentials of its peer.
_GREETING = b"\0AUTH EXTERNAL 30\r\nBEGIN\r\n"
_ACCEPTED = b"OK "

# Message types, and the codes of header fields.
_CALL, _REPLY = 1, 2
_PATH, _INTERFACE, _MEMBER, _REPLY_SERIAL, _DESTINATION, _SIGNATURE = 1, 2, 3, 5, 6, 8
_FIXED_HEADER = 16


def unit_object(unit: str) -> str:
    """Return the object path of a unit: what is no letter or digit stands in hexadecimal."""
    name = "".join(c if c.isascii() and c.isalnum() else f"_{ord(c):02x}" for c in unit)
    return f"{MANAGER}/unit/{name}"


def ask_systemd(host: Host, questions: list[Question], deadline_s: float) -> list[str | int | None]:
    """
    Return the answers in the order of the questions, None for what systemd did not say.

    Raises OSError if it did not answer all of them in time.
    """
    asked = b"".join(_call(serial, *question) for serial, question in enumerate(questions, start=1))

    def is_whole(answered: bytes) -> bool:
        return len(answered) > LARGEST_ANSWER or len(_replies(answered)) >= len(questions)

    answered = host.converse(SOCKET, _GREETING + asked, is_whole, deadline_s=deadline_s)
    replies = _replies(answered)
    if len(replies) < len(questions):
        raise OSError(f"{SOCKET} answered {len(replies)} of {len(questions)} questions")
    return [replies.get(serial) for serial in range(1, len(questions) + 1)]


def _call(serial: int, path: str, interface: str, name: str) -> bytes:
    """Return a call of Properties.Get in little-endian form."""
    body = _text(interface)
    body = _padded(body, 4) + _text(name)
    fields = b""
    for code, kind, value in (
        (_PATH, b"o", _text(path)),
        (_INTERFACE, b"s", _text("org.freedesktop.DBus.Properties")),
        (_MEMBER, b"s", _text("Get")),
        (_DESTINATION, b"s", _text("org.freedesktop.systemd1")),
        (_SIGNATURE, b"g", b"\2ss\0"),
    ):
        # The value follows its signature; where it is a text, four bytes further by itself.
        fields = _padded(fields, 8) + bytes([code, 1]) + kind + b"\0" + value
    head = b"l" + bytes([_CALL, 0, 1]) + _number(len(body)) + _number(serial)
    return _padded(head + _number(len(fields)) + fields, 8) + body


def _replies(answered: bytes) -> dict[int, str | int | None]:
    """Return the values of the whole replies so far by the serial of their calls."""
    found: dict[int, str | int | None] = {}
    _, greeted, rest = answered.partition(b"\r\n")
    if not greeted or not answered.startswith(_ACCEPTED):
        return found
    at = 0
    while len(rest) - at >= _FIXED_HEADER:
        body_bytes, fields_bytes = _read(rest, at + 4), _read(rest, at + 12)
        body = at + _aligned(_FIXED_HEADER + fields_bytes, 8)
        if body + body_bytes > len(rest):
            break
        serial = _reply_serial(rest[at + _FIXED_HEADER : body])
        if serial:
            is_reply = rest[at + 1] == _REPLY
            found[serial] = _variant(rest[body : body + body_bytes]) if is_reply else None
        at = body + body_bytes
    return found


def _reply_serial(fields: bytes) -> int:
    """Return which call a message answers, 0 if none: systemd tells news on this socket, too."""
    at = 0
    while at + 4 <= len(fields):
        code, kind = fields[at], fields[at + 2 : at + 3]
        if code == _REPLY_SERIAL:
            return _read(fields, at + 4)
        if kind in b"so":
            at += 4 + 4 + _read(fields, at + 4) + 1
        elif kind == b"g":
            at += 4 + 1 + fields[at + 4] + 1
        else:
            at += 4 + 4
        at = _aligned(at, 8)
    return 0


def _variant(body: bytes) -> str | int | None:
    """Return a text or a number of 64 bits; None for a value of another kind."""
    if body[:3] == b"\1s\0":
        return body[8 : 8 + _read(body, 4)].decode("utf-8", "replace")
    if body[:3] == b"\1t\0":
        return int.from_bytes(body[8:16], "little")
    return None


def _text(value: str) -> bytes:
    content = value.encode()
    return _number(len(content)) + content + b"\0"


def _number(value: int) -> bytes:
    return value.to_bytes(4, "little")


def _read(content: bytes, at: int) -> int:
    return int.from_bytes(content[at : at + 4], "little")


def _aligned(size: int, to: int) -> int:
    return (size + to - 1) // to * to


def _padded(content: bytes, to: int) -> bytes:
    return content.ljust(_aligned(len(content), to), b"\0")
