"""
A payload service over a real API server, with two Machines that nobody drives.

It has its own account of the manifests; what owners, operators and Cluster API do, an administrator
does here.
"""

import contextlib
import itertools
import time
from collections.abc import Iterator
from dataclasses import replace

from fairlead.errors import FairleadError
from fairlead.inputs.platform_inputs import Stub
from fairlead.kube.answer import Object
from fairlead.kube.client import connect
from fairlead.kube.resource import (
    CLUSTERS,
    MACHINE_DEPLOYMENTS,
    MACHINE_HEALTH_CHECKS,
    MACHINE_SETS,
    MACHINES,
    NODE_POOLS,
    SECRETS,
    Resource,
)
from fairlead.kube.serve.payloads import KubePayloads
from fairlead.kube.world import KubeWorld, PayloadWorld
from fairlead.payload.app import PayloadSource
from fairlead.rollout.secrets import TokenSecret
from fairlead.sim.clock import Clock
from kube.cluster import TestCluster
from kube.cluster_api import CRDS, open_definition
from kube.processes import kubeconfig_of

DRIVEN = (CLUSTERS, MACHINE_DEPLOYMENTS, MACHINE_HEALTH_CHECKS, MACHINE_SETS, MACHINES)
WAIT_S = 60
RELEASE = {"release": {"version": "1.34.2"}}
LOGIN = '{"auths": {}}'
NAMESPACES = Resource("", "v1", "namespaces", "Namespace", is_namespaced=False)

_numbers = itertools.count(1)


class KubeEdge:
    """
    One Secret for many machines, in a namespace. others: as all but the service see the cluster.
    """

    def __init__(
        self,
        namespace: str,
        served: KubeWorld,
        others: KubeWorld,
        token: TokenSecret,
        machines: tuple[str, ...],
    ) -> None:
        self._namespace, self._pool = namespace, f"{namespace}/workers"
        self.clock = Clock()
        self._copies, self._admin = served.copies, others.copies.client
        self._token = token.token
        self._payloads = KubePayloads(served)
        client = self._admin
        place: Object = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": namespace}}
        client.create(NAMESPACES, place)
        pool = self._object(NODE_POOLS.api_version, "NodePool", "workers", RELEASE)
        client.apply(NODE_POOLS, pool)
        _wait_until(lambda: others.copies.find(NODE_POOLS, namespace, "workers") is not None)
        login = self._object("v1", "Secret", "registry-login", {})
        del login["spec"]
        kind = {"type": "kubernetes.io/dockerconfigjson"}
        client.create(SECRETS, {**login, **kind, "stringData": {".dockerconfigjson": LOGIN}})
        others.secrets.create_token(replace(token, pool=self._pool))
        _wait_until(lambda: served.secrets.list_tokens(self._pool) != ())
        told = {"bootstrap": {"dataSecretName": f"user-data-workers-{token.id}"}}
        for name in machines:
            made = self._object(MACHINES.api_version, "Machine", name, {**told, "clusterName": "c"})
            made["metadata"]["labels"] = {"fairlead.dev/pool": "workers"}
            client.create(MACHINES, made)
            _wait_until(lambda name=name: self._find(name) is not None)

    def source(self) -> PayloadSource:
        return self._payloads

    def token_of(self, _machine: str) -> str:
        return self._token

    def let_go(self, machine: str) -> None:
        found = self._admin.find(MACHINES, machine, self._namespace)
        assert found is not None
        held = {**found, "metadata": {**found["metadata"], "finalizers": ["test.fairlead.dev/a"]}}
        self._admin.replace(MACHINES, held)
        self._admin.delete(MACHINES, machine, self._namespace)
        _wait_until(lambda: "deletionTimestamp" in self._metadata(machine))

    def report_of(self, machine: str) -> bytes:
        found = self._find(machine)
        kept = self._payloads.reports.find(found) if found else None
        return kept.text.encode() if kept else b""

    def forget(self) -> None:
        """Take the Secrets away: another edge on this server may have the same token."""
        for one in self._admin.list_all(SECRETS, self._namespace)[0]:
            self._admin.delete(SECRETS, one["metadata"]["name"], self._namespace)

    def _find(self, machine: str) -> Object | None:
        return self._payloads.find_machine(self._pool, machine)

    def _metadata(self, machine: str) -> Object:
        found = self._copies.find(MACHINES, self._namespace, machine) or {"metadata": {}}
        return dict(found["metadata"])

    def _object(self, version: str, kind: str, name: str, spec: Object) -> Object:
        metadata = {"name": name, "namespace": self._namespace}
        return {"apiVersion": version, "kind": kind, "metadata": metadata, "spec": spec}


@contextlib.contextmanager
def running_edge(
    cluster: TestCluster, token: TokenSecret, machines: tuple[str, ...]
) -> Iterator[KubeEdge]:
    """The edge on a cluster with our manifests, for as long as the block runs."""
    admin, service = connect(cluster.admin), connect(kubeconfig_of(cluster, "fairlead-payload"))
    for resource in DRIVEN:
        admin.apply(CRDS, open_definition(resource))
    _wait_until(lambda: _is_served(admin.list_all))
    served = PayloadWorld(service, "", Stub(), lambda _: None, lambda _: None)
    others = KubeWorld(admin, "default", Stub(), lambda _: None, lambda _: None)
    for world in (served, others):
        world.copies.start()
    try:
        edge = KubeEdge(f"payloads-{next(_numbers)}", served, others, token, machines)
        yield edge
        edge.forget()
    finally:
        for world in (served, others):
            world.copies.stop()
            world.copies.client.close()


def _is_served(list_all: object) -> bool:
    assert callable(list_all)
    try:
        for resource in (*DRIVEN, NODE_POOLS):
            list_all(resource)
    except FairleadError:
        return False
    return True


def _wait_until(holds: object) -> None:
    assert callable(holds)
    end = time.monotonic() + WAIT_S
    while not holds():
        assert time.monotonic() < end, "it did not become true in time"
        time.sleep(0.02)
