"""A cluster with Cluster API, a provider of machines and an operator, for tests."""

import time
from collections.abc import Callable
from datetime import datetime
from typing import Any

from fairlead.inputs.platform_inputs import Stub
from fairlead.kube.answer import Object
from fairlead.kube.client import KubeClient, connect
from fairlead.kube.operator import LEASE, SECRETS_S, Operator, Settings, whole_second
from fairlead.kube.resource import LEASES, MACHINE_DEPLOYMENTS, MACHINES, NODE_POOLS, SECRETS
from kube.cluster import TestCluster
from kube.cluster_api import Provider

NAMESPACE = "default"
DEADLINE_S = 60

AUTHORITY = "-----BEGIN CERTIFICATE-----\nMIIB\n-----END CERTIFICATE-----\n"
IN_PLACE_IMAGE = "registry.example.test/fairlead-operator:1"
STUB = Stub(endpoint="https://payload.example.test/v1/node-config", ca=AUTHORITY)


def wait_until(
    holds: Callable[[], bool],
    says: Callable[[], object] = lambda: "",
    deadline_s: float = DEADLINE_S,
) -> None:
    end = time.monotonic() + deadline_s
    while not holds():
        assert time.monotonic() < end, f"it did not become true in time: {says()}"
        time.sleep(0.1)


class Fleet:
    """A cluster with Cluster API, a provider and an operator."""

    def __init__(self, cluster: TestCluster, provider: Provider) -> None:
        self.cluster = cluster
        self.provider = provider
        self.admin = connect(cluster.admin)
        self.reached_by = cluster.admin  # the kubeconfig of operators
        self.now: Callable[[], datetime] = whole_second  # for operators that are made from here on
        self.secrets_s = SECRETS_S
        self.said: list[str] = []
        self.running: list[tuple[Operator, KubeClient]] = []

    def make_operator(
        self,
        identity: str = "one",
        namespace: str = NAMESPACE,
        clock: Callable[[], float] = time.monotonic,
    ) -> Operator:
        """An operator that was not started; its lease is in this namespace, and by this clock."""
        settings = Settings(
            namespace=namespace,
            identity=identity,
            stub=STUB,
            in_place_image=IN_PLACE_IMAGE,
            secrets_s=self.secrets_s,
        )
        client = connect(self.reached_by)
        operator = Operator(client, settings, self.said.append, clock, self.now)
        self.running.append((operator, client))
        return operator

    def start_operator(
        self,
        identity: str = "one",
        namespace: str = NAMESPACE,
        clock: Callable[[], float] = time.monotonic,
    ) -> Operator:
        operator = self.make_operator(identity, namespace, clock)
        operator.start()
        return operator

    def stop_operators(self) -> None:
        self.stop_but(None)

    def stop_but(self, kept: Operator | None) -> None:
        """Stop all operators but this one."""
        for operator, client in [one for one in self.running if one[0] is not kept]:
            self.running.remove((operator, client))
            operator.stop()
            client.close()

    def hand_over(self) -> None:
        """Let nobody hold the lease, whoever believes to: whoever looks first takes it."""
        wanted = {
            "apiVersion": LEASES.api_version,
            "kind": LEASES.kind,
            "metadata": {"name": LEASE, "namespace": NAMESPACE},
            "spec": {"holderIdentity": ""},
        }
        self.admin.apply(LEASES, wanted, manager="somebody")

    def declare(self, name: str, namespace: str = NAMESPACE, **spec: Any) -> Object:
        document = {
            "apiVersion": NODE_POOLS.api_version,
            "kind": "NodePool",
            "metadata": {"name": name, "namespace": namespace},
            "spec": {
                "release": {"version": "1.34.2"},
                "replicas": 2,
                "machineTemplate": {
                    "apiGroup": "infra.test.fairlead.dev",
                    "kind": "TestMachineTemplate",
                    "name": "small",
                },
                **spec,
            },
        }
        return self.admin.apply(NODE_POOLS, document, manager="owner")

    def pool(self, name: str, namespace: str = NAMESPACE) -> Object:
        found = self.admin.find(NODE_POOLS, name, namespace)
        assert found is not None
        return found

    def state(self, name: str, namespace: str = NAMESPACE) -> str:
        return str((self.pool(name, namespace).get("status") or {}).get("state", ""))

    def condition(self, name: str, kind: str) -> Object:
        conditions = self.pool(name)["status"]["conditions"]
        return next(dict(one) for one in conditions if one["type"] == kind)

    def machines(self, name: str) -> list[str]:
        found, _ = self.admin.list_all(MACHINES, NAMESPACE, f"fairlead.dev/pool={name}")
        return sorted(one["metadata"]["name"] for one in found)

    def deployment(self, name: str) -> Object:
        found = self.admin.find(MACHINE_DEPLOYMENTS, name, NAMESPACE)
        assert found is not None
        return found

    def settle(self, name: str, deadline_s: float = DEADLINE_S) -> None:
        """Wait until the pool says of what is declared at this moment that it is so."""
        generation = self.pool(name)["metadata"]["generation"]

        def is_settled() -> bool:
            status = self.pool(name).get("status") or {}
            is_told = status.get("observedGeneration", 0) >= generation
            return is_told and status.get("state") == "Settled"

        wait_until(is_settled, lambda: (self.pool(name).get("status"), self.said[-5:]), deadline_s)

    def secrets(self, name: str) -> list[str]:
        found, _ = self.admin.list_all(SECRETS, NAMESPACE, f"fairlead.dev/pool={name}")
        return sorted(one["metadata"]["name"] for one in found)
