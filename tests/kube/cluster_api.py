"""
Cluster API's own core on a test cluster, without cert-manager, and a provider whose machines are
Node objects of the same API server.

The provider reads the bootstrap Secret that a Machine names, as a cloud would, and writes down
what it read: which machine booted from which user data is there to be looked at.
"""

import base64
import contextlib
import hashlib
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any, TypeVar

import yaml

from fairlead.errors import ConflictError, FairleadError
from fairlead.kube.answer import Object
from fairlead.kube.client import KubeClient, connect
from fairlead.kube.definitions.crd import definitions, manifest_of
from fairlead.kube.informer import Informer, Selection
from fairlead.kube.queue import WorkQueue
from fairlead.kube.resource import CLUSTERS, MACHINES, NODES, SECRETS, Resource
from kube.built_tools import module_of
from kube.cluster import LOOPBACK, TestCluster, free_port

CRDS = Resource(
    "apiextensions.k8s.io",
    "v1",
    "customresourcedefinitions",
    "CustomResourceDefinition",
    is_namespaced=False,
)
GROUP = "infra.test.fairlead.dev"
VERSION = "v1beta2"
FINALIZER = "test.fairlead.dev/machine"

# Seconds between two looks at a machine that waits for what nobody tells.
AGAIN_S = 0.1

BOOTED_FROM = "test.fairlead.dev/booted-from"

TEST_CLUSTERS = Resource(GROUP, VERSION, "testclusters", "TestCluster")
TEST_CONTROL_PLANES = Resource(GROUP, VERSION, "testcontrolplanes", "TestControlPlane")
TEST_MACHINES = Resource(GROUP, VERSION, "testmachines", "TestMachine")
TEST_TEMPLATES = Resource(GROUP, VERSION, "testmachinetemplates", "TestMachineTemplate")

_OPEN: Object = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}

CLUSTER = "c1"

Of = TypeVar("Of", bound="Provider")


# Without it the core waits for nothing between two looks: a roll of three takes 12 s and not 32.
# It does not wait for its own writes either, and makes a machine twice where its copy is behind.
IN_HASTE = "--feature-gates=ReconcilerRateLimiting=false"


def install_cluster_api(cluster: TestCluster, admin: KubeClient, *words: str) -> None:
    """Install definitions and webhooks of the core, and start it with these words beside ours."""
    port = free_port()
    source = module_of("cluster-api", "sigs.k8s.io/cluster-api") / "core" / "config"
    authority = base64.b64encode(cluster.authority.text.encode()).decode()
    files = sorted((source / "crd" / "bases").glob("*.yaml"))
    found = [one for file in files for one in yaml.safe_load_all(file.read_text())]
    for definition in found:
        admin.apply(CRDS, _definition(definition))
    for definition in found:
        _wait_until_told(admin, definition["spec"])
    for hook in yaml.safe_load_all((source / "webhook" / "manifests.yaml").read_text()):
        admin.apply(_hook_resource(hook), _hook(hook, port, authority))
    certificates = cluster.directory / "webhooks"
    certificates.mkdir()
    pair = cluster.authority.server("cluster-api-webhooks", [LOOPBACK])
    (certificates / "tls.crt").write_bytes(pair.certificate.read_bytes())
    (certificates / "tls.key").write_bytes(pair.key.read_bytes())
    cluster.run(
        "cluster-api",
        f"--kubeconfig={cluster.admin}",
        "--leader-elect=false",
        f"--webhook-port={port}",
        f"--webhook-cert-dir={certificates}",
        f"--diagnostics-address={LOOPBACK}:{free_port()}",
        f"--health-addr={LOOPBACK}:{free_port()}",
        *words,
    )


def _definition(definition: Object) -> Object:
    """
    The definition with the one version that is stored.

    Of each version that it serves, a server keeps a copy of every object, and asks the core's
    webhook for it at every change: a third of its CPU, and nobody here reads an old version.
    """
    labels = definition["metadata"].setdefault("labels", {})
    labels |= {"cluster.x-k8s.io/provider": "cluster-api", "cluster.x-k8s.io/v1beta2": "v1beta2"}
    spec = definition["spec"]
    spec["versions"] = [one for one in spec["versions"] if one["storage"]]
    return dict(definition)


def _wait_until_told(admin: KubeClient, spec: Object) -> None:
    """The core asks once which resources there are, and ends if one of its own is missing."""
    end = time.monotonic() + 60
    for version in (one["name"] for one in spec["versions"] if one["served"]):
        while True:
            told = admin.read(f"/apis/{spec['group']}/{version}") or {}
            if any(one["name"] == spec["names"]["plural"] for one in told.get("resources", ())):
                break
            assert time.monotonic() < end, f"{spec['names']['plural']} is not told of"
            time.sleep(0.05)


def _hook_resource(hook: Object) -> Resource:
    kind = hook["kind"]
    return Resource(
        "admissionregistration.k8s.io", "v1", f"{kind.lower()}s", kind, is_namespaced=False
    )


def _hook(hook: Object, port: int, authority: str) -> Object:
    for one in hook["webhooks"]:
        path = one["clientConfig"].pop("service").get("path", "")
        one["clientConfig"] |= {"url": f"https://{LOOPBACK}:{port}{path}", "caBundle": authority}
    return hook


class Provider:
    """Infrastructure for tests. A machine is ready `boot_s` seconds after it was given power."""

    # Machines that it works on at once.
    workers = 1

    def __init__(self, cluster: TestCluster, namespace: str, boot_s: float = 0.2) -> None:
        self._client = connect(cluster.admin)
        self._namespace = namespace
        self._boot_s = boot_s
        self._born: dict[str, float] = {}
        self._queue = WorkQueue()
        self._following = Informer(
            *(self._client, TEST_MACHINES, self._look, lambda _: None), Selection(namespace)
        )
        self._threads = [
            threading.Thread(target=self._work, daemon=True) for _ in range(self.workers)
        ]
        # Names of machines that never become ready.
        self.silent: set[str] = set()
        self.is_silent = False

    def install(self) -> None:
        """Install the definitions of this provider."""
        for resource in (TEST_CLUSTERS, TEST_CONTROL_PLANES, TEST_MACHINES, TEST_TEMPLATES):
            self._client.apply(CRDS, open_definition(resource))
        end = time.monotonic() + 60
        while time.monotonic() < end:
            with contextlib.suppress(FairleadError):
                self._client.list_all(TEST_TEMPLATES, self._namespace)
                return
            time.sleep(0.1)
        raise AssertionError("the definitions of the provider are not served")

    def declare_cluster(self, cluster: TestCluster) -> None:
        """Declare a cluster that is provisioned already: this API server itself."""
        host, _, port = cluster.url.removeprefix("https://").partition(":")
        endpoint = {"host": host, "port": int(port)}
        self._declare(TEST_CLUSTERS, {"controlPlaneEndpoint": endpoint}, {"provisioned": True})
        self._declare(
            TEST_CONTROL_PLANES,
            {"version": "v1.36.4"},
            {"controlPlaneInitialized": True},
            {"version": "v1.36.4", "externalManagedControlPlane": True},
        )
        kubeconfig = base64.b64encode(cluster.admin.read_bytes()).decode()
        labels = {"cluster.x-k8s.io/cluster-name": CLUSTER}
        metadata = self._metadata(f"{CLUSTER}-kubeconfig")
        self._client.apply(
            SECRETS,
            {
                "apiVersion": "v1",
                "kind": "Secret",
                "type": "cluster.x-k8s.io/secret",
                "metadata": {**metadata, "labels": labels},
                "data": {"value": kubeconfig},
            },
        )
        spec = {
            "controlPlaneEndpoint": endpoint,
            "infrastructureRef": _reference(TEST_CLUSTERS),
            "controlPlaneRef": _reference(TEST_CONTROL_PLANES),
        }
        self._apply_until_served(CLUSTERS, {**self._object(CLUSTERS, CLUSTER), "spec": spec})

    def declare_template(self, name: str, **spec: Any) -> None:
        """Declare what machines are made from."""
        made = self._object(TEST_TEMPLATES, name)
        self._client.apply(TEST_TEMPLATES, {**made, "spec": {"template": {"spec": spec}}})

    # What a machine is: here a Node object, in nspawn_provider.py a container.

    def start_machine(self, owner: Object, user_data: bytes) -> None:
        """Begin a boot of a Machine's machine from this user data."""

    def is_node(self, owner: Object, identity: str) -> bool:
        """Say whether the machine of a Machine has joined; afterwards its Node says who it is."""
        metadata, spec = owner["metadata"], owner["spec"]
        made = self.make_node(metadata["name"], identity, spec.get("version", ""))
        with contextlib.suppress(ConflictError):
            self._client.create(NODES, made)
        return True

    def make_node(self, name: str, identity: str, version: str) -> Object:
        """Return the Node that a machine joins as."""
        return ready_node(name, identity, version)

    def end_machine(self, name: str) -> None:
        """Afterwards nothing of a machine runs."""

    def start(self) -> None:
        """Give machines power from here on."""
        self._following.start()
        for thread in self._threads:
            thread.start()

    def stop(self) -> None:
        """Do nothing any more."""
        self._following.stop()
        self._queue.close()
        for thread in self._threads:
            thread.join(30)
        self._client.close()

    def _look(self, machine: Object) -> None:
        self._queue.add(machine["metadata"]["name"])

    def _work(self) -> None:
        while (name := self._queue.take()) is not None:
            try:
                again_s = self._step(name)
            except FairleadError:  # somebody else wrote it, or the server is away
                again_s = AGAIN_S
            finally:
                self._queue.done(name)
            if again_s is not None:
                self._queue.add_later(name, again_s)

    def _step(self, name: str) -> float | None:
        """Do what is next for a machine; return when to look again if nobody writes it."""
        machine = self._following.find(self._namespace, name)
        if machine is None:
            return None
        if "deletionTimestamp" in machine["metadata"]:
            self._take_away(machine)
            return None
        if (machine.get("status") or {}).get("initialization", {}).get("provisioned"):
            return None
        return self._bring_up(machine)

    def _take_away(self, machine: Object) -> None:
        metadata = machine["metadata"]
        self.end_machine(metadata["name"])
        self._client.delete(NODES, metadata["name"])
        self._born.pop(metadata["name"], None)
        kept = [one for one in metadata.get("finalizers", ()) if one != FINALIZER]
        if kept != metadata.get("finalizers", []):
            self._client.replace(
                TEST_MACHINES, {**machine, "metadata": {**metadata, "finalizers": kept}}
            )

    def _bring_up(self, machine: Object) -> float | None:
        metadata = machine["metadata"]
        name = metadata["name"]
        owners = [one for one in metadata.get("ownerReferences", ()) if one["kind"] == "Machine"]
        owner = self._client.find(MACHINES, owners[0]["name"], self._namespace) if owners else None
        if owner is None:
            return AGAIN_S
        if name not in self._born:
            told = owner["spec"]["bootstrap"].get("dataSecretName", "")
            secret = self._client.find(SECRETS, told, self._namespace) if told else None
            if secret is None:
                return AGAIN_S
            user_data = base64.b64decode(secret["data"]["value"])
            self._power_on(machine, told, user_data)
            self.start_machine(owner, user_data)
            return self._boot_s
        waits = self._born[name] + self._boot_s - time.monotonic()
        if waits > 0:
            return waits
        is_quiet = self.is_silent or name in self.silent
        return AGAIN_S if is_quiet or not self._join(machine, owner) else None

    def _power_on(self, machine: Object, told: str, user_data: bytes) -> None:
        metadata = machine["metadata"]
        booted = f"{told} {hashlib.sha256(user_data).hexdigest()[:12]}"
        annotations = {**(metadata.get("annotations") or {}), BOOTED_FROM: booted}
        finalizers = [*metadata.get("finalizers", []), FINALIZER]
        changed = {**metadata, "annotations": annotations, "finalizers": finalizers}
        written = self._client.replace(TEST_MACHINES, {**machine, "metadata": changed})
        self._following.note_written(written)
        self._born[metadata["name"]] = time.monotonic()

    def _join(self, machine: Object, owner: Object) -> bool:
        name = machine["metadata"]["name"]
        identity = f"test://{name}"
        if not self.is_node(owner, identity):
            return False
        written = self._client.replace(
            TEST_MACHINES, {**machine, "spec": {**machine["spec"], "providerID": identity}}
        )
        addresses = [{"type": "InternalIP", "address": LOOPBACK}]
        status = {"initialization": {"provisioned": True}, "addresses": addresses}
        self._client.replace(TEST_MACHINES, {**written, "status": status}, "status")
        return True

    def _declare(
        self, resource: Resource, spec: Object, initialization: Object, more: Object | None = None
    ) -> None:
        made = self._client.apply(resource, {**self._object(resource, CLUSTER), "spec": spec})
        status = {"initialization": initialization, **(more or {})}
        self._client.replace(resource, {**made, "status": status}, "status")

    def _apply_until_served(self, resource: Resource, wanted: Object) -> None:
        """The core's webhooks answer a few seconds after it was started."""
        end = time.monotonic() + 90
        while True:
            try:
                self._client.apply(resource, wanted)
            except FairleadError:
                if time.monotonic() > end:
                    raise
                time.sleep(0.3)
            else:
                return

    def _object(self, resource: Resource, name: str) -> Object:
        header = {"apiVersion": resource.api_version, "kind": resource.kind}
        return {**header, "metadata": self._metadata(name)}

    def _metadata(self, name: str) -> Object:
        return {"name": name, "namespace": self._namespace}


def open_definition(resource: Resource) -> Object:
    """A definition that takes anything."""
    properties = {"spec": _OPEN, "status": _OPEN}
    version = {
        "name": resource.version,
        "served": True,
        "storage": True,
        "subresources": {"status": {}},
        "schema": {"openAPIV3Schema": {"type": "object", "properties": properties}},
    }
    names = {
        "kind": resource.kind,
        "listKind": f"{resource.kind}List",
        "plural": resource.plural,
        "singular": resource.kind.lower(),
    }
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {
            "name": f"{resource.plural}.{resource.group}",
            "labels": {"cluster.x-k8s.io/v1beta2": VERSION},
        },
        "spec": {
            "group": resource.group,
            "scope": "Namespaced",
            "names": names,
            "versions": [version],
        },
    }


def _reference(resource: Resource) -> Object:
    return {"apiGroup": resource.group, "kind": resource.kind, "name": CLUSTER}


def ready_node(name: str, identity: str, version: str) -> Object:
    known = (
        *("architecture", "bootID", "containerRuntimeVersion", "kernelVersion", "kubeProxyVersion"),
        *("machineID", "operatingSystem", "osImage", "systemUUID"),
    )
    # A kubelet reports all four, and Cluster API calls no machine available that lacks one.
    reported = {"Ready": "True"} | dict.fromkeys(
        ("MemoryPressure", "DiskPressure", "PIDPressure"), "False"
    )
    return {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {"name": name, "labels": {"kubernetes.io/hostname": name}},
        "spec": {"providerID": identity},
        "status": {
            "nodeInfo": {**dict.fromkeys(known, ""), "kubeletVersion": version},
            "conditions": [_node_condition(*one) for one in reported.items()],
        },
    }


def _node_condition(name: str, status: str) -> Object:
    return {
        "type": name,
        "status": status,
        "reason": "KubeletReady",
        "message": "as the kubelet says",
        "lastHeartbeatTime": "2026-11-18T00:00:00Z",
        "lastTransitionTime": "2026-11-18T00:00:00Z",
    }


@contextlib.contextmanager
def running_provider(
    cluster: TestCluster, namespace: str, boot_s: float = 0.2
) -> Iterator[Provider]:
    """A provider with one cluster declared, for as long as the block runs."""
    with providing(Provider(cluster, namespace, boot_s), cluster) as provider:
        yield provider


@contextlib.contextmanager
def providing(provider: Of, cluster: TestCluster) -> Iterator[Of]:
    """Let this provider work, with one cluster declared, for as long as the block runs."""
    provider.install()
    provider.declare_cluster(cluster)
    provider.start()
    try:
        yield provider
    finally:
        provider.stop()


def log_of(cluster: TestCluster) -> Path:
    """Where Cluster API's core says what it does."""
    return cluster.directory / "cluster-api.log"


def install_all(cluster: TestCluster, *words: str) -> None:
    """Start what a server with Cluster API needs; words: what its core is told beside ours."""
    # Nodes here are objects without a kubelet: nobody renews their leases, and nobody reads for how
    # long it may keep what it read, which is written to every node as they become more.
    cluster.start_controller_manager("*,-node-lifecycle-controller,-ttl-controller")
    admin = connect(cluster.admin)
    for definition in definitions():
        admin.apply(CRDS, manifest_of(definition))
    install_cluster_api(cluster, admin, *words)
    admin.close()
