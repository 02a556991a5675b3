"""
Text from a node config that goes into a line-based file.

A line break in a value would start another directive of a unit file, so it is refused here, once,
for every file we write. Messages name the field and never repeat the value: it may be a secret.
"""

from __future__ import annotations

from fairlead.contract.node_receipt import shown_name
from fairlead.errors import InputError

_DELETE = 0x7F
_FIRST_PRINTABLE = 0x20


def one_line(value: str, field: str) -> str:
    """Return the value if it is one line of valid text; InputError names the field."""
    for position, character in enumerate(value):
        code = ord(character)
        if code < _FIRST_PRINTABLE or code == _DELETE:
            raise InputError(
                f"control character {code:#04x} at position {position}",
                field=field,
                hint="a value here must be one line of text",
            )
    try:
        value.encode()
    except UnicodeEncodeError as error:
        raise InputError(
            f"half of a surrogate pair at position {error.start}",
            field=field,
            hint="a value here must be valid Unicode",
        ) from error
    return value


def entry_field(field: str, key: str) -> str:
    """Return the field path of one entry of a map, as the parser writes it."""
    return f"{field}[{shown_name(key)}]"


def is_made_of(value: str, characters: str) -> bool:
    """Say whether the value has at least one character, and only these."""
    return value != "" and not value.strip(characters)
