"""
The node config: what one machine is told to be. Values by dotted proto path.

The shape is data, in node_schema.py. A config holds only what is present as protobuf sees it:
a plain scalar set to its zero value, and an empty list or map, are the same as unset, while an
`optional` scalar and a message are present whatever they hold. Reading an unset path gives the
zero value of its type. Plain dicts instead of a class per message: 32 generated classes cost
more to import than a whole boot may take.
"""

from __future__ import annotations

# What a field holds once parsed. Enums are their numbers, 64-bit integers are ints,
# bytes are bytes, messages and maps are dicts, repeated fields are lists.
Value = object


class FieldProblem:
    """One thing that is wrong with a document: where, by dotted proto path, and what."""

    __slots__ = ("path", "problem")

    def __init__(self, path: str, problem: str) -> None:
        self.path = path
        self.problem = problem

    def __str__(self) -> str:
        return f"{self.path}: {self.problem}" if self.path else self.problem


class NodeConfig:
    """
    One parsed node config. `fields` is nested by proto name and never changes.

    `settings` are those of the pool's owner that the contract has no field for, by their flat
    names: node_settings.py.
    """

    __slots__ = ("fields", "settings")

    def __init__(self, fields: dict[str, Value], settings: dict[str, Value] | None = None) -> None:
        self.fields = fields
        self.settings: dict[str, Value] = {} if settings is None else settings

    def find(self, path: str) -> Value:
        """Return what the document set at this path, or None."""
        value: Value = self.fields
        for name in path.split("."):
            if not isinstance(value, dict):
                return None
            value = value.get(name)
        return value

    def text(self, path: str) -> str:
        """Return a string field; '' if unset."""
        value = self.find(path)
        return value if isinstance(value, str) else ""

    def flag(self, path: str) -> bool:
        """Return a bool field; False if unset."""
        return self.find(path) is True

    def number(self, path: str) -> int:
        """Return an integer or enum field; 0 if unset."""
        value = self.find(path)
        return value if isinstance(value, int) else 0

    def real(self, path: str) -> float:
        """Return a floating-point field; 0.0 if unset."""
        value = self.find(path)
        return float(value) if isinstance(value, (int, float)) else 0.0

    def texts(self, path: str) -> list[str]:
        """Return a repeated string field; [] if unset."""
        value = self.find(path)
        return value if isinstance(value, list) else []

    def mapping(self, path: str) -> dict[str, Value]:
        """Return a map or message field as a dict; {} if unset."""
        value = self.find(path)
        return value if isinstance(value, dict) else {}

    def has(self, path: str) -> bool:
        """Say whether this field is present; see the module's first paragraph."""
        return self.find(path) is not None
