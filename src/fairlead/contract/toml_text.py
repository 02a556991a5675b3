"""
Values to TOML text: nested tables in their own order, settings before the tables below them.

A table without settings of its own gets no header, as TOML allows. Tables inside a list are
written inline. Nothing here reads TOML: Python 3.10 has no reader.
"""

from __future__ import annotations

from fairlead.contract.json_text import INFINITY, encode_json
from fairlead.contract.proto_scalar import is_unicode
from fairlead.errors import InputError

BARE = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_-"
SMALLEST, LARGEST = -(2**63), 2**63 - 1
REAL_NAMES = {INFINITY: "inf", -INFINITY: "-inf"}


def render_toml(table: dict[str, object]) -> str:
    """Return the text of a document. Raises InputError by path for what TOML cannot say."""
    return "".join(_lines_of(table, ""))


def key_text(key: str) -> str:
    """Return a key, in quotes if it needs them."""
    return key if key and not key.strip(BARE) else _text_of(key, "")


def _lines_of(table: dict[str, object], path: str) -> list[str]:
    settings = {key: value for key, value in table.items() if not isinstance(value, dict)}
    lines = [f"[{path}]\n"] if path and (settings or not table) else []
    for key, value in settings.items():
        lines.append(f"{key_text(key)} = {_value_of(value, _below(path, key))}\n")
    for key, value in table.items():
        if isinstance(value, dict):
            lines += _lines_of(value, _below(path, key))
    return lines


def _value_of(value: object, path: str) -> str:
    if isinstance(value, str):
        return _text_of(value, path)
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, list):
        return "[" + ", ".join(_value_of(item, path) for item in value) + "]"
    if isinstance(value, dict):
        pairs = (f"{key_text(key)} = {_value_of(item, path)}" for key, item in value.items())
        return "{" + ", ".join(pairs) + "}"
    if isinstance(value, float):
        return REAL_NAMES.get(value, repr(value))
    if isinstance(value, int) and SMALLEST <= value <= LARGEST:
        return str(value)
    raise InputError("TOML has no such value: expected text, a whole number of 64 bits, a flag, "
                     "a list or a table", field=path)  # fmt: skip


def _text_of(text: str, path: str) -> str:
    # A basic string of TOML is a JSON string, except for surrogate pairs, which stay characters,
    # and for the one control character that JSON does not escape.
    if not is_unicode(text):
        raise InputError("half of a surrogate pair", field=path)
    return encode_json(text, ascii_only=False).replace("\x7f", "\\u007f")


def _below(path: str, key: str) -> str:
    return f"{path}.{key_text(key)}" if path else key_text(key)
