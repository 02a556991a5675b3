"""The two documents as JSON Schema, from the same table that parses them."""

from collections.abc import Iterable

from fairlead.inputs.configuration import KINDS
from fairlead.inputs.leaf import Json, Leaf
from fairlead.inputs.parse import API_VERSION, platform_rows, pool_rows
from fairlead.inputs.platform_inputs import PLATFORM

DIALECT = "https://json-schema.org/draft/2020-12/schema"


def node_pool_schema() -> dict[str, Json]:
    """Return the schema of a NodePool document."""
    properties = _properties_of((row.path, row) for row in pool_rows())
    properties["config"] = {
        "type": "array",
        "items": {"type": "object", "properties": {"kind": {"enum": sorted(KINDS)}}},
    }
    return _document_schema("NodePool", properties)


def platform_config_schema() -> dict[str, Json]:
    """Return the schema of a PlatformConfig document."""
    rows = ((row.path.removeprefix(PLATFORM), row) for row in platform_rows())
    return _document_schema("PlatformConfig", _properties_of(rows))


def _document_schema(kind: str, properties: dict[str, Json]) -> dict[str, Json]:
    return {
        "$schema": DIALECT,
        "title": kind,
        "type": "object",
        "required": ["apiVersion", "kind", "metadata", "spec"],
        "properties": {
            "apiVersion": {"const": API_VERSION},
            "kind": {"const": kind},
            "metadata": {"type": "object", "required": ["name"]},
            "spec": {"type": "object", "properties": properties},
        },
    }


def _properties_of(rows: Iterable[tuple[str, Leaf]]) -> dict[str, Json]:
    top: dict[str, Json] = {}
    for path, row in rows:
        schema: dict[str, Json] = {"description": row.says, **row.shape.schema}
        names = path.split(".")
        if names[-1] == "*":
            names.pop()
            schema = {"type": "object", "additionalProperties": schema}
        place = top
        for name in names[:-1]:
            parent = place.setdefault(name, {"type": "object", "properties": {}})
            assert isinstance(parent, dict)  # noqa: S101 - the line above made it
            place = parent["properties"]
        place[names[-1]] = schema
    return top
