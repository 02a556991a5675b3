"""
Values of the path as the texts that an edge keeps of them, and back.

The types themselves are the rule: a field that a later version added has its default when it is
missing, and one that this version does not know is dropped. So what is stored can be read across
an upgrade and a downgrade. A moment is ISO 8601 text, a span of time is seconds, an enum is its
value, and text is escaped to ASCII, since half of a surrogate pair has no other form.

Texts are read by msgspec, which checks every field against its type and converts nothing that is
of another one.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from datetime import date, datetime, time, timedelta
from decimal import Decimal
from functools import cache
from reprlib import repr as shortened
from typing import Any, TypeVar
from uuid import UUID

import msgspec
from msgspec import inspect

from fairlead.answers.learned import learned
from fairlead.answers.plan import Plan
from fairlead.errors import InputError
from fairlead.inputs.leaf import Json

T = TypeVar("T")

# What msgspec would write in a form of its own; what JSON has no form for is refused instead.
_LEFT_TO_US = (datetime, timedelta, bytes, bytearray, date, time, UUID, Decimal)

# In every plan of release 202611.16.0; see _mend_plan.
OLD_FIELD = '"estimate":'

_STEP = re.compile(r"\.(\w+)|\[(\d+)\]")


def render_value(value: object) -> str:
    """Return a value as the text that is kept of it. Raises InputError if it is not JSON."""
    try:
        plain = msgspec.to_builtins(
            value, builtin_types=_LEFT_TO_US, str_keys=True, enc_hook=_as_json
        )
    except (TypeError, RecursionError) as error:
        raise _unwritable(error) from error
    return render_document(plain)


def render_document(document: Json) -> str:
    """Return a document as the text that is kept of it. Raises InputError if it is not JSON."""
    try:
        return _ENCODER.encode(document)
    except (TypeError, ValueError, RecursionError) as error:
        raise _unwritable(error) from error


def parse_value(kind: type[T], text: str) -> T:
    """Return the value that was kept as this text. Raises InputError by field."""
    hashable: Any = kind  # which mypy does not know of a type variable
    if not _spans_of(hashable) and OLD_FIELD not in text:
        # A look at a fleet reads some ten texts per pool: no `suppress`, which costs a context.
        try:
            return msgspec.json.decode(text, type=kind)
        except (msgspec.MsgspecError, UnicodeError, RecursionError):
            pass  # it is read again below, which says what is wrong and where
    return convert_value(kind, parse_document(text))


def convert_value(kind: type[T], found: Json) -> T:
    """Return the value that a parsed text holds, which is used up. Raises InputError by field."""
    if isinstance(found, dict):
        _mend_plan(found if issubclass(kind, Plan) else found.get("plan"))
    hashable: Any = kind  # which mypy does not know of a type variable
    for path in _spans_of(hashable):
        _read_span(found, path)
    try:
        return msgspec.convert(found, kind)
    except msgspec.ValidationError as error:
        raise _unreadable(kind, found, str(error)) from error


def parse_document(text: str) -> Json:
    """Return the document that was kept as this text. Raises InputError if it is not JSON."""
    try:
        return msgspec.json.decode(text)
    except (msgspec.DecodeError, UnicodeError, RecursionError):
        pass  # half of a surrogate pair, or a number that is none, as Python writes them
    try:
        return json.loads(text)
    except (ValueError, RecursionError) as error:
        raise InputError(f"found text that is not JSON: {error}") from error


def _mend_plan(plan: Json) -> None:
    """Bring a plan of release 202611.16.0 to its present form: leaves were names, time a span."""
    if isinstance(plan, dict) and "estimate" in plan:
        plan["estimate_s"] = plan.pop("estimate")
        plan["leaves"] = []


def _as_json(value: object) -> Json:
    match value:
        case datetime():
            return value.isoformat()
        case timedelta():
            return value.total_seconds()
        case Mapping():
            return dict(value)
    raise InputError(f"found {value!r}, which JSON has no form for; write it as text")


_ENCODER = json.JSONEncoder(separators=(",", ":"), default=_as_json, allow_nan=False)


def _unwritable(error: Exception) -> InputError:
    return InputError(f"found what JSON has no form for: {error}")


@cache
def _spans_of(kind: type) -> tuple[tuple[str, ...], ...]:
    return tuple(_paths_to_spans(inspect.type_info(learned(kind))))


def _paths_to_spans(kind: inspect.Type) -> Iterator[tuple[str, ...]]:
    """Yield where a value has spans of time: in fields, not in the items of a list or mapping."""
    match kind:
        case inspect.TimeDeltaType():
            yield ()
        case inspect.UnionType(types=choices):
            for choice in choices:
                yield from _paths_to_spans(choice)
        case inspect.DataclassType(fields=fields):
            for field in fields:
                for path in _paths_to_spans(field.type):
                    yield (field.name, *path)


def _read_span(found: Json, path: tuple[str, ...]) -> None:
    """Put a span where its seconds are; whatever else is there is left to the types."""
    *above, last = path
    for name in above:
        found = found.get(name) if isinstance(found, dict) else None
    if isinstance(found, dict) and type(found.get(last)) in (int, float):
        try:
            found[last] = timedelta(seconds=found[last])
        except (ValueError, OverflowError):
            return


def _unreadable(kind: type, found: Json, message: str) -> InputError:
    """Return what msgspec says, with the field in our form and what was found there."""
    reason, _, place = message.rpartition(" - at ")
    if not reason:
        reason, place = message, ""
    path = place.rpartition("$")[2].rstrip("`")
    field = path.removeprefix(".")
    reason = reason[:1].lower() + reason[1:].replace("`", "")
    if "missing required field" in reason:
        # What is there may be a secret, and is not what is wrong.
        return InputError(f"a {kind.__name__} lacks a field: {reason}", field=field)
    there = shortened(_found_at(found, path))
    expected, _, _ = reason.partition(", got ")
    return InputError(f"found {there}, {expected.removesuffix(f' {there}')}", field=field)


def _found_at(found: Json, path: str) -> Json:
    """Return what is at a path of msgspec, or above it where the path has no name for a key."""
    for name, number in _STEP.findall(path.partition("[...]")[0]):
        if isinstance(found, dict):
            found = found.get(name)
        elif isinstance(found, list) and number:
            found = found[int(number)]
    return found
