"""Parts that schemas of our own are made of."""

from __future__ import annotations

from collections.abc import Mapping

from fairlead.kube.definitions.structural import OPEN, Schema

TEXT: Schema = {"type": "string"}
NUMBER: Schema = {"type": "integer", "format": "int64"}
MOMENT: Schema = {"type": "string", "format": "date-time"}
OPEN_OBJECT: Schema = {"type": "object", OPEN: True}


def said(schema: Schema, says: str) -> Schema:
    """Return a schema with what it says to `kubectl explain`."""
    return {"description": says, **schema}


def object_of(says: str, properties: Mapping[str, Schema], *required: str) -> Schema:
    """Return the schema of an object."""
    made: Schema = {"description": says, "type": "object", "properties": dict(properties)}
    return {**made, "required": list(required)} if required else made
