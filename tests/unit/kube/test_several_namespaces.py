"""An operator for the pools of some namespaces asks about no other, and about all at once never."""

from collections.abc import Iterator

import pytest

from fairlead.inputs.platform_inputs import Stub
from fairlead.kube.informer import Key
from fairlead.kube.operator import Operator, Settings
from fairlead.kube.resource import (
    CLUSTERS,
    MACHINE_DEPLOYMENTS,
    MACHINES,
    NODE_POOLS,
    PLATFORM_CONFIGS,
    SECRETS,
)
from unit.kube.one_operator import SPEC, STUB, OneOperator, one_operator


@pytest.fixture
def one() -> Iterator[OneOperator]:
    """Pools in three namespaces, of which the operator, at home in a fourth, follows two."""
    with one_operator() as one:
        for namespace in ("a", "b", "c"):
            place = {"namespace": namespace, "generation": 1}
            one.server.put(NODE_POOLS, "workers", metadata=place, spec=SPEC)
            one.server.put(CLUSTERS, "c", metadata={"namespace": namespace}, spec={})
        settings = Settings(
            namespace="home", identity="one", stub=STUB, pools_in=("b", "a"), together_s=0.0
        )
        one.operator = Operator(one.client, settings, one.said.append, now=lambda: one.now)
        yield one


def test_nothing_is_asked_beyond_the_namespaces_and_the_platform_of_home(one: OneOperator) -> None:
    one.server.asked.clear()
    one.passes(3)

    paths = {path.partition("?")[0] for _, path in one.server.asked}
    named = {path.split("/namespaces/")[1].split("/")[0] for path in paths if "namespaces" in path}
    assert named == {"a", "b", "home"}
    # What a server says of itself has no namespace.
    about = {path for path in paths if "namespaces" not in path}
    assert about == {"/apis/infra.example.test", "/apis/infra.example.test/v1"}
    at_home = {path for path in paths if "/namespaces/home/" in path}
    assert at_home == {PLATFORM_CONFIGS.path("home")}


def test_pools_of_the_namespaces_are_known_in_order_and_those_of_others_are_not(
    one: OneOperator,
) -> None:
    one.passes()

    assert one.operator.world.pools.list_pools() == ("a/workers", "b/workers")
    assert one.operator.world.pools.is_gone("c/workers")
    woken = [one.operator.queue.take() for _ in range(one.operator.queue.depth)]
    assert sorted(map(str, woken)) == ["a/workers", "b/workers"]


def test_a_pool_lives_as_it_does_where_all_are_followed(one: OneOperator) -> None:
    one.passes(3)

    assert one.server.get(MACHINE_DEPLOYMENTS, "workers") is not None
    assert one.status()["state"] == "RollingOut"
    assert [path for path in one.server.objects if path.startswith(SECRETS.path("a", "token-"))]
    assert one.passes(2) == []
    one.server.put(MACHINES, "m", metadata={"labels": {"fairlead.dev/pool": "workers"}})
    noted = list[Key]()
    one.operator.world.copies.follow_keys(MACHINES, noted.append)
    one.operator.world.copies.look()
    assert noted == [("a", "m")]
    assert [
        found["metadata"]["name"] for found in one.operator.world.copies.list_all(MACHINES)
    ] == ["m"]


def test_the_platform_of_home_counts_where_a_namespace_has_none(one: OneOperator) -> None:
    one.server.put(
        PLATFORM_CONFIGS, "platform", metadata={"namespace": "home"}, spec={"stopEverything": True}
    )
    one.passes(2)

    assert one.condition("ReconciliationActive")["status"] == "False"
    assert "kill switch" in one.condition("ReconciliationActive")["message"]


def test_each_pool_reads_the_platform_that_counts_for_it_as_it_is_now(one: OneOperator) -> None:
    pools = one.operator.world.pools

    def told() -> list[object]:
        one.operator.world.copies.look()
        found = [pools.read_documents(f"{namespace}/workers").platform for namespace in "abab"]
        return [platform["spec"].get("cloudConfig") for platform in found]  # type: ignore[index]

    assert told() == [None, None, None, None]
    at_home = {"namespace": "home"}
    one.server.put(PLATFORM_CONFIGS, "platform", metadata=at_home, spec={"cloudConfig": "home"})
    assert told() == ["home", "home", "home", "home"]
    one.server.put(PLATFORM_CONFIGS, "platform", spec={"cloudConfig": "a"})
    assert told() == ["a", "home", "a", "home"]
    one.server.put(PLATFORM_CONFIGS, "platform", spec={"cloudConfig": "other"})
    assert told() == ["other", "home", "other", "home"]
    one.server.remove(PLATFORM_CONFIGS, "platform")
    assert told() == ["home", "home", "home", "home"]

    before = pools.read_documents("a/workers").platform
    pools.stub = Stub(endpoint="https://other.example.test/v1/config")
    after = pools.read_documents("a/workers").platform
    assert [one["spec"]["stub"]["endpoint"] for one in (before, after)] == [  # type: ignore[index]
        "https://payload.example.test/v1/config",
        "https://other.example.test/v1/config",
    ]
