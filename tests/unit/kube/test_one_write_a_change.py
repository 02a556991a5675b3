"""A change of a pool is one write of its NodePool, with what there is to tell of it."""

import json

from fairlead.kube.resource import MACHINE_DEPLOYMENTS, MACHINE_SETS, MACHINES, NODE_POOLS
from unit.kube.one_operator import OneOperator, one_operator

STATUS = ("PATCH", NODE_POOLS.path("a", "workers", "status"))


def put_machine(one: OneOperator, number: int) -> None:
    """Have a machine that Cluster API made for the pool, and that boots."""
    found = one.server.get(MACHINE_SETS, "workers-s")
    assert found is not None
    told = found["spec"]["template"]
    labels, made_at = told["metadata"]["labels"], "2026-11-18T02:00:00Z"
    metadata = {"labels": labels, "creationTimestamp": made_at}
    one.server.put(MACHINES, f"workers-{number}", metadata=metadata, spec=told["spec"])


def put_set(one: OneOperator) -> None:
    """Have the set that the deployment's machines are made by."""
    found = one.server.get(MACHINE_DEPLOYMENTS, "workers")
    assert found is not None
    template = found["spec"]["template"]
    one.server.put(
        MACHINE_SETS,
        "workers-s",
        metadata={"labels": template["metadata"]["labels"]},
        spec={"replicas": 3, "clusterName": "c", "template": template},
        status={"replicas": 3},
    )


def told_kinds(one: OneOperator) -> list[str]:
    return [json.loads(text)["kind"] for text in one.status()["journal"]]


def test_a_machine_that_came_is_counted_and_told_of_in_one_write() -> None:
    with one_operator() as one:
        one.declare(replicas=3)
        one.passes(3)
        put_set(one)
        one.passes(2)

        put_machine(one, 0)
        assert one.passes() == [STATUS]
        assert one.status()["replicas"] == 1
        assert told_kinds(one) == ["PoolAdopted", "MachineCreated"]

        put_machine(one, 1)
        put_machine(one, 2)
        assert one.passes() == [STATUS]
        assert one.status()["replicas"] == 3
        assert told_kinds(one) == ["PoolAdopted", *["MachineCreated"] * 3]
        assert one.passes() == []
