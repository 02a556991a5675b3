"""
The control plane of a cluster, as commands ask it: answers are made here, from what the API server
says to this user; what is agreed to is written with this user's rights, and the operator obeys.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, datetime
from functools import cached_property

from fairlead.answering.changes import Changes, Keep
from fairlead.answering.edge import no_such
from fairlead.answering.events import DEFAULT_EVENTS, latest_events
from fairlead.answering.pools import PoolAnswers
from fairlead.answering.questions import Fields
from fairlead.answers.document import Json
from fairlead.answers.event import Event, Events
from fairlead.answers.machine import MachineAnswer, MachineDetail, Machines
from fairlead.answers.plan import Plan
from fairlead.answers.pool import PoolDetail, PoolHistory, Pools
from fairlead.answers.reply import (
    Applied,
    Done,
    Identity,
    Leaving,
    PatchedPlatform,
    PatchedPool,
    Platform,
    Proposed,
)
from fairlead.answers.wait import Wait
from fairlead.answers.words import WaitFor
from fairlead.controller.observe import World
from fairlead.kube.answer import Object, document_of
from fairlead.kube.client import KubeClient
from fairlead.kube.front.documents import (
    is_platform,
    labels_of,
    placed_in,
    platform_namespace_in,
)
from fairlead.kube.front.history import read_history
from fairlead.kube.front.identity import identity, told_by_roles, user_name
from fairlead.kube.front.keep import BY_COMMAND, Keeper, retried
from fairlead.kube.front.machines import (
    delete_object,
    list_objects,
    machine_detail,
    told_machine,
)
from fairlead.kube.front.scope import Scope
from fairlead.kube.front.seen import SeenCluster
from fairlead.kube.names import split
from fairlead.kube.resource import NODE_POOLS
from fairlead.kube.said import annotated
from fairlead.kube.status import FAILED, GOES_ON
from fairlead.proposal.propose import Shown
from fairlead.telling.typed import typed_machine, typed_pool
from fairlead.timeline.command import deletion_asked


class SeenEdge:
    """A scope of a cluster, as questions need it."""

    def __init__(self, cluster: SeenCluster) -> None:
        self.cluster = cluster

    @staticmethod
    def now() -> datetime:
        """Return this moment."""
        return present()

    def world(self) -> World:
        """Return the seams."""
        return self.cluster.world()

    def machine_answers(self, pool: str) -> tuple[MachineAnswer, ...]:
        """Return the machines of a pool, with what only this edge knows of them."""
        found = list_objects(self.cluster, pool)
        return tuple(told_machine(self.cluster, one) for one in found)

    def waits_beside(self, pool: str) -> tuple[Wait, ...]:
        """Return that a pool waits for its next pass, or for a cluster that does not answer."""
        status = self.world().pools.find_status(pool)
        unreached = self.cluster.pools.find_unreached(pool)
        waits = (Wait(wait_for=WaitFor.RETRY, says=unreached),) if unreached else ()
        return waits + tuple(
            Wait(wait_for=WaitFor.RETRY, says=f"the last pass failed: {condition.message}")
            for condition in (status.conditions if status else ())
            if condition.type == GOES_ON
            and condition.status == "False"
            and condition.reason in FAILED
        )


class KubePlane:
    """
    Answers the questions of commands. Every method raises what an embedded one does.

    program: what the commands begin with that answers suggest.
    """

    def __init__(self, client: KubeClient, scope: Scope, program: str = "fairlead") -> None:
        self._client = client
        self._program = program
        self._scope = scope
        self._edge = SeenEdge(SeenCluster(client, scope, present))

    def whoami(self) -> Identity:
        """Return who asks, as the server knows them."""
        with told_by_roles():
            return identity(self._client, self._scope)

    def pools(self) -> Pools:
        """Return every pool in short."""
        with told_by_roles():
            answers = PoolAnswers(self._edge)
            names = self._edge.world().pools.list_pools()
            listed = (typed_pool(answers.listed(name), self._program) for name in names)
            return Pools(pools=tuple(listed))

    def pool(self, name: str) -> PoolDetail:
        """Return one pool in full."""
        with told_by_roles():
            answers = PoolAnswers(self._edge)
            return typed_pool(answers.in_full(answers.known(name)), self._program)

    def history(self, name: str) -> PoolHistory:
        """Return what a pool's owner declared, the oldest first."""
        with told_by_roles():
            found = self._object(name)
            documents = read_history(self._client, found, document_of(found))
            return PoolHistory(pool=name, documents=documents)

    def patch_pool(
        self, name: str, spec: Fields, plan: Plan | None = None, base: str = "", *, dry_run: bool
    ) -> PatchedPool:
        """Change fields of a pool, within the plan and for the document that were shown."""
        with told_by_roles():
            pool = PoolAnswers(self._edge).known(name)
            keep = self._keeper(self._edge, dry_run=dry_run)
            return Changes(self._edge).patch_pool(pool, spec, (plan, base), keep)

    def delete_pool(self, name: str, shown: Leaving | None = None, *, dry_run: bool) -> Leaving:
        """Let a pool go, with all its machines, if they are those that were shown."""
        with told_by_roles():
            leaving = Changes(self._edge).leaving(PoolAnswers(self._edge).known(name), shown)
            if not dry_run:
                retried(self._edge.cluster, lambda: self._delete(name))
            return leaving

    def platform(self) -> Platform:
        """Return what the platform adds on its own, and which pools lack it."""
        with told_by_roles():
            return PoolAnswers(self._edge).platform()

    def patch_platform(self, spec: Fields, *, dry_run: bool) -> PatchedPlatform:
        """Change fields of the platform's document that counts in this namespace."""
        with told_by_roles():
            edge = self._platform_edge(self._platform_namespace())
            return Changes(edge).patch_platform(spec, self._keeper(edge, dry_run=dry_run))

    def plan(self, documents: Sequence[Json]) -> Proposed:
        """Return what documents would do."""
        with told_by_roles():
            edge, placed = self._placed(documents)
            return Changes(edge).plan(placed)

    def apply(self, documents: Sequence[Json], shown: Proposed, *, dry_run: bool) -> Applied:
        """Put documents in force, if that does what was shown."""
        with told_by_roles():
            edge, placed = self._placed(documents)
            changes = Changes(edge)
            keep = self._keeper(edge, labels_of(documents), dry_run=dry_run)
            seen = Shown(plans=shown.plans, bases=shown.bases)
            return changes.apply(changes.braked(placed), seen, keep)

    def machines(self, pool: str = "", *, with_gone: bool = False) -> Machines:
        """Return machines, of one pool or of all; a cluster keeps none that are gone."""
        del with_gone
        with told_by_roles():
            if pool:
                PoolAnswers(self._edge).known(pool)
                return Machines(machines=self._edge.machine_answers(pool))
            found = list_objects(self._edge.cluster)
            told = tuple(told_machine(self._edge.cluster, one) for one in found)
            return Machines(machines=told)

    def machine(self, name: str) -> MachineDetail:
        """Return one machine in full."""
        with told_by_roles():
            told = machine_detail(self._edge.cluster, self._machine(name), present())
            return typed_machine(told, self._program)

    def delete_machine(self, name: str, *, force: bool = False) -> Done:
        """Tell a machine to leave; force: without waiting for its drain."""
        with told_by_roles():
            retried(
                self._edge.cluster,
                lambda: delete_object(self._client, self._machine(name), self._actor, force=force),
            )
            return Done()

    def events(
        self,
        pool: str = "",
        *,
        machine: str = "",
        since: datetime | None = None,
        limit: int | None = None,
    ) -> Events:
        """Return the latest events, the oldest first; of one pool or machine if that is asked."""
        with told_by_roles():
            found = [event for event in self._all_events(pool) if machine in ("", event.machine)]
            return latest_events(found, pool, since, limit or DEFAULT_EVENTS)

    def _all_events(self, pool: str) -> list[Event]:
        world = self._edge.world()
        names = (pool,) if pool else ("", *world.pools.list_pools())
        events = [event for name in names for event in world.journal.read_events(name)]
        return events if pool else sorted(events, key=lambda event: event.at)

    @cached_property
    def _actor(self) -> str:
        return user_name(self._client)

    def _keeper(
        self,
        edge: SeenEdge,
        labels: dict[str, dict[str, str]] | None = None,
        *,
        dry_run: bool,
    ) -> Keep | None:
        if dry_run:
            return None
        return Keeper(edge.cluster, self._actor, present(), labels or {}).keep

    def _placed(self, documents: Sequence[Json]) -> tuple[SeenEdge, list[Json]]:
        """Return the documents as they are in the cluster, and whom they concern."""
        if not any(is_platform(document) for document in documents):
            return self._edge, placed_in(documents, self._scope, "")
        namespace = platform_namespace_in(documents) or self._platform_namespace()
        return self._platform_edge(namespace), placed_in(documents, self._scope, namespace)

    def _platform_namespace(self) -> str:
        """Return where the platform's document is, or is to be, that counts in this namespace."""
        self._edge.world()
        own = self._edge.cluster.find_own_platform(self._scope.namespace)
        return self._scope.namespace if own else self._scope.home

    def _platform_edge(self, namespace: str) -> SeenEdge:
        """Return the pools that a platform's document in this namespace counts for."""
        scope = replace(self._scope, is_all=namespace == self._scope.home)
        return SeenEdge(SeenCluster(self._client, scope, present, platform_in=namespace))

    def _object(self, name: str) -> Object:
        PoolAnswers(self._edge).known(name)
        place = split(self._scope.whole(name))
        found = self._edge.cluster.kube.copies.find(NODE_POOLS, *place)
        if found is None:
            raise no_such("pool", name, self._edge.cluster.list_pools())
        return found

    def _machine(self, name: str) -> Object:
        found = list_objects(self._edge.cluster)
        for one in found:
            if one["metadata"]["name"] == name:
                return one
        raise no_such("machine", name, (one["metadata"]["name"] for one in found))

    def _delete(self, name: str) -> None:
        """Write who wants it gone, then delete this very pool."""
        found = self._object(name)
        asked = deletion_asked(self._scope.whole(name), self._actor, present())
        annotations = annotated(found, asked, document_of(found))
        metadata = {**found["metadata"], "annotations": annotations}
        self._client.replace(NODE_POOLS, {**found, "metadata": metadata}, how=BY_COMMAND)
        conditions = {"uid": metadata["uid"]}
        self._client.delete(NODE_POOLS, metadata["name"], metadata["namespace"], conditions)


def present() -> datetime:
    """Return this moment."""
    return datetime.now(UTC)
