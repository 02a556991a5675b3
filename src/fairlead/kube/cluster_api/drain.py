"""
Draining a node by evictions, so that disruption budgets hold; and telling which of them does.

Nothing is remembered: whoever drains looks at the node again, and asks again for what is there.
"""

from __future__ import annotations

from collections.abc import Iterable
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime, timedelta

from fairlead.errors import InputError, UnavailableError
from fairlead.kube.answer import Object
from fairlead.kube.client import KubeClient
from fairlead.kube.resource import GROUP, LEASES, NODES, PODS

# On a Node that we made unschedulable: another one's cordon is not ours to take back.
CORDONED = f"{GROUP}/cordoned-for"

# Where kubelets keep their leases, and within how long they notice what became of them: two looks.
NODE_LEASES = "kube-node-lease"
LOOKS_AT_ITSELF = timedelta(seconds=20)

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


def is_ready_since(client: KubeClient, node: str, moment: datetime) -> bool:
    """
    Say whether the kubelet of a node said after this moment that it is ready.

    What it said before stands there for 40 seconds after it died. One that lives says it again when
    it starts and when something of it changes, else every five minutes; it renews its lease all the
    time, and by LOOKS_AT_ITSELF it would have said that it is not ready.
    """
    conditions = (_read(client, node).get("status") or {}).get("conditions") or ()
    ready = [one for one in conditions if one["type"] == "Ready" and one["status"] == "True"]
    if not ready:
        return False
    if _is_after(ready[0].get("lastHeartbeatTime"), moment):
        return True
    with suppress(InputError):  # not every kubeconfig may read leases
        lease = client.find(LEASES, node, NODE_LEASES) or {}
        return _is_after((lease.get("spec") or {}).get("renewTime"), moment + LOOKS_AT_ITSELF)
    return False


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


def _is_after(text: str | None, moment: datetime) -> bool:
    return bool(text) and datetime.fromisoformat(str(text)) > moment


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
