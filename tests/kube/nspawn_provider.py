"""
A provider whose machines are containers with systemd, cloud-init, containerd and a kubelet.

Each boots from exactly the user data of the Secret that its Machine names, in a network namespace
of its own. What a cloud's controller does is done here too: a Node is told which machine it is.
"""

import contextlib
import itertools
import json
import subprocess
from pathlib import Path

from boot.node import Node, make_node, start_node
from fairlead.errors import ConflictError
from fairlead.kube.answer import Object
from fairlead.kube.resource import NODES
from kube.built_tools import built_tool
from kube.cluster import TestCluster
from kube.cluster_api import Provider
from kube.loopback import carried_loopback
from kube.pod_node_image import KERNEL_LOG

SEED = "var/lib/cloud/seed/nocloud"
RECORD = "/var/log/fairlead/record.jsonl"

# What runc asks for that systemd-nspawn leaves to nobody.
OPTIONS = ("--capability=CAP_NET_ADMIN", "--system-call-filter=@keyring")

# On disks of their own: containerd cannot put layers over what is a layer itself.
DISKS = ("containerd", "kubelet")

BUILT_VERSION = "v1.36.4"

_numbers = itertools.count(10)


class NspawnProvider(Provider):
    """Machines of one image. ports: what they reach at their loopback is what listens at ours."""

    def __init__(
        self, cluster: TestCluster, namespace: str, image: tuple[Path, ...], ports: tuple[int, ...]
    ) -> None:
        super().__init__(cluster, namespace, boot_s=0)
        self._image = image
        self._ports = ports
        self._kubelets = cluster.directory
        self._ends: dict[str, contextlib.ExitStack] = {}
        self.nodes: dict[str, Node] = {}

    def start_machine(self, owner: Object, user_data: bytes) -> None:
        name = owner["metadata"]["name"]
        with contextlib.ExitStack() as stack:
            node = stack.enter_context(make_node(*self._image))
            options = self._prepare(node, owner, user_data)
            stack.enter_context(carried_loopback(node.name, self._ports))
            start_node(node, network=node.name, options=options, runs_pods=True)
            self.nodes[name] = node
            self._ends[name] = stack.pop_all()

    def is_node(self, owner: Object, identity: str) -> bool:
        found = self._client.find(NODES, owner["metadata"]["name"])
        if found is None:
            return False
        if not found["spec"].get("providerID"):
            told = {**found, "spec": {**found["spec"], "providerID": identity}}
            with contextlib.suppress(ConflictError):  # the kubelet writes it as well
                self._client.replace(NODES, told)
            return False
        return True

    def end_machine(self, name: str) -> None:
        if name in self._ends:
            del self.nodes[name]
            self._ends.pop(name).close()

    def stop(self) -> None:
        super().stop()
        for name in list(self._ends):
            self.end_machine(name)
        for copy in self._kubelets.glob("kubelet-*"):
            copy.unlink()

    def _prepare(self, node: Node, owner: Object, user_data: bytes) -> tuple[str, ...]:
        """Lay out a machine that was never started; return how it is."""
        name = owner["metadata"]["name"]
        address = f"10.77.0.{next(_numbers)}"
        _make_network(node.name, address)
        files = {
            f"{SEED}/user-data": user_data,
            f"{SEED}/meta-data": json.dumps({"instance-id": name, "local-hostname": name}).encode(),
            f"{SEED}/network-config": b'{"config": "disabled"}\n',
            "etc/hosts": f"127.0.0.1 localhost\n{address} {name}\n".encode(),
        }
        for path, content in files.items():
            file = node.root / path
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_bytes(content)
        for disk in DISKS:
            (node.directory / disk).mkdir()
        binds = [f"--bind={node.directory / disk}:/var/lib/{disk}" for disk in DISKS]
        kubelet = kubelet_that_says(owner["spec"]["version"], self._kubelets)
        binds.append(f"--bind-ro={kubelet}:/usr/bin/kubelet")
        binds.append(f"--bind-ro={node.root}{KERNEL_LOG}:/dev/kmsg")
        return (*OPTIONS, *binds)


def kubelet_that_says(version: str, directory: Path) -> Path:
    """The kubelet that was built, or a copy that calls itself another patch of the same minor."""
    built = built_tool("kubelet")
    if version == BUILT_VERSION:
        return built
    copy = directory / f"kubelet-{version}"
    if not copy.exists():
        assert len(version) == len(BUILT_VERSION), f"found {version}, expected the same length"
        copy.write_bytes(built.read_bytes().replace(BUILT_VERSION.encode(), version.encode()))
        copy.chmod(0o755)
    return copy


def _make_network(namespace: str, address: str) -> None:
    """A cable both ends of which are in the namespace: an address, and nobody beyond it."""
    _ip("netns", "add", namespace)
    _ip("-n", namespace, "link", "add", "host0", "type", "veth", "peer", "name", "host0-end")
    _ip("-n", namespace, "address", "add", f"{address}/24", "dev", "host0")
    for device in ("lo", "host0", "host0-end"):
        _ip("-n", namespace, "link", "set", device, "up")


def _ip(*words: str) -> None:
    subprocess.run(["ip", *words], check=True, capture_output=True)
