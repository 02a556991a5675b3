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
    LABEL_VALUE,
    LARGEST_NUMBER,
    PAUSE,
    TAINT_EFFECTS,
    TAINTS,
    WINDOWS,
)

DIALECT = "https://json-schema.org/draft/2020-12/schema"

Schema = dict[str, Json]

_MOMENT = r"^\d{4}-\d{2}-\d{2}[T ]\d{2}:\d{2}(:\d{2}(\.\d+)?)?(Z|[+-]\d{2}:\d{2})$"


# What is said of fields that rows of the registry stand below; the rows say the rest themselves.
_POOL_PARTS = {
    "": "what the owner of the pool declares; what is left out is filled in, and never rolls",
    "release": "the Kubernetes version of the machines",
    "pullSecret": "what machines pull images with",
    "trustBundle": "authorities that machines trust besides those of their image",
    "proxy": "the way of machines to other networks",
    "endpoint": "where machines reach the API server",
    "machineTemplate": "what kind of machine, by NAME: VALUE, as the edge has them",
    "autoscaling": "bounds for an autoscaler, which says how many machines where replicas does not",
    "labels": "labels of the nodes, NAME: VALUE",
    "timeouts": "how long parts of a machine's life may take",
    "management": "how machines are changed or replaced, and how many at once",
    "rollout": "when and in which portions machines are replaced, and what halts that",
    "rollout.replaceWithout": "asks for machines that lack a hotfix to be replaced",
    "platformChanges": "what becomes of changes that the platform made",
    "platformChanges.maximumAge": "how long such a change may be held, by how much it matters",
}
_PLATFORM_PARTS = {
    "": "what the platform adds to every pool; a change is held, and replaces no machine",
    "proxy": "the data-plane proxy of every node",
    "registryOverrides": "where registries are read from, by their name",
    "machineTemplateDefaults": "what pools leave out of machineTemplate, NAME: VALUE",
    "components": "what components rendered, by their name",
    "defaults": "default versions, by the name of what they are of",
    "hotfix": "hotfixes, by their image base",
    "stub": "what is written into user data, so that a machine finds its node config",
    "notices": "what teams say about a change of a leaf, by its path",
}


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


def _said(schema: Schema, says: str) -> Schema:
    return {"description": says, **schema}


_BUDGET: Schema = {
    "anyOf": [
        {"type": "integer", "minimum": 0, "maximum": LARGEST_NUMBER},
        {"type": "string", "pattern": "^(100|0?[0-9]{1,2})%$"},
    ]
}
_CLOCK: Schema = {"type": "string", "pattern": "^([01][0-9]|2[0-3]):[0-5][0-9]$"}
_SPAN: Schema = {"type": "string", "pattern": "^([0-9]+[dhms])+$"}
_TAINT_KEY: Schema = {
    "type": "string",
    "maxLength": 317,
    "pattern": "^([A-Za-z0-9]([A-Za-z0-9.-]*[A-Za-z0-9])?/)?"
    "[A-Za-z0-9]([A-Za-z0-9._-]*[A-Za-z0-9])?$",
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
                {
                    "key": _said(_TAINT_KEY, "its name"),
                    "value": _said(dict(LABEL_VALUE), "its value, if it has one"),
                    "effect": _said(
                        {"enum": list(TAINT_EFFECTS)}, "what becomes of pods without a toleration"
                    ),
                },
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
                    "days": _said(
                        _list_of({"enum": list(DAYS)}), "when it opens; not set: every day"
                    ),
                    "start": _said(_CLOCK, "when it opens, HH:MM"),
                    "duration": _said(_SPAN, "how long it stays open, 7d at most"),
                    "zone": _said(_TEXT, "time zone of start, such as Europe/Berlin"),
                },
                "start",
                "duration",
            )
        ),
    ),
)

_SEVERITIES = [severity.value for severity in Severity]
_NOTICE = _object(
    {
        "id": {"description": "what to talk about it by"},
        "owner": {"description": "the team that made it"},
        "severity": _said({"enum": _SEVERITIES}, "how much holding it may hurt"),
    }
)
_SETTINGS: Schema = {"type": "object", "description": "NAME: VALUE"}

_TEMPLATE_FIELD: Schema = {
    "type": ["string", "number", "boolean"],
    "minLength": 1,
    "description": "one machine-template field",
}

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
    spec = _spec_schema(((row.path, row) for row in rows), _POOL_PARTS)
    properties = spec["properties"]
    assert isinstance(properties, dict)  # noqa: S101 - _spec_schema made it
    properties["config"] = _configuration_schema()
    _part(properties, "release")["required"] = ["version"]
    _part(properties, "machineTemplate")["additionalProperties"] = _TEMPLATE_FIELD
    _part(properties, "autoscaling")["minProperties"] = 1
    return _document_schema("NodePool", {**spec, "required": ["release"]})


def platform_config_schema() -> Schema:
    """Return the schema of a PlatformConfig document."""
    rows = ((row.path.removeprefix(PLATFORM), row) for row in platform_rows())
    spec = _spec_schema(rows, _PLATFORM_PARTS)
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
            "properties": {"kind": _said({"enum": sorted(KINDS)}, "what it configures")},
            "allOf": [
                {
                    "if": {"properties": {"kind": {"const": kind}}},
                    "then": _object({**header, **fields}),
                }
                for kind, fields in _CONFIGURATION.items()
            ],
        },
    }


def _spec_schema(rows: Iterable[tuple[str, Leaf]], parts: Mapping[str, str]) -> Schema:
    """Return the schema of these rows. parts: what is said of all that rows stand below."""
    top = _said(_object({}), parts[""])
    for path, row in rows:
        schema: Schema = {"description": row.says, **_shape_schema(row.shape)}
        names = path.split(".")
        if names[-1] == "*":
            names.pop()
            schema = {"type": "object", "additionalProperties": schema}
            schema = _said(schema, parts[".".join(names)])
        place = top
        for depth, name in enumerate(names[:-1], start=1):
            inside = _below(place)
            if name not in inside:
                inside[name] = _said(_object({}), parts[".".join(names[:depth])])
            place = inside[name]  # type: ignore[assignment]
        _below(place)[names[-1]] = schema
    return top


def _below(schema: Schema) -> Schema:
    properties = schema["properties"]
    assert isinstance(properties, dict)  # noqa: S101 - _object made it
    return properties


def _shape_schema(shape: Shape) -> Mapping[str, Json]:
    return next((schema for known, schema in _INSIDE if known is shape), shape.schema)
