"""
JSON text to values and back, for documents that may be wrong.

`json` costs 7 ms of start-up because it pulls in `re`; its C scanner alone does the same work.
The scanner's module is private, so it is used in this file only, `json` is the fallback, and
tests/properties/test_json_text.py holds the two against each other.
"""

from __future__ import annotations

from fairlead.errors import InputError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

try:
    from _json import encode_basestring, encode_basestring_ascii, make_encoder, make_scanner
except ImportError:  # an interpreter without the accelerator
    from json.encoder import encode_basestring, encode_basestring_ascii
    from json.scanner import make_scanner

    make_encoder = None  # type: ignore[assignment, misc]

BYTE_ORDER_MARK = b"\xef\xbb\xbf"
MAX_DIGITS = 4300
# Levels. A document of ours has a dozen and one of a person's files 64; whoever walks a value
# calls itself once or twice per level, and Python ends that at 1000.
DEEPEST = 100
INFINITY = float("inf")


class Pairs(list["tuple[str, Any]"]):
    """A JSON object as the (name, value) pairs of its text, in order, duplicates included."""


class TrailingTextError(InputError):
    """A whole JSON value, `value`, was followed by something else."""

    def __init__(self, value: object, position: int) -> None:
        super().__init__(f"unexpected text after the JSON value at character {position}")
        self.value = value


def _integer_of(digits: str) -> int | float:
    # Python refuses to convert more digits than this, since it takes quadratic time. Such a
    # number is out of every range, as infinity is; refusing it must not cost the document.
    return int(digits) if len(digits) <= MAX_DIGITS else float(digits)


def _refuse_constant(name: str) -> float:
    raise ValueError(f"{name} is not a JSON number")


class _ScannerContext:
    """The settings that the scanner reads off an object."""

    strict = True
    object_hook = None
    object_pairs_hook = Pairs
    parse_float = float
    parse_int = staticmethod(_integer_of)
    parse_constant = staticmethod(_refuse_constant)

    def __init__(self) -> None:
        self.memo: dict[str, str] = {}


def parse_json(
    text: bytes, *, encoding_errors: str = "strict", deepest: int | None = DEEPEST
) -> Any:
    """
    Return the value of a JSON document, with every object as Pairs.

    Lists and objects inside each other are read `deepest` levels deep, or, if that is None, as
    deep as the interpreter can: then whoever walks the value must expect RecursionError.

    A number beyond the range of a float, or with more than MAX_DIGITS digits, is infinite.
    Text may hold lone surrogates: JSON can spell them ("\\ud800"), and with encoding_errors
    "surrogateescape" bytes that are not UTF-8 become some.
    Raises InputError that names the position. If a whole value is followed by more text it
    raises TrailingTextError, which carries the value for callers that use what they can.
    """
    try:
        document = text.removeprefix(BYTE_ORDER_MARK).decode(errors=encoding_errors)
    except UnicodeDecodeError as error:
        raise InputError(f"not UTF-8 at byte {error.start}") from error
    start = len(document) - len(document.lstrip(" \t\n\r"))
    try:
        value, end = _scan(document, start)
    except StopIteration as error:
        where = error.value if isinstance(error.value, int) else start
        found = document[where : where + 1]
        problem = f"found {found!a}" if found else "the text ends"
        raise InputError(f"not JSON: {problem} at character {where}") from error
    except RecursionError as error:
        raise InputError("not usable JSON: nested too deeply") from error
    except ValueError as error:
        raise InputError(f"not JSON: {error}") from error
    if deepest is not None and _is_deeper(value, document, deepest):
        raise InputError(f"not usable JSON: nested too deeply, more than {deepest} levels")
    if document[end:].strip(" \t\n\r"):
        raise TrailingTextError(value, end)
    return value


def _is_deeper(value: object, document: str, deepest: int) -> bool:
    # Most documents have fewer brackets than levels are allowed: nothing has to be walked then.
    if document.count("[") + document.count("{") <= deepest:
        return False
    level: list[Any] = [value]
    for _ in range(deepest + 1):
        level = [found for found in level if isinstance(found, list)]
        if not level:
            return False
        level = [inner for outer in level for inner in _items_of(outer)]
    return True


def _items_of(value: list[Any]) -> list[Any]:
    return [item for _, item in value] if isinstance(value, Pairs) else value


def _scan(document: str, start: int) -> tuple[Any, int]:
    scan = make_scanner(_ScannerContext())  # type: ignore[arg-type]
    try:
        return scan(document, start)
    except SystemError:
        # Of a broken string the scanner of Python 3.10 to 3.12 tells with an error class of
        # json.decoder, and if nobody has imported that, with no error at all.
        import json.decoder  # noqa: F401

        return scan(document, start)


def plain(value: Any) -> Any:
    """Return the value with every Pairs as a dict; of a duplicate name the last value stays."""
    if isinstance(value, Pairs):
        return {name: plain(item) for name, item in value}
    if isinstance(value, list):
        return [plain(item) for item in value]
    return value


def encode_json(value: object, *, indent: int = 0, ascii_only: bool = True) -> str:
    """
    Return compact JSON, or one item per line, indented by `indent` spaces if that is above 0.

    Takes None, bool, int, float, str, and lists, tuples, Pairs and dicts (with str keys) of
    those. Infinity is written as a number that reads as infinity; NaN has no JSON form.
    """
    quote = encode_basestring_ascii if ascii_only else encode_basestring
    return _encode(value, quote, "\n" if indent else "", " " * indent)


def _refuse_value(value: object) -> object:
    raise TypeError(f"{type(value).__name__} has no JSON form")


# Markers, default, string encoder, indent, separators, sort_keys, skipkeys, allow_nan.
_LINE_SETTINGS: Any = (
    None, _refuse_value, encode_basestring_ascii, None, ":", ",", False, False, False
)  # fmt: skip


def encode_line(value: object) -> str:
    """
    Return what encode_json returns, five times as fast, for a value without Pairs in it.

    For what we say ourselves: the interpreter's own encoder takes Pairs for a list.
    """
    if make_encoder is not None:
        try:
            return "".join(make_encoder(*_LINE_SETTINGS)(value, 0))
        except ValueError:  # infinity, which it cannot write as a number
            pass
    return encode_json(value)


def _encode(value: object, quote: Any, newline: str, step: str) -> str:
    if isinstance(value, str):
        return str(quote(value))
    if isinstance(value, (dict, Pairs)):
        colon = ": " if step else ":"
        items = [
            f"{quote(key)}{colon}{_encode(item, quote, newline + step, step)}"
            for key, item in (value.items() if isinstance(value, dict) else value)
        ]
        return _joined("{", items, "}", newline, step)
    if isinstance(value, (list, tuple)):
        items = [_encode(item, quote, newline + step, step) for item in value]
        return _joined("[", items, "]", newline, step)
    return _encode_atom(value)


def _encode_atom(value: object) -> str:
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "true" if value else "false"
    if value in (INFINITY, -INFINITY):
        return "1e999" if value == INFINITY else "-1e999"
    if isinstance(value, (int, float)) and value == value:  # noqa: PLR0124  # NaN differs from itself
        return repr(value)
    raise TypeError(f"{type(value).__name__} has no JSON form")


def _joined(opening: str, items: list[str], closing: str, newline: str, step: str) -> str:
    if not items:
        return opening + closing
    return opening + newline + step + ("," + newline + step).join(items) + newline + closing
