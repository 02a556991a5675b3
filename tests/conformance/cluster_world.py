"""
The simulated world with pools, secrets and journal in a real API server, by the operator's account.

Machines are the simulated deployment's: Cluster API makes them on a cluster, by its own clock and
under names of its own, which tests/kube/ has. A pool is called NAMESPACE/NAME behind these seams
and NAME before them, so that one suite speaks of one pool.
"""

from __future__ import annotations

import itertools
import time
from collections.abc import Callable, Iterable
from dataclasses import replace
from typing import Any, TypeVar

from conformance.stored_world import Rows
from fairlead.answers.event import Event
from fairlead.answers.pool import PoolStatus
from fairlead.controller.observe import PoolDocuments
from fairlead.controller.reconcile import reconcile
from fairlead.inputs.leaf import Json
from fairlead.inputs.platform_inputs import Stub
from fairlead.kept_text import parse_document, render_value
from fairlead.kube.answer import Object, version_of
from fairlead.kube.client import KubeClient
from fairlead.kube.copies import COPIED, Copies
from fairlead.kube.journal import KubeJournal
from fairlead.kube.names import TOKEN, USER_DATA, secret_name
from fairlead.kube.pools import PLATFORM_NAME, KubePools
from fairlead.kube.resource import (
    NODE_POOLS,
    PLATFORM_CONFIGS,
    ROLLOUT_PLANS,
    SECRETS,
    Resource,
)
from fairlead.kube.revisions import Revisions
from fairlead.kube.secrets import KubeSecrets
from fairlead.rollout.approval import Approval
from fairlead.rollout.machines import Machine
from fairlead.rollout.record import PoolRecord
from fairlead.rollout.secrets import TokenSecret, UserData
from fairlead.sim.deployment_world import DeploymentWorld

WAIT_S = 60
NAMESPACES = Resource("", "v1", "namespaces", "Namespace", is_namespaced=False)
LOGIN = {"name": "registry-login", "content": '{"auths": {}}'}

_numbers = itertools.count(1)

Secret = TypeVar("Secret", TokenSecret, UserData)


class CountedClient(KubeClient):
    """A client that says what it is about to write."""

    before_write: Callable[[str, str], None]

    def _call(self, method: str, path: str, **more: Any) -> bytes | None:
        if method != "GET":
            self.before_write(method, path)
        return super()._call(method, path, **more)


class ClusterWorld(DeploymentWorld):
    """A world in a namespace of its own. admin: acts as owners do. client: the operator's."""

    def __init__(self, admin: KubeClient, client: CountedClient) -> None:
        super().__init__()
        self._is_passing = False
        self._admin = admin
        self._client = client
        self._client.before_write = self._write
        self._namespace = f"world-{next(_numbers)}"
        admin.create(NAMESPACES, _object(NAMESPACES, self._namespace))
        login = _object(SECRETS, LOGIN["name"], self._namespace)
        content = {".dockerconfigjson": LOGIN["content"]}
        kind = "kubernetes.io/dockerconfigjson"
        admin.create(SECRETS, {**login, "type": kind, "stringData": content})
        self._open()

    def _open(self) -> None:
        self._copies = Copies(self._client, COPIED, lambda _: None, lambda _: None)
        self._copies.start()
        revisions = Revisions(self._copies)
        self._journal = KubeJournal(self._copies)
        home = self._namespace
        self._pools = KubePools(self._copies, revisions, self._journal, home, Stub())
        self._secrets = KubeSecrets(self._copies, revisions, lambda _pool, _revision: None)
        views: dict[str, Any] = {
            "documents": Rows(
                self.list_pools, self._find_documents, self._declare, self.forget_pool
            ),
            "records": Rows(self.list_pools, self.find_record, _refused, _refused),
            "statuses": Rows(self.list_pools, self.find_status, _refused, _refused),
            "plans": Rows(self.list_pools, self.find_plan, self._put_plan, _refused),
            "tokens": Rows(
                lambda: self._pairs(self.list_tokens),
                lambda key: _named(self.list_tokens(key[0]), key[1]),
                _refused,
                lambda key: self._lose(TOKEN, *key),
            ),
            "user_data": Rows(
                lambda: self._pairs(self.list_user_data),
                lambda key: _named(self.list_user_data(key[0]), key[1]),
                _refused,
                lambda key: self._lose(USER_DATA, *key),
            ),
        }
        for name, view in views.items():
            setattr(self, name, view)

    def restart(self) -> None:
        """Let the operator end, and another one follow the cluster."""
        self._copies.stop()
        self._open()

    def close(self) -> None:
        self._copies.stop()

    def one_pass(self, pool: str = "workers") -> int:
        """As the operator makes one."""
        before = self.writes
        self._is_passing = True
        try:
            with self._copies.one_look():
                if not self._pools.is_gone(self._full(pool)):
                    self._pools.hold_on(self._full(pool))
                    self.wake = reconcile(pool, self.world(), self.chance(), self.clock.now)
                    self._pools.flush(self._full(pool))
        finally:
            self._is_passing = False
        return self.writes - before

    def let_go(self, machine: Machine) -> None:
        self.gone[machine.name] = self.living.pop(machine.name)

    # What owners do.

    def _find_documents(self, pool: str) -> PoolDocuments | None:
        if pool not in self.list_pools():
            return None
        return replace(self.read_documents(pool), platform=self._pools.read_platform())

    def _declare(self, pool: str, documents: PoolDocuments) -> None:
        self._apply(PLATFORM_CONFIGS, PLATFORM_NAME, documents.platform)
        if documents.is_leaving:
            self._admin.delete(NODE_POOLS, pool, self._namespace)
            self._wait(lambda: self.read_documents(pool).is_leaving)
        else:
            self._apply(NODE_POOLS, pool, documents.pool)

    def _apply(self, resource: Resource, name: str, document: Json) -> None:
        found: Any = document
        wanted = {**_object(resource, name, self._namespace), "spec": found["spec"]}
        written = self._admin.apply(resource, wanted, manager="owner")
        self._wait(lambda: self._version(resource, name) == version_of(written))

    def _put_plan(self, pool: str, plan: Approval) -> None:
        fields: Any = parse_document(render_value(plan))
        spec = {"pool": pool, "approved": True, "plan": fields}
        made = _object(ROLLOUT_PLANS, f"{pool}-plan", self._namespace)
        self._admin.apply(ROLLOUT_PLANS, {**made, "spec": spec}, manager="owner")
        self._wait(lambda: self.find_plan(pool) is not None)

    def _lose(self, kind: str, pool: str, pair: str) -> None:
        name = secret_name(kind, self._full(pool), pair)
        self._admin.delete(SECRETS, name, self._namespace)
        self._wait(lambda: self._version(SECRETS, name) == "")

    def _version(self, resource: Resource, name: str) -> str:
        found = self._copies.find(resource, self._namespace, name)
        return version_of(found) if found is not None else ""

    def _wait(self, holds: Callable[[], bool]) -> None:
        end = time.monotonic() + WAIT_S
        while not holds():
            assert time.monotonic() < end, "the operator's copy did not see it in time"
            time.sleep(0.005)

    # The seams.

    def _full(self, pool: str) -> str:
        return f"{self._namespace}/{pool}"

    def _pairs(self, listed: Callable[[str], Iterable[Any]]) -> list[tuple[str, str]]:
        return [(pool, one.id) for pool in self.list_pools() for one in listed(pool)]

    def list_pools(self) -> tuple[str, ...]:
        places = (pool.partition("/") for pool in self._pools.list_pools())
        return tuple(sorted(name for place, _, name in places if place == self._namespace))

    def read_documents(self, pool: str) -> PoolDocuments:
        found = self._pools.read_documents(self._full(pool))
        document: Any = found.pool
        return replace(found, pool={**document, "metadata": {"name": pool}})

    def read_platform(self) -> Json:
        return self._pools.read_platform()

    def find_record(self, pool: str) -> PoolRecord | None:
        found = self._pools.find_record(self._full(pool))
        return replace(found, pool=pool) if found else None

    def find_status(self, pool: str) -> PoolStatus | None:
        return self._pools.find_status(self._full(pool))

    def write_outcome(
        self, pool: str, record: PoolRecord | None, status: PoolStatus | None
    ) -> None:
        self._pools.write_outcome(self._full(pool), record, status)

    def write_record(self, record: PoolRecord) -> None:
        self.write_outcome(record.pool, record, None)

    def write_status(self, pool: str, status: PoolStatus) -> None:
        self.write_outcome(pool, None, status)

    def find_plan(self, pool: str) -> Approval | None:
        found = self._pools.find_plan(self._full(pool))
        return found.but(pool=pool) if found else None

    def forget_pool(self, pool: str) -> None:
        self._pools.forget_pool(self._full(pool))
        self.templates.pop(pool, None)

    def list_tokens(self, pool: str) -> tuple[TokenSecret, ...]:
        found = self._secrets.list_tokens(self._full(pool))
        return tuple(replace(one, pool=pool) for one in found)

    def list_user_data(self, pool: str) -> tuple[UserData, ...]:
        found = self._secrets.list_user_data(self._full(pool))
        return tuple(replace(one, pool=pool) for one in found)

    def create_token(self, secret: TokenSecret) -> None:
        self._secrets.create_token(self._kept(secret))

    def write_token(self, secret: TokenSecret) -> None:
        self._secrets.write_token(self._kept(secret))

    def write_user_data(self, secret: UserData) -> None:
        self._secrets.write_user_data(self._kept(secret))

    def delete_token(self, pool: str, pair: str) -> None:
        self._secrets.delete_token(self._full(pool), pair)

    def delete_user_data(self, pool: str, pair: str) -> None:
        self._secrets.delete_user_data(self._full(pool), pair)

    def append(self, events: Iterable[Event]) -> None:
        told = [event.but(pool=self._full(event.pool)) for event in events]
        self._journal.append(told)
        # A pass writes them with its outcome, or at its end; what is told outside of one, at once.
        for pool in {event.pool for event in told if not self._is_passing}:
            if self._journal.has_untold(pool):
                self._pools.flush(pool)

    def read_events(self, pool: str) -> tuple[Event, ...]:
        found = self._journal.read_events(self._full(pool))
        return tuple(event.but(pool=pool) for event in found)

    def _kept(self, secret: Secret) -> Secret:
        return replace(secret, pool=self._full(secret.pool))


def _object(resource: Resource, name: str, namespace: str = "") -> Object:
    place = {"namespace": namespace} if namespace else {}
    return {
        "apiVersion": resource.api_version,
        "kind": resource.kind,
        "metadata": {"name": name, **place},
    }


def _named(secrets: Iterable[Secret], pair: str) -> Secret | None:
    return next((secret for secret in secrets if secret.id == pair), None)


def _refused(*_: object) -> None:
    raise AssertionError("nobody but the operator writes this")
