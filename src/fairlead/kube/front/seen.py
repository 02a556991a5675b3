"""
The world of a cluster as a person sees it: everything but Secrets, and nothing to write.

The rights of a viewer are enough. What a pass reads from token Secrets is the revision that each
stands for, and that is a NodeRevision; why one cannot be served is in the pool's conditions.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable
from dataclasses import replace
from datetime import datetime

from fairlead.answers.event import Event
from fairlead.answers.pool import PoolStatus
from fairlead.controller.observe import Code, PoolDocuments, Resolved, World
from fairlead.errors import InputError
from fairlead.inputs.leaf import Json, Leaves, Problem
from fairlead.inputs.parse import NO_PLATFORM
from fairlead.inputs.platform_inputs import Stub
from fairlead.inputs.versions import ControlPlane
from fairlead.kube.answer import ForbiddenError, Object, document_of
from fairlead.kube.client import KubeClient
from fairlead.kube.cluster_api.control_planes import noted_control_plane
from fairlead.kube.copies import COPIED
from fairlead.kube.front.published import SeenFixes
from fairlead.kube.front.scope import Scope
from fairlead.kube.front.seen_machines import SeenMachines, operators_alone
from fairlead.kube.informer import Selection
from fairlead.kube.named_secrets import SECRET_FIELDS
from fairlead.kube.names import split
from fairlead.kube.pools import PLATFORM_NAME
from fairlead.kube.resource import (
    CLUSTERS,
    MACHINE_HEALTH_CHECKS,
    NODE_POOLS,
    NODE_REVISIONS,
    PLATFORM_CONFIGS,
    SECRETS,
    Resource,
)
from fairlead.kube.said import said_in
from fairlead.kube.world import CLUSTER_API, KubeWorld
from fairlead.rollout.approval import Approval
from fairlead.rollout.record import PoolRecord
from fairlead.rollout.secrets import TokenSecret, UserData
from fairlead.rollout.served.pool_secrets import Added, named_in
from fairlead.zones import find_zone

# What no answer is made from.
UNSEEN = (SECRETS, MACHINE_HEALTH_CHECKS, CLUSTERS)

# Seconds for which what was seen is good enough for whoever looks again and again.
FRESH_S = 1.0

UNSERVED = "ValidGeneratedPayload"


class SeenCluster:
    """
    The objects of a scope, as they were a moment ago.

    platform_in: the namespace of the PlatformConfig that a command is about; then only the pools
    are looked at for which it counts. '' is whichever counts in the scope's namespace.
    """

    def __init__(
        self,
        client: KubeClient,
        scope: Scope,
        now: Callable[[], datetime],
        platform_in: str = "",
    ) -> None:
        self.client = client
        self.scope = scope
        self.platform_in = platform_in
        self._looked_at: float | None = None
        self._home_platform: Object | None = None
        self.kube = KubeWorld(
            client, scope.home, Stub(), lambda _: None, lambda _: None, _copied_in(scope)
        )
        self.pools = SeenPools(self)
        self.fixes = SeenFixes(client, scope.home, now)
        machines, secrets = SeenMachines(self.kube.machines, self.scope), SeenSecrets(self, now)
        self._world = World(
            pools=self.pools,
            machines=machines,
            secrets=secrets,
            journal=SeenJournal(self),
            code=Code(find_zone=find_zone),
            read_fixes=self.fixes.read,
        )

    def world(self) -> World:
        """Return the seams over what is there at this moment."""
        if self._looked_at is None or time.monotonic() - self._looked_at > FRESH_S:
            self.look()
        return self._world

    def look(self) -> None:
        """Look at everything again."""
        self.fixes.forget()
        self.kube.copies.look()
        if not self.scope.is_all and self.scope.home != self.scope.namespace:
            home = self.scope.home
            self._home_platform = self.client.find(PLATFORM_CONFIGS, PLATFORM_NAME, home)
        self._looked_at = time.monotonic()

    def list_pools(self) -> tuple[str, ...]:
        """Return the pools that count, by the names that they have here."""
        found = self.kube.pools.list_pools()
        return tuple(self.scope.told(pool) for pool in found if self._counts(pool))

    def _counts(self, pool: str) -> bool:
        namespace = split(pool)[0]
        if not self.platform_in or namespace == self.platform_in:
            return True
        return self.platform_in == self.scope.home and not self.find_own_platform(namespace)

    def find_own_platform(self, namespace: str) -> Object | None:
        """Return the PlatformConfig of a namespace itself, or None."""
        return self.kube.copies.find(PLATFORM_CONFIGS, namespace, PLATFORM_NAME)

    def find_platform(self, namespace: str) -> Object | None:
        """Return the PlatformConfig that counts in a namespace, or None."""
        own = self.find_own_platform(namespace)
        return own or self.find_own_platform(self.scope.home) or self._home_platform


class SeenPools:
    """The Pools seam, by the names of a scope."""

    def __init__(self, cluster: SeenCluster) -> None:
        self._cluster = cluster
        self._inner = cluster.kube.pools
        self._scope = cluster.scope

    def list_pools(self) -> tuple[str, ...]:
        """Return the names of all pools."""
        return self._cluster.list_pools()

    def read_documents(self, pool: str) -> PoolDocuments:
        """Return what is declared."""
        whole = self._scope.whole(pool)
        found = self._inner.read_documents(whole)
        return replace(
            found,
            platform=self._platform_of(split(whole)[0]),
            resolved=self._resolved(found.resolved, found.pool),
        )

    def read_platform(self) -> Json:
        """Return the platform's document that the command is about; an empty one if none is."""
        asked, scope = self._cluster.platform_in, self._scope
        if asked:
            found = self._cluster.find_own_platform(asked)
        else:
            found = self._cluster.find_platform(scope.namespace)
        if found:
            return document_of(found)
        metadata = {"name": PLATFORM_NAME, "namespace": asked or scope.home}
        return {**NO_PLATFORM, "metadata": metadata}

    def documents_with(self, pool: Json, platform: Json) -> PoolDocuments:
        """Return what read_documents would, if these two were in force."""
        found = self._inner.documents_with(pool, platform)
        resolved = self._resolved(found.resolved, pool)
        return replace(
            found,
            platform=platform,
            resolved=resolved,
            control_plane=found.control_plane or self._control_plane_beside(pool),
        )

    def _control_plane_beside(self, pool: Json) -> ControlPlane:
        """Return what pools beside a new one have noted; nothing where they join several."""
        namespace = _metadata_of(pool)["namespace"]
        pools = self._cluster.kube.copies.list_all(NODE_POOLS)
        noted = {
            noted_control_plane(one) for one in pools if one["metadata"]["namespace"] == namespace
        } - {ControlPlane()}
        return noted.pop() if len(noted) == 1 else ControlPlane()

    def find_unfit_secret(self, pool: Json) -> Problem | None:
        """Return why a machine could not use a Secret that this document names, or None."""
        return self._inner.find_unfit_secret(pool)

    def find_record(self, pool: str) -> PoolRecord | None:
        """Return what the operator remembers, or None."""
        record = self._inner.find_record(self._scope.whole(pool))
        if record is None:
            return None
        plan = record.plan.but(pool=pool) if record.plan else None
        return replace(record, pool=pool, plan=plan)

    def find_status(self, pool: str) -> PoolStatus | None:
        """Return what the owner sees, or None."""
        return self._inner.find_status(self._scope.whole(pool))

    def find_unreached(self, pool: str) -> str:
        """Return why nodes of a pool cannot be told anything, or ''."""
        return self._inner.find_unreached(self._scope.whole(pool))

    def find_plan(self, pool: str) -> Approval | None:
        """Return the plan that the owner approved, or None."""
        plan = self._inner.find_plan(self._scope.whole(pool))
        return plan.but(pool=pool) if plan else None

    def write_outcome(
        self, pool: str, record: PoolRecord | None, status: PoolStatus | None
    ) -> None:
        """Refuse: the operator writes it."""
        raise operators_alone(f"what is remembered of {pool}")

    def forget_pool(self, pool: str) -> None:
        """Refuse: the operator does it."""
        raise operators_alone(f"the end of {pool}")

    def _platform_of(self, namespace: str) -> Json:
        found = self._cluster.find_platform(namespace)
        return document_of(found) if found else dict(NO_PLATFORM)

    def _resolved(self, found: Resolved, document: Json) -> Resolved:
        """Return what names point to; of Secrets that one may not read, what was served last."""
        if not found.problem or not any(named_in(document, field) for field in SECRET_FIELDS):
            return found
        digests: dict[str, str] = {}
        for field in SECRET_FIELDS:
            try:
                digests[field] = self._digest_of(document, field)
            except InputError as error:
                return Resolved(problem=str(error), field=f"spec.{field}.name")
        return Resolved(
            pull_secret=digests["pullSecret"],
            trust_bundle=digests["trustBundle"],
            added=Added(is_known=False),
        )

    def _digest_of(self, document: Json, field: str) -> str:
        name, metadata = named_in(document, field), _metadata_of(document)
        if not name:
            return ""
        try:
            return self._inner.secrets.look_at(metadata["namespace"], field, name)[0]
        except ForbiddenError:
            leaves = self._leaves_of(metadata["name"])
            if leaves.get(f"{field}.name") != name:
                raise
            return str(leaves.get(f"{field}.content", ""))

    def _leaves_of(self, pool: str) -> Leaves:
        record = self.find_record(pool)
        return record.target.leaves if record and record.target else {}


class SeenSecrets:
    """The SecretStore seam without a secret: what each pair stands for, and no token."""

    def __init__(self, cluster: SeenCluster, now: Callable[[], datetime]) -> None:
        self._cluster = cluster
        self._now = now

    def list_tokens(self, pool: str) -> tuple[TokenSecret, ...]:
        """Return what the pool's tokens stand for."""
        kube, whole = self._cluster.kube, self._cluster.scope.whole(pool)
        found = kube.copies.list_of(NODE_REVISIONS, whole)
        revisions = [kube.revisions.find(whole, one["spec"]["id"]) for one in found]
        problem = _problem_in(kube.pools.find_status(whole))
        return tuple(
            TokenSecret(
                pool=pool,
                id=revision.id,
                revision=revision,
                served=revision,
                token="",
                issued_at=self._now(),
                unserved=problem,
            )
            for revision in revisions
            if revision is not None
        )

    def list_user_data(self, pool: str) -> tuple[UserData, ...]:
        """Return nothing: no answer is made from user data."""
        del pool
        return ()

    def create_token(self, secret: TokenSecret) -> None:
        """Refuse: the operator does it."""
        raise operators_alone(f"the pair {secret.id}")

    def write_token(self, secret: TokenSecret) -> None:
        """Refuse: the operator does it."""
        raise operators_alone(f"the pair {secret.id}")

    def write_user_data(self, secret: UserData) -> None:
        """Refuse: the operator does it."""
        raise operators_alone(f"the pair {secret.id}")

    def delete_token(self, pool: str, pair: str) -> None:
        """Refuse: the operator does it."""
        raise operators_alone(f"the pair {pair} of {pool}")

    def delete_user_data(self, pool: str, pair: str) -> None:
        """Refuse: the operator does it."""
        raise operators_alone(f"the pair {pair} of {pool}")


class SeenJournal:
    """The Journal seam, by the names of a scope; of '' it has what was done to the platform."""

    def __init__(self, cluster: SeenCluster) -> None:
        self._cluster = cluster

    def append(self, events: Iterable[Event]) -> None:
        """Refuse: a pass tells what it does, and a command writes beside what it changes."""
        raise operators_alone(f"{len(list(events))} events")

    def read_events(self, pool: str) -> tuple[Event, ...]:
        """Return the pool's events, oldest first."""
        scope = self._cluster.scope
        if not pool:
            found = self._cluster.find_platform(scope.namespace)
            return said_in(found) if found else ()
        events = self._cluster.kube.journal.read_events(scope.whole(pool))
        return tuple(event.but(pool=pool) for event in events)


def _copied_in(scope: Scope) -> dict[Resource, Selection]:
    return {
        resource: replace(selection, namespace=scope.listed)
        for resource, selection in {**COPIED, **CLUSTER_API}.items()
        if resource not in UNSEEN
    }


def _problem_in(status: PoolStatus | None) -> str:
    """Return why the pair in use cannot be served, as the operator wrote it, or ''."""
    for condition in status.conditions if status else ():
        if condition.type == UNSERVED and condition.status == "False":
            return condition.message
    return ""


def _metadata_of(document: Json) -> dict[str, str]:
    metadata = document.get("metadata") if isinstance(document, dict) else None
    found = metadata if isinstance(metadata, dict) else {}
    return {name: str(found.get(name, "")) for name in ("name", "namespace")}
