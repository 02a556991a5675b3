"""
Canonical JSON bytes, and the one digest that is taken over them.

Two values that mean the same give the same bytes: names sorted by code point, no white space,
UTF-8, a number without a fraction as an integer. What has no single spelling is refused: NaN,
infinities, names that are not text, lone surrogates.
"""

from __future__ import annotations

from hashlib import sha256

from fairlead.contract.proto_scalar import is_unicode
from fairlead.errors import InputError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

# Beyond this a float does not hold every integer, so 2.0**53 and its neighbour would be one.
LARGEST_EXACT_REAL = 2.0**53

_encode: Callable[[object], str] | None = None


def canonical_bytes(value: object) -> bytes:
    """Return the one spelling of a value. Raises InputError by path if it has none."""
    global _encode  # noqa: PLW0603 - made once, by the first who needs it
    if _encode is None:
        import json  # costs 7 ms of start-up, and a boot takes no digest

        _encode = json.JSONEncoder(ensure_ascii=False, sort_keys=True, separators=(",", ":")).encode
    try:
        return _encode(_plain(value, "")).encode()
    except UnicodeEncodeError as error:
        raise InputError("holds text that is not Unicode", field=_not_unicode(value, "")) from error


def digest_of(purpose: str, value: object) -> str:
    """
    Return the SHA-256 of a value's canonical bytes, as 64 hexadecimal digits.

    The purpose is part of what is hashed: equal values that serve two purposes never share a
    digest.
    """
    return sha256(purpose.encode() + b"\n" + canonical_bytes(value)).hexdigest()


def digest_of_text(purpose: str, canonical: str) -> str:
    """Return what digest_of returns of the value whose canonical spelling this is."""
    return sha256(f"{purpose}\n{canonical}".encode()).hexdigest()


def _plain(value: object, path: str) -> Any:
    if value is None or isinstance(value, (str, bool, int)):
        return value
    if isinstance(value, float):
        return _number(value, path)
    if isinstance(value, (list, tuple)):
        # Most items are text: of those no path is spelled that nobody will read.
        return [
            item if type(item) is str else _plain(item, f"{path}[{at}]")
            for at, item in enumerate(value)
        ]
    if hasattr(value, "items"):
        return {_name(name, path): _plain(item, f"{path}.{name}") for name, item in value.items()}
    raise InputError(
        f"found a {type(value).__name__}, expected a JSON value", field=path.lstrip(".")
    )


def _not_unicode(value: object, path: str) -> str:
    """Return where text is half a surrogate pair, '' for nowhere. A name is told by its mapping."""
    if isinstance(value, str):
        return "" if is_unicode(value) else path.lstrip(".")
    if isinstance(value, (list, tuple)):
        below = ((item, f"{path}[{at}]") for at, item in enumerate(value))
    elif hasattr(value, "items"):
        if not all(is_unicode(str(name)) for name, _ in value.items()):
            return path.lstrip(".")
        below = ((item, f"{path}.{name}") for name, item in value.items())
    else:
        return ""
    return next((found for item, place in below if (found := _not_unicode(item, place))), "")


def _number(value: float, path: str) -> int | float:
    if not abs(value) < float("inf"):  # also false for NaN
        raise InputError(f"{value} is not a JSON number", field=path.lstrip("."))
    if value.is_integer() and abs(value) <= LARGEST_EXACT_REAL:
        return int(value)
    return value


def _name(name: object, path: str) -> str:
    if not isinstance(name, str):
        raise InputError(f"found {name!r} as a name, expected text", field=path.lstrip("."))
    return name
