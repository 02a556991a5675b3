"""
Split unwrapped user data into the parts that cloud-init hands out, by its rules.

cloud-init reads MIME with Python's own parser, and so does this: what one takes for a part, the
other does. A part's type is what its header says, or, for the types that say nothing, its first
line.
"""

from __future__ import annotations

from dataclasses import dataclass
from email import message_from_bytes
from email.message import Message
from email.policy import Compat32, Policy

from fairlead.userdata.unwrap import MOST_LINES, Room, find_gunzipped

# First lines by type; longer ones first where one begins another.
FIRST_LINES = (
    ("#cloud-config-archive", "text/cloud-config-archive"),
    ("#cloud-config-jsonp", "text/cloud-config-jsonp"),
    ("#cloud-config", "text/cloud-config"),
    ("#cloud-boothook", "text/cloud-boothook"),
    ("#include-once", "text/x-include-once-url"),
    ("#include", "text/x-include-url"),
    ("#part-handler", "text/part-handler"),
    ("## template: jinja", "text/jinja2"),
    ("#!", "text/x-shellscript"),
)
UNKNOWN = "text/x-not-multipart"
IGNITION = "application/vnd.coreos.ignition+json"

# Types that say nothing, so that cloud-init looks at the first line.
TYPES_TO_LOOK_INTO = ("text/plain", "text/x-not-multipart", "application/octet-stream")

MOST_PARTS = 200
# In all headers; Python's parser takes time by the square of a header's length.
MOST_HEADERS = 2000
LONGEST_HEADER = 16 << 10


@dataclass(frozen=True)
class Part:
    """One part: its type, the file name it carries, and its content without transfer encoding."""

    kind: str
    name: str
    content: bytes

    @property
    def text(self) -> str:
        """The content as text that can be turned back into the same bytes."""
        return self.content.decode("utf-8", "surrogateescape")


@dataclass(frozen=True)
class Split:
    """The parts of a document, and the codes of known problems with how it is put together."""

    kind: str
    parts: list[Part]
    problems: tuple[str, ...] = ()


class _BoundedReading(Compat32):
    """
    How Python's parser reads mail, as cloud-init has it, until there is too much of it.

    Raises ValueError then. A policy takes no attributes of its own, so the counts are lists.
    """

    _headers: list[None]
    _parts: list[None]

    def __init__(self) -> None:
        super().__init__()
        object.__setattr__(self, "_headers", [])
        object.__setattr__(self, "_parts", [])

    def message_factory(self, policy: Policy) -> Message:
        self._parts.append(None)
        if len(self._parts) > MOST_PARTS:
            raise ValueError("too many parts")
        return Message(policy)

    def header_source_parse(self, sourcelines: list[str]) -> tuple[str, str]:
        self._headers.append(None)
        if len(self._headers) > MOST_HEADERS or sum(map(len, sourcelines)) > LONGEST_HEADER:
            raise ValueError("too many headers, or too long ones")
        return super().header_source_parse(sourcelines)


def split_parts(content: bytes, room: Room) -> Split:
    """Return the parts of unwrapped user data. Never raises."""
    if content.lstrip().startswith(b"{"):
        return Split(IGNITION, [Part(IGNITION, "", content)])
    kind = _kind_of(content)
    if kind != UNKNOWN:
        return Split(kind, [Part(kind, "", content)])
    if not _has_mime_header(content):
        return Split(UNKNOWN, [Part(UNKNOWN, "", content)], ("unknown-document",))
    return _split_mime(content, room)


def _split_mime(content: bytes, room: Room) -> Split:
    try:
        if content.count(b"\n") > MOST_LINES:
            raise ValueError("too many lines")  # noqa: TRY301 - told as the parser's own
        message = message_from_bytes(content, policy=_BoundedReading())
        parts = [part for part in message.walk() if not part.is_multipart()]
        found = [_part_of(part, room) for part in parts]
        is_multipart = message.is_multipart()
        boundary = str(message.get_boundary() or "")
        kind = message.get_content_type()
    except (ValueError, LookupError, TypeError, AttributeError, RecursionError):
        # Headers that the parser itself stumbles over, as cloud-init's does, or too much of them.
        return Split(UNKNOWN, [Part(UNKNOWN, "", content)], ("unknown-document",))
    problems = []
    if is_multipart and f"--{boundary}--".encode("utf-8", "replace") not in content:
        problems.append("no-closing-boundary")
    if not is_multipart and kind.startswith("multipart/"):
        return Split(kind, [], ("no-parts",))
    return Split(kind, found, tuple(problems))


def _part_of(message: Message, room: Room) -> Part:
    payload = message.get_payload(decode=True)
    content = payload if isinstance(payload, bytes) else b""
    # A part may be gzip by itself; base64 without the header that says so stays what it is.
    unzipped = find_gunzipped(content, room)
    if unzipped is not None:
        content = unzipped
    kind = message.get_content_type()
    if kind in TYPES_TO_LOOK_INTO:
        kind = _kind_of(content)
    return Part(kind, str(message.get_filename() or ""), content)


def _kind_of(content: bytes) -> str:
    start = content.lstrip()[:64].decode("utf-8", "replace").lower()
    return next((kind for first, kind in FIRST_LINES if start.startswith(first)), UNKNOWN)


def _has_mime_header(content: bytes) -> bool:
    # cloud-init looks for these words in the first 4 KiB.
    head = content[:4096].lower()
    return b"mime-version:" in head or b"content-type:" in head
