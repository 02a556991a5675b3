"""
The two documents as JSON Schema, from the same table that parses them.

Made for editors, and a little stricter than the parser: an empty value, which the parser takes as
not set, is refused here unless its type allows it. What needs two fields at once (replicas within
the bounds of autoscaling, a window shorter than one machine takes) is the parser's to say.
"""

from collections.abc import Iterable, Mapping

from fairlead.answers.words import Severity
from fairlead.inputs.configuration import KINDS
from fairlead.inputs.leaf import Json, Leaf, Shape
from fairlead.inputs.parse import API_VERSION, LONGEST_NAME, platform_rows, pool_rows
from fairlead.inputs.platform_inputs import PLATFORM
from fairlead.inputs.registry import NOT_CARRIED_OUT
from fairlead.inputs.shape import (
    BATCHES,
    BUDGET,
    DAYS,
    LARGEST_NUMBER,
    PAUSE,
    TAINT_EFFECTS,
    TAINTS,
    WINDOWS,
)

DIALECT = "https://json-schema.org/draft/2020-12/schema"

Schema = dict[str, Json]

_MOMENT = r"^\d{4}-\d{2}-\d{2}[T ]\d{2}:\d{2}(:\d{2}(\.\d+)?)?(Z|[+-]\d{2}:\d{2})$"


def _object(properties: Mapping[str, Json], *required: str) -> Schema:
    schema: Schema = {
        "type": "object",
        "properties": dict(properties),
        "additionalProperties": False,
    }
    return {**schema, "required": list(required)} if required else schema


def _list_of(items: Json) -> Schema:
    return {"type": "array", "items": items}


_TEXT: Schema = {"type": "string"}
_BUDGET: Schema = {
    "anyOf": [
        {"type": "integer", "minimum": 0, "maximum": LARGEST_NUMBER},
        {"type": "string", "pattern": "^(100|0?[0-9]{1,2})%$"},
    ]
}
_PAUSED_UNTIL: Schema = {"type": "string", "format": "date-time", "pattern": _MOMENT}

# The whole rule of shapes whose own schema names the outer type only.
_INSIDE: tuple[tuple[Shape, Schema], ...] = (
    (BUDGET, _BUDGET),
    (BATCHES, _list_of(_BUDGET)),
    (
        PAUSE,
        {
            "anyOf": [
                {"type": "boolean"},
                _PAUSED_UNTIL,
                _object({"until": _PAUSED_UNTIL, "scalingToo": {"type": "boolean"}}),
            ]
        },
    ),
    (
        TAINTS,
        _list_of(
            _object(
                {"key": _TEXT, "value": _TEXT, "effect": {"enum": list(TAINT_EFFECTS)}},
                "key",
                "effect",
            )
        ),
    ),
    (
        WINDOWS,
        _list_of(
            _object(
                {
                    "days": _list_of({"enum": list(DAYS)}),
                    "start": {"type": "string", "pattern": "^([01][0-9]|2[0-3]):[0-5][0-9]$"},
                    "duration": {"type": "string", "pattern": "^([0-9]+[dhms])+$"},
                    "zone": _TEXT,
                },
                "start",
                "duration",
            )
        ),
    ),
)

_NOTICE = _object(
    {"id": {}, "owner": {}, "severity": {"enum": [severity.value for severity in Severity]}}
)
_SETTINGS: Schema = {"type": "object", "description": "NAME: VALUE"}

# A kernel setting is a number or text; true and 10.0 are no value of any.
_KERNEL_SETTINGS: Schema = {
    **_SETTINGS,
    "additionalProperties": {"type": ["integer", "string"], "minLength": 1},
}

# What each kind of configuration document holds besides its header.
_CONFIGURATION: Mapping[str, Mapping[str, Json]] = {
    "ContainerdConfiguration": {
        "settings": _SETTINGS,
        "toml": {"type": "string", "description": "the same as TOML"},
    },
    "Sysctl": {
        "settings": _KERNEL_SETTINGS,
        "text": {"type": "string", "description": "the same as lines of a sysctl.conf"},
    },
    "Files": {
        "files": _list_of(
            _object(
                {
                    "path": {"type": "string", "pattern": "^/"},
                    "content": _TEXT,
                    "contentBase64": {"type": "string", "contentEncoding": "base64"},
                    "mode": {"type": "string", "pattern": "^0?[0-7]{3,4}$"},
                },
                "path",
            )
        )
    },
    "Mirrors": {
        "mirrors": _list_of(
            _object(
                {"source": _TEXT, "mirrors": {**_list_of(_TEXT), "minItems": 1}},
                "source",
                "mirrors",
            )
        )
    },
}


def node_pool_schema() -> Schema:
    """Return the schema of a NodePool document."""
    rows = (row for row in pool_rows() if row.path not in NOT_CARRIED_OUT)
    spec = _spec_schema((row.path, row) for row in rows)
    properties = spec["properties"]
    assert isinstance(properties, dict)  # noqa: S101 - _spec_schema made it
    properties["config"] = _configuration_schema()
    _part(properties, "release")["required"] = ["version"]
    _part(properties, "autoscaling")["minProperties"] = 1
    return _document_schema("NodePool", {**spec, "required": ["release"]})


def platform_config_schema() -> Schema:
    """Return the schema of a PlatformConfig document."""
    spec = _spec_schema((row.path.removeprefix(PLATFORM), row) for row in platform_rows())
    properties = spec["properties"]
    assert isinstance(properties, dict)  # noqa: S101 - _spec_schema made it
    properties["notices"] = {**properties["notices"], "additionalProperties": _NOTICE}
    return _document_schema("PlatformConfig", spec)


def _part(properties: Mapping[str, Json], name: str) -> Schema:
    part = properties[name]
    assert isinstance(part, dict)  # noqa: S101 - rows below the name made it
    return part


def _document_schema(kind: str, spec: Schema) -> Schema:
    name = {
        "type": "string",
        "pattern": "^[a-z0-9]([-a-z0-9]*[a-z0-9])?$",
        "maxLength": LONGEST_NAME,
    }
    metadata = {"type": "object", "required": ["name"], "properties": {"name": name}}
    fields = {
        "apiVersion": {"const": API_VERSION},
        "kind": {"const": kind},
        "metadata": metadata,
        "spec": spec,
        "status": {"description": "ignored"},
    }
    return {
        "$schema": DIALECT,
        "title": kind,
        **_object(fields, "apiVersion", "kind", "metadata", "spec"),
    }


def _configuration_schema() -> Schema:
    header: Schema = {"apiVersion": {}, "kind": {}, "metadata": {}}
    return {
        "type": "array",
        "description": "configuration documents; one leaf per field, setting, file or mirror",
        "items": {
            "type": "object",
            "required": ["kind"],
            "properties": {"kind": {"enum": sorted(KINDS)}},
            "allOf": [
                {
                    "if": {"properties": {"kind": {"const": kind}}},
                    "then": _object({**header, **fields}),
                }
                for kind, fields in _CONFIGURATION.items()
            ],
        },
    }


def _spec_schema(rows: Iterable[tuple[str, Leaf]]) -> Schema:
    top = _object({})
    for path, row in rows:
        schema: Schema = {"description": row.says, **_shape_schema(row.shape)}
        names = path.split(".")
        if names[-1] == "*":
            names.pop()
            schema = {"type": "object", "additionalProperties": schema}
        place = top
        for name in names[:-1]:
            place = _below(place).setdefault(name, _object({}))  # type: ignore[assignment]
        _below(place)[names[-1]] = schema
    return top


def _below(schema: Schema) -> Schema:
    properties = schema["properties"]
    assert isinstance(properties, dict)  # noqa: S101 - _object made it
    return properties


def _shape_schema(shape: Shape) -> Mapping[str, Json]:
    return next((schema for known, schema in _INSIDE if known is shape), shape.schema)
