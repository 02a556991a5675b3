"""
The clusters that machines join, by the kubeconfig that Cluster API keeps of each.

Their labels and taints are written there, and the bootstrap tokens with which machines join them.
"""

from __future__ import annotations

import base64
import secrets
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import Any

import yaml
from lightkube.config.kubeconfig import KubeConfig

from fairlead.errors import InputError, UnavailableError
from fairlead.kube.answer import Object, version_of
from fairlead.kube.client import KubeClient
from fairlead.kube.resource import GROUP, NODES, SECRETS
from fairlead.payload.join import Join
from fairlead.rollout.machines import NodeSettings

# Where Kubernetes looks for bootstrap tokens, and which machine one was drawn for.
TOKENS = "kube-system"
JOINS_FOR = f"{GROUP}/joins-for"

# What kubeadm lets ask for a certificate, and gives one: of itself a token is in a group that no
# cluster lets do anything.
JOINERS = "system:bootstrappers:kubeadm:default-node-token"

# Parts of a kubeconfig that would have this process open a file or run a program.
OUTSIDE = ("certificate-authority", "client-certificate", "client-key", "tokenFile")
PROGRAMS = ("exec", "auth-provider")


# Seconds for which a cluster that did not answer is left alone: at first, and at most.
FIRST_SILENT_S, LONGEST_SILENT_S = 15.0, 120.0


class UnreachedError(UnavailableError):
    """
    A cluster that machines join could not be told something.

    seconds: after which it is asked again. why: what keeps it, without what waits for it. reason:
    in a word, for conditions.
    """

    def __init__(self, why: str, seconds: float, waits: str = "", reason: str = "NoAnswer") -> None:
        self.why = why
        self.seconds = seconds
        self.reason = reason
        super().__init__(f"{why}. {waits}" if waits else why)


class NoNodeError(UnavailableError):
    """The cluster answers, and has no such Node."""


@dataclass(frozen=True, slots=True)
class _Silence:
    """What kept a cluster from answering, how long it is left alone for that, and until when."""

    why: str
    seconds: float
    until: float


@dataclass(frozen=True, slots=True)
class Workload:
    """One cluster. server: NAME:PORT. ca: PEM."""

    client: KubeClient
    server: str
    ca: str


class Workloads:
    """
    The clusters of all namespaces, each connected to once for each kubeconfig.

    clock: monotonic seconds.
    """

    def __init__(self, client: KubeClient, clock: Callable[[], float] = time.monotonic) -> None:
        self._client = client
        self._clock = clock
        self._silences: dict[tuple[str, str], _Silence] = {}
        self._known: dict[tuple[str, str], tuple[str, Workload]] = {}
        self._opened: list[KubeClient] = []
        self._lock = threading.Lock()

    def find(self, namespace: str, cluster: str) -> Workload:
        """Return a cluster. Raises UnavailableError while it has no usable kubeconfig."""
        return self._connect(namespace, cluster, self._find_kubeconfig(namespace, cluster))

    @contextmanager
    def asking(self, namespace: str, cluster: str) -> Iterator[Workload]:
        """
        Return a cluster to ask in this block.

        Raises UnreachedError if it does not answer, and without asking for a while afterwards: a
        pass waits for an answer in vain for ten seconds, and other pools wait for the pass.
        """
        key = (namespace, cluster)
        self._refuse_silent(key)
        # Asked outside of what follows: where our own server is gone, no other one is to blame.
        secret = self._find_kubeconfig(namespace, cluster)
        try:
            yield self._connect(namespace, cluster, secret)
        except NoNodeError:
            raise
        except UnavailableError as error:
            raise self._silenced(key, error) from error
        with self._lock:
            self._silences.pop(key, None)

    def _refuse_silent(self, key: tuple[str, str]) -> None:
        """Raise UnreachedError while a cluster is left alone; then one caller asks it."""
        with self._lock:
            known, now = self._silences.get(key), self._clock()
            if known is None:
                return
            if now < known.until:
                raise UnreachedError(known.why, known.until - now, _waits_for(*key))
            self._silences[key] = replace(known, until=now + known.seconds)

    def _silenced(self, key: tuple[str, str], error: UnavailableError) -> UnreachedError:
        why = f"the cluster {key[1]} cannot be asked: {error}"
        with self._lock:
            known = self._silences.get(key)
            seconds = min(known.seconds * 2, LONGEST_SILENT_S) if known else FIRST_SILENT_S
            self._silences[key] = _Silence(why, seconds, self._clock() + seconds)
        return UnreachedError(why, seconds, _waits_for(*key))

    def _find_kubeconfig(self, namespace: str, cluster: str) -> Object | None:
        return self._client.find(SECRETS, f"{cluster}-kubeconfig", namespace)

    def _connect(self, namespace: str, cluster: str, secret: Object | None) -> Workload:
        name = f"{cluster}-kubeconfig"
        if secret is None:
            raise UnavailableError(f"there is no Secret {name} in {namespace} yet")
        version = version_of(secret)
        with self._lock:
            known = self._known.get((namespace, cluster))
            if known is None or known[0] != version:
                known = (version, _connected(secret, name))
                self._known[namespace, cluster] = known
                self._opened.append(known[1].client)
        return known[1]

    def close(self) -> None:
        """Close all connections, also of kubeconfigs that were replaced: some may be in use."""
        for client in self._opened:
            client.close()


class KubeJoins:
    """
    The Joins seam: a bootstrap token for each machine, in the cluster that it joins.

    Drawn when a machine fetches its config, deleted when it fetches again or has said how its boot
    ended; Kubernetes itself deletes what is left after its hour.
    find_cluster: namespace and cluster of a machine of a pool.
    """

    def __init__(
        self, workloads: Workloads, find_cluster: Callable[[str, str], tuple[str, str]]
    ) -> None:
        self._workloads = workloads
        self._find_cluster = find_cluster

    def admit(self, pool: str, machine: str, until: datetime) -> Join:
        """Return how a machine joins; what it was given before ends now."""
        workload = self._workloads.find(*self._find_cluster(pool, machine))
        self._forget(workload, machine)
        name, secret = secrets.token_hex(3), secrets.token_hex(8)
        workload.client.create(SECRETS, _bootstrap_token(name, secret, machine, until))
        return Join(server=workload.server, ca=workload.ca, token=f"{name}.{secret}")

    def dismiss(self, pool: str, machine: str) -> None:
        """Delete what a machine was given."""
        self._forget(self._workloads.find(*self._find_cluster(pool, machine)), machine)

    def _forget(self, workload: Workload, machine: str) -> None:
        found, _ = workload.client.list_all(SECRETS, TOKENS, f"{JOINS_FOR}={machine}")
        for one in found:
            workload.client.delete(SECRETS, one["metadata"]["name"], TOKENS)


def put_settings(workload: Workload, node: str, before: NodeSettings, wanted: NodeSettings) -> None:
    """
    Give a Node its labels and taints, and take those away that it had from us.

    Taints of others stay: the list has one owner, so it is written over exactly what was read.
    """
    found = workload.client.find(NODES, node)
    if found is None:
        raise NoNodeError(f"there is no Node {node} yet")
    metadata, spec = found["metadata"], found.get("spec") or {}
    labels = {
        name: value
        for name, value in (metadata.get("labels") or {}).items()
        if name not in before.labels
    } | dict(wanted.labels)
    ours = [_taint_key(one) for one in (*before.taints, *wanted.taints)]
    others = [one for one in spec.get("taints") or () if _taint_key(one) not in ours]
    taints = [*others, *wanted.taints]
    if labels == (metadata.get("labels") or {}) and taints == (spec.get("taints") or []):
        return
    changed = {**found, "metadata": {**metadata, "labels": labels}}
    workload.client.replace(NODES, {**changed, "spec": {**spec, "taints": taints}})


def _waits_for(namespace: str, cluster: str) -> str:
    return (
        "Labels and taints of its nodes wait until its API server answers by the kubeconfig in "
        f"the Secret {cluster}-kubeconfig of {namespace}."
    )


def _taint_key(taint: Any) -> tuple[str, str]:
    return (taint.get("key", ""), taint.get("effect", "")) if isinstance(taint, dict) else ("", "")


def _bootstrap_token(name: str, secret: str, machine: str, until: datetime) -> Object:
    return {
        "apiVersion": "v1",
        "kind": "Secret",
        "type": "bootstrap.kubernetes.io/token",
        "metadata": {
            "name": f"bootstrap-token-{name}",
            "namespace": TOKENS,
            "labels": {JOINS_FOR: machine},
        },
        "stringData": {
            "token-id": name,
            "token-secret": secret,
            "expiration": until.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%SZ"),
            "usage-bootstrap-authentication": "true",
            "auth-extra-groups": JOINERS,
        },
    }


def _connected(secret: Object, name: str) -> Workload:
    try:
        document = yaml.safe_load(base64.b64decode(secret["data"]["value"], validate=True))
        _refuse_outside(document, name)
        config = KubeConfig.from_dict(document)
        chosen = config.get()
        cluster = chosen.cluster if chosen else None
        ca = base64.b64decode((cluster.certificate_auth_data if cluster else "") or "").decode()
    except (KeyError, TypeError, ValueError, yaml.YAMLError, InputError) as error:
        raise UnavailableError(f"the Secret {name} holds no usable kubeconfig: {error}") from error
    if cluster is None or not ca:
        raise UnavailableError(f"the kubeconfig in the Secret {name} names no authority")
    server = cluster.server.removeprefix("https://").rstrip("/")
    return Workload(KubeClient(config), server, ca)


def _refuse_outside(document: Any, name: str) -> None:
    entries = [
        one.get(kind) or {}
        for kind, many in (("cluster", "clusters"), ("user", "users"))
        for one in document.get(many) or ()
    ]
    found = [word for entry in entries for word in (*OUTSIDE, *PROGRAMS) if word in entry]
    if found:
        raise InputError(f"{name} has {found[0]}, expected everything to be in the kubeconfig")
