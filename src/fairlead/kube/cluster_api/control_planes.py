"""
Which version the control plane of a workload cluster has.

Cluster API's own word comes first: `status.controlPlane.versions` of the Cluster, the oldest of its
API servers, which is what a kubelet is held against while a control plane is upgraded. It comes
with a watch that is there anyway. Cluster API 1.14 copies it from providers that tell
`status.versions`, like kubeadm's; those that tell the older `status.version` alone it does not
copy. A Cluster without it is asked: every cluster has a kubeconfig, and every API server says its
version.
"""

from __future__ import annotations

import re
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from fairlead.errors import InputError
from fairlead.inputs.versions import ControlPlane, minor_of
from fairlead.kube.answer import Object
from fairlead.kube.cluster_api.which_cluster import cluster_of, made_from
from fairlead.kube.cluster_api.workload import UnreachedError, Workloads
from fairlead.kube.copies import Copies
from fairlead.kube.names import every_pool_of
from fairlead.kube.resource import CLUSTERS

# Seconds for which an answer counts, and for which a cluster that gave none is left alone.
ASKED_S, UNANSWERED_S = 600.0, 60.0

# Seconds to wait for an answer: a pass waits for it, and others for the pass.
PATIENCE_S = 3.0

# What comes before and after the three numbers: v1.34.1-eks-0a1b2c, v1.34.1+k3s1.
_FOUND = re.compile(r"v?(\d{1,4}\.\d{1,4}\.\d{1,4})(?:[-+].{0,100})?", re.ASCII)


@dataclass(frozen=True, slots=True)
class _Answer:
    """
    What a cluster said, and until when, in monotonic seconds, that is good enough.

    asked_for: the pool that asks again then, and wakes the others if anything is otherwise.
    """

    control_plane: ControlPlane
    until: float
    asked_for: str


def told_version(cluster: Object) -> str:
    """Return the oldest version that a Cluster tells of its control plane, or ''."""
    status = cluster.get("status")
    told = status.get("controlPlane") if isinstance(status, dict) else None
    versions = told.get("versions") if isinstance(told, dict) else None
    known = [
        version
        for one in (versions if isinstance(versions, list) else ())
        if isinstance(one, dict) and (version := bare_version(one.get("version")))
    ]
    return min(known, key=_numbers, default="")


def bare_version(told: Any) -> str:
    """Return the three numbers of what somebody gives as a version, or ''."""
    found = _FOUND.fullmatch(told) if isinstance(told, str) else None
    return found[1] if found and minor_of(found[1]) else ""


class ControlPlanes:
    """
    What is known of control planes.

    changed: told of a namespace, as of all its pools, where one answers otherwise than before.
    clock: monotonic seconds.
    """

    def __init__(
        self,
        copies: Copies,
        workloads: Workloads,
        changed: Callable[[str], None],
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._copies = copies
        self._workloads = workloads
        self._changed = changed
        self._clock = clock
        self._answers: dict[tuple[str, str], _Answer] = {}
        self._lock = threading.Lock()

    def find(self, owner: Object) -> ControlPlane:
        """Return what is known of the control plane that a NodePool's machines join."""
        if "deletionTimestamp" in owner["metadata"]:
            return noted_control_plane(owner)
        namespace = owner["metadata"]["namespace"]
        try:
            cluster = cluster_of(self._copies, owner, made_from(self._copies, owner))
        except InputError as error:
            return ControlPlane(problem=f"the version of its control plane is not known: {error}")
        if version := self._told(namespace, cluster):
            return ControlPlane(version)
        return self._answered((namespace, cluster), owner).control_plane

    def look_again(self, owner: Object) -> float | None:
        """Return the seconds after which a pool asks its cluster again; None if it does not."""
        namespace = owner["metadata"]["namespace"]
        try:
            key = (namespace, cluster_of(self._copies, owner, made_from(self._copies, owner)))
        except InputError:
            return None  # a Cluster or a label that comes wakes the pool
        if "deletionTimestamp" in owner["metadata"] or self._told(*key):
            return None
        with self._lock:
            known = self._answers.get(key)
        if known is None or known.asked_for != owner["metadata"]["name"]:
            return None
        return max(0.0, known.until - self._clock())

    def _told(self, namespace: str, cluster: str) -> str:
        found = self._copies.find(CLUSTERS, namespace, cluster)
        return told_version(found) if found else ""

    def _answered(self, key: tuple[str, str], owner: Object) -> _Answer:
        """Return what a cluster says; before this process asked, what was noted counts."""
        with self._lock:
            known = self._answers.get(key)
        if known is not None and self._clock() < known.until:
            return known
        before = known.control_plane if known else noted_control_plane(owner)
        fresh = self._ask(key, before.version, owner["metadata"]["name"])
        with self._lock:
            self._answers[key] = fresh
        # Before the first answer all pools are about to pass, unless one was noted.
        if (known or before.version) and _says(fresh.control_plane) != _says(before):
            self._changed(every_pool_of(key[0]))
        return fresh

    def _ask(self, key: tuple[str, str], last: str, pool: str) -> _Answer:
        seconds, says, (namespace, cluster) = UNANSWERED_S, "", key
        try:
            with self._workloads.asking(namespace, cluster) as workload:
                told = workload.client.read_soon("/version", PATIENCE_S)
        except UnreachedError as error:
            says = error.why
        except InputError as error:
            says = f"the cluster {cluster} does not say it: {error}"
        else:
            if version := bare_version(told.get("gitVersion")):
                return _Answer(ControlPlane(version), self._clock() + ASKED_S, pool)
            says = f"the cluster {cluster} says none"
        kept = f"; it was {last} when it answered last" if last else ""
        problem = f"the version of its control plane is not known: {says}{kept}"
        return _Answer(ControlPlane(last, problem), self._clock() + seconds, pool)


def noted_control_plane(owner: Object) -> ControlPlane:
    """Return what an operator found out of the control plane of a NodePool's machines."""
    return ControlPlane(bare_version((owner.get("status") or {}).get("controlPlaneVersion")))


def _says(known: ControlPlane) -> tuple[str, bool]:
    """Return what a pool's status has of it; why one does not answer is worded anew each time."""
    return known.version, bool(known.problem)


def _numbers(version: str) -> tuple[int, ...]:
    return tuple(int(part) for part in version.split("."))
