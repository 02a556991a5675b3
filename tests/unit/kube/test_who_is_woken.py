"""What happens in a cluster wakes the pools that it concerns, and no others."""

from collections.abc import Iterator
from typing import Any

import pytest

from fairlead.kube.copies import Copies
from fairlead.kube.informer import Key
from fairlead.kube.resource import (
    CLUSTERS,
    NODE_POOLS,
    PLATFORM_CONFIGS,
    ROLLOUT_PLANS,
    SECRETS,
    Resource,
)
from fairlead.kube.world import CLUSTER_API
from unit.kube.one_operator import OneOperator, one_operator
from unit.kube.small_server import SmallServer, client_of, small_server, wait_until

ALL = ["a/one", "a/two", "b/one", "home/one"]


@pytest.fixture
def many() -> Iterator[OneOperator]:
    """Pools in three namespaces, one of which is the operator's; all were looked at."""
    with one_operator() as one:
        for pool in ALL:
            namespace, _, name = pool.partition("/")
            one.server.put(NODE_POOLS, name, metadata={"namespace": namespace}, spec={})
        assert woken(one) == ALL
        yield one


def woken(one: OneOperator) -> list[str]:
    """Who is woken by what happened since the last look."""
    one.operator.world.copies.look()
    found = []
    while one.operator.queue.depth:
        found.append(str(one.operator.queue.take()))
        one.operator.queue.done(found[-1])
    return sorted(found)


def put(one: OneOperator, resource: Resource, name: str, namespace: str, **parts: Any) -> None:
    metadata = {"namespace": namespace, **parts.pop("metadata", {})}
    one.server.put(resource, name, metadata=metadata, **parts)


def test_a_cluster_wakes_the_pools_of_its_namespace(many: OneOperator) -> None:
    put(many, CLUSTERS, "another", "b", spec={})
    assert woken(many) == ["b/one"]

    del many.server.objects[CLUSTERS.path("b", "another")]
    assert woken(many) == ["b/one"]


def test_a_cluster_whose_machines_change_wakes_nobody(many: OneOperator) -> None:
    put(many, CLUSTERS, "c", "a", spec={}, status={"workers": {"replicas": 7}})

    assert woken(many) == []


def test_a_cluster_whose_control_plane_has_another_version_wakes_its_pools(
    many: OneOperator,
) -> None:
    told = {"versions": [{"version": "v1.34.1"}, {"version": "v1.35.0"}]}
    put(many, CLUSTERS, "c", "a", spec={}, status={"controlPlane": told})
    assert woken(many) == ["a/one", "a/two"]

    put(many, CLUSTERS, "c", "a", spec={}, status={"controlPlane": {**told, "replicas": 2}})
    assert woken(many) == []


def test_a_platform_wakes_the_pools_that_it_may_count_for(many: OneOperator) -> None:
    put(many, PLATFORM_CONFIGS, "platform", "b", spec={})
    assert woken(many) == ["b/one"]

    put(many, PLATFORM_CONFIGS, "platform", "home", spec={})
    assert woken(many) == ALL

    put(many, PLATFORM_CONFIGS, "platform", "b", spec={"noProxy": [".svc"]})
    assert woken(many) == ["b/one"]


def test_a_platform_of_another_name_wakes_nobody(many: OneOperator) -> None:
    put(many, PLATFORM_CONFIGS, "mine", "a", spec={})
    put(many, PLATFORM_CONFIGS, "mine", "home", spec={})

    assert woken(many) == []


def test_what_names_no_pool_wakes_nobody(many: OneOperator) -> None:
    put(many, ROLLOUT_PLANS, "plan", "a", spec={})
    put(many, SECRETS, "secret", "a", metadata={"labels": {"fairlead.dev/pool": ""}})

    assert woken(many) == []


def bring(server: SmallServer, copies: Copies, kind: str, version: int) -> None:
    """Let the watch bring a change of a Cluster, and wait until it was taken in."""
    seen = list[Key]()
    copies.follow_keys(CLUSTERS, seen.append)
    before = len(seen)
    metadata = {"namespace": "a", "name": "c", "uid": "u", "resourceVersion": str(version)}
    server.tell(kind, {"metadata": metadata})
    wait_until(lambda: len(seen) > before)


def test_a_watch_of_clusters_tells_that_they_come_and_go_and_nothing_between() -> None:
    told: list[str] = []
    server = SmallServer()
    server.reply = lambda *_: (200, {"metadata": {"resourceVersion": "10"}, "items": []}, False)
    with small_server(server) as address, client_of(address) as client:
        copies = Copies(client, {CLUSTERS: CLUSTER_API[CLUSTERS]}, told.append, lambda _: None)
        copies.start()
        for version, kind in enumerate(["ADDED", "MODIFIED", "MODIFIED", "DELETED"], 11):
            bring(server, copies, kind, version)
        server.lines.put(None)
        copies.stop()

    assert told == ["a/", "a/"]
