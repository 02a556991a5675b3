"""
JSON Schema as CustomResourceDefinitions take it: structural, with one type at every place; and the
parts of a definition beside it, rules and columns.

What a structural schema cannot say (either of three shapes, a rule for one kind of item) is left
open here and said by the judge, which reads every document that the schema lets through.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

Schema = dict[str, Any]

OPEN = "x-kubernetes-preserve-unknown-fields"
INT_OR_STRING = "x-kubernetes-int-or-string"

# What is carried over as it is.
_KEPT = (
    *("description", "format", "pattern", "minimum", "maximum", "minLength", "maxLength"),
    *("minItems", "maxItems", "minProperties", "maxProperties", "required", "enum", "default"),
)


@dataclass(frozen=True, slots=True)
class Rule:
    """One rule in CEL, and what is wrong if it does not hold."""

    rule: str
    message: str

    def encode(self) -> dict[str, str]:
        """Return it as a schema has it."""
        return {"rule": self.rule, "message": self.message}


@dataclass(frozen=True, slots=True)
class Column:
    """One column of `kubectl get`. priority 1: with -o wide only."""

    name: str
    path: str
    kind: str = "string"
    priority: int = 0
    says: str = ""

    def encode(self) -> dict[str, Any]:
        """Return it as a definition has it."""
        column = {"name": self.name, "jsonPath": self.path, "type": self.kind}
        more = {"priority": self.priority, "description": self.says}
        return column | {name: value for name, value in more.items() if value}


def structural(schema: Mapping[str, Any]) -> Schema:
    """Return a schema that the API server takes; what it cannot say is left open."""
    kept = {name: schema[name] for name in _KEPT if name in schema}
    if either := _int_or_string(schema):
        return {**kept, **either}
    if "const" in schema:
        return {**kept, "type": "string", "enum": [schema["const"]]}
    kind = schema.get("type") or _kind_of_values(schema.get("enum"))
    if not isinstance(kind, str):
        return {**kept, OPEN: True}
    inside = {"object": _object, "array": _array}.get(kind)
    return {**kept, "type": kind, **(inside(schema) if inside else {})}


def _object(schema: Mapping[str, Any]) -> Schema:
    properties = schema.get("properties")
    values = schema.get("additionalProperties")
    if properties and "allOf" not in schema:
        return {"properties": {name: structural(part) for name, part in properties.items()}}
    if isinstance(values, Mapping):
        inside = structural(values)
        return {"additionalProperties": inside} if "type" in inside else {OPEN: True}
    named = {name: structural(part) for name, part in (properties or {}).items()}
    return {OPEN: True, **({"properties": named} if named else {})}


def _array(schema: Mapping[str, Any]) -> Schema:
    return {"items": structural(schema.get("items", {}))}


def _kind_of_values(values: Any) -> str | None:
    return "string" if values and all(isinstance(value, str) for value in values) else None


def _int_or_string(schema: Mapping[str, Any]) -> Schema:
    """Return the schema of a whole number or a text, if that is what is meant; else {}."""
    if schema.get("type") == ["integer", "string"]:
        return {INT_OR_STRING: True}
    choices = schema.get("anyOf", ())
    if [choice.get("type") for choice in choices] != ["integer", "string"]:
        return {}
    bounds = {name: choice[name] for choice in choices for name in _KEPT if name in choice}
    # Bounds count for numbers only, and a pattern for texts only.
    return {**bounds, INT_OR_STRING: True}
