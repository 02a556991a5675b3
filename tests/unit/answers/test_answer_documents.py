"""Answers as documents: their schema is published, and what was sent comes back as it was."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from typing import Any

import jsonschema  # type: ignore[import-untyped]
import pytest

from fairlead.answers.document import Document
from fairlead.answers.plan import Plan
from fairlead.answers.pool import PoolDetail
from fairlead.answers.schema import ANSWERS, FILES, answers_schema
from fairlead.answers.text import decode, encode, plain
from fairlead.answers.wait import Wait
from fairlead.answers.words import ChangeClass, WaitFor
from fairlead.embedded.serve.api import make_api
from fairlead.embedded.serve.client import Client
from fairlead.errors import InputError
from service.stored_plane import StoredPlane
from shared_cases import REPOSITORY
from unit.telling.answers import make_machine, make_rolling_pool

COMMITTED = REPOSITORY / "docs/reference/answers.schema.json"
SCHEMA = answers_schema()


def schema_of(kind: type[Document]) -> dict[str, Any]:
    return {"$ref": f"#/$defs/{kind.__name__}", "$defs": SCHEMA["$defs"]}


def test_the_committed_schema_is_that_of_the_types() -> None:
    # On a difference: python -m fairlead.answers.schema > the committed file.
    assert json.loads(COMMITTED.read_text()) == json.loads(json.dumps(SCHEMA))
    jsonschema.Draft202012Validator.check_schema(SCHEMA)


def test_every_route_has_an_answer_in_the_schema(tmp_path: Any) -> None:
    plane = StoredPlane(tmp_path)
    try:
        routes = make_api(plane).routes
        served = {
            f"{method} {route.path}"  # type: ignore[attr-defined]
            for route in routes
            for method in route.methods - {"HEAD"}  # type: ignore[attr-defined]
        }
    finally:
        plane.close()

    assert served == set(ANSWERS)


def test_every_question_of_the_client_is_answered_with_a_document_of_the_schema() -> None:
    asked = {
        name
        for name, method in vars(Client).items()
        if not name.startswith("_") and callable(method)
    }

    assert len(asked) == len(ANSWERS)
    assert {kind.__name__ for kind in (*ANSWERS.values(), *FILES.values())} <= set(SCHEMA["$defs"])  # type: ignore[call-overload]


def test_a_pool_and_a_machine_are_what_the_schema_says() -> None:
    pool = make_rolling_pool()

    jsonschema.validate(plain(pool), schema_of(PoolDetail))
    assert decode(PoolDetail, encode(pool)) == pool
    assert decode(type(make_machine()), encode(make_machine())) == make_machine()


def test_names_that_python_keeps_for_itself_are_as_they_are_in_json() -> None:
    until = datetime(2026, 11, 20, 22, 0, 0, 123456, tzinfo=UTC)
    wait = Wait(wait_for=WaitFor.WINDOW, says="later", until=until)

    assert plain(wait) == {
        "for": "OutsideWindow",
        "says": "later",
        "machine": "",
        "until": "2026-11-20T22:00:00.123Z",
    }


def test_a_field_of_a_later_version_is_passed_over() -> None:
    text = '{"pool":"workers","change":"none","colour":"green"}'

    assert decode(Plan, text) == Plan(pool="workers", change=ChangeClass.NONE)


@pytest.mark.parametrize(
    ("text", "field"),
    [
        ("", ""),
        ("{", ""),
        ("[]", ""),
        ('{"pool": 7, "change": "none"}', "pool"),
        ('{"pool": "a", "change": "much"}', "change"),
        ('{"pool": "a", "change": "none", "waits": [{"for": "x", "says": ""}]}', "waits[0].for"),
        ('{"pool": "a", "change": "none", "estimate_s": "long"}', "estimate_s"),
        ("[" * 100_000, ""),
    ],
)
def test_what_is_no_answer_is_refused_by_field(text: str, field: str) -> None:
    with pytest.raises(InputError) as refused:
        decode(Plan, text)

    assert refused.value.field == field
