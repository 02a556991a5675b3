"""
Many machines whose nodes KWOK plays, in pools that roll; and what must hold meanwhile.

The provider makes a Node that says nothing; the `kwok` program makes it ready and keeps its lease,
as a kubelet would.
"""

import contextlib
import re
import threading
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from fairlead.kube.answer import Object
from fairlead.kube.client import connect
from fairlead.kube.informer import Informer, Selection
from fairlead.kube.resource import NODE_POOLS
from kube.built_tools import module_of
from kube.cluster import TestCluster, running_cluster
from kube.cluster_api import IN_HASTE, Provider, install_all, providing, ready_node
from kube.fleet import NAMESPACE, Fleet
from kube.invariants import Budgets

STAGES = ("fast/node-initialize.yaml", "heartbeat-with-lease/node-heartbeat-with-lease.yaml")
PLAYED = "kwok.x-k8s.io/node"

# Of every pool while it rolls, as its owner declares it.
MAX_SURGE, MAX_UNAVAILABLE = 3, 1
BEFORE, AFTER = "1.34.2", "1.34.3"

_TOLD = re.compile(r"(\d+) of (\d+) machines have it")


class KwokProvider(Provider):
    """Nodes begin with a version and no condition: whatever they say is KWOK's word."""

    looks_every_s = 0.5  # a look reads every machine

    def make_node(self, name: str, identity: str, version: str) -> Object:
        node = ready_node(name, identity, version)
        node["metadata"]["annotations"] = {PLAYED: "fake"}
        del node["status"]["conditions"]
        return node


@contextlib.contextmanager
def running_kwok_fleet(directory: Path) -> Iterator[Fleet]:
    """A server with Cluster API, KWOK and an operator, for as long as the block runs."""
    with running_cluster(directory) as cluster:
        install_all(cluster, IN_HASTE)
        _start_kwok(cluster)
        with providing(KwokProvider(cluster, NAMESPACE), cluster) as provider:
            provider.declare_template("small", size="small")
            fleet = Fleet(cluster, provider)
            fleet.start_operator()
            try:
                yield fleet
            finally:
                fleet.stop_operators()
                fleet.admin.close()


def _start_kwok(cluster: TestCluster) -> None:
    stages = module_of("kwok", "sigs.k8s.io/kwok") / "kustomize" / "stage" / "node"
    cluster.run(
        "kwok",
        f"--kubeconfig={cluster.admin}",
        f"--manage-nodes-with-annotation-selector={PLAYED}=fake",
        "--node-lease-duration-seconds=40",
        *(f"--config={stages / one}" for one in STAGES),
    )


class Progress:
    """
    Looks at every change of a NodePool's status, and notes what cannot be true of one rollout.

    updated never falls while a rollout goes on, never passes what is desired, is what the
    condition says in words, and is all of them when the pool says that it is settled.
    """

    def __init__(self, cluster: TestCluster) -> None:
        self._client = connect(cluster.admin)
        self._updated: dict[str, int] = {}
        self._lock = threading.Lock()
        self.wrong: list[str] = []
        self.steps: dict[str, list[int]] = {}
        selection = Selection(NAMESPACE)
        self._following = Informer(self._client, NODE_POOLS, self._look, lambda _: None, selection)

    def start(self) -> None:
        self._following.start()
        assert self._following.wait_until_synced(60)

    def stop(self) -> None:
        self._following.stop()
        self._client.close()

    def _look(self, pool: Object) -> None:
        status, name = pool.get("status") or {}, pool["metadata"]["name"]
        if status.get("observedGeneration") != pool["metadata"]["generation"]:
            return  # of what was declared before
        conditions = {one["type"]: one for one in status["conditions"]}
        told = conditions["UpdatingVersion"]
        with self._lock:
            if status.get("state") == "RollingOut" and pool["spec"]["release"]["version"] == AFTER:
                self._look_at_rollout(name, status, told)
            elif status.get("state") == "Settled":
                if (told["status"], told["reason"]) != ("False", "AsExpected"):
                    self.wrong.append(f"{name}: settled, and UpdatingVersion is {told['reason']}")
                if status["updated"] != status["desired"]:
                    self.wrong.append(f"{name}: settled with {status['updated']} updated")

    def _look_at_rollout(self, name: str, status: Object, told: Object) -> None:
        updated, desired = status["updated"], status["desired"]
        if updated < self._updated.get(name, 0) or updated > desired:
            self.wrong.append(f"{name}: {self._updated.get(name)} updated, then {updated}")
        if self._updated.get(name) != updated:
            self.steps.setdefault(name, []).append(updated)
        self._updated[name] = updated
        found = _TOLD.search(told["message"])
        if (told["status"], told["reason"]) != ("True", "RolloutInProgress") or found is None:
            self.wrong.append(f"{name}: rolls, and says {told['reason']}: {told['message']}")
        elif (int(found[1]), int(found[2])) != (updated, desired):
            self.wrong.append(f"{name}: {updated} of {desired}, and says {told['message']}")


@dataclass(frozen=True)
class Rolled:
    """What a rollout of all pools took, and what was seen meanwhile."""

    up_s: float
    roll_s: float
    looks: int
    violations: list[str]
    wrong: list[str]
    steps: dict[str, list[int]]


def roll_all(fleet: Fleet, pools: list[str], replicas: int, deadline_s: float) -> Rolled:
    """Bring pools up and give them another version, and look at every change on the way."""
    budgets, progress = Budgets(fleet.cluster), Progress(fleet.cluster)
    for name in pools:
        budgets.expect(name, replicas - MAX_UNAVAILABLE, replicas + MAX_SURGE)
    budgets.start()
    progress.start()
    try:
        up_s = _declare_and_settle(fleet, pools, replicas, BEFORE, deadline_s)
        roll_s = _declare_and_settle(fleet, pools, replicas, AFTER, deadline_s)
    finally:
        progress.stop()
        budgets.stop()
    return Rolled(
        *(up_s, roll_s, budgets.looks, budgets.violations, progress.wrong, progress.steps)
    )


def _declare_and_settle(
    fleet: Fleet, pools: list[str], replicas: int, version: str, deadline_s: float
) -> float:
    begun = time.monotonic()
    pacing = {"maxSurge": MAX_SURGE, "maxUnavailable": MAX_UNAVAILABLE}
    for name in pools:
        fleet.declare(name, replicas=replicas, release={"version": version}, management=pacing)
    for name in pools:
        fleet.settle(name, max(1.0, begun + deadline_s - time.monotonic()))
    return time.monotonic() - begun
