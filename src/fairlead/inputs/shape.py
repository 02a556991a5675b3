"""
The shapes of values in NodePool and PlatformConfig: what may be written, and its one form.

Sets are sorted, durations become seconds, and what is empty is absent. YAML, JSON and Kubernetes
give the same Python values, so a shape never sees text that a document parser should have read.
"""

import re
from collections.abc import Mapping
from datetime import datetime

from fairlead.errors import InputError
from fairlead.inputs.bounds import MOST_MACHINES
from fairlead.inputs.leaf import Json, Shape
from fairlead.inputs.versions import PATTERN

LARGEST_NUMBER = 2**31 - 1
DAYS = ("Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun")
UNIT_SECONDS = {"d": 86400, "h": 3600, "m": 60, "s": 1}
TAINT_EFFECTS = ("NoSchedule", "PreferNoSchedule", "NoExecute")

# Longer numbers are none that anybody means, and Python reads none of 5,000 digits.
_DURATION = re.compile(r"(?:\d{1,18}[dhms])+", re.ASCII)
_PERCENT = re.compile(r"(\d{1,3})%", re.ASCII)
_CLOCK = re.compile(r"([01]\d|2[0-3]):([0-5]\d)", re.ASCII)


def pruned(value: Json) -> Json:
    """Return a value without what is empty inside it: nil against empty never matters."""
    if isinstance(value, Mapping):
        kept = {name: pruned(item) for name, item in value.items()}
        return {name: item for name, item in kept.items() if not is_empty(item)}
    if isinstance(value, list | tuple):
        return [pruned(item) for item in value]
    return value


def without_nil(value: Json) -> Json:
    """Return a value without the names in it that have none: what is empty stays."""
    if isinstance(value, Mapping):
        return {name: without_nil(item) for name, item in value.items() if item is not None}
    if isinstance(value, list | tuple):
        return [without_nil(item) for item in value]
    return value


def is_empty(value: Json) -> bool:
    """Say whether a value means "not set". False and 0 are values that somebody wrote."""
    return value is None or (isinstance(value, str | list | tuple | Mapping) and not value)


def kind_of(value: Json) -> str:
    """Name a value's kind as a person would."""
    if isinstance(value, bool):
        return "true or false"
    if isinstance(value, int | float):
        return f"the number {value}"
    if isinstance(value, str):
        is_short = len(value) <= 40  # noqa: PLR2004 - one line
        return f"the text {value!r}" if is_short else f"text of {len(value)} characters"
    if isinstance(value, Mapping):
        return "a mapping"
    return "a list" if isinstance(value, list | tuple) else "nothing"


def quotes_hint(value: Json) -> str:
    """Return how to write as text what has another type without quotes."""
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    return f"write it in quotes as it is meant: '{value}'" if is_number else "write it in quotes"


def _text(value: Json, path: str) -> str:
    if not isinstance(value, str):
        hint = quotes_hint(value) if isinstance(value, bool | int | float) else ""
        raise InputError(f"found {kind_of(value)}, expected text", field=path, hint=hint)
    return value


def _count(value: Json, path: str) -> int:
    if isinstance(value, float) and value.is_integer():
        value = int(value)  # Kubernetes clients may give 3.0 for 3
    if isinstance(value, bool) or not isinstance(value, int) or not 0 <= value <= LARGEST_NUMBER:
        is_large = isinstance(value, int) and value > LARGEST_NUMBER
        expected = f"at most {LARGEST_NUMBER}" if is_large else "a whole number from 0"
        raise InputError(f"found {kind_of(value)}, expected {expected}", field=path)
    return value


def _flag(value: Json, path: str) -> bool:
    if not isinstance(value, bool):
        raise InputError(f"found {kind_of(value)}, expected true or false", field=path)
    return value


def _texts(value: Json, path: str) -> list[Json]:
    if not isinstance(value, list | tuple):
        raise InputError(f"found {kind_of(value)}, expected a list of texts", field=path)
    return [_text(item, f"{path}[{at}]") for at, item in enumerate(value)]


def _text_set(value: Json, path: str) -> list[Json]:
    return [*sorted({str(item) for item in _texts(value, path) if item})]


def _any(value: Json, path: str) -> Json:
    del path
    return pruned(value)


def _duration(value: Json, path: str) -> int:
    if isinstance(value, str) and _DURATION.fullmatch(value):
        parts = re.findall(r"(\d+)([dhms])", value)
        return sum(int(number) * UNIT_SECONDS[unit] for number, unit in parts)
    raise InputError(
        f"found {kind_of(value)}, expected a duration", field=path, hint="90s, 10m, 1h30m or 7d"
    )


def _budget(value: Json, path: str) -> Json:
    if isinstance(value, str):
        percent = _PERCENT.fullmatch(value)
        if percent and int(percent[1]) <= 100:  # noqa: PLR2004 - per cent
            return f"{int(percent[1])}%"
        raise InputError(f"found {kind_of(value)}, expected 2 or 25%", field=path)
    return _count(value, path)


def _batches(value: Json, path: str) -> list[Json]:
    if not isinstance(value, list | tuple):
        raise InputError(f"found {kind_of(value)}, expected a list like [1, 25%]", field=path)
    return [_budget(item, f"{path}[{at}]") for at, item in enumerate(value)]


def moment_text(value: Json, path: str) -> str:
    """Return an RFC 3339 moment with its offset, as it was written. Raises InputError."""
    try:
        moment = datetime.fromisoformat(_text(value, path))
    except ValueError as error:
        raise InputError(f"{value!r} is not an RFC 3339 date and time", field=path) from error
    if moment.tzinfo is None:
        raise InputError(f"{value!r} names no time zone", field=path, hint="end it with Z")
    return moment.isoformat()


def _pause(value: Json, path: str) -> Json:
    if isinstance(value, bool):
        return {"paused": value}
    if isinstance(value, str):
        return {"paused": True, "until": moment_text(value, path)}
    fields = mapping_of(value, path, ("until", "scalingToo"))
    pause: dict[str, Json] = {"paused": True}
    if "until" in fields:
        pause["until"] = moment_text(fields["until"], f"{path}.until")
    if "scalingToo" in fields:
        pause["scalingToo"] = _flag(fields["scalingToo"], f"{path}.scalingToo")
    return pause


def mapping_of(value: Json, path: str, names: tuple[str, ...]) -> Mapping[str, Json]:
    """Return a mapping that holds only these names, without what is empty. Raises InputError."""
    if not isinstance(value, Mapping):
        raise InputError(f"found {kind_of(value)}, expected a mapping", field=path)
    for name in value:
        if name not in names:
            raise InputError(
                "this field is not known", field=f"{path}.{name}", hint="known: " + ", ".join(names)
            )
    return {name: item for name, item in value.items() if not is_empty(item)}


def _taints(value: Json, path: str) -> list[Json]:
    if not isinstance(value, list | tuple):
        raise InputError(f"found {kind_of(value)}, expected a list of taints", field=path)
    found: dict[tuple[str, str], Json] = {}
    for at, item in enumerate(value):
        fields = mapping_of(item, f"{path}[{at}]", ("key", "value", "effect"))
        key = _text(fields.get("key"), f"{path}[{at}].key")
        effect = _text(fields.get("effect"), f"{path}[{at}].effect")
        if effect not in TAINT_EFFECTS:
            names = ", ".join(TAINT_EFFECTS)
            raise InputError(f"{effect!r} is none of {names}", field=f"{path}[{at}].effect")
        found[key, effect] = dict(fields)
    return [found[key] for key in sorted(found)]


def _windows(value: Json, path: str) -> list[Json]:
    if not isinstance(value, list | tuple):
        raise InputError(f"found {kind_of(value)}, expected a list of windows", field=path)
    return [_window(item, f"{path}[{at}]") for at, item in enumerate(value)]


def _window(value: Json, path: str) -> Json:
    fields = mapping_of(value, path, ("days", "start", "duration", "zone"))
    days = _texts(fields.get("days", []), f"{path}.days")
    if strange := [day for day in days if day not in DAYS]:
        raise InputError(f"{strange[0]!r} is none of {', '.join(DAYS)}", field=f"{path}.days")
    start = _text(fields.get("start"), f"{path}.start")
    if not _CLOCK.fullmatch(start):
        raise InputError(f"{start!r} is not a time like 22:00", field=f"{path}.start")
    window: dict[str, Json] = {
        "start": start,
        "duration": _duration(fields.get("duration"), f"{path}.duration"),
    }
    if days:
        window["days"] = [day for day in DAYS if day in days]
    if "zone" in fields:
        window["zone"] = _text(fields["zone"], f"{path}.zone")
    return window


def one_of(*names: str) -> Shape:
    """Return the shape of a choice between names."""

    def parse(value: Json, path: str) -> str:
        if value not in names:
            raise InputError(f"found {kind_of(value)}, expected {' or '.join(names)}", field=path)
        return str(value)

    return Shape(parse, {"enum": list(names)})


def some_of(*names: str) -> Shape:
    """Return the shape of a set of these names."""

    def parse(value: Json, path: str) -> list[Json]:
        found = _text_set(value, path)
        if strange := [name for name in found if name not in names]:
            expected = " or ".join(names)
            raise InputError(f"found {kind_of(strange[0])}, expected {expected}", field=path)
        return found

    return Shape(parse, {"type": "array", "items": {"enum": list(names)}})


_BUDGET_SCHEMA: Mapping[str, Json] = {
    "anyOf": [{"type": "integer", "minimum": 0}, {"type": "string", "pattern": "^[0-9]{1,3}%$"}]
}

TEXT = Shape(_text, {"type": "string"})
# Parts of patterns, which Kubernetes reads as well: in no dialect do they mean anything else.
_NAME = "[A-Za-z0-9][A-Za-z0-9._-]*"
_BYTE = "(25[0-5]|2[0-4][0-9]|1?[0-9]?[0-9])"
_IPV4 = rf"{_BYTE}(\.{_BYTE}){{3}}"
_IPV6 = r"\[[0-9A-Fa-f]{0,4}(:[0-9A-Fa-f]{0,4}){2,7}(\.[0-9]{1,3}){0,3}\]"
_PORT = "(:[1-9][0-9]{0,4})?"

# Stricter for who writes one than for what is in force: the judge says what is none of these.
IMAGE = Shape(
    _text,
    {
        "type": "string",
        "pattern": rf"^({_NAME}(:[0-9]{{1,5}})?/)?{_NAME}(/{_NAME})*"
        r"(:[A-Za-z0-9_][A-Za-z0-9._-]{0,127})?(@[a-z0-9]+:[0-9a-f]{2,128})?$",
    },
)
VERSION = Shape(_text, {"type": "string", "pattern": f"^{PATTERN}$"})
BASE = Shape(_text, {"type": "string", "pattern": r"^[0-9]{6}\.[0-9]{2}$"})
DIGEST = Shape(
    _text, {"type": "string", "pattern": "^sha(256:[0-9a-f]{4,64}|512:[0-9a-f]{4,128})$"}
)
PROXY = Shape(
    _text,
    {
        "type": "string",
        "pattern": rf"^(https?|socks5h?)://([^/@\s]+@)?({_NAME}|{_IPV6}){_PORT}(/[^\s]*)?$",
    },
)
ENDPOINT = Shape(_text, {"type": "string", "pattern": rf"^({_NAME}|{_IPV6}){_PORT}$"})
ADDRESS = Shape(_text, {"type": "string", "pattern": rf"^({_IPV4}|{_IPV6}){_PORT}$"})
FIX = Shape(_text, {"type": "string", "pattern": r"^[0-9]{6}\.[0-9]{2}\.[0-9]{1,9}$"})
STREAM = Shape(_text, {"type": "string", "pattern": r"^[a-z][a-z0-9]*-[0-9]+(\.[0-9]+)*$"})
COUNT = Shape(_count, {"type": "integer", "minimum": 0, "maximum": LARGEST_NUMBER})
# More is refused with the reason where it is read.
MACHINES = Shape(_count, {"type": "integer", "minimum": 0, "maximum": MOST_MACHINES})
FLAG = Shape(_flag, {"type": "boolean"})
# What a node takes; names of labels are longer than a pattern for them would be clear.
LABEL_VALUE: Mapping[str, Json] = {
    "type": "string",
    "maxLength": 63,
    "pattern": "^([A-Za-z0-9]([A-Za-z0-9._-]*[A-Za-z0-9])?)?$",
}
LABEL = Shape(_text, LABEL_VALUE, keeps_empty=True)
TEXTS = Shape(_texts, {"type": "array", "items": {"type": "string"}})
TEXT_SET = Shape(_text_set, {"type": "array", "items": {"type": "string"}})
ANY = Shape(_any, {})
DURATION = Shape(_duration, {"type": "string", "pattern": "^([0-9]+[dhms])+$"})
BUDGET = Shape(_budget, _BUDGET_SCHEMA)
BATCHES = Shape(_batches, {"type": "array", "items": _BUDGET_SCHEMA})
PAUSE = Shape(_pause, {"anyOf": [{"type": "boolean"}, {"type": "string"}, {"type": "object"}]})
TAINTS = Shape(_taints, {"type": "array", "items": {"type": "object"}})
WINDOWS = Shape(_windows, {"type": "array", "items": {"type": "object"}})
