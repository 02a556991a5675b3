"""
The whole way, on real parts: a NodePool becomes nodes that run pods, and follows its owner.

Real: API server, controller manager, Cluster API's core, `fairlead operator` with its own account,
systemd, cloud-init, the agent's package, containerd, runc, CNI plugins, kubelet, apt, the hotfix
service. Ours: a provider whose machines are containers, and no scheduler: the pod names its node.
"""

import base64
import contextlib
import json
import subprocess
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import pytest

from boot.fixed_nodes import baked_files, build, offer
from boot.node import Node, missing_tools
from fairlead.contract.boot_report import BootReport, parse_report
from fairlead.errors import FairleadError
from fairlead.kube.answer import Object
from fairlead.kube.client import connect
from fairlead.kube.resource import (
    BOOT_REPORTS,
    MACHINES,
    NODES,
    PLATFORM_CONFIGS,
    SECRETS,
    Resource,
)
from hotfix_depot import BASE, Publishing, make_publishing
from kube.built_tools import refuse
from kube.cluster import running_cluster
from kube.cluster_api import IN_HASTE, install_cluster_api, providing
from kube.fleet import NAMESPACE, Fleet, wait_until
from kube.nspawn_provider import RECORD, SEED, NspawnProvider
from kube.pod_node_image import POD_IMAGE, make_pod_node_image
from kube.processes import PayloadProcess, Process, install, operator_process
from service.hotfix_service import HotfixProcess

pytestmark = [pytest.mark.root, pytest.mark.slow]

# Seconds. A machine becomes a node in eight on an idle computer.
DEADLINE_S = 240

POOL = "workers"
FIX = f"{BASE}.1"
KUBELET_JOURNAL = ["journalctl", "--no-pager", "-n60", "-ukubelet"]
FAILED_UNITS = ["systemctl", "--failed", "--no-legend"]
TOOLS = ("mmdebstrap", "gpg", "dpkg-deb", "openssl")

PODS = Resource("", "v1", "pods", "Pod", is_namespaced=True)
BINDINGS = Resource(
    "rbac.authorization.k8s.io", "v1", "clusterrolebindings", "ClusterRoleBinding",
    is_namespaced=False,
)  # fmt: skip

# A container on a computer with the first kind of control groups, which lets nobody say whom to
# kill last for want of memory.
CONFIG: list[Object] = [
    {"kind": "KubeletConfiguration", "failCgroupV1": False, "cgroupDriver": "cgroupfs"},
    {
        "kind": "ContainerdConfiguration",
        "settings": {"plugins": {"io.containerd.grpc.v1.cri": {"restrict_oom_score_adj": True}}},
    },
]

# As kubeadm leaves a cluster: who has a bootstrap token may ask for a certificate, and gets it.
JOINERS = "system:bootstrappers:kubeadm:default-node-token"
JOINERS_MAY = (
    "system:node-bootstrapper",
    "system:certificates.k8s.io:certificatesigningrequests:nodeclient",
)


@dataclass
class Whole:
    """Everything that runs, and what can be seen of it."""

    fleet: Fleet
    provider: NspawnProvider
    operator: Process
    publishing: Publishing
    directory: Path

    def machine(self, name: str) -> Object:
        found = self.fleet.admin.find(MACHINES, name, NAMESPACE)
        assert found is not None
        return found

    def node(self, name: str) -> Object:
        found = self.fleet.admin.find(NODES, name)
        assert found is not None
        return found

    def settle(self) -> None:
        self.fleet.settle(POOL, DEADLINE_S)

    def wait_until(
        self, holds: Callable[[], bool], says: Callable[[], object] = lambda: ""
    ) -> None:
        wait_until(holds, says, DEADLINE_S)

    def report_of(self, machine: str) -> BootReport:
        """What a machine told the payload service of its boot."""
        self.wait_until(lambda: self._find_report(machine) is not None, lambda: machine)
        found = self._find_report(machine)
        assert found is not None
        return parse_report(found["spec"]["report"].encode())

    def _find_report(self, machine: str) -> Object | None:
        return self.fleet.admin.find(BOOT_REPORTS, machine, NAMESPACE)

    def tell(self) -> None:
        """Print what somebody needs to know who sees this fail."""
        for name, node in self.provider.nodes.items():
            say(f"record of {name}", partial(node.read, RECORD))
            for words in (KUBELET_JOURNAL, FAILED_UNITS):
                say(f"{words[0]} of {name}", partial(said_by, node, words))
        for machine in self.fleet.machines(POOL):
            say(machine, partial(self.machine, machine))
        say("pool", lambda: self.fleet.pool(POOL).get("status"))
        say("operator", lambda: self.operator.log.read_text()[-3000:])


def say(what: str, look: Callable[[], object]) -> None:
    """Print what is seen; what cannot be looked at hides nothing else."""
    try:
        seen = look()
    except (OSError, FairleadError, subprocess.TimeoutExpired) as error:
        seen = repr(error)
    text = seen[-8000:] if isinstance(seen, str) else json.dumps(seen, indent=1)
    sys.stdout.write(f"\n== {what}\n{text}\n")


def said_by(node: Node, words: list[str]) -> str:
    ran = node.enter(*words)
    return ran.stdout + ran.stderr


@pytest.fixture
def whole(tmp_path: Path) -> Iterator[Whole]:
    if missing := missing_tools(*TOOLS):
        refuse(f"{', '.join(missing)} missing")
    publishing = make_publishing(tmp_path)
    with contextlib.ExitStack() as stack:
        service = HotfixProcess(tmp_path, publishing.depot, 1, "--insecure-lab")
        stack.callback(service.kill)
        image = make_pod_node_image(tmp_path / "image", baked_files(tmp_path, publishing, service))
        cluster = stack.enter_context(running_cluster(tmp_path / "cluster"))
        cluster.start_controller_manager()
        admin = connect(cluster.admin)
        stack.callback(admin.close)
        for role in JOINERS_MAY:
            admin.apply(BINDINGS, binding(role))
        install_cluster_api(cluster, admin, IN_HASTE)
        install(cluster)
        payload = PayloadProcess(cluster, tmp_path)
        stack.callback(payload.kill)
        operator = operator_process(cluster, tmp_path, payload.port)
        stack.callback(operator.kill)
        for process in (payload, operator):
            process.wait_until_ready()
        ports = (int(cluster.url.rpartition(":")[2]), payload.port, service.port)
        nspawn = NspawnProvider(cluster, NAMESPACE, image, ports)
        provider = stack.enter_context(providing(nspawn, cluster))
        provider.declare_template("small", size="small")
        fleet = Fleet(cluster, provider)
        stack.callback(fleet.admin.close)
        yield Whole(fleet, provider, operator, publishing, tmp_path)


def binding(role: str) -> Object:
    return {
        "apiVersion": BINDINGS.api_version,
        "kind": BINDINGS.kind,
        "metadata": {"name": f"joiners-{role.rpartition(':')[2]}"},
        "roleRef": {"apiGroup": BINDINGS.group, "kind": "ClusterRole", "name": role},
        "subjects": [{"apiGroup": BINDINGS.group, "kind": "Group", "name": JOINERS}],
    }


def pod_on(node: str) -> Object:
    """A web server that is asked, through its network, whether it is ready."""
    container = {
        "name": "web",
        "image": POD_IMAGE,
        "imagePullPolicy": "Never",
        "command": ["/bin/busybox", "httpd", "-f", "-p", "8080", "-h", "/www"],
        "readinessProbe": {"httpGet": {"port": 8080, "path": "/index.html"}, "periodSeconds": 1},
    }
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": f"web-{node}", "namespace": NAMESPACE},
        "spec": {
            "nodeName": node,
            "containers": [container],
            "automountServiceAccountToken": False,
            "terminationGracePeriodSeconds": 0,
        },
    }


def is_true(found: Object | None, condition: str) -> bool:
    conditions = ((found or {}).get("status") or {}).get("conditions") or ()
    return any(one["type"] == condition and one["status"] == "True" for one in conditions)


def declare(whole: Whole, version: str, replicas: int = 1) -> None:
    release = {"version": version}
    whole.fleet.declare(POOL, release=release, replicas=replicas, config=CONFIG)


def test_a_pool_becomes_nodes_that_run_pods_and_follows_its_owner(whole: Whole) -> None:
    try:
        first = a_pool_becomes_a_node(whole)
        the_node_runs_a_pod(whole, first)
        a_platform_change_is_held(whole, first)
        second = another_version_replaces_the_node(whole, first)
        a_fix_reaches_the_next_node(whole, second)
    except BaseException:
        whole.tell()
        raise


def a_pool_becomes_a_node(whole: Whole) -> str:
    declare(whole, "1.36.3")
    whole.settle()

    (name,) = whole.fleet.machines(POOL)
    machine, node = whole.machine(name), whole.node(name)
    assert machine["status"]["phase"] == "Running"
    assert machine["status"]["nodeRef"]["name"] == name
    assert is_true(node, "Ready")
    assert node["status"]["nodeInfo"]["kubeletVersion"] == "v1.36.3"
    assert node["status"]["nodeInfo"]["containerRuntimeVersion"].startswith("containerd://1.6.")
    told = whole.fleet.admin.find(
        SECRETS, machine["spec"]["bootstrap"]["dataSecretName"], NAMESPACE
    )
    assert told is not None
    booted_from = (whole.provider.nodes[name].root / SEED / "user-data").read_bytes()
    assert booted_from == base64.b64decode(told["data"]["value"])
    report = whole.report_of(name)
    assert report.exit_code == 0
    assert report.facts["hotfix"] == {"baked": f"{BASE}.0", "checked": "noHotfixAvailable"}
    return name


def the_node_runs_a_pod(whole: Whole, node: str) -> None:
    whole.fleet.admin.create(PODS, pod_on(node))

    def is_ready() -> bool:
        return is_true(whole.fleet.admin.find(PODS, f"web-{node}", NAMESPACE), "Ready")

    whole.wait_until(is_ready, lambda: whole.fleet.admin.find(PODS, f"web-{node}", NAMESPACE))
    pod = whole.fleet.admin.find(PODS, f"web-{node}", NAMESPACE)
    assert pod is not None
    assert pod["status"]["phase"] == "Running"
    assert pod["status"]["podIP"].startswith("10.88.0.")


def a_platform_change_is_held(whole: Whole, machine: str) -> None:
    fleet = whole.fleet
    before = fleet.deployment(POOL)["metadata"]["generation"]
    platform = {
        "apiVersion": PLATFORM_CONFIGS.api_version,
        "kind": "PlatformConfig",
        "metadata": {"name": "platform", "namespace": NAMESPACE},
        "spec": {"proxy": {"image": "registry.example.test/proxy:2"}},
    }
    fleet.admin.apply(PLATFORM_CONFIGS, platform, manager="owner")

    whole.wait_until(lambda: fleet.state(POOL) == "Drifted", lambda: fleet.pool(POOL)["status"])

    assert fleet.deployment(POOL)["metadata"]["generation"] == before
    assert fleet.machines(POOL) == [machine]
    assert list(whole.provider.nodes) == [machine]


def another_version_replaces_the_node(whole: Whole, before: str) -> str:
    declare(whole, "1.36.4")
    whole.settle()

    fleet = whole.fleet
    (name,) = fleet.machines(POOL)
    assert name != before
    assert whole.machine(name)["status"]["phase"] == "Running"
    assert whole.node(name)["status"]["nodeInfo"]["kubeletVersion"] == "v1.36.4"
    assert fleet.admin.find(NODES, before) is None
    assert list(whole.provider.nodes) == [name]
    whole.wait_until(lambda: fleet.admin.find(PODS, f"web-{before}", NAMESPACE) is None)
    assert "used" not in whole.report_of(name).facts["hotfix"]
    return name


def a_fix_reaches_the_next_node(whole: Whole, before: str) -> None:
    offer(whole.publishing, FIX, build(whole.directory, FIX))
    generation = whole.fleet.deployment(POOL)["metadata"]["generation"]
    declare(whole, "1.36.4", replicas=2)
    whole.settle()

    assert whole.fleet.deployment(POOL)["metadata"]["generation"] == generation + 1
    (name,) = set(whole.fleet.machines(POOL)) - {before}
    fact = whole.report_of(name).facts["hotfix"]
    assert (fact["baked"], fact["used"]) == (f"{BASE}.0", FIX)
    assert is_true(whole.node(name), "Ready")
    assert is_true(whole.node(before), "Ready")
