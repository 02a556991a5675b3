"""The whole way, on real parts: NodePools become nodes that run pods, and follow their owner."""

import base64
from collections.abc import Iterator
from typing import Any

import pytest

from boot.fixed_nodes import build, offer
from fairlead.kube.resource import (
    MACHINE_SETS,
    NODES,
    PLATFORM_CONFIGS,
    PODS,
    SECRETS,
    Resource,
)
from hotfix_depot import BASE
from kube.fleet import NAMESPACE
from kube.nspawn_provider import SEED
from kube.real_nodes import CONTAINED, RealNodes, is_true, real_nodes

pytestmark = [pytest.mark.root, pytest.mark.slow]

POOL = "workers"
FIX = f"{BASE}.1"
STAYING = "staying"
FILE = "/etc/written-by-the-pool"
BUDGETS = Resource("policy", "v1", "poddisruptionbudgets", "PodDisruptionBudget")


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RealNodes]:
    with real_nodes(tmp_path_factory.mktemp("real")) as running:
        yield running


def test_a_pool_becomes_nodes_that_run_pods_and_follows_its_owner(world: RealNodes) -> None:
    with world.telling(POOL):
        first = a_pool_becomes_a_node(world)
        the_node_runs_a_pod(world, first)
        a_platform_change_is_held(world, first)
        second = another_version_replaces_the_node(world, first)
        a_fix_reaches_the_next_node(world, second)


def a_pool_becomes_a_node(world: RealNodes) -> str:
    world.declare(POOL, "1.36.3")
    world.settle(POOL)

    (name,) = world.fleet.machines(POOL)
    machine, node = world.machine(name), world.node(name)
    assert machine["status"]["phase"] == "Running"
    assert machine["status"]["nodeRef"]["name"] == name
    assert is_true(node, "Ready")
    assert node["status"]["nodeInfo"]["kubeletVersion"] == "v1.36.3"
    assert node["status"]["nodeInfo"]["containerRuntimeVersion"].startswith("containerd://1.6.")
    told = world.fleet.admin.find(
        SECRETS, machine["spec"]["bootstrap"]["dataSecretName"], NAMESPACE
    )
    assert told is not None
    booted_from = (world.provider.nodes[name].root / SEED / "user-data").read_bytes()
    assert booted_from == base64.b64decode(told["data"]["value"])
    report = world.report_of(name)
    assert report.exit_code == 0
    assert report.facts["hotfix"] == {"baked": f"{BASE}.0", "checked": "noHotfixAvailable"}
    return name


def the_node_runs_a_pod(world: RealNodes, node: str) -> None:
    world.run_pod("web", node)

    pod = world.fleet.admin.find(PODS, "web", NAMESPACE)
    assert pod is not None
    assert pod["status"]["phase"] == "Running"
    assert pod["status"]["podIP"].startswith("10.88.0.")


def a_platform_change_is_held(world: RealNodes, machine: str) -> None:
    fleet = world.fleet
    before = fleet.deployment(POOL)["metadata"]["generation"]
    platform = {
        "apiVersion": PLATFORM_CONFIGS.api_version,
        "kind": "PlatformConfig",
        "metadata": {"name": "platform", "namespace": NAMESPACE},
        "spec": {"proxy": {"image": "registry.example.test/proxy:2"}},
    }
    fleet.admin.apply(PLATFORM_CONFIGS, platform, manager="owner")

    world.wait_until(lambda: fleet.state(POOL) == "Drifted", lambda: fleet.pool(POOL)["status"])

    assert fleet.deployment(POOL)["metadata"]["generation"] == before
    assert fleet.machines(POOL) == [machine]
    assert world.nodes_of(POOL) == [machine]


def another_version_replaces_the_node(world: RealNodes, before: str) -> str:
    world.declare(POOL, "1.36.4")
    world.settle(POOL)

    fleet = world.fleet
    (name,) = fleet.machines(POOL)
    assert name != before
    assert world.machine(name)["status"]["phase"] == "Running"
    assert world.node(name)["status"]["nodeInfo"]["kubeletVersion"] == "v1.36.4"
    assert fleet.admin.find(NODES, before) is None
    assert world.nodes_of(POOL) == [name]
    world.wait_until(lambda: fleet.admin.find(PODS, "web", NAMESPACE) is None)
    assert "used" not in world.report_of(name).facts["hotfix"]
    return name


def a_fix_reaches_the_next_node(world: RealNodes, before: str) -> None:
    offer(world.publishing, FIX, build(world.directory, FIX))
    generation = world.fleet.deployment(POOL)["metadata"]["generation"]
    world.declare(POOL, "1.36.4", replicas=2)
    world.settle(POOL)

    assert world.fleet.deployment(POOL)["metadata"]["generation"] == generation + 1
    (name,) = set(world.fleet.machines(POOL)) - {before}
    fact = world.report_of(name).facts["hotfix"]
    assert (fact["baked"], fact["used"]) == (f"{BASE}.0", FIX)
    assert is_true(world.node(name), "Ready")
    assert is_true(world.node(before), "Ready")


def test_a_pool_in_place_changes_its_node_by_a_job_and_keeps_it(world: RealNodes) -> None:
    with world.telling(STAYING):
        declare_staying(world, "one")
        world.settle(STAYING)
        (name,) = world.fleet.machines(STAYING)
        before = what_stays(world, name)
        world.run_pod("guarded", name)
        a_budget_keeps_the_node_from_changing(world, name)
        another_config_changes_the_node(world, name)
        assert what_stays(world, name) == before
        a_change_that_ends_the_kubelet_is_told_in_its_words(world, name)
        assert what_stays(world, name) == before


def declare_staying(world: RealNodes, text: str, **kubelet: Any) -> None:
    kubelet_config = {"kind": "KubeletConfiguration", **CONTAINED, **kubelet}
    files = {"kind": "Files", "files": [{"path": FILE, "content": text}]}
    world.declare(STAYING, "1.36.4", management={"type": "InPlace"}, config=[kubelet_config, files])


def what_stays(world: RealNodes, name: str) -> list[str]:
    """What would be another one, had the machine been replaced or booted again."""
    assert world.fleet.machines(STAYING) == [name]
    machine, node = world.machine(name), world.node(name)
    begun = world.provider.nodes[name].enter("systemctl", "show", "-pUserspaceTimestampMonotonic")
    assert begun.returncode == 0
    return [machine["metadata"]["uid"], node["metadata"]["uid"], begun.stdout]


def told(world: RealNodes) -> str:
    """All that the pool says."""
    status = world.fleet.pool(STAYING)["status"]
    return " ".join([status["sentence"], *(one["message"] for one in status["conditions"])])


def a_budget_keeps_the_node_from_changing(world: RealNodes, name: str) -> None:
    budget = {
        "apiVersion": BUDGETS.api_version,
        "kind": BUDGETS.kind,
        "metadata": {"name": "always-one", "namespace": NAMESPACE},
        "spec": {"minAvailable": 1, "selector": {"matchLabels": {"app": "guarded"}}},
    }
    world.fleet.admin.apply(BUDGETS, budget, manager="owner")

    declare_staying(world, "two", maxPods=42)
    blocked = f"{name}: its drain waits for pod default/guarded: "
    world.wait_until(lambda: blocked in told(world), lambda: told(world))

    assert "The disruption budget always-one needs 1 healthy pods" in told(world)
    assert world.node(name)["spec"]["unschedulable"] is True
    assert world.provider.nodes[name].read(FILE) == "one"
    world.fleet.admin.delete(BUDGETS, "always-one", NAMESPACE)


def another_config_changes_the_node(world: RealNodes, name: str) -> None:
    target = world.fleet.admin.find(MACHINE_SETS, STAYING, NAMESPACE)
    assert target is not None
    user_data = target["spec"]["template"]["spec"]["bootstrap"]["dataSecretName"]
    world.settle(STAYING)

    annotations = world.machine(name)["metadata"]["annotations"]
    assert f"user-data-{STAYING}-{annotations['fairlead.dev/revision']}" == user_data
    assert "fairlead.dev/heading-for" not in annotations
    assert world.provider.nodes[name].read(FILE) == "two"
    node = world.node(name)
    assert is_true(node, "Ready")
    assert node["status"]["capacity"]["pods"] == "42"
    assert "unschedulable" not in node["spec"]
    assert world.report_of(name).exit_code == 0
    assert world.fleet.admin.find(PODS, "guarded", NAMESPACE) is None
    world.run_pod("again", name)


def a_change_that_ends_the_kubelet_is_told_in_its_words(world: RealNodes, name: str) -> None:
    declare_staying(world, "three", cpuManagerPolicy="nonsense")
    world.wait_until(lambda: world.fleet.state(STAYING) == "Blocked", lambda: told(world))

    died = f"{name} failed on the way: its change failed: stage provision/start-kubelet: "
    assert died in told(world)
    assert r"unknown policy: \"nonsense\"" in told(world)
    assert world.node(name)["spec"]["unschedulable"] is True
