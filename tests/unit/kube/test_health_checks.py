"""A pool's MachineHealthCheck is what its owner asked for, whatever happened to it in between."""

from collections.abc import Iterator
from typing import Any

import pytest

from fairlead.kube.resource import MACHINE_DEPLOYMENTS, MACHINE_HEALTH_CHECKS
from unit.kube.one_operator import OneOperator, one_operator
from unit.kube.small_server import Reply

PATH = MACHINE_HEALTH_CHECKS.path("a", "workers")
REPAIRS: dict[str, Any] = {"autoRepair": True, "maxUnhealthy": "40%"}
BROKEN: Reply = (500, {"message": "the server is gone"}, False)
WELL: Reply = (200, {}, False)


@pytest.fixture
def repaired() -> Iterator[OneOperator]:
    """A pool that repairs itself, carried out."""
    with one_operator() as one:
        one.declare(**REPAIRS)
        one.passes(3)
        assert unhealthy(one) == "40%"
        yield one


def unhealthy(one: OneOperator) -> str:
    """How many machines may be sick for repairs to go on; '' without a MachineHealthCheck."""
    found = one.server.get(MACHINE_HEALTH_CHECKS, "workers")
    return (
        str(found["spec"]["remediation"]["triggerIf"]["unhealthyLessThanOrEqualTo"])
        if found
        else ""
    )


def cut_before_health_check(one: OneOperator) -> None:
    """Let one pass end between the template and the MachineHealthCheck."""
    one.server.reply = lambda method, path, _: (
        BROKEN if method in ("PATCH", "DELETE") and path.startswith(PATH) else WELL
    )
    written = one.passes()
    assert ("PATCH", MACHINE_DEPLOYMENTS.path("a", "workers")) in written
    one.server.reply = lambda *_: WELL


def test_a_health_check_that_is_as_asked_for_is_not_written(repaired: OneOperator) -> None:
    assert repaired.passes(2) == []


def test_a_health_check_that_somebody_deleted_is_made_again(repaired: OneOperator) -> None:
    repaired.server.remove(MACHINE_HEALTH_CHECKS, "workers")

    assert repaired.passes(3) == [("PATCH", PATH)]
    assert unhealthy(repaired) == "40%"


def test_a_health_check_that_somebody_edited_is_put_right(repaired: OneOperator) -> None:
    found = repaired.server.get(MACHINE_HEALTH_CHECKS, "workers")
    assert found is not None
    trigger = {"triggerIf": {"unhealthyLessThanOrEqualTo": "100%"}}
    parts = {**found, "spec": {**found["spec"], "remediation": trigger}}
    repaired.server.put(MACHINE_HEALTH_CHECKS, "workers", **parts)

    assert repaired.passes(3) == [("PATCH", PATH)]
    assert unhealthy(repaired) == "40%"


def test_a_pass_that_was_cut_off_before_the_health_check_is_made_good() -> None:
    with one_operator() as one:
        one.declare(**REPAIRS)
        cut_before_health_check(one)
        assert unhealthy(one) == ""

        one.passes(2)

        assert unhealthy(one) == "40%"
        assert one.passes() == []


def test_repairs_end_although_the_pass_that_ended_them_was_cut_off(repaired: OneOperator) -> None:
    repaired.declare(generation=2)
    cut_before_health_check(repaired)
    assert unhealthy(repaired) == "40%"

    repaired.passes(2)

    assert unhealthy(repaired) == ""
    assert repaired.passes() == []


def test_a_time_for_joining_that_cluster_api_takes_for_no_check_is_named() -> None:
    with one_operator() as one:
        one.declare(**REPAIRS, timeouts={"join": "10s"})
        one.passes(2)

        assert one.status()["sentence"].startswith(
            "spec.timeouts.join: found 10s, expected at least 30s where autoRepair is on"
        )
        assert one.passes(2) == []

        one.declare(generation=2, **REPAIRS, timeouts={"join": "0s"})
        one.passes(3)
        assert unhealthy(one) == "40%"
