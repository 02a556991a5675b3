"""
One JSON value to one protobuf scalar, by the rules of protojson.

Integers may come as text, and as numbers with a fraction or exponent that is zero in effect
(1.0, 1e3); `true` is never 1. Messages say the kind of value that was found, never the value:
it may be a secret.
"""

from __future__ import annotations

import binascii

from fairlead.contract.json_text import Pairs, parse_json
from fairlead.errors import InputError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

INTEGER_RANGES = {
    "int32": (-(2**31), 2**31 - 1),
    "int64": (-(2**63), 2**63 - 1),
    "uint32": (0, 2**32 - 1),
    "uint64": (0, 2**64 - 1),
}
INFINITY = float("inf")
SPECIAL_REALS = {"NaN": float("nan"), "Infinity": INFINITY, "-Infinity": -INFINITY}


def scalar_of(kind: str, value: object) -> object:
    """Return the value of a scalar of this kind; InputError says what was found instead."""
    reader = _SCALARS.get(kind)
    return reader(value) if reader else _integer_of(kind, value)


def kind_of(value: object) -> str:
    """Name the kind of a JSON value for a message, without telling the value."""
    if value is None:
        return "null"
    for types, name in _KINDS:
        if isinstance(value, types):
            return name
    return type(value).__name__


def is_unicode(text: str) -> bool:
    """Say whether the text has a UTF-8 form, that is, no lone surrogate."""
    if text.isascii():
        return True
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


def _text_of(value: object) -> str:
    if not isinstance(value, str):
        raise InputError(f"found {kind_of(value)}, expected text")
    if not is_unicode(value):
        raise InputError("found text that is not valid Unicode")
    return value


def _flag_of(value: object) -> bool:
    if not isinstance(value, bool):
        raise InputError(f"found {kind_of(value)}, expected true or false")
    return value


def _bytes_of(value: object) -> bytes:
    text = _text_of(value).replace("-", "+").replace("_", "/").rstrip("=")
    if text.isascii() and text.replace("+", "0").replace("/", "0").isalnum() and len(text) % 4 != 1:
        return binascii.a2b_base64(text + "=" * (-len(text) % 4))
    if not text:
        return b""
    raise InputError("found text, expected base64")


def _integer_of(kind: str, value: object) -> int:
    number = value if type(value) is int else _number_of(value)
    if isinstance(number, float) and number.is_integer():
        number = int(number)
    if not isinstance(number, int):
        raise InputError(f"found {kind_of(value)}, expected a whole number ({kind})")
    lowest, highest = INTEGER_RANGES[kind]
    if not lowest <= number <= highest:
        raise InputError(f"found a number out of range, expected {lowest} to {highest} ({kind})")
    return number


def _real_of(value: object) -> float:
    if isinstance(value, str) and value in SPECIAL_REALS:
        return SPECIAL_REALS[value]
    number = _number_of(value)
    if number is None:
        raise InputError(f"found {kind_of(value)}, expected a number (double)")
    try:
        real = float(number)
    except OverflowError:
        real = INFINITY
    if real in (INFINITY, -INFINITY):
        raise InputError("found a number out of range, expected a double")
    return real


def _number_of(value: object) -> int | float | None:
    """Return a JSON number, also one written as text, or None."""
    if isinstance(value, str):
        if not (value[:1] in "-0123456789" and value[-1:] in "0123456789" and value.isascii()):
            return None
        try:
            value = parse_json(value.encode())
        except InputError:
            return None
    if isinstance(value, (int, float)) and not isinstance(value, bool):
        return value
    return None


_SCALARS: dict[str, Callable[[object], object]] = {
    "string": _text_of,
    "bool": _flag_of,
    "double": _real_of,
    "bytes": _bytes_of,
}
# bool before int and Pairs before list: each is a subclass of the other.
_KINDS: tuple[tuple[type | tuple[type, ...], str], ...] = (
    (bool, "true or false"),
    (str, "text"),
    ((int, float), "a number"),
    (Pairs, "an object"),
    (list, "a list"),
)
