"""The OpenAPI document of the hotfix service is what it does: by its routes, and by asking it."""

import json
import socket
from collections.abc import Iterator
from typing import Any
from urllib.parse import parse_qsl, urlsplit

import pytest
import schemathesis
from hypothesis import HealthCheck, Phase, given, settings
from schemathesis import GenerationMode
from schemathesis.core.parameters import ParameterLocation
from schemathesis.specs.openapi.checks import negative_data_rejection

from fairlead.hotfix.service.http_app import ROUTES, make_hotfix_app
from fairlead.hotfix.service.openapi import document_text
from served_hotfixes import NOW, Serving, make_depot, make_fix
from service.served_app import served_app
from shared_cases import REPOSITORY

FILE = REPOSITORY / "docs" / "reference" / "hotfix-service.openapi.json"


def test_the_document_in_docs_is_the_one_that_is_served() -> None:
    rewrite = f"python -m fairlead.hotfix.service.openapi > {FILE.relative_to(REPOSITORY)}"
    assert FILE.read_bytes() == document_text(), rewrite


def test_the_document_has_every_route_with_its_methods_and_proof() -> None:
    paths = json.loads(document_text())["paths"]
    documented = {
        path.replace("{path}", ""): (
            sorted(name.upper() for name in operations),
            all("security" in operation for operation in operations.values()),
        )
        for path, operations in paths.items()
    }

    assert documented == {
        route.path: (sorted(route.methods), route.needs_proof) for route in ROUTES
    }


@pytest.fixture(scope="module")
def address(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    depot = make_depot(tmp_path_factory.mktemp("depot"), [make_fix(everyone=True)])
    bound = socket.create_server(("127.0.0.1", 0))
    found = f"http://127.0.0.1:{bound.getsockname()[1]}"

    def make() -> Any:
        return make_hotfix_app(Serving(depot).pointers, lambda: NOW)

    with served_app(make, bound):
        yield found


FOUND: list[Any] = list(
    schemathesis.openapi.from_dict(json.loads(document_text())).get_all_operations()
)
OPERATIONS = {one.ok().label: one.ok() for one in FOUND}


@pytest.mark.slow
@pytest.mark.parametrize("kind", [GenerationMode.POSITIVE, GenerationMode.NEGATIVE])
@pytest.mark.parametrize("label", OPERATIONS)
def test_schemathesis_finds_nothing(address: str, label: str, kind: GenerationMode) -> None:
    operation = OPERATIONS[label]
    if kind is GenerationMode.NEGATIVE and not takes_anything(operation):
        return

    @settings(
        max_examples=40,
        deadline=None,
        derandomize=True,
        database=None,
        phases=[Phase.explicit, Phase.generate],
        suppress_health_check=list(HealthCheck),
    )
    @given(case=operation.as_strategy(generation_mode=kind))
    def asked(case: Any) -> None:
        response = case.call(base_url=address, headers={"Authorization": "Bearer proof-of-m1"})
        is_wrong = kind is GenerationMode.NEGATIVE and is_for_refusal(case, response)
        passed_over = [] if is_wrong else [negative_data_rejection]
        case.validate_response(response, excluded_checks=passed_over)

    asked()


def takes_anything(operation: Any) -> bool:
    """Whether something of it can be wrong; a path in the depot is any text."""
    return bool(operation.query or operation.body)


def is_for_refusal(case: Any, response: Any) -> bool:
    """Whether what is wrong matters: proof and name are the test's, unknown names are let pass."""
    body = case.meta.components.get(ParameterLocation.BODY)
    if body is not None:
        return bool(body.mode.is_negative)
    query = dict(parse_qsl(urlsplit(response.request.url).query, keep_blank_values=True))
    is_known = query.get("component") in ("fairlead-node", "aksNodeController")
    return not is_known or len(query.get("version", "")) > 40
