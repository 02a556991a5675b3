"""What must hold of pools at every moment, and once they are at rest, whatever happened to them."""

import base64
import threading
from typing import Any

from fairlead.kept_text import parse_document
from fairlead.kube.answer import Object
from fairlead.kube.client import KubeClient, connect
from fairlead.kube.informer import Informer, Selection
from fairlead.kube.names import POOL_LABEL
from fairlead.kube.resource import (
    MACHINE_DEPLOYMENTS,
    MACHINE_SETS,
    MACHINES,
    NODE_REVISIONS,
    SECRETS,
)
from kube.cluster import TestCluster
from kube.cluster_api import TEST_TEMPLATES
from kube.fleet import NAMESPACE


class Budgets:
    """
    Looks at every change of a Machine, and notes each moment at which a pool had too many or too
    few of them. most: machines that do not leave. fewest: of them, those that are available, once
    there were so many.

    What is counted is always one state of the server. After a restart a watch begins with a list,
    whose changes are told one after the other: counted on the way, the new machines would stand
    beside old ones that went long ago.
    """

    def __init__(self, cluster: TestCluster, namespace: str = NAMESPACE) -> None:
        self._client = connect(cluster.admin)
        self._limits: dict[str, tuple[int, int]] = {}
        self._has_begun: set[str] = set()
        self._lock = threading.Lock()
        self.violations: list[str] = []
        self.looks = 0
        selection = Selection(namespace, POOL_LABEL, _pool_of)
        self._following = Informer(self._client, MACHINES, self._look, lambda _: None, selection)

    def expect(self, pool: str, fewest: int, most: int) -> None:
        with self._lock:
            self._limits[pool] = (fewest, most)

    def start(self) -> None:
        self._following.start()
        assert self._following.wait_until_synced(60)

    def stop(self) -> None:
        self._following.stop()
        self._client.close()

    def _look(self, changed: Object) -> None:
        pool = _pool_of(changed)
        found = self._following.list_group(pool)
        staying = [one for one in found if "deletionTimestamp" not in one["metadata"]]
        available = sum(is_available(one) for one in staying)
        with self._lock:
            self.looks += 1
            if pool not in self._limits:
                return
            fewest, most = self._limits[pool]
            if available >= fewest:
                self._has_begun.add(pool)
            if len(staying) > most:
                self.violations.append(f"{pool}: {len(staying)} machines, at most {most}")
            if pool in self._has_begun and available < fewest:
                self.violations.append(f"{pool}: {available} available, at least {fewest}")


def _pool_of(machine: Object) -> str:
    return str(machine["metadata"]["labels"][POOL_LABEL])


def is_available(machine: Object) -> bool:
    conditions = (machine.get("status") or {}).get("conditions") or ()
    return any(one["type"] == "Available" and one["status"] == "True" for one in conditions)


def missing_pairs(admin: KubeClient, names: list[str]) -> list[str]:
    """Secrets that a template, a set that makes machines or a machine names, and that are not."""
    there = {one["metadata"]["name"] for one in admin.list_all(SECRETS, NAMESPACE)[0]}
    named: set[str] = set()
    for resource in (MACHINE_DEPLOYMENTS, MACHINE_SETS, MACHINES):
        for one in admin.list_all(resource, NAMESPACE, POOL_LABEL)[0]:
            labels, spec = one["metadata"]["labels"], one["spec"]
            if resource == MACHINE_SETS and not spec.get("replicas"):
                continue
            told = spec if resource == MACHINES else spec["template"]["spec"]
            if labels[POOL_LABEL] in names and "deletionTimestamp" not in one["metadata"]:
                named.add(told["bootstrap"]["dataSecretName"])
    wanted = named | {one.replace("user-data-", "token-", 1) for one in named}
    # A pair that was named before this list and went since is no missing one: look once more.
    return sorted(one for one in wanted - there if admin.find(SECRETS, one, NAMESPACE) is None)


def kept_of(secret: Object) -> Any:
    """What the operator keeps for itself in one of its Secrets."""
    return parse_document(base64.b64decode(secret["data"]["kept"]).decode())


def objects_of(admin: KubeClient, pool: str) -> dict[str, list[str]]:
    """The names of everything that is a pool's own, by resource."""
    label = f"{POOL_LABEL}={pool}"
    resources = (SECRETS, NODE_REVISIONS, MACHINE_DEPLOYMENTS, TEST_TEMPLATES)
    return {
        resource.plural: sorted(
            one["metadata"]["name"] for one in admin.list_all(resource, NAMESPACE, label)[0]
        )
        for resource in resources
    }


def objects_of_one_revision(admin: KubeClient, pool: str) -> dict[str, list[str]]:
    """What a pool has that is at rest, and whose earlier revisions have expired."""
    told = admin.find(MACHINE_DEPLOYMENTS, pool, NAMESPACE)
    assert told is not None
    name = told["spec"]["template"]["spec"]["bootstrap"]["dataSecretName"]
    revision = name.removeprefix(f"user-data-{pool}-")
    return {
        "secrets": [f"token-{pool}-{revision}", f"user-data-{pool}-{revision}"],
        "noderevisions": [f"{pool}-{revision}"],
        "machinedeployments": [pool],
        "testmachinetemplates": [f"{pool}-{revision}"],
    }
