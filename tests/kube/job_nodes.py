"""
What kubelets do about Jobs, on Nodes that are objects without a kubelet: a pod of a Job that is
bound to a node is run, and how it ended is written into its status.

What a pod runs is its own command, handed to the test; only the image is not there.
"""

import base64
import contextlib
import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime

from fairlead.errors import FairleadError
from fairlead.kube.answer import Object
from fairlead.kube.client import KubeClient, connect
from fairlead.kube.resource import NODES, PODS, SECRETS
from kube.cluster import TestCluster

KUBE_SYSTEM = "kube-system"
LABEL = "fairlead.dev/changes"

# How a container ended: its exit code, and what it said last.
Ended = tuple[int, str]


@dataclass(frozen=True)
class Asked:
    """One run of a Job's pod. document: what its Secret holds. is_closed: the node's cordon."""

    node: str
    command: list[str]
    document: bytes
    is_closed: bool


def well(_asked: Asked) -> Ended:
    return 0, ""


@dataclass
class JobNodes:
    """Runs pods of Jobs. holds_all: none of them ends yet."""

    cluster: TestCluster
    run: Callable[[Asked], Ended] = well
    ran: list[Asked] = field(default_factory=list)
    holds_all: bool = False

    def __post_init__(self) -> None:
        self._client: KubeClient = connect(self.cluster.admin)
        self._is_stopping = threading.Event()
        self._thread = threading.Thread(target=self._loop, daemon=True)
        self._done: set[str] = set()

    def start(self) -> None:
        self._thread.start()

    def waiting(self) -> list[str]:
        """The nodes on which a pod of a Job was started and has not ended."""
        pods = self._client.list_all(PODS, KUBE_SYSTEM, LABEL)[0]
        return [one["spec"]["nodeName"] for one in pods if one["status"]["phase"] == "Pending"]

    def stop(self) -> None:
        self._is_stopping.set()
        self._thread.join(60)
        self._client.close()

    def _loop(self) -> None:
        while not self._is_stopping.wait(0.1):
            with contextlib.suppress(FairleadError):
                for pod in self._client.list_all(PODS, KUBE_SYSTEM, LABEL)[0]:
                    self._step(pod)
            for node in {asked.node for asked in self.ran}:
                with contextlib.suppress(FairleadError):
                    self._say_ready(node)

    def _say_ready(self, node: str) -> None:
        """Say that the kubelet of a node that ran a Job lives, as it says every now and then."""
        found = self._client.find(NODES, node)
        if found is None:
            return
        now = datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
        conditions = [
            {**one, "lastHeartbeatTime": now} if one["type"] == "Ready" else one
            for one in found["status"].get("conditions", ())
        ]
        if conditions != found["status"].get("conditions", ()):
            status = {**found["status"], "conditions": conditions}
            self._client.replace(NODES, {**found, "status": status}, "status")

    def _step(self, pod: Object) -> None:
        uid, node = pod["metadata"]["uid"], pod["spec"]["nodeName"]
        if uid in self._done or self.holds_all or "deletionTimestamp" in pod["metadata"]:
            return
        name = next(
            one["secret"]["secretName"] for one in pod["spec"]["volumes"] if "secret" in one
        )
        secret = self._client.find(SECRETS, name, KUBE_SYSTEM)
        found = self._client.find(NODES, node)
        if secret is None or found is None:
            return  # a kubelet waits for what it mounts
        document = base64.b64decode(secret["data"]["boot-document.json"])
        is_closed = bool(found["spec"].get("unschedulable"))
        asked = Asked(node, pod["spec"]["containers"][0]["command"], document, is_closed)
        code, says = self.run(asked)
        self.ran.append(asked)
        self._done.add(uid)
        ended = {"exitCode": code, "message": says, "reason": "Error" if code else "Completed"}
        container = {
            "name": "change",
            "image": "",
            "imageID": "",
            "ready": False,
            "restartCount": 0,
            "state": {"terminated": ended},
        }
        status = {"phase": "Failed" if code else "Succeeded", "containerStatuses": [container]}
        self._client.replace(PODS, {**pod, "status": {**pod["status"], **status}}, "status")


@contextlib.contextmanager
def running_nodes(cluster: TestCluster, run: Callable[[Asked], Ended] = well) -> Iterator[JobNodes]:
    """Nodes that run Jobs, for as long as the block runs."""
    nodes = JobNodes(cluster, run)
    nodes.start()
    try:
        yield nodes
    finally:
        nodes.stop()
