"""
What an operator costs with 5,000 NodePools on a real API server, beside one made with kopf.

    make bench-kube

The server, its etcd and `fairlead operator` are real processes. What Cluster API would write of
each pool is written here: one set, and its machine that is ready. Memory and CPU time are the
operator's own, so a busy neighbour counts little; writes are counted by the server, in its audit
log.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from datetime import UTC, datetime
from itertools import chain
from pathlib import Path
from typing import Any

REPOSITORY = Path(__file__).resolve().parent.parent
sys.path[:0] = [str(REPOSITORY / "tests"), str(REPOSITORY / "src")]

from kube_kopf import kopf_rows  # noqa: E402
from kube_processes import (  # noqa: E402
    Measured,
    OperatorProcess,
    Row,
    printed,
    told_states,
    writes_of,
)

from fairlead.errors import FairleadError  # noqa: E402 - after the path is set
from fairlead.kube.answer import Object  # noqa: E402
from fairlead.kube.client import KubeClient, connect  # noqa: E402
from fairlead.kube.definitions.crd import definitions, manifest_of  # noqa: E402
from fairlead.kube.resource import (  # noqa: E402
    CLUSTERS,
    MACHINE_DEPLOYMENTS,
    MACHINE_HEALTH_CHECKS,
    MACHINE_SETS,
    MACHINES,
    NODE_POOLS,
)
from kube.cluster import TestCluster, running_cluster  # noqa: E402
from kube.cluster_api import CRDS, TEST_TEMPLATES, open_definition  # noqa: E402

POOLS = 5_000
NAMESPACE = "default"
DRIVEN = (CLUSTERS, MACHINE_DEPLOYMENTS, MACHINE_HEALTH_CHECKS, MACHINE_SETS, MACHINES)
WRITERS = 6

MEMORY_BAR_MIB = 250.0
EVENT_BAR_MS = 2.0
# Of every pool that is declared: the NodePool twice, its finalizer and its status; once each its
# revision, its two Secrets, its machine template, its MachineDeployment and the Event of it.
CREATE_BARS = {
    "nodepools": 2,
    "noderevisions": 1,
    "secrets": 2,
    "testmachinetemplates": 1,
    "machinedeployments": 1,
    "events": 1,
}
DEADLINE_S = 1200.0
MOMENT = "2026-11-18T00:00:00Z"


def main() -> int:
    """Print what was measured; exit 1 if a bar is missed."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--pools", type=int, default=POOLS, metavar="N")
    parser.add_argument("--without-kopf", action="store_true")
    arguments = parser.parse_args()
    with (
        tempfile.TemporaryDirectory(prefix="fairlead-bench-") as scratch,
        running_cluster(Path(scratch) / "cluster") as cluster,
    ):
        rows = operator_rows(cluster, arguments.pools)
        if not arguments.without_kopf:
            rows = chain(rows, kopf_rows(cluster, Path(scratch), arguments.pools))
        return printed(rows)


def operator_rows(cluster: TestCluster, pools: int) -> Iterator[Row]:
    """Declare all pools, start again with nothing to do, and change every one of them."""
    admin = connect(cluster.admin)
    prepare(admin)
    operator = OperatorProcess(cluster, "operator")
    operator.wait_until(lambda seen: seen.is_leader, DEADLINE_S)
    many = Many(admin, pools)
    many.declare()
    wait_until(lambda: many.count_deployments() == pools, "all pools have a MachineDeployment")
    operator.wait_until_quiet(DEADLINE_S)
    yield from created_rows(cluster, operator, pools)
    yield from ready_rows(cluster, operator, many)
    operator.end()
    yield from started_rows(cluster, pools)
    operator = OperatorProcess(cluster, "changing")
    operator.wait_until(lambda seen: seen.passes >= pools, DEADLINE_S)
    operator.wait_until_quiet(DEADLINE_S)
    yield from event_rows(cluster, operator, many)
    yield from change_rows(cluster, operator, many)
    yield memory_row("most memory, with every pool changed", operator.peak_mib)
    operator.end()
    admin.close()


def created_rows(cluster: TestCluster, operator: OperatorProcess, pools: int) -> Iterator[Row]:
    """What it took until all that is a pool's own was there."""
    taken = operator.measured()
    yield f"{pools:,} pools declared: CPU per pass", f"{taken.ms_per_pass:.2f} ms", "", True
    yield "  passes per pool", f"{taken.passes / pools:.2f}", "", True
    yield memory_row("  most memory", operator.peak_mib)
    for resource, bar in CREATE_BARS.items():
        most = max(writes_of(cluster, "operator", resource).values(), default=0)
        total = sum(writes_of(cluster, "operator", resource).values())
        found = f"{most}, {total / pools:.2f}"
        # Names of Secrets differ: each is one object of its own.
        each = 1 if resource == "secrets" else bar
        is_met = most <= each and total <= bar * pools
        yield f"  writes of {resource}: most, mean", found, str(bar), is_met
    others = sum(writes_of(cluster, "operator").values()) - sum(
        sum(writes_of(cluster, "operator", resource).values()) for resource in CREATE_BARS
    )
    yield "  other writes", str(others), "0", others == 0


def ready_rows(cluster: TestCluster, operator: OperatorProcess, many: Many) -> Iterator[Row]:
    """A first machine for every pool, which is ready: its status changes once, and one Event."""
    written = {name: writes_of(cluster, "operator", name) for name in ("nodepools", "events", "")}
    with told_states(many.admin) as states:
        many.bring_up()
        wait_until(lambda: many.count_settled() == many.count, "all pools are settled")
        operator.wait_until_quiet(DEADLINE_S)
    fresh = {name: writes_of(cluster, "operator", name) - known for name, known in written.items()}
    yield writes_row("its machine is ready", fresh["nodepools"], many.count)
    for path, count in fresh["nodepools"].items():
        if count > 1:
            sys.stderr.write(
                f"{path}: {count} writes, and said {states[path.rpartition('/')[2]]}\n"
            )
    yield writes_row("  Events", fresh["events"], many.count)
    others = fresh[""] - fresh["nodepools"] - fresh["events"]
    yield "  other writes", str(others.total()), "0", not others
    yield memory_row("  most memory", operator.peak_mib)


def started_rows(cluster: TestCluster, pools: int) -> Iterator[Row]:
    """A start with nothing to do."""
    operator = OperatorProcess(cluster, "again")
    operator.wait_until(lambda seen: seen.passes >= pools, DEADLINE_S)
    operator.wait_until_quiet(DEADLINE_S)
    taken = operator.measured()
    operator.end()
    written = sum(writes_of(cluster, "again").values())
    yield "started again: writes", str(written), "0", written == 0
    yield "  passes per pool", f"{taken.passes / pools:.2f}", "", True
    yield "  CPU of all of it, per pool", f"{taken.cpu_s / pools * 1000:.2f} ms", "", True
    yield memory_row("  most memory", operator.peak_mib)


def event_rows(cluster: TestCluster, operator: OperatorProcess, many: Many) -> Iterator[Row]:
    """One event for every pool that changes nothing."""
    before = operator.measured()
    many.annotate()
    operator.wait_until(lambda seen: seen.passes >= before.passes + many.count, DEADLINE_S)
    operator.wait_until_quiet(DEADLINE_S)
    taken = operator.measured().since(before)
    written = sum(writes_of(cluster, "changing").values())
    yield "an event that changes nothing: writes", str(written), "0", written == 0
    yield from cost_rows(taken, many.count)


def change_rows(cluster: TestCluster, operator: OperatorProcess, many: Many) -> Iterator[Row]:
    """One event for every pool that changes its status: its machine is not ready any more."""
    before = operator.measured()
    many.unsettle()
    wait_until(lambda: many.count_settled() == 0, "all pools are unsettled")
    operator.wait_until_quiet(DEADLINE_S)
    taken = operator.measured().since(before)
    yield writes_row("a status that changes", writes_of(cluster, "changing"), many.count)
    yield from cost_rows(taken, many.count)


def writes_row(name: str, written: Counter[str], pools: int) -> Row:
    """A row about one change of status for every pool: one write each, and no other."""
    total, most = sum(written.values()), max(written.values(), default=0)
    is_met = total == pools and most == 1
    return f"{name}: writes, most", f"{total}, {most}", f"{pools}, 1", is_met


def cost_rows(taken: Measured, events: int) -> Iterator[Row]:
    """What so many events cost."""
    yield "  passes per event", f"{taken.passes / events:.2f}", "", True
    each = taken.cpu_s / events * 1000
    yield "  CPU per event", f"{each:.2f} ms", f"{EVENT_BAR_MS:.0f} ms", each <= EVENT_BAR_MS


def memory_row(name: str, found: float) -> Row:
    """A row about memory."""
    return name, f"{found:.0f} MiB", f"{MEMORY_BAR_MIB:.0f} MiB", found <= MEMORY_BAR_MIB


def prepare(admin: KubeClient) -> None:
    """Define everything, and declare the one Cluster and the one machine template."""
    for definition in definitions():
        admin.apply(CRDS, manifest_of(definition))
    for resource in (*DRIVEN, TEST_TEMPLATES):
        admin.apply(CRDS, open_definition(resource))

    def is_served() -> bool:
        try:
            for resource in (*DRIVEN, TEST_TEMPLATES, NODE_POOLS):
                admin.list_all(resource)
        except FairleadError:
            return False
        return True

    wait_until(is_served, "the definitions are served")
    cluster = admin.apply(CLUSTERS, made(CLUSTERS.api_version, "Cluster", "c1", {}))
    # As Cluster API tells it: a cluster that says nothing is asked every minute, for each pool.
    status = {"controlPlane": {"versions": [{"version": "v1.36.4"}]}}
    admin.replace(CLUSTERS, {**cluster, "status": status}, "status")
    template = {"template": {"spec": {"size": "small"}}}
    header = (TEST_TEMPLATES.api_version, TEST_TEMPLATES.kind)
    admin.apply(TEST_TEMPLATES, made(*header, "small", template))


@dataclass(slots=True)
class Many:
    """The pools, and what Cluster API would write of them."""

    admin: KubeClient
    count: int

    def declare(self) -> None:
        """Declare all pools."""
        self._each(lambda number: self.admin.create(NODE_POOLS, pool(number)))

    def count_deployments(self) -> int:
        """How many pools have a MachineDeployment."""
        return len(self.admin.list_all(MACHINE_DEPLOYMENTS)[0])

    def bring_up(self) -> None:
        """Give every MachineDeployment its machine."""
        found, _ = self.admin.list_all(MACHINE_DEPLOYMENTS)
        self._each(lambda number: self._give(found[number]))

    def count_settled(self) -> int:
        """How many pools say that they are settled."""
        found, _ = self.admin.list_all(NODE_POOLS)
        return sum((one.get("status") or {}).get("state") == "Settled" for one in found)

    def annotate(self) -> None:
        """Change something of every pool that means nothing."""
        note = {"example.test/note": "seen"}

        def write(number: int) -> None:
            header = made(NODE_POOLS.api_version, "NodePool", name_of(number), {})
            metadata = {**header["metadata"], "annotations": note}
            wanted = {**header, "metadata": metadata}
            del wanted["spec"]
            self.admin.apply(NODE_POOLS, wanted, manager="somebody")

        self._each(write)

    def unsettle(self) -> None:
        """Let the machine of every pool lose its node."""
        found, _ = self.admin.list_all(MACHINES)
        machines = dict(enumerate(found))
        # Just now: for longer than `timeouts.ready` it would have failed, and that is an Event.
        since = f"{datetime.now(UTC):%Y-%m-%dT%H:%M:%SZ}"

        def write(number: int) -> None:
            one = {**machines[number], "apiVersion": MACHINES.api_version, "kind": "Machine"}
            status = machine_status(one["metadata"]["name"], ready="False", since=since)
            self.admin.replace(MACHINES, {**one, "status": status}, "status")

        self._each(write)

    def _give(self, deployment: Object) -> None:
        name = deployment["metadata"]["name"]
        told = deployment["spec"]["template"]
        # With its labels, by which it is seen, it is as Cluster API leaves it.
        spec = {"replicas": 1, "clusterName": told["spec"]["clusterName"], "template": told}
        made_set = self.admin.create(
            MACHINE_SETS, made(MACHINE_SETS.api_version, "MachineSet", f"{name}-s", spec)
        )
        made_set = self.admin.replace(
            MACHINE_SETS, {**made_set, "status": {"replicas": 1}}, "status"
        )
        labelled = {**made_set["metadata"], "labels": told["metadata"]["labels"]}
        self.admin.replace(MACHINE_SETS, {**made_set, "metadata": labelled})
        header = {"apiVersion": MACHINE_DEPLOYMENTS.api_version, "kind": "MachineDeployment"}
        status = {"observedGeneration": deployment["metadata"]["generation"], "replicas": 1}
        self.admin.replace(
            MACHINE_DEPLOYMENTS, {**deployment, **header, "status": status}, "status"
        )
        machine = made(MACHINES.api_version, "Machine", f"{name}-0", told["spec"])
        written = self.admin.create(MACHINES, machine)
        status = machine_status(f"{name}-0", ready="True")
        ready = self.admin.replace(MACHINES, {**written, "status": status}, "status")
        # Seen only once it has the labels, so that it is ready from its first event on.
        metadata = {**ready["metadata"], "labels": told["metadata"]["labels"]}
        self.admin.replace(MACHINES, {**ready, "metadata": metadata})

    def _each(self, act: Callable[[int], Any]) -> None:
        """Act for all pools, several at a time. What one raises, this raises."""
        with ThreadPoolExecutor(WRITERS) as writers:
            list(writers.map(act, range(self.count)))


def machine_status(name: str, ready: str, since: str = MOMENT) -> Object:
    """The status of a machine as Cluster API has it."""
    healthy = ("InfrastructureReady", "BootstrapConfigReady", "NodeHealthy", "Available", "Ready")
    conditions = [
        {
            "type": kind,
            "status": "True",
            "reason": kind,
            "message": "",
            "lastTransitionTime": MOMENT,
        }
        for kind in healthy
    ]
    node = {"type": "NodeReady", "status": ready, "reason": "NodeReady", "message": "as it says"}
    return {
        "phase": "Running",
        "conditions": [*conditions, {**node, "lastTransitionTime": since}],
        "nodeRef": {"name": name},
        "initialization": {"infrastructureProvisioned": True, "bootstrapDataSecretCreated": True},
        "addresses": [{"type": "InternalIP", "address": "10.0.0.1"}],
        "nodeInfo": {"kubeletVersion": "v1.34.2", "osImage": "Debian GNU/Linux 13"},
        "observedGeneration": 1,
    }


def name_of(number: int) -> str:
    """Return a pool's name."""
    return f"pool-{number:05}"


def pool(number: int) -> Object:
    """Return a pool as a team might write it, and no two alike."""
    chrony = "".join(f"server ntp{at}.{number % 97}.example.test iburst\n" for at in range(4))
    spec = {
        "replicas": 1,
        "release": {"version": "1.34.2"},
        "imageBase": f"202607.{number % 31:02}",
        "machineTemplate": {
            "apiGroup": TEST_TEMPLATES.group,
            "kind": TEST_TEMPLATES.kind,
            "name": "small",
        },
        "management": {"maxSurge": 1},
        "config": [
            {
                "kind": "KubeletConfiguration",
                "maxPods": 110 + number % 90,
                "evictionHard": {"memory.available": f"{100 + number % 300}Mi"},
            },
            {"kind": "Sysctl", "settings": {"vm.max_map_count": str(262144 + number)}},
            {"kind": "Files", "files": [{"path": "/etc/chrony.conf", "content": chrony}]},
        ],
    }
    return made(NODE_POOLS.api_version, "NodePool", name_of(number), spec)


def made(version: str, kind: str, name: str, spec: Object) -> Object:
    """Return an object of the one namespace that is used."""
    metadata = {"name": name, "namespace": NAMESPACE}
    return {"apiVersion": version, "kind": kind, "metadata": metadata, "spec": spec}


def wait_until(holds: Callable[[], bool], what: str) -> None:
    """Wait until something holds, looking once in a while."""
    end = time.monotonic() + DEADLINE_S
    while not holds():
        if time.monotonic() > end:
            raise SystemExit(f"it did not come true that {what}")
        time.sleep(2)


if __name__ == "__main__":
    sys.exit(main())
