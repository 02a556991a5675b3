"""A deleted pool leaves, whatever of it is gone or damaged by then, and leaves nothing behind."""

from collections.abc import Callable, Iterator
from typing import Any

import pytest

from fairlead.kube.resource import (
    CLUSTERS,
    MACHINE_DEPLOYMENTS,
    MACHINE_HEALTH_CHECKS,
    MACHINES,
    NODE_POOLS,
    NODE_REVISIONS,
    ROLLOUT_PLANS,
    SECRETS,
    Resource,
)
from unit.kube.object_server import NAMESPACE
from unit.kube.one_operator import TEMPLATES, OneOperator, one_operator

DELETED_AT = "2026-11-18T02:00:30Z"


@pytest.fixture
def made() -> Iterator[OneOperator]:
    """A pool that repairs itself, was carried out, and has a machine."""
    with one_operator() as one:
        one.declare(autoRepair=True)
        one.passes(3)
        one.machine("first")
        one.passes(2)
        yield one


def names(one: OneOperator, resource: Resource, begin: str = "") -> list[str]:
    start = resource.path(NAMESPACE, "x").removesuffix("x") + begin
    return [path.rpartition("/")[2] for path in one.server.objects if path.startswith(start)]


def remove_all(one: OneOperator, resource: Resource, begin: str = "") -> None:
    for name in names(one, resource, begin):
        one.server.remove(resource, name)


def change(one: OneOperator, resource: Resource, name: str, **parts: Any) -> None:
    found = one.server.get(resource, name)
    assert found is not None
    metadata = {**found["metadata"], **parts.pop("metadata", {})}
    one.server.put(resource, name, **{**found, **parts, "metadata": metadata})


def delete_pool(one: OneOperator) -> None:
    change(one, NODE_POOLS, "workers", metadata={"deletionTimestamp": DELETED_AT, "generation": 2})


def finalizers(one: OneOperator) -> list[str]:
    found = one.server.get(NODE_POOLS, "workers")
    assert found is not None
    return list(found["metadata"]["finalizers"])


def without_revisions(one: OneOperator) -> None:
    remove_all(one, NODE_REVISIONS)


def with_damaged_secrets(one: OneOperator) -> None:
    for name in names(one, SECRETS, "token-") + names(one, SECRETS, "user-data-"):
        change(one, SECRETS, name, data={"kept": "Zm9v"})


def with_a_damaged_record(one: OneOperator) -> None:
    change(one, NODE_POOLS, "workers", status={**one.status(), "record": {"text": "{"}})


def with_a_damaged_machine(one: OneOperator) -> None:
    change(one, MACHINES, "first", metadata={"annotations": {"fairlead.dev/settings": "{"}})


def with_a_template_that_lost_its_annotation(one: OneOperator) -> None:
    change(one, MACHINE_DEPLOYMENTS, "workers", metadata={"annotations": {}})


def with_a_damaged_plan(one: OneOperator) -> None:
    one.server.put(
        ROLLOUT_PLANS, "plan", spec={"pool": "workers", "approved": True, "plan": {"steps": 7}}
    )


def without_provider_and_cluster(one: OneOperator) -> None:
    remove_all(one, TEMPLATES)
    remove_all(one, CLUSTERS)


@pytest.mark.parametrize(
    "happened",
    [
        without_revisions,
        with_damaged_secrets,
        with_a_damaged_record,
        with_a_damaged_machine,
        with_a_template_that_lost_its_annotation,
        with_a_damaged_plan,
        without_provider_and_cluster,
    ],
)
def test_a_pool_leaves_whatever_happened_to_it(
    made: OneOperator, happened: Callable[[OneOperator], None]
) -> None:
    happened(made)
    delete_pool(made)

    made.passes(2)
    told = made.server.get(MACHINE_DEPLOYMENTS, "workers")
    assert told is not None
    assert told["spec"]["replicas"] == 0
    assert finalizers(made) == ["fairlead.dev/pool"]

    made.server.remove(MACHINES, "first")
    made.passes(2)
    assert finalizers(made) == []


def test_a_pool_takes_along_what_cluster_api_made_its_machines_from(made: OneOperator) -> None:
    delete_pool(made)
    made.passes(2)
    # As whoever collects garbage does where a Cluster is an owner as well.
    change(made, MACHINE_DEPLOYMENTS, "workers", metadata={"ownerReferences": []})
    made.server.remove(MACHINES, "first")

    made.passes(2)

    assert names(made, MACHINE_DEPLOYMENTS) == []
    assert names(made, MACHINE_HEALTH_CHECKS) == []
    assert names(made, TEMPLATES) == ["small"]


def test_a_machine_deployment_of_others_stays_when_a_pool_of_its_name_leaves() -> None:
    with one_operator() as one:
        template = {"clusterName": "c", "bootstrap": {}, "infrastructureRef": {}}
        spec = {"clusterName": "c", "replicas": 3, "template": {"spec": template}}
        labels = {"fairlead.dev/pool": "workers"}
        one.server.put(MACHINE_DEPLOYMENTS, "workers", metadata={"labels": labels}, spec=spec)
        one.declare()
        one.passes(2)
        assert "is there and not ours" in one.status()["sentence"]

        delete_pool(one)
        one.passes(2)

        assert finalizers(one) == []
        found = one.server.get(MACHINE_DEPLOYMENTS, "workers")
        assert found is not None
        assert found["spec"] == spec


def test_a_pool_whose_name_no_machine_could_have_leaves() -> None:
    with one_operator() as one:
        metadata = {"deletionTimestamp": DELETED_AT, "finalizers": ["fairlead.dev/pool"]}
        one.server.put(NODE_POOLS, "a.b", metadata=metadata, spec={})
        one.operator.world.copies.look()

        one.operator.make_pass(f"{NAMESPACE}/a.b")

        found = one.server.get(NODE_POOLS, "a.b")
        assert found is not None
        assert found["metadata"]["finalizers"] == []
