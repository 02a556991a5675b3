"""A condition is stamped with the generation that it was judged at, and with no later one."""

from collections.abc import Iterator
from typing import Any

import pytest

from fairlead.kube.resource import NODE_POOLS
from unit.kube.one_operator import OneOperator, one_operator

NOBODYS = {"apiGroup": "infra.example.test", "kind": "SmallTemplate", "name": "nobodys"}


@pytest.fixture
def empty() -> Iterator[OneOperator]:
    """A pool of no machines that was carried out, and so is ready."""
    with one_operator() as one:
        one.declare(replicas=0)
        one.passes(3)
        assert generations(one, "True") == {"Ready": 1, "ReconciliationActive": 1, "ValidConfig": 1}
        yield one


def generations(one: OneOperator, status: str) -> dict[str, Any]:
    asked = {"Ready", "ReconciliationActive", "ValidConfig"}
    return {
        found["type"]: found["observedGeneration"]
        for found in one.status()["conditions"]
        if found["type"] in asked and found["status"] == status
    }


def test_a_pass_that_cannot_be_ended_stamps_nothing_but_that(empty: OneOperator) -> None:
    empty.declare(generation=2, machineTemplate=NOBODYS)
    empty.passes(2)

    assert (empty.status()["state"], empty.status()["observedGeneration"]) == ("Blocked", 2)
    assert generations(empty, "False") == {"ReconciliationActive": 2}
    assert generations(empty, "True") == {"Ready": 1, "ValidConfig": 1}


def test_documents_that_are_refused_are_never_ready(empty: OneOperator) -> None:
    empty.declare(generation=2, replicas=0, pullSecret={"name": "nobodys"})
    empty.passes(2)

    assert empty.status()["observedGeneration"] == 2
    assert generations(empty, "False") == {"ValidConfig": 2}
    assert generations(empty, "True") == {"Ready": 1, "ReconciliationActive": 2}
    assert empty.passes() == []


def test_a_pool_that_was_refused_from_the_first_is_not_ready_of_any_generation() -> None:
    with one_operator() as one:
        one.declare(replicas=0, machineTemplate=NOBODYS)
        one.passes(2)

        assert {kind["type"] for kind in one.status()["conditions"]} == {"ReconciliationActive"}

        one.declare(generation=2, replicas=0, pullSecret={"name": "nobodys"})
        one.passes(2)

        found = {kind["type"]: kind["observedGeneration"] for kind in one.status()["conditions"]}
        assert (found["ValidConfig"], found["Ready"]) == (2, 0)


def test_what_is_declared_well_again_stamps_every_condition(empty: OneOperator) -> None:
    empty.declare(generation=2, machineTemplate=NOBODYS)
    empty.passes(2)
    empty.declare(generation=3, replicas=0)
    empty.passes(2)

    assert {one["observedGeneration"] for one in empty.status()["conditions"]} == {3}
    assert empty.passes() == []


def test_another_generation_that_changes_nothing_is_stamped_once(empty: OneOperator) -> None:
    empty.declare(generation=2, replicas=0)

    (written,) = empty.passes(3)

    assert written == ("PATCH", f"{NODE_POOLS.path('a', 'workers')}/status")
    assert {one["observedGeneration"] for one in empty.status()["conditions"]} == {2}
