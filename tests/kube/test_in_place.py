"""Pools that change in place: no Machine is replaced, nodes are drained and changed by Jobs."""

import threading
from collections.abc import Iterator
from contextlib import suppress
from typing import Any

import pytest

from fairlead.errors import FairleadError, InputError
from fairlead.kube.answer import Object
from fairlead.kube.client import connect
from fairlead.kube.resource import (
    JOBS,
    MACHINE_DEPLOYMENTS,
    MACHINE_SETS,
    MACHINES,
    NODES,
    PLATFORM_CONFIGS,
    PODS,
    Resource,
)
from kube.fleet import NAMESPACE, Fleet, wait_until
from kube.job_nodes import KUBE_SYSTEM, Asked, JobNodes, running_nodes

pytestmark = pytest.mark.slow

BUDGETS = Resource("policy", "v1", "poddisruptionbudgets", "PodDisruptionBudget")
IN_PLACE = {"type": "InPlace"}


class Watched:
    """Every event of a pool's Machines: how many were ever being changed at once."""

    def __init__(self, fleet: Fleet, pool: str) -> None:
        self._client = connect(fleet.cluster.admin)
        label = f"fairlead.dev/pool={pool}"
        _, version = self._client.list_all(MACHINES, NAMESPACE, label)
        self._watch = self._client.watch(MACHINES, version, NAMESPACE, label)
        self._under_way: dict[str, bool] = {}
        self.most = 0
        self.order: list[str] = []
        self._thread = threading.Thread(target=self._follow, daemon=True)
        self._thread.start()

    def _follow(self) -> None:
        with suppress(FairleadError):
            for change in self._watch:
                if change.kind == "BOOKMARK":
                    continue
                name = change.object["metadata"]["name"]
                is_changing = "fairlead.dev/heading-for" in annotations(change.object)
                if is_changing and not self._under_way.get(name):
                    self.order.append(name)
                self._under_way[name] = is_changing
                self.most = max(self.most, sum(self._under_way.values()))

    def end(self) -> None:
        self._watch.cut()
        self._thread.join(30)
        self._client.close()


@pytest.fixture
def nodes(unmanned: Fleet) -> Iterator[JobNodes]:
    with running_nodes(unmanned.cluster) as running:
        yield running


def annotations(found: Object) -> dict[str, str]:
    return dict(found["metadata"].get("annotations") or {})


def machines(fleet: Fleet, pool: str) -> dict[str, Object]:
    found, _ = fleet.admin.list_all(MACHINES, NAMESPACE, f"fairlead.dev/pool={pool}")
    return {one["metadata"]["name"]: one for one in found}


def uids(fleet: Fleet, pool: str) -> dict[str, str]:
    return {name: one["metadata"]["uid"] for name, one in machines(fleet, pool).items()}


def machine_set(fleet: Fleet, pool: str) -> Object:
    found = fleet.admin.find(MACHINE_SETS, pool, NAMESPACE)
    assert found is not None
    return found


def target(fleet: Fleet, pool: str) -> str:
    told = machine_set(fleet, pool)["spec"]["template"]["spec"]["bootstrap"]["dataSecretName"]
    return str(told).removeprefix(f"user-data-{pool}-")


def revisions(fleet: Fleet, pool: str) -> set[str]:
    return {annotations(one)["fairlead.dev/revision"] for one in machines(fleet, pool).values()}


def closed(fleet: Fleet, pool: str) -> list[str]:
    names = machines(fleet, pool)
    found, _ = fleet.admin.list_all(NODES)
    return [
        one["metadata"]["name"]
        for one in found
        if one["metadata"]["name"] in names and one["spec"].get("unschedulable")
    ]


def change_jobs(fleet: Fleet, pool: str) -> list[Object]:
    found, _ = fleet.admin.list_all(JOBS, KUBE_SYSTEM, "fairlead.dev/changes")
    names = machines(fleet, pool)
    return [one for one in found if one["metadata"]["labels"]["fairlead.dev/changes"] in names]


def job_uids(fleet: Fleet, pool: str) -> list[str]:
    return [one["metadata"]["uid"] for one in change_jobs(fleet, pool)]


def all_words(fleet: Fleet, pool: str) -> str:
    status = fleet.pool(pool)["status"]
    return " ".join([status["sentence"], *(one["message"] for one in status["conditions"])])


def test_another_version_changes_machines_one_by_one_and_replaces_none(
    fleet: Fleet, nodes: JobNodes
) -> None:
    fleet.declare("stay", replicas=3, management=IN_PLACE)
    fleet.settle("stay")
    before = uids(fleet, "stay")
    assert len(before) == 3
    assert fleet.admin.find(MACHINE_DEPLOYMENTS, "stay", NAMESPACE) is None
    watched = Watched(fleet, "stay")

    fleet.declare("stay", replicas=3, management=IN_PLACE, release={"version": "1.34.3"})
    fleet.settle("stay")
    watched.end()

    assert uids(fleet, "stay") == before
    assert watched.most == 1
    assert sorted(watched.order) == sorted(before)
    assert [asked.node for asked in nodes.ran] == watched.order
    assert all(asked.is_closed for asked in nodes.ran)
    assert closed(fleet, "stay") == []
    assert revisions(fleet, "stay") == {target(fleet, "stay")}
    assert fleet.pool("stay")["status"]["version"] == "1.34.3"
    wait_until(lambda: change_jobs(fleet, "stay") == [])

    generation = machine_set(fleet, "stay")["metadata"]["generation"]
    fleet.admin.apply(PLATFORM_CONFIGS, platform_with_another_proxy(), manager="owner")
    wait_until(lambda: fleet.state("stay") == "Drifted", lambda: fleet.pool("stay")["status"])
    assert machine_set(fleet, "stay")["metadata"]["generation"] == generation
    assert len(nodes.ran) == 3
    fleet.admin.delete(PLATFORM_CONFIGS, "platform", NAMESPACE)
    fleet.settle("stay")
    assert uids(fleet, "stay") == before

    fleet.cluster.kubectl("delete", "np/stay", "--wait=false")
    wait_until(lambda: fleet.machines("stay") == [], lambda: fleet.pool("stay")["status"])


def platform_with_another_proxy() -> Object:
    return {
        "apiVersion": PLATFORM_CONFIGS.api_version,
        "kind": "PlatformConfig",
        "metadata": {"name": "platform", "namespace": NAMESPACE},
        "spec": {"proxy": {"image": "registry.example.test/proxy:2"}},
    }


def test_a_drain_that_a_budget_blocks_is_named_and_goes_on_when_it_has_room(
    fleet: Fleet, nodes: JobNodes
) -> None:
    fleet.declare("full", replicas=1, management=IN_PLACE)
    fleet.settle("full")
    (node,) = machines(fleet, "full")
    run_pod(fleet, "web", node)
    budget = {
        "apiVersion": "policy/v1",
        "kind": "PodDisruptionBudget",
        "metadata": {"name": "always-one", "namespace": NAMESPACE},
        "spec": {"minAvailable": 1, "selector": {"matchLabels": {"app": "web"}}},
    }
    fleet.admin.apply(BUDGETS, budget, manager="owner")

    fleet.declare("full", replicas=1, management=IN_PLACE, release={"version": "1.34.3"})
    wait_until(lambda: "always-one" in all_words(fleet, "full"), lambda: all_words(fleet, "full"))

    assert f"{node}: its drain waits for pod default/web: " in all_words(fleet, "full")
    assert "The disruption budget always-one needs 1 healthy pods" in all_words(fleet, "full")
    assert closed(fleet, "full") == [node]
    assert nodes.ran == []
    assert fleet.admin.find(PODS, "web", NAMESPACE) is not None

    fleet.admin.delete(BUDGETS, "always-one", NAMESPACE)
    fleet.settle("full")
    assert fleet.admin.find(PODS, "web", NAMESPACE) is None
    assert closed(fleet, "full") == []


def test_a_drain_ends_with_its_time_whatever_a_budget_says(fleet: Fleet, nodes: JobNodes) -> None:
    spec: dict[str, Any] = {"replicas": 1, "management": IN_PLACE, "timeouts": {"drain": "3s"}}
    fleet.declare("hurry", NAMESPACE, **spec)
    fleet.settle("hurry")
    (node,) = machines(fleet, "hurry")
    run_pod(fleet, "kept", node)
    fleet.admin.apply(
        BUDGETS,
        {
            "apiVersion": "policy/v1",
            "kind": "PodDisruptionBudget",
            "metadata": {"name": "kept", "namespace": NAMESPACE},
            "spec": {"minAvailable": 1, "selector": {"matchLabels": {"app": "kept"}}},
        },
        manager="owner",
    )

    fleet.declare("hurry", NAMESPACE, **spec, release={"version": "1.34.3"})
    fleet.settle("hurry")

    assert [asked.node for asked in nodes.ran] == [node]
    assert fleet.admin.find(PODS, "kept", NAMESPACE) is not None


def run_pod(fleet: Fleet, name: str, node: str) -> None:
    """A pod that runs on a node and is ready, as far as anybody can see."""
    wait_until(lambda: fleet.cluster.kubectl("get", "sa", "-o", "name").strip() != "")
    spec = {
        "nodeName": node,
        "terminationGracePeriodSeconds": 0,
        "containers": [{"name": "web", "image": "web"}],
    }
    metadata = {"name": name, "namespace": NAMESPACE, "labels": {"app": name}}
    made = fleet.admin.create(
        PODS, {"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": spec}
    )
    ready = {"type": "Ready", "status": "True"}
    status = {"phase": "Running", "conditions": [ready]}
    fleet.admin.replace(PODS, {**made, "status": status}, "status")


def test_a_node_that_fails_halts_the_pool_and_is_named(fleet: Fleet, nodes: JobNodes) -> None:
    def fails(_asked: Asked) -> tuple[int, str]:
        return 50, "fairlead-node: provision failed: exitCode=50 error=no such package\n"

    fleet.declare("sick", replicas=3, management=IN_PLACE)
    fleet.settle("sick")
    before = uids(fleet, "sick")
    nodes.run = fails

    fleet.declare("sick", replicas=3, management=IN_PLACE, release={"version": "1.34.3"})
    wait_until(lambda: fleet.state("sick") == "Blocked", lambda: fleet.pool("sick")["status"])

    (failed,) = {asked.node for asked in nodes.ran}
    assert len(nodes.ran) == 1
    says = f"{failed} failed on the way: its change failed: fairlead-node: provision failed: "
    assert says in all_words(fleet, "sick")
    assert "no such package (exit 50)" in all_words(fleet, "sick")
    assert uids(fleet, "sick") == before
    assert closed(fleet, "sick") == [failed]

    nodes.run = lambda _asked: (0, "")
    fleet.declare(
        "sick",
        replicas=3,
        management=IN_PLACE,
        release={"version": "1.34.3"},
        rollout={"resume": "1"},
    )
    fleet.settle("sick")
    assert set(before) - set(uids(fleet, "sick")) == {failed}
    assert len(uids(fleet, "sick")) == 3


def test_what_is_under_way_to_an_older_target_is_redirected(fleet: Fleet, nodes: JobNodes) -> None:
    fleet.declare("turn", replicas=2, management=IN_PLACE)
    fleet.settle("turn")
    before = uids(fleet, "turn")
    nodes.holds_all = True
    fleet.declare("turn", replicas=2, management=IN_PLACE, release={"version": "1.34.3"})
    wait_until(lambda: len(change_jobs(fleet, "turn")) == 1)
    first_job, middle = job_uids(fleet, "turn"), target(fleet, "turn")

    fleet.declare("turn", replicas=2, management=IN_PLACE, release={"version": "1.34.4"})
    wait_until(lambda: target(fleet, "turn") != middle)
    wait_until(lambda: job_uids(fleet, "turn") not in ([], first_job))
    (first,) = {
        name
        for name, one in machines(fleet, "turn").items()
        if "fairlead.dev/heading-for" in annotations(one)
    }
    nodes.holds_all = False
    fleet.settle("turn")

    assert nodes.ran[0].node == first
    assert len(nodes.ran) == 2, "the middle one was never carried out"
    assert revisions(fleet, "turn") == {target(fleet, "turn")}
    assert uids(fleet, "turn") == before


def test_an_operator_that_takes_over_goes_on_with_what_is_under_way(
    fleet: Fleet, nodes: JobNodes
) -> None:
    fleet.declare("taken", replicas=2, management=IN_PLACE)
    fleet.settle("taken")
    before = uids(fleet, "taken")
    nodes.holds_all = True
    fleet.declare("taken", replicas=2, management=IN_PLACE, release={"version": "1.34.3"})
    wait_until(lambda: len(change_jobs(fleet, "taken")) == 1)

    fleet.stop_operators()
    nodes.holds_all = False
    wait_until(lambda: len(nodes.ran) == 1)
    fleet.start_operator("two")
    fleet.settle("taken")

    assert len(nodes.ran) == 2
    assert uids(fleet, "taken") == before
    assert closed(fleet, "taken") == []


def test_a_pool_never_changes_from_or_to_in_place(fleet: Fleet) -> None:
    fleet.declare("staying", replicas=0, management=IN_PLACE)

    with pytest.raises(InputError, match="cannot change from or to InPlace: make another pool"):
        fleet.declare("staying", replicas=0, management={"type": "Replace"})
