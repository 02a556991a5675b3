"""An operator over a small server, whose passes a test makes itself, one after the other."""

from __future__ import annotations

import base64
import json
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from typing import Any

from certificate_chain import authority
from fairlead.inputs.platform_inputs import Stub
from fairlead.kube.client import KubeClient
from fairlead.kube.operator import Operator, Settings
from fairlead.kube.resource import CLUSTERS, MACHINES, NODE_POOLS, SECRETS, Resource
from unit.kube.object_server import NAMESPACE, ObjectServer
from unit.kube.small_server import client_of, small_server

POOL = f"{NAMESPACE}/workers"
BEGUN = datetime(2026, 11, 18, 2, 0, tzinfo=UTC)

INFRASTRUCTURE = "infra.example.test"
TEMPLATES = Resource(INFRASTRUCTURE, "v1", "smalltemplates", "SmallTemplate")
STUB = Stub(
    endpoint="https://payload.example.test/v1/config",
    ca="-----BEGIN CERTIFICATE-----\nMIIB\n-----END CERTIFICATE-----\n",
)
SPEC: dict[str, Any] = {
    "replicas": 2,
    "release": {"version": "1.34.2"},
    "imageBase": "202607.02",
    "machineTemplate": {"apiGroup": INFRASTRUCTURE, "kind": TEMPLATES.kind, "name": "small"},
}


class OneOperator:
    """The operator, what it said, and the moment at which it makes its next pass."""

    def __init__(self, server: ObjectServer, client: KubeClient) -> None:
        self.server = server
        self.client = client
        self.said: list[str] = []
        self.now = BEGUN
        settings = Settings(
            namespace="home",
            identity="one",
            stub=STUB,
            in_place_image="image:1",
            together_s=0.0,
        )
        self.operator = Operator(client, settings, self.said.append, now=lambda: self.now)

    def passes(self, count: int = 1) -> list[tuple[str, str]]:
        """Look, make a pass, as often as this; return what was written."""
        before = len(self.server.writes)
        for _ in range(count):
            self.now += timedelta(seconds=1)
            self.operator.world.copies.look()
            self.operator.make_pass(POOL)
        return self.server.writes[before:]

    def machine(self, name: str, **annotations: str) -> None:
        """Have a machine of the pool that has joined the cluster c."""
        labels = {"fairlead.dev/pool": "workers"}
        spec = {"clusterName": "c", "bootstrap": {"dataSecretName": "user-data-workers-old"}}
        metadata = {"labels": labels, "annotations": annotations}
        status = {"nodeRef": {"name": name}}
        self.server.put(MACHINES, name, metadata=metadata, spec=spec, status=status)

    def join(self, address: str) -> None:
        """Keep a kubeconfig of the cluster c, as Cluster API does, that leads to this address."""
        ca = base64.b64encode(authority().pem).decode()
        cluster = {"server": address, "certificate-authority-data": ca}
        document = {
            "clusters": [{"name": "c", "cluster": cluster}],
            "users": [{"name": "u", "user": {}}],
            "contexts": [{"name": "x", "context": {"cluster": "c", "user": "u"}}],
            "current-context": "x",
        }
        value = base64.b64encode(json.dumps(document).encode()).decode()
        self.server.put(SECRETS, "c-kubeconfig", data={"value": value})

    def declare(self, generation: int = 1, **spec: Any) -> None:
        """Declare the pool."""
        known = self.server.get(NODE_POOLS, "workers") or {"metadata": {}}
        metadata = {**known["metadata"], "generation": generation}
        found = {**known, "metadata": metadata, "spec": {**SPEC, **spec}}
        parts = {name: found[name] for name in ("metadata", "spec", "status") if name in found}
        self.server.put(NODE_POOLS, "workers", **parts)

    def status(self) -> dict[str, Any]:
        """The pool's status."""
        found = self.server.get(NODE_POOLS, "workers")
        assert found is not None
        return dict(found["status"])

    def condition(self, kind: str) -> dict[str, Any]:
        """One of the pool's conditions."""
        return next(dict(one) for one in self.status()["conditions"] if one["type"] == kind)


@contextmanager
def one_operator() -> Iterator[OneOperator]:
    """An operator whose server has a Cluster, a provider and its template, and no pool yet."""
    server = ObjectServer()
    server.put(CLUSTERS, "c", spec={})
    server.put(TEMPLATES, "small", spec={"size": "small"})
    served = {"name": TEMPLATES.plural, "kind": TEMPLATES.kind, "namespaced": True}
    server.objects[f"/apis/{INFRASTRUCTURE}"] = {"preferredVersion": {"version": "v1"}}
    server.objects[f"/apis/{INFRASTRUCTURE}/v1"] = {"resources": [served]}
    with small_server(server) as address, client_of(address) as client:
        yield OneOperator(server, client)
