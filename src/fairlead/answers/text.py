"""
Answers as JSON text, and back. The one place that knows how.

Moments are RFC 3339 in UTC, to the millisecond.
"""

import json
import re
from datetime import UTC, datetime
from typing import TypeVar

import msgspec

from fairlead.answers.document import Document, Json
from fairlead.answers.learned import learned
from fairlead.errors import InputError

T = TypeVar("T")

# msgspec ends its messages with the place: "... - at `$.plans[0].pool`".
_PLACE = re.compile(r" - at `\$\.?(.*?)`$")


def encode(answer: Document) -> str:
    """Return an answer as one line of JSON."""
    return _ENCODER.encode(msgspec.to_builtins(answer, builtin_types=(datetime,)))


def plain(answer: object) -> Json:
    """Return an answer as JSON values."""
    return _with_moments(msgspec.to_builtins(answer, builtin_types=(datetime,)))


def decode(kind: type[T], text: bytes | str) -> T:
    """Return the answer in a text. Raises InputError by field."""
    try:
        found: T = msgspec.json.decode(text, type=learned(kind))
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError) as error:
        raise _placed(error, "") from error
    return found


def read_as(kind: type[T], value: Json, field: str) -> T:
    """Return JSON values as a document, or a list of them. Raises InputError by field."""
    try:
        found: T = msgspec.convert(value, learned(kind))
    except (msgspec.MsgspecError, RecursionError) as error:
        raise _placed(error, field) from error
    return found


def _moment_of(value: object) -> str:
    if isinstance(value, datetime):
        return moment_text(value)
    raise TypeError(f"found a {type(value).__name__}, which JSON has no form for")


_ENCODER = json.JSONEncoder(separators=(",", ":"), default=_moment_of)


def moment_text(when: datetime) -> str:
    """Return a moment as RFC 3339 text in UTC, to the millisecond."""
    return when.astimezone(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")


def shortened(text: str, longest: int) -> str:
    """Return a text; one that is too long as its beginning, with a mark that it goes on."""
    return text if len(text) <= longest else text[: longest - 1] + "…"


def _placed(error: Exception, field: str) -> InputError:
    told = str(error)
    place = _PLACE.search(told)
    below = place.group(1) if place else ""
    joint = "." if field and below and not below.startswith("[") else ""
    return InputError(_PLACE.sub("", told), field=f"{field}{joint}{below}")


def _with_moments(value: Json) -> Json:
    if isinstance(value, dict):
        return {name: _with_moments(item) for name, item in value.items()}
    if isinstance(value, list | tuple):
        return [_with_moments(item) for item in value]
    return moment_text(value) if isinstance(value, datetime) else value
