"""
A cluster whose machines are containers that become nodes, and what can be seen of all of it.

Real: API server, controller manager, Cluster API's core, `fairlead operator` and the payload
service with their own accounts, systemd, cloud-init, the agent's package, containerd, runc, CNI
plugins, kubelet, apt, the hotfix service. Ours: a provider whose machines are containers, and no
scheduler: a pod names its node.
"""

import contextlib
import json
import subprocess
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from boot.fixed_nodes import baked_files
from boot.node import Node, missing_tools
from fairlead.contract.boot_report import BootReport, parse_report
from fairlead.errors import FairleadError
from fairlead.kube.answer import Object
from fairlead.kube.client import connect
from fairlead.kube.resource import BOOT_REPORTS, MACHINES, NODES, PODS, Resource
from hotfix_depot import Publishing, make_publishing
from kube.built_tools import refuse
from kube.cluster import running_cluster
from kube.cluster_api import IN_HASTE, install_cluster_api, providing
from kube.fleet import NAMESPACE, Fleet, wait_until
from kube.nspawn_provider import RECORD, NspawnProvider
from kube.pod_node_image import POD_IMAGE, make_pod_node_image
from kube.processes import PayloadProcess, Process, install, operator_process
from service.hotfix_service import HotfixProcess

# Seconds. A machine becomes a node in eight on an idle computer.
DEADLINE_S = 240

KUBELET_JOURNAL = ["journalctl", "--no-pager", "-n60", "-ukubelet"]
FAILED_UNITS = ["systemctl", "--failed", "--no-legend"]
TOOLS = ("mmdebstrap", "gpg", "dpkg-deb", "openssl")

WATCHES = Path("/proc/sys/fs/inotify/max_user_instances")
FEWEST_WATCHES = 1024

BINDINGS = Resource(
    "rbac.authorization.k8s.io", "v1", "clusterrolebindings", "ClusterRoleBinding",
    is_namespaced=False,
)  # fmt: skip

# What a kubelet and a containerd need in a container, on a computer with the first kind of control
# groups, which lets nobody say whom to kill last for want of memory.
CONTAINED: Object = {"failCgroupV1": False, "cgroupDriver": "cgroupfs"}
CONFIG: list[Object] = [
    {"kind": "KubeletConfiguration", **CONTAINED},
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
class RealNodes:
    """Everything that runs, and what can be seen of it."""

    fleet: Fleet
    provider: NspawnProvider
    operator: Process
    publishing: Publishing
    directory: Path

    def declare(self, pool: str, version: str, **spec: Any) -> None:
        """Declare a pool whose nodes live in containers; its config goes before ours, by kind."""
        config = {one["kind"]: one for one in (*CONFIG, *spec.pop("config", ()))}
        given = {"replicas": 1, "config": [*config.values()], **spec}
        self.fleet.declare(pool, release={"version": version}, **given)

    def nodes_of(self, pool: str) -> list[str]:
        """The containers of a pool."""
        return [name for name in self.provider.nodes if name.startswith(f"{pool}-")]

    def machine(self, name: str) -> Object:
        found = self.fleet.admin.find(MACHINES, name, NAMESPACE)
        assert found is not None
        return found

    def node(self, name: str) -> Object:
        found = self.fleet.admin.find(NODES, name)
        assert found is not None
        return found

    def settle(self, pool: str) -> None:
        self.fleet.settle(pool, DEADLINE_S)

    def wait_until(
        self, holds: Callable[[], bool], says: Callable[[], object] = lambda: ""
    ) -> None:
        wait_until(holds, says, DEADLINE_S)

    def run_pod(self, name: str, node: str) -> None:
        """Run a pod on a node, and wait until it is ready."""
        self.fleet.admin.create(PODS, web_pod(name, node))

        def is_ready() -> bool:
            return is_true(self.fleet.admin.find(PODS, name, NAMESPACE), "Ready")

        self.wait_until(is_ready, lambda: self.fleet.admin.find(PODS, name, NAMESPACE))

    def report_of(self, machine: str) -> BootReport:
        """What a machine told the payload service of its boot."""
        self.wait_until(lambda: self._find_report(machine) is not None, lambda: machine)
        found = self._find_report(machine)
        assert found is not None
        return parse_report(found["spec"]["report"].encode())

    def _find_report(self, machine: str) -> Object | None:
        return self.fleet.admin.find(BOOT_REPORTS, machine, NAMESPACE)

    @contextlib.contextmanager
    def telling(self, pool: str) -> Iterator[None]:
        """Print what somebody needs to know who sees a test of this pool fail."""
        try:
            yield
        except BaseException:
            self._tell(pool)
            raise

    def _tell(self, pool: str) -> None:
        for name, node in self.provider.nodes.items():
            say(f"record of {name}", partial(node.read, RECORD))
            for words in (KUBELET_JOURNAL, FAILED_UNITS):
                say(f"{words[0]} of {name}", partial(said_by, node, words))
        for machine in self.fleet.machines(pool):
            say(machine, partial(self.machine, machine))
        say("pool", lambda: self.fleet.pool(pool).get("status"))
        say("operator", lambda: self.operator.log.read_text()[-3000:])


def allow_watches() -> None:
    """
    Let root watch files by as many descriptors as several API servers and nodes take.

    Of 128, which is the kernel's own limit, nothing is left for a kubelet where three tests run at
    once: "inotify_init: too many open files". Nodes on one computer are known for it.
    """
    with contextlib.suppress(OSError):  # not everybody's to say
        if int(WATCHES.read_text()) < FEWEST_WATCHES:
            WATCHES.write_text(str(FEWEST_WATCHES))


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


@contextlib.contextmanager
def real_nodes(directory: Path) -> Iterator[RealNodes]:
    """All of it, with no pool declared, for as long as the block runs."""
    if missing := missing_tools(*TOOLS):
        refuse(f"{', '.join(missing)} missing")
    allow_watches()
    publishing = make_publishing(directory)
    with contextlib.ExitStack() as stack:
        service = HotfixProcess(directory, publishing.depot, 1, "--insecure-lab")
        stack.callback(service.kill)
        baked = baked_files(directory, publishing, service)
        image = make_pod_node_image(directory / "image", baked)
        cluster = stack.enter_context(running_cluster(directory / "cluster"))
        cluster.start_controller_manager()
        admin = connect(cluster.admin)
        stack.callback(admin.close)
        for role in JOINERS_MAY:
            admin.apply(BINDINGS, binding(role))
        install_cluster_api(cluster, admin, IN_HASTE)
        install(cluster)
        payload = PayloadProcess(cluster, directory)
        stack.callback(payload.kill)
        operator = operator_process(cluster, directory, payload.port)
        stack.callback(operator.kill)
        for process in (payload, operator):
            process.wait_until_ready()
        ports = (int(cluster.url.rpartition(":")[2]), payload.port, service.port)
        nspawn = NspawnProvider(cluster, NAMESPACE, image, ports)
        provider = stack.enter_context(providing(nspawn, cluster))
        provider.declare_template("small", size="small")
        fleet = Fleet(cluster, provider)
        stack.callback(fleet.admin.close)
        yield RealNodes(fleet, provider, operator, publishing, directory)


def binding(role: str) -> Object:
    return {
        "apiVersion": BINDINGS.api_version,
        "kind": BINDINGS.kind,
        "metadata": {"name": f"joiners-{role.rpartition(':')[2]}"},
        "roleRef": {"apiGroup": BINDINGS.group, "kind": "ClusterRole", "name": role},
        "subjects": [{"apiGroup": BINDINGS.group, "kind": "Group", "name": JOINERS}],
    }


def web_pod(name: str, node: str) -> Object:
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
        "metadata": {"name": name, "namespace": NAMESPACE, "labels": {"app": name}},
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
