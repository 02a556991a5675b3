"""`kubectl explain` has a text for every field of ours."""

from collections.abc import Iterator
from typing import Any

import pytest

from fairlead.kube.definitions.crd import Definition, definitions, manifest_of

# The API server has its own texts for these, and takes none of ours for metadata.
OF_THE_SERVER = {"apiVersion", "kind", "metadata"}


def silent_fields(schema: dict[str, Any], path: str) -> Iterator[str]:
    """The fields below a schema that have no text."""
    for name, part in schema.get("properties", {}).items():
        if not part.get("description"):
            yield f"{path}.{name}"
        yield from silent_fields(part, f"{path}.{name}")
    for inside in ("items", "additionalProperties"):
        if isinstance(schema.get(inside), dict):
            yield from silent_fields(schema[inside], f"{path}[]")


@pytest.mark.parametrize("definition", definitions(), ids=lambda one: one.resource.plural)
def test_every_field_has_a_text(definition: Definition) -> None:
    [version] = manifest_of(definition)["spec"]["versions"]
    schema = version["schema"]["openAPIV3Schema"]

    silent = list(silent_fields(schema, ""))

    assert schema["description"]
    assert [path for path in silent if path[1:] not in OF_THE_SERVER] == []
