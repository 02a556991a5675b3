"""
The answers as JSON Schema, made from their types.

`python -m fairlead.answers.schema > docs/reference/answers.schema.json` writes it; a test compares.
"""

import json
import sys

import msgspec

from fairlead.answers import VERSION
from fairlead.answers.document import Document, Json
from fairlead.answers.event import Events
from fairlead.answers.machine import MachineDetail, MachineLog, Machines
from fairlead.answers.pool import PoolDetail, PoolHistory, Pools
from fairlead.answers.reply import (
    Applied,
    Authorities,
    Copied,
    Done,
    Health,
    Identity,
    Leaving,
    PatchedPlatform,
    PatchedPool,
    Platform,
    Proposed,
    Refused,
)
from fairlead.answers.saved_plan import SavedPlan

DIALECT = "https://json-schema.org/draft/2020-12/schema"

# What is asked: what is answered. A request that is refused is answered with Refused.
ANSWERS: dict[str, type[Document]] = {
    "GET /v1/whoami": Identity,
    "GET /v1/health": Health,
    "GET /v1/certificates": Authorities,
    "POST /v1/certificates": Authorities,
    "POST /v1/stop": Done,
    "POST /v1/copy": Copied,
    "GET /v1/events": Events,
    "GET /v1/pools": Pools,
    "GET /v1/pools/{name}": PoolDetail,
    "GET /v1/pools/{name}/history": PoolHistory,
    "PATCH /v1/pools/{name}": PatchedPool,
    "DELETE /v1/pools/{name}": Leaving,
    "POST /v1/pools/{name}/faults": Done,
    "GET /v1/platform": Platform,
    "PATCH /v1/platform": PatchedPlatform,
    "POST /v1/plan": Proposed,
    "POST /v1/apply": Applied,
    "GET /v1/machines": Machines,
    "GET /v1/machines/{name}": MachineDetail,
    "GET /v1/machines/{name}/log": MachineLog,
    "DELETE /v1/machines/{name}": Done,
    "POST /v1/machines/{name}/fault": Done,
}
FILES: dict[str, type[Document]] = {"fairlead plan -o FILE": SavedPlan}


def answers_schema() -> dict[str, Json]:
    """Return one schema with every answer as a definition, and which request gets which."""
    kinds = dict.fromkeys([*ANSWERS.values(), *FILES.values(), Refused])
    _, definitions = msgspec.json.schema_components(kinds, schema_hook=_json_schema)
    asked = {**ANSWERS, **FILES}
    return {
        "$schema": DIALECT,
        "title": f"Answers of a Fairlead control plane, {VERSION}",
        "properties": {
            request: {"$ref": f"#/$defs/{kind.__name__}"} for request, kind in asked.items()
        },
        "$defs": definitions,
    }


def _json_schema(kind: type) -> dict[str, Json]:
    if kind is object:
        return {"description": "any JSON value"}
    raise NotImplementedError(kind)


if __name__ == "__main__":
    sys.stdout.write(json.dumps(answers_schema(), indent=2) + "\n")
