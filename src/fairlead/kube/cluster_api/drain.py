"""
Draining a node by evictions, so that disruption budgets hold; and telling which of them does.

Nothing is remembered: whoever drains looks at the node again, and asks again for what is there.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from fairlead.errors import UnavailableError
from fairlead.kube.answer import Object
from fairlead.kube.client import KubeClient
from fairlead.kube.resource import GROUP, NODES, PODS

# On a Node that we made unschedulable: another one's cordon is not ours to take back.
CORDONED = f"{GROUP}/cordoned-for"

MIRROR = "kubernetes.io/config.mirror"
ENDED = ("Succeeded", "Failed")


@dataclass(frozen=True, slots=True)
class Drained:
    """What a look at a node found. left: pods that are still there. blocked: why, or ''."""

    left: int
    blocked: str = ""


def cordon(client: KubeClient, node: str, revision: str) -> None:
    """Let nothing more be scheduled to a node."""
    found = _read(client, node)
    if (found.get("spec") or {}).get("unschedulable"):
        return
    _write(client, found, {CORDONED: revision}, is_closed=True)


def uncordon(client: KubeClient, node: str) -> None:
    """Let the scheduler have a node again, if it was we who took it."""
    found = _read(client, node)
    if CORDONED in (found["metadata"].get("annotations") or {}):
        _write(client, found, {}, is_closed=False)


def is_ready(client: KubeClient, node: str) -> bool:
    """Say whether the kubelet of a node says that it is ready."""
    conditions = (_read(client, node).get("status") or {}).get("conditions") or ()
    return any(one["type"] == "Ready" and one["status"] == "True" for one in conditions)


def drain(client: KubeClient, node: str) -> Drained:
    """Ask every pod of a node to leave that would not come back to it; say what is left."""
    pods, _ = client.list_all(PODS, fields=f"spec.nodeName={node}")
    left = [pod for pod in pods if _leaves(pod)]
    blocked = []
    for pod in left:
        metadata = pod["metadata"]
        if "deletionTimestamp" in metadata:
            continue
        name, namespace = metadata["name"], metadata["namespace"]
        if refused := client.evict(name, namespace, metadata["uid"]):
            blocked.append(f"pod {namespace}/{name}: {refused}")
    return Drained(len(left), _told(blocked))


def _told(blocked: Iterable[str]) -> str:
    first, *others = [*sorted(blocked), ""]
    if not first:
        return ""
    count = len(others) - 1
    more = f"; and {count} more" if count else ""
    return f"its drain waits for {first}{more}"


def _leaves(pod: Object) -> bool:
    metadata = pod["metadata"]
    owners = metadata.get("ownerReferences") or ()
    stays = (
        MIRROR in (metadata.get("annotations") or {})
        or any(one["kind"] == "DaemonSet" and one.get("controller") for one in owners)
        or (pod.get("status") or {}).get("phase") in ENDED
    )
    return not stays


def _read(client: KubeClient, node: str) -> Object:
    found = client.find(NODES, node)
    if found is None:
        raise UnavailableError(f"there is no Node {node}")
    return found


def _write(client: KubeClient, found: Object, ours: dict[str, str], *, is_closed: bool) -> None:
    metadata = found["metadata"]
    kept = {
        name: value
        for name, value in (metadata.get("annotations") or {}).items()
        if name != CORDONED
    }
    changed = {**found, "metadata": {**metadata, "annotations": {**kept, **ours}}}
    spec = {**(found.get("spec") or {}), "unschedulable": is_closed}
    client.replace(NODES, {**changed, "spec": spec})
