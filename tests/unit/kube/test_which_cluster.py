"""Machines of a pool are made in one Cluster, and it is said why where they cannot be."""

from collections.abc import Iterator

import pytest

from fairlead.kube.resource import CLUSTERS, MACHINE_DEPLOYMENTS, NODE_POOLS
from unit.kube.one_operator import OneOperator, one_operator

CLUSTER_LABEL = "cluster.x-k8s.io/cluster-name"


@pytest.fixture
def one() -> Iterator[OneOperator]:
    with one_operator() as made:
        yield made


def name_cluster(one: OneOperator, name: str) -> None:
    found = one.server.get(NODE_POOLS, "workers")
    assert found is not None
    metadata = {**found["metadata"], "labels": {CLUSTER_LABEL: name}}
    one.server.put(NODE_POOLS, "workers", **{**found, "metadata": metadata})


def told_cluster(one: OneOperator) -> str:
    found = one.server.get(MACHINE_DEPLOYMENTS, "workers")
    return str(found["spec"]["clusterName"]) if found else ""


def test_a_cluster_that_is_named_and_not_there_is_told(one: OneOperator) -> None:
    one.declare()
    name_cluster(one, "other")

    one.passes(2)

    assert one.status()["sentence"] == (
        "metadata.labels.cluster.x-k8s.io/cluster-name: there is no Cluster other in a"
    )
    one.server.put(CLUSTERS, "other", spec={})
    one.passes(2)
    assert told_cluster(one) == "other"


def test_a_pool_stays_in_its_cluster_when_another_one_comes(one: OneOperator) -> None:
    one.declare()
    one.passes(3)
    one.server.put(CLUSTERS, "other", spec={})

    one.declare(generation=2, replicas=5)
    one.passes(2)

    assert told_cluster(one) == "c"
    found = one.server.get(MACHINE_DEPLOYMENTS, "workers")
    assert found is not None
    assert found["spec"]["replicas"] == 5


def test_a_pool_that_is_to_move_to_another_cluster_is_told_that_it_stays(one: OneOperator) -> None:
    one.declare()
    one.passes(3)
    one.server.put(CLUSTERS, "other", spec={})
    one.declare(generation=2, replicas=5)
    name_cluster(one, "other")

    one.passes(2)

    assert "the pool's machines are in the Cluster c, where they stay" in one.status()["sentence"]
    assert told_cluster(one) == "c"


def test_a_cluster_that_is_deleted_is_given_no_machines_again(one: OneOperator) -> None:
    one.declare()
    one.passes(3)
    one.server.put(CLUSTERS, "c", metadata={"deletionTimestamp": "2026-11-18T02:00:30Z"}, spec={})
    one.server.remove(MACHINE_DEPLOYMENTS, "workers")

    one.passes(2)

    assert told_cluster(one) == ""
    assert one.status()["sentence"] == (
        "the Cluster c in a is being deleted, and its machines with it (delete the pool as well)"
    )


def test_a_machine_deployment_of_others_is_left_alone_and_named(one: OneOperator) -> None:
    spec = {"clusterName": "c", "replicas": 7}
    one.server.put(MACHINE_DEPLOYMENTS, "workers", spec=spec)
    one.declare()

    one.passes(3)

    assert one.status()["state"] == "Blocked"
    assert one.status()["sentence"] == (
        "MachineDeployment workers in a is there and not ours "
        "(rename the pool, or delete what has its name)"
    )
    found = one.server.get(MACHINE_DEPLOYMENTS, "workers")
    assert found is not None
    assert found["spec"] == spec
