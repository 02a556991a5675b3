"""A payload service over a real API server, with two Machines that nobody drives."""

import contextlib
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

from fairlead.errors import FairleadError
from fairlead.inputs.platform_inputs import Stub
from fairlead.kube.answer import Object
from fairlead.kube.client import connect
from fairlead.kube.definitions.crd import definitions, manifest_of
from fairlead.kube.resource import (
    CLUSTERS,
    MACHINE_DEPLOYMENTS,
    MACHINE_HEALTH_CHECKS,
    MACHINE_SETS,
    MACHINES,
    NODE_POOLS,
    SECRETS,
)
from fairlead.kube.serve.payloads import KubePayloads
from fairlead.kube.world import KubeWorld
from fairlead.payload.app import PayloadSource
from fairlead.rollout.secrets import TokenSecret
from fairlead.sim.clock import Clock
from kube.cluster import running_cluster
from kube.cluster_api import CRDS, open_definition

POOL = "default/workers"
DRIVEN = (CLUSTERS, MACHINE_DEPLOYMENTS, MACHINE_HEALTH_CHECKS, MACHINE_SETS, MACHINES)
WAIT_S = 60
RELEASE = {"release": {"version": "1.34.2"}}
LOGIN = '{"auths": {}}'


class KubeEdge:
    """One Secret for many machines, in a cluster."""

    def __init__(self, world: KubeWorld, token: TokenSecret, machines: tuple[str, ...]) -> None:
        self.clock = Clock()
        self._world = world
        self._token = token.token
        self._payloads = KubePayloads(world)
        client = world.copies.client
        client.apply(NODE_POOLS, _object(NODE_POOLS.api_version, "NodePool", "workers", RELEASE))
        _wait_until(lambda: world.copies.find(NODE_POOLS, "default", "workers") is not None)
        login = _object("v1", "Secret", "registry-login", {})
        del login["spec"]
        kind = {"type": "kubernetes.io/dockerconfigjson"}
        client.create(SECRETS, {**login, **kind, "stringData": {".dockerconfigjson": LOGIN}})
        world.secrets.create_token(replace(token, pool=POOL))
        told = {"bootstrap": {"dataSecretName": f"user-data-workers-{token.id}"}}
        for name in machines:
            made = _object(MACHINES.api_version, "Machine", name, {**told, "clusterName": "c"})
            made["metadata"]["labels"] = {"fairlead.dev/pool": "workers"}
            client.create(MACHINES, made)
            _wait_until(lambda name=name: self._payloads.find_machine(POOL, name) is not None)

    def source(self) -> PayloadSource:
        return self._payloads

    def token_of(self, _machine: str) -> str:
        return self._token

    def let_go(self, machine: str) -> None:
        found = self._world.copies.find(MACHINES, "default", machine)
        assert found is not None
        held = {**found, "metadata": {**found["metadata"], "finalizers": ["test.fairlead.dev/a"]}}
        self._world.copies.client.replace(MACHINES, held)
        self._world.copies.client.delete(MACHINES, machine, "default")
        _wait_until(lambda: "deletionTimestamp" in self._metadata(machine))

    def report_of(self, machine: str) -> bytes:
        found = self._payloads.find_machine(POOL, machine)
        kept = self._payloads.reports.find(found) if found else None
        return kept.text.encode() if kept else b""

    def _metadata(self, machine: str) -> Object:
        found = self._world.copies.find(MACHINES, "default", machine) or {"metadata": {}}
        return dict(found["metadata"])


@contextlib.contextmanager
def running_edge(
    directory: Path, token: TokenSecret, machines: tuple[str, ...]
) -> Iterator[KubeEdge]:
    """The edge on a cluster of its own, for as long as the block runs."""
    with running_cluster(directory) as cluster:
        client = connect(cluster.admin)
        for definition in definitions():
            client.apply(CRDS, manifest_of(definition))
        for resource in DRIVEN:
            client.apply(CRDS, open_definition(resource))
        _wait_until(lambda: _is_served(client.list_all))
        world = KubeWorld(client, "default", Stub(), lambda _: None, lambda _: None)
        world.copies.start()
        try:
            yield KubeEdge(world, token, machines)
        finally:
            world.copies.stop()
            client.close()


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


def _object(version: str, kind: str, name: str, spec: Object) -> Object:
    metadata = {"name": name, "namespace": "default"}
    return {"apiVersion": version, "kind": kind, "metadata": metadata, "spec": spec}
