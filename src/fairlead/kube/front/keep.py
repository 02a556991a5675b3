"""
Proposals put in force in a cluster, by whoever asks and with their rights.

Every object is written over exactly the one that the proposal was computed from. The operator
writes the status of the same objects all the time: then it is looked at again, and written if what
is declared did not move meanwhile. Of several objects none is written unless the server would take
all of them; one that somebody changes between two writes is named.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from datetime import datetime
from typing import Any

from fairlead.answering.keeping import bindings_of, declared_event, proposal_to_keep
from fairlead.errors import ConflictError, FairleadError
from fairlead.inputs.leaf import Json
from fairlead.kept_text import parse_document, render_value
from fairlead.kube.answer import Object, document_of
from fairlead.kube.client import How, KubeClient
from fairlead.kube.copies import newest_first
from fairlead.kube.front.history import keep_document
from fairlead.kube.front.seen import SeenCluster
from fairlead.kube.names import owned, split
from fairlead.kube.resource import NODE_POOLS, PLATFORM_CONFIGS, ROLLOUT_PLANS, Resource
from fairlead.kube.said import annotated
from fairlead.proposal.judge import PLATFORM_CONFIG
from fairlead.proposal.propose import Declared, Proposal, Shown
from fairlead.rollout.approval import Approval

# Who writes, in managedFields: a person by a command, and not the operator.
BY_COMMAND = How(manager="fairlead-command")
TRIAL = How(manager="fairlead-command", is_trial=True)

# Writes of the operator that one command waits for.
MOST_TRIES = 10


def retried(cluster: SeenCluster, write: Callable[[], None]) -> None:
    """Write over what is there, as often as somebody else is faster; a few times."""
    for tries in range(1, MOST_TRIES + 1):
        cluster.look()
        try:
            write()
        except ConflictError:
            if tries == MOST_TRIES:
                raise
        else:
            return


class Keeper:
    """Puts proposals in force. labels: of pools, by name, as their file has them."""

    def __init__(
        self,
        cluster: SeenCluster,
        actor: str,
        now: datetime,
        labels: Mapping[str, Mapping[str, str]],
    ) -> None:
        self._cluster = cluster
        self._client: KubeClient = cluster.client
        self._actor = actor
        self._now = now
        self._labels = labels

    def keep(self, documents: Sequence[Json], shown: Shown) -> Proposal:
        """Put documents in force as they were shown; return what that does."""
        first: Proposal | None = None
        for tries in range(1, MOST_TRIES + 1):
            self._cluster.look()
            world = self._cluster.world()
            proposal = proposal_to_keep(world, documents, shown, self._now)
            if first is not None and proposal.bases != first.bases:
                raise ConflictError(
                    "what is declared changed meanwhile; nothing was written, try again"
                )
            first = proposal
            try:
                self._write(proposal, shown)
            except _PartlyWrittenError:
                raise
            except ConflictError:
                if tries == MOST_TRIES:
                    raise
            else:
                self._cluster.look()
                return proposal
        raise ConflictError("the operator writes all the time; try again")

    def _write(self, proposal: Proposal, shown: Shown) -> None:
        """Write everything, or raise ConflictError and have written nothing."""
        fresh = [one for one in proposal.documents if self._is_fresh(one)]
        if len(fresh) > 1:
            for declared in fresh:
                self._write_one(declared, TRIAL)
        plans = self._bind(proposal, shown)
        written: list[str] = []
        try:
            for declared in fresh:
                before = self._live(declared)
                made = self._write_one(declared, BY_COMMAND)
                written.append(declared.title)
                self._remember(declared, before, made)
        except FairleadError as error:
            if written:
                says = f"{', '.join(written)} was written, and then: {error}"
                raise _PartlyWrittenError(says) from error
            self._forget(plans)
            raise
        for pool, _ in bindings_of(proposal, shown.plans or ()):
            self._forget(self._approved(pool, but=plans))

    def _is_fresh(self, declared: Declared) -> bool:
        """Say whether a document says anything new, be it a label."""
        if not declared.is_same or declared.kind == PLATFORM_CONFIG:
            return not declared.is_same
        found = self._find(declared)
        labels = (found or {}).get("metadata", {}).get("labels") or {}
        return not self._labels.get(declared.name, {}).items() <= labels.items()

    def _write_one(self, declared: Declared, how: How) -> Object:
        resource, found = _resource_of(declared), self._find(declared)
        event = declared_event(self._cluster.world(), declared, self._actor, self._now)
        event = event.but(pool=self._cluster.scope.whole(event.pool) if event.pool else "")
        document: Any = declared.document
        metadata = (found or {}).get("metadata") or document["metadata"]
        changed = {
            **(found or document),
            "metadata": {
                **metadata,
                "labels": {**(metadata.get("labels") or {}), **self._labels_of(declared)},
                "annotations": annotated(found or {}, event, document),
            },
            "spec": document.get("spec") or {},
        }
        if found is None:
            return self._client.create(resource, changed, how)
        return self._client.replace(resource, changed, how=how)

    def _remember(self, declared: Declared, before: Json | None, made: Object) -> None:
        if declared.kind != PLATFORM_CONFIG:
            keep_document(self._client, made, before, document_of(made), self._actor)

    def _bind(self, proposal: Proposal, shown: Shown) -> list[Object]:
        """
        Let the plans be there that passes are bound by, before what they are about.

        Until then they are for an intent that nobody declares, and bind nothing.
        """
        plans = []
        for pool, approval in bindings_of(proposal, shown.plans or ()):
            owner = self._cluster.kube.copies.find(NODE_POOLS, *self._place(pool))
            if approval is not None and owner is not None:
                made = _plan_object(owner, approval, self._now)
                plans.append(self._client.create(ROLLOUT_PLANS, made, BY_COMMAND))
        return plans

    def _approved(self, pool: str, but: Sequence[Object]) -> list[Object]:
        kept = {one["metadata"]["name"] for one in but}
        found = self._cluster.kube.copies.list_of(ROLLOUT_PLANS, "/".join(self._place(pool)))
        return [one for one in newest_first(found) if one["metadata"]["name"] not in kept]

    def _forget(self, plans: Sequence[Object]) -> None:
        for plan in plans:
            metadata = plan["metadata"]
            with suppress(ConflictError):
                self._client.delete(
                    ROLLOUT_PLANS,
                    metadata["name"],
                    metadata["namespace"],
                    {"uid": metadata["uid"]},
                )

    def _labels_of(self, declared: Declared) -> Mapping[str, str]:
        return {} if declared.kind == PLATFORM_CONFIG else self._labels.get(declared.name, {})

    def _live(self, declared: Declared) -> Json | None:
        found = self._find(declared)
        return document_of(found) if found else None

    def _find(self, declared: Declared) -> Object | None:
        document: Any = declared.document
        if declared.kind == PLATFORM_CONFIG:
            # Not what counts in the scope: that may be another namespace's.
            namespace = document["metadata"]["namespace"]
            return self._client.find(PLATFORM_CONFIGS, document["metadata"]["name"], namespace)
        return self._cluster.kube.copies.find(NODE_POOLS, *self._place(declared.name))

    def _place(self, pool: str) -> tuple[str, str]:
        return split(self._cluster.scope.whole(pool))


class _PartlyWrittenError(ConflictError):
    """Some objects were written before one was refused; trying again would hide which."""


def _resource_of(declared: Declared) -> Resource:
    return PLATFORM_CONFIGS if declared.kind == PLATFORM_CONFIG else NODE_POOLS


def _plan_object(owner: Object, approval: Approval, now: datetime) -> Object:
    # Of two of one second, the one whose name is the later counts.
    name = f"{owner['metadata']['name']}-{now:%Y%m%d%H%M%S%f}"
    made = owned(ROLLOUT_PLANS, owner, name)
    made["metadata"]["ownerReferences"][0].pop("blockOwnerDeletion")
    plan = parse_document(render_value(approval))
    pool = owner["metadata"]["name"]
    return {**made, "spec": {"pool": pool, "approved": True, "plan": plan}}
