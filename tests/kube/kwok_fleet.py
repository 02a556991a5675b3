"""
Many machines whose nodes KWOK plays, in pools that roll; and what must hold meanwhile.

The provider makes a Node that says nothing; the `kwok` program makes it ready, as a kubelet would.
"""

import contextlib
import re
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

from fairlead.kube.answer import Object
from fairlead.kube.client import connect
from fairlead.kube.informer import Informer, Selection
from fairlead.kube.resource import NODE_POOLS
from kube.built_tools import module_of
from kube.cluster import TestCluster, running_cluster
from kube.cluster_api import Provider, install_all, providing, ready_node
from kube.fleet import NAMESPACE, Fleet
from kube.invariants import Budgets

STAGES = ("fast/node-initialize.yaml", "heartbeat-with-lease/node-heartbeat-with-lease.yaml")
PLAYED = "kwok.x-k8s.io/node"

# Cluster API's core works on a hundred machines and fifty sets at once. On two cores each of them
# waits half a second for an answer, meets what others wrote meanwhile and begins again: in one run
# a quarter of 42,000 requests were refused for that. And of a workload cluster it asks at most 20
# questions a second, where each node that comes or goes is five. Its limit of one look at an object
# a second stays: many change at once, so nobody waits for it, and each look is a write or two.
FEW_AT_ONCE = (
    "--machine-concurrency=8",
    "--machineset-concurrency=4",
    "--machinedeployment-concurrency=4",
    "--clustercache-client-qps=100",
    "--clustercache-client-burst=200",
)

# Of every pool while it rolls, as its owner declares it.
MAX_SURGE, MAX_UNAVAILABLE = 3, 1
BEFORE, AFTER = "1.34.2", "1.34.3"

# Seconds between two words about how far it is.
TELL_S = 10.0

_TOLD = re.compile(r"(\d+) of (\d+) machines have it")


class KwokProvider(Provider):
    """Nodes begin with a version and no condition: whatever they say is KWOK's word."""

    workers = 4  # each waits for the server most of the time

    def make_node(self, name: str, identity: str, version: str) -> Object:
        node = ready_node(name, identity, version)
        node["metadata"]["annotations"] = {PLAYED: "fake"}
        del node["status"]["conditions"]
        return node


@contextlib.contextmanager
def running_kwok_fleet(directory: Path) -> Iterator[Fleet]:
    """A server with Cluster API, KWOK and an operator, for as long as the block runs."""
    with running_cluster(directory) as cluster:
        install_all(cluster, *FEW_AT_ONCE)
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
        # Nobody here reads leases, and a thousand nodes renew a hundred of them a second.
        "--node-lease-duration-seconds=0",
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

    def status(self, pool: str) -> Object:
        """What a pool says of itself, as it was told last."""
        status: Object = (self._following.find(NAMESPACE, pool) or {}).get("status") or {}
        return status

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
    """What a rollout of all pools took, what was seen meanwhile, and which pools it left behind."""

    up_s: float
    roll_s: float
    looks: int
    violations: list[str]
    wrong: list[str]
    steps: dict[str, list[int]]
    unsettled: list[str]


def roll_all(
    fleet: Fleet,
    pools: list[str],
    replicas: int,
    deadline_s: float,
    tell: Callable[[str], None] = lambda _: None,
) -> Rolled:
    """
    Bring pools up and give them another version, and look at every change on the way.

    deadline_s: of either half. What is not settled by then is returned: nothing raises. tell:
    takes how far it is, every few seconds.
    """
    budgets, progress = Budgets(fleet.cluster), Progress(fleet.cluster)
    for name in pools:
        budgets.expect(name, replicas - MAX_UNAVAILABLE, replicas + MAX_SURGE)
    budgets.start()
    progress.start()
    roll_s, half = 0.0, Half(fleet, budgets, progress, pools, tell)
    try:
        up_s, left = half.settle(replicas, BEFORE, deadline_s)
        if not left:
            roll_s, left = half.settle(replicas, AFTER, deadline_s)
    finally:
        progress.stop()
        budgets.stop()
    return Rolled(
        *(up_s, roll_s, budgets.looks, budgets.violations, progress.wrong, progress.steps, left)
    )


@dataclass(frozen=True)
class Half:
    """One half of it: a version that all pools are to have."""

    fleet: Fleet
    budgets: Budgets
    progress: Progress
    pools: list[str]
    tell: Callable[[str], None]

    def settle(self, replicas: int, version: str, deadline_s: float) -> tuple[float, list[str]]:
        """Declare the version; return the seconds it took, and which pools are not settled."""
        begun = said = time.monotonic()
        wanted = {name: self._declare(name, replicas, version) for name in self.pools}
        while True:
            told = self._told(wanted)
            left = [name for name in self.pools if told[name].get("state") != "Settled"]
            now = time.monotonic()
            if not left or now - begun > deadline_s or now - said > TELL_S:
                updated = sum(one.get("updated", 0) for one in told.values())
                of = f"{updated} of {len(self.pools) * replicas} machines have {version}"
                self._tell(f"{now - begun:.0f} s: {of}, {len(left)} pools are left")
                said = now
            if not left or now - begun > deadline_s:
                return now - begun, left
            time.sleep(0.5)

    def _declare(self, name: str, replicas: int, version: str) -> int:
        """Return the generation that it is declared as."""
        pacing = {"maxSurge": MAX_SURGE, "maxUnavailable": MAX_UNAVAILABLE}
        declared = self.fleet.declare(
            name, replicas=replicas, release={"version": version}, management=pacing
        )
        generation: int = declared["metadata"]["generation"]
        return generation

    def _told(self, wanted: dict[str, int]) -> dict[str, Object]:
        """Return what each pool says of the generation that is declared."""
        status = {name: self.progress.status(name) for name in wanted}
        return {
            name: one if one.get("observedGeneration", 0) >= wanted[name] else {}
            for name, one in status.items()
        }

    def _tell(self, how_far: str) -> None:
        used = {"this process": time.process_time(), **self.fleet.cluster.cpu_seconds()}
        most = sorted(used, key=lambda name: -used[name])[:4]
        looked = f"{self.budgets.looks} looks, {len(self.budgets.violations)} beyond a budget"
        cpu = ", ".join(f"{name} {used[name]:.0f}" for name in most)
        self.tell(f"{how_far}; {looked}; CPU seconds until now: {cpu}")
