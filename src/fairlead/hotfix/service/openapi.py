"""
The HTTP side of the service as an OpenAPI document, as it is served and kept below docs/reference.

    python -m fairlead.hotfix.service.openapi > docs/reference/hotfix-service.openapi.json

Tests hold it against the routes of http_app.py, and against the service that runs.
"""

from __future__ import annotations

import json
import sys
from functools import cache
from typing import Any

from fairlead import __version__
from fairlead.contract.boot_report import LARGEST, OUTCOMES
from fairlead.contract.hotfix.answer import DEPOT_PATH, HOTFIX_PATH
from fairlead.hotfix.catalog import COMPONENTS
from fairlead.hotfix.service.asked import Status

OPENAPI_PATH = "/openapi.json"

# As pointers.py has it.
LONGEST_VERSION = 40

Json = dict[str, Any]

_PROOF: list[Json] = [{"proof": []}]

_MACHINE: Json = {
    "name": "Fairlead-Machine",
    "in": "header",
    "description": "how the machine calls itself; a join token is refused for another name",
    "schema": {"type": "string", "maxLength": 253},
}

_TEXT: Json = {"type": "string"}
_NUMBER: Json = {"type": "number", "exclusiveMinimum": -LARGEST, "exclusiveMaximum": LARGEST}

_SCHEMAS: Json = {
    "Error": {
        "type": "object",
        "required": ["error"],
        "properties": {"error": {"type": "string", "description": "one sentence, no secrets"}},
        "additionalProperties": False,
    },
    "Health": {
        "type": "object",
        "required": ["status"],
        "properties": {"status": {"const": "up"}},
    },
    "Answer": {
        "type": "object",
        "required": ["hotfixes"],
        "properties": {
            "hotfixes": {
                "description": "the fix of each image base; null: withdrawn, whoever delivered it",
                "type": "object",
                "additionalProperties": {"type": ["string", "null"]},
            },
            "update": {"$ref": "#/components/schemas/Update"},
        },
    },
    "Update": {
        "description": "signed metadata (TUF) in the exact texts that were signed",
        "type": "object",
        "required": ["roots", "timestamp", "snapshot", "targets"],
        "properties": {
            "roots": {"type": "array", "items": _TEXT},
            "timestamp": _TEXT,
            "snapshot": _TEXT,
            "targets": _TEXT,
        },
    },
    "Stage": {
        "description": "name, start_ms, took_ms, outcome, cause",
        "type": "array",
        "prefixItems": [_TEXT, _NUMBER, _NUMBER, {"enum": list(OUTCOMES)}, _TEXT],
        "minItems": 5,
        "maxItems": 5,
    },
    "BootReport": {
        "description": "one run of the agent; names that are not known are passed over",
        "type": "object",
        "required": ["run", "agent", "layout", "started"],
        "properties": {
            "run": _TEXT,
            "agent": _TEXT,
            "layout": _TEXT,
            "started": _TEXT,
            "took_ms": _NUMBER,
            "exit": {"oneOf": [_NUMBER, {"type": "null"}]},
            "stages": {"type": "array", "items": {"$ref": "#/components/schemas/Stage"}},
            "facts": {"description": "hotfix: what was wanted and used, and why not"},
        },
    },
}

_REFUSALS = {
    400: "the question or the report cannot be read",
    401: "the proof does not hold",
    403: "proven, but this machine is not served here",
    404: "there is nothing here for this machine, or at this path",
    413: "the report is too long",
    Status.RESOURCE_EXHAUSTED.http: "too much at once",
    500: "the service failed",
    503: "not available for the moment",
}


@cache
def document_text() -> bytes:
    """Return the document."""
    return json.dumps(_document(), indent=2).encode() + b"\n"


def _document() -> Json:
    about = {
        "title": "Fairlead hotfix service",
        "version": __version__,
        "description": "Answers booting machines: which fix, and the metadata that proves it.",
    }
    return {
        "openapi": "3.1.0",
        "info": about,
        "paths": {
            HOTFIX_PATH: {"get": _give_pointer()},
            "/v1/hotfix-report": {"post": _take_report()},
            f"{DEPOT_PATH}/{{path}}": _readable(_give_file()),
            "/healthz": _readable(_plain("health", "is the service up", "Health")),
            OPENAPI_PATH: _readable(_plain("openapi", "this document", None)),
        },
        "components": {
            "schemas": _SCHEMAS,
            "securitySchemes": {
                "proof": {
                    "type": "http",
                    "scheme": "bearer",
                    "description": "what a cloud signed for the machine, or a join token",
                }
            },
        },
    }


def _give_pointer() -> Json:
    component = {"type": "string", "enum": list(COMPONENTS)}
    version = {"type": "string", "maxLength": LONGEST_VERSION}
    asked = [
        {"name": "component", "in": "query", "required": True, "schema": component},
        {
            "name": "version",
            "in": "query",
            "description": "of the agent that asks, YYYYMM.DD.PATCH",
            "schema": version,
        },
        _MACHINE,
    ]
    return {
        "operationId": "hotfix",
        "summary": "the pointer of a machine",
        "security": _PROOF,
        "parameters": asked,
        "responses": {
            "200": _answer("the fixes that apply to this machine", "Answer"),
            **_refusals(400, 401, 403, 404, 429, 500, 503),
        },
    }


def _take_report() -> Json:
    schema = {"$ref": "#/components/schemas/BootReport"}
    return {
        "operationId": "report",
        "summary": "how a machine's boot ended",
        "security": _PROOF,
        "parameters": [_MACHINE],
        "requestBody": {"required": True, "content": {"application/json": {"schema": schema}}},
        "responses": {
            "204": {"description": "counted"},
            **_refusals(400, 401, 403, 413, 429, 500, 503),
        },
    }


def _give_file() -> Json:
    content: Json = {"application/octet-stream": {}}
    path = {
        "name": "path",
        "in": "path",
        "required": True,
        "description": "as repositories and signed metadata name it; slashes as they are",
        "schema": {"type": "string", "minLength": 1},
    }
    return {
        "operationId": "file",
        "summary": "signed files of the depot",
        "parameters": [path],
        "responses": {
            "200": {"description": "the file", "content": content},
            **_refusals(404, 500, 503),
        },
    }


def _plain(operation: str, summary: str, schema: str | None) -> Json:
    return {
        "operationId": operation,
        "summary": summary,
        "responses": {"200": _answer(summary, schema), **_refusals(500, 503)},
    }


def _readable(operation: Json) -> Json:
    """Return it for GET and HEAD; an answer to HEAD has no body."""
    name = f"{operation['operationId']}Head"
    responses = {
        code: {"description": answer["description"]}
        for code, answer in operation["responses"].items()
    }
    return {"get": operation, "head": {**operation, "operationId": name, "responses": responses}}


def _answer(description: str, schema: str | None) -> Json:
    content: Json = {"schema": {"$ref": f"#/components/schemas/{schema}"}} if schema else {}
    return {"description": description, "content": {"application/json": content}}


def _refusals(*codes: int) -> Json:
    return {str(code): _answer(_REFUSALS[code], "Error") for code in codes}


if __name__ == "__main__":
    sys.stdout.write(document_text().decode())
