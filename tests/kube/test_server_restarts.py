"""An API server that dies and comes back in the middle of rollouts, with and without a history."""

import random
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from fairlead.kube.resource import MACHINES, PLATFORM_CONFIGS
from kube.cluster import running_cluster
from kube.cluster_api import install_all, running_provider
from kube.fleet import NAMESPACE, Fleet, wait_until
from kube.invariants import Budgets, missing_pairs

pytestmark = pytest.mark.slow

SEED = 20261118
POOLS = [f"restarted-{number}" for number in range(2)]


@pytest.fixture
def careful(tmp_path: Path) -> Iterator[Fleet]:
    """A fleet whose core waits for its own writes, as it does everywhere but in tests."""
    with running_cluster(tmp_path / "careful") as cluster:
        install_all(cluster)
        with running_provider(cluster, NAMESPACE) as provider:
            provider.declare_template("small", size="small")
            fleet = Fleet(cluster, provider)
            fleet.start_operator()
            yield fleet
            fleet.stop_operators()
            fleet.admin.close()


@pytest.fixture
def budgets(careful: Fleet) -> Iterator[Budgets]:
    following = Budgets(careful.cluster)
    for name in POOLS:
        following.expect(name, fewest=1, most=2)
    following.start()
    yield following
    following.stop()


def restart(fleet: Fleet, chance: random.Random, *, forgets: bool) -> None:
    """Let the server die at a moment that is drawn, and come back, with its history or without."""
    time.sleep(chance.uniform(0.0, 3.0))
    if forgets:
        _, version = fleet.admin.list_all(MACHINES, NAMESPACE)
        fleet.cluster.forget_history(version)
        return
    fleet.cluster.kill_server()
    time.sleep(chance.uniform(0.0, 1.5))
    fleet.cluster.start_server()


def change_platform(fleet: Fleet) -> None:
    document = {
        "apiVersion": PLATFORM_CONFIGS.api_version,
        "kind": "PlatformConfig",
        "metadata": {"name": "platform", "namespace": NAMESPACE},
        "spec": {"proxy": {"image": "registry.example.test/proxy:2"}},
    }
    fleet.admin.apply(PLATFORM_CONFIGS, document, manager="owner")


def test_rollouts_end_although_the_server_dies_and_only_what_was_declared_rolls(
    careful: Fleet, budgets: Budgets
) -> None:
    fleet, chance = careful, random.Random(SEED)
    for name in POOLS:
        fleet.declare(name, replicas=1)
    for name in POOLS:
        fleet.settle(name)
    for name in POOLS:
        fleet.declare(name, replicas=1, release={"version": "1.34.3"})
    restart(fleet, chance, forgets=False)
    restart(fleet, chance, forgets=True)
    for name in POOLS:
        fleet.settle(name, 120)
        assert fleet.deployment(name)["metadata"]["generation"] == 2
    assert missing_pairs(fleet.admin, POOLS) == []

    before = {name: fleet.machines(name) for name in POOLS}
    change_platform(fleet)
    restart(fleet, chance, forgets=False)
    for name in POOLS:
        wait_until(lambda name=name: fleet.state(name) == "Drifted")  # type: ignore[misc]
        assert fleet.deployment(name)["metadata"]["generation"] == 2
    assert {name: fleet.machines(name) for name in POOLS} == before
    assert budgets.looks > 0
    assert budgets.violations == []
