"""What somebody edits of a pool's template or Secrets is put right, or named with the way out."""

import base64
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from fairlead.kube.resource import MACHINE_DEPLOYMENTS, SECRETS, Resource
from unit.kube.one_operator import OneOperator, one_operator

DEPLOYMENT = ("PATCH", MACHINE_DEPLOYMENTS.path("a", "workers"))


@pytest.fixture
def made() -> Iterator[OneOperator]:
    """A pool that was carried out."""
    with one_operator() as one:
        one.declare(timeouts={"drain": "5m"}, management={"maxSurge": "25%"})
        one.passes(3)
        assert one.passes() == []
        yield one


def get(one: OneOperator, resource: Resource, name: str) -> dict[str, Any]:
    found = one.server.get(resource, name)
    assert found is not None
    return found


def edit_template(one: OneOperator, edit: Callable[[dict[str, Any]], dict[str, Any]]) -> None:
    """Write another spec, as `kubectl edit` does."""
    found = get(one, MACHINE_DEPLOYMENTS, "workers")
    metadata = {**found["metadata"], "generation": found["metadata"]["generation"] + 1}
    changed = {**found, "metadata": metadata, "spec": edit(found["spec"])}
    one.server.put(MACHINE_DEPLOYMENTS, "workers", **changed)


def told_with(**parts: Any) -> Callable[[dict[str, Any]], dict[str, Any]]:
    """Another part of what machines are made from."""

    def edit(spec: dict[str, Any]) -> dict[str, Any]:
        template = spec["template"]
        return {**spec, "template": {**template, "spec": {**template["spec"], **parts}}}

    return edit


@pytest.mark.parametrize(
    "edit",
    [
        told_with(version="v1.30.0"),
        told_with(bootstrap={"dataSecretName": "foo"}),
        told_with(infrastructureRef={"apiGroup": "g", "kind": "Other", "name": "n"}),
        told_with(deletion={}),
        lambda spec: {**spec, "rollout": {"strategy": {"type": "OnDelete"}}},
        lambda spec: {**spec, "paused": True},
        lambda spec: {**spec, "replicas": 7},
    ],
    ids=["version", "secret", "infrastructure", "drain", "strategy", "paused", "replicas"],
)
def test_a_template_that_somebody_edited_is_put_right(
    made: OneOperator, edit: Callable[[dict[str, Any]], dict[str, Any]]
) -> None:
    before = get(made, MACHINE_DEPLOYMENTS, "workers")["spec"]
    edit_template(made, edit)

    assert made.passes(2) == [DEPLOYMENT]

    assert get(made, MACHINE_DEPLOYMENTS, "workers")["spec"] == before
    assert made.passes(2) == []


def test_what_others_add_to_a_template_stays(made: OneOperator) -> None:
    edit_template(made, lambda spec: {**spec, "machineNaming": {"template": "x-{{ .random }}"}})

    assert made.passes(2) == []


def secret_of(one: OneOperator, kind: str) -> str:
    spec = get(one, MACHINE_DEPLOYMENTS, "workers")["spec"]["template"]["spec"]
    told = str(spec["bootstrap"]["dataSecretName"])
    return told if kind == "user-data" else told.replace("user-data", kind)


def edit_secret(one: OneOperator, name: str, **data: str) -> None:
    found = get(one, SECRETS, name)
    encoded = {key: base64.b64encode(text.encode()).decode() for key, text in data.items()}
    one.server.put(SECRETS, name, **{**found, "data": {**found["data"], **encoded}})


@pytest.mark.parametrize("part", ["value", "kept", "digest"])
def test_user_data_that_somebody_edited_is_written_again(made: OneOperator, part: str) -> None:
    name = secret_of(made, "user-data")
    before = get(made, SECRETS, name)["data"]
    edit_secret(made, name, **{part: "foo"})

    made.passes(2)

    assert get(made, SECRETS, name)["data"] == before
    assert made.passes() == []


def test_user_data_of_an_earlier_release_is_not_written_for_what_it_lacks(
    made: OneOperator,
) -> None:
    name = secret_of(made, "user-data")
    found = get(made, SECRETS, name)
    data = {key: value for key, value in found["data"].items() if key != "digest"}
    made.server.put(SECRETS, name, **{**found, "data": data})

    assert made.passes(2) == []


@pytest.mark.parametrize("kept", ["foo", "[]", '{"token": 7}'])
def test_a_token_that_somebody_edited_is_named_with_the_way_out(
    made: OneOperator, kept: str
) -> None:
    name = secret_of(made, "token")
    edit_secret(made, name, kept=kept)

    made.passes(2)

    assert made.status()["state"] == "Blocked"
    assert made.status()["sentence"].startswith(f"Secret {name} cannot be read: ")
    assert "(delete it: it is made again under its name" in made.status()["sentence"]

    made.server.remove(SECRETS, name)
    made.passes(3)
    assert made.status()["state"] != "Blocked"
