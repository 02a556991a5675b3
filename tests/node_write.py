"""
A node config to JSON text: proto names in schema order, enum names, two-space indent.

What protojson cannot write as a JSON number is text: 64-bit integers, NaN and the infinities.
Enum numbers that the contract does not name stay numbers, so that nothing is lost on rewrite.
"""

from __future__ import annotations

import binascii

from fairlead.contract.json_text import INFINITY, encode_json
from fairlead.contract.node_config import NodeConfig
from fairlead.contract.node_schema import ENUMS, MESSAGES, TOP_MESSAGE


def write_node_config(config: NodeConfig) -> str:
    """Return the config as text that parses to the same config."""
    document = _message_of(TOP_MESSAGE, config.fields)
    if config.settings:
        document["fairlead"] = config.settings
    return encode_json(document, indent=2, ascii_only=False) + "\n"


def _message_of(message: str, values: dict[str, object]) -> dict[str, object]:
    return {
        name: _field_of(kind, label, values[name])
        for name, (_, kind, label) in MESSAGES[message].items()
        if name in values
    }


def _field_of(kind: str, label: str, value: object) -> object:
    if isinstance(value, list):
        return [_field_of(kind, "", item) for item in value]
    if isinstance(value, dict) and label == "map":
        return {key: _field_of(kind, "", item) for key, item in value.items()}
    if isinstance(value, dict):
        return _message_of(kind, value)
    if kind in ENUMS:
        return next((name for name, number in ENUMS[kind].items() if number == value), value)
    return _scalar_of(kind, value)


def _scalar_of(kind: str, value: object) -> object:
    if isinstance(value, bytes):
        return binascii.b2a_base64(value, newline=False).decode()
    if isinstance(value, float):
        return _REAL_NAMES.get(value, "NaN" if value != value else value)  # noqa: PLR0124
    return str(value) if kind in ("int64", "uint64") else value


_REAL_NAMES: dict[float, object] = {INFINITY: "Infinity", -INFINITY: "-Infinity"}
