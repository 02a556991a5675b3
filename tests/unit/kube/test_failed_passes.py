"""A pool whose passes cannot be ended says why, once, until what stopped them is over."""

from collections.abc import Iterator

import pytest

from fairlead.kube.resource import MACHINES, NODE_POOLS, NODES
from unit.kube.object_server import ObjectServer
from unit.kube.one_operator import OneOperator, one_operator
from unit.kube.small_server import Reply, small_server

WELL: Reply = (200, {}, False)
REFUSED: Reply = (422, {"message": "a webhook says no"}, False)
STATUS = ("PATCH", NODE_POOLS.path("a", "workers", "status"))


@pytest.fixture
def refused() -> Iterator[OneOperator]:
    """A pool that was carried out, until a label was declared that no Machine may have."""
    nodes = ObjectServer()
    nodes.put(NODES, "first", spec={})
    with one_operator() as one, small_server(nodes) as address:
        one.join(address)
        one.declare(replicas=1)
        one.passes(3)
        one.machine("first")
        one.passes(2)
        one.server.reply = lambda method, _path, _: REFUSED if method == "PUT" else WELL
        one.declare(generation=2, replicas=1, labels={"team": "blue"})
        yield one
        one.operator.world.workloads.close()


def test_a_pool_whose_last_step_is_refused_is_blocked_and_never_settled_in_between(
    refused: OneOperator,
) -> None:
    refused.passes(3)

    assert refused.status()["state"] == "Blocked"
    assert "a webhook says no" in refused.status()["sentence"]
    assert refused.operator.counted.failures >= 3
    assert refused.passes(2) == []


def test_a_pool_that_goes_on_says_all_that_it_did_not_say_while_it_was_blocked(
    refused: OneOperator,
) -> None:
    refused.passes(3)
    refused.server.reply = lambda *_: WELL

    assert refused.passes() == [("PUT", MACHINES.path("a", "first")), STATUS]
    assert refused.status()["state"] != "Blocked"
    assert refused.condition("ReconciliationActive")["status"] == "True"
    assert refused.status()["observedGeneration"] == 2
    assert refused.passes() == []
