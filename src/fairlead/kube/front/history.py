"""
What was declared for a pool, as ControllerRevisions that belong to it: Kubernetes' own objects for
that. A command keeps what it replaces and what it writes; the last twenty, for as long as the pool
lives. What somebody else wrote in between is kept when a command comes across it, without a name.
"""

from __future__ import annotations

from contextlib import suppress
from datetime import datetime

from fairlead.answers.pool import KeptDocument
from fairlead.errors import ConflictError
from fairlead.inputs.leaf import Json
from fairlead.kube.answer import ForbiddenError, Object
from fairlead.kube.client import KubeClient
from fairlead.kube.names import POOL_LABEL, owned
from fairlead.kube.resource import GROUP, Resource

CONTROLLER_REVISIONS = Resource("apps", "v1", "controllerrevisions", "ControllerRevision")

ACTOR = f"{GROUP}/actor"
MOST_KEPT = 20


def read_history(client: KubeClient, pool: Object, document: Json) -> tuple[KeptDocument, ...]:
    """Return what was declared for a NodePool, the oldest first; the last one is in force."""
    kept = [_document_of(one) for one in _kept_of(client, pool)]
    if not kept or kept[-1].document != document:
        number = kept[-1].number + 1 if kept else 1
        kept.append(KeptDocument(number=number, at=None, document=document))
    return tuple(kept)


def keep_document(
    client: KubeClient, written: Object, before: Json | None, after: Json, actor: str
) -> None:
    """
    Keep what a NodePool was and what it is now.

    Somebody who may change pools and not this changes them without a history.
    """
    with suppress(ForbiddenError):
        kept = _kept_of(client, written)
        last = kept[-1]["data"] if kept else None
        number = kept[-1]["revision"] if kept else 0
        for document, by in ((before, ""), (after, actor)):
            if document is None or document == last:
                continue
            number += 1
            last = document
            with suppress(ConflictError):  # of two at once, the other one kept theirs
                client.create(CONTROLLER_REVISIONS, _object(written, number, document, by))
        for old in kept[: max(0, len(kept) + 1 - MOST_KEPT)]:
            client.delete(CONTROLLER_REVISIONS, old["metadata"]["name"], _namespace_of(written))


def _kept_of(client: KubeClient, pool: Object) -> list[Object]:
    metadata = pool["metadata"]
    labels = f"{POOL_LABEL}={metadata['name']}"
    found, _ = client.list_all(CONTROLLER_REVISIONS, metadata["namespace"], labels)
    own = [one for one in found if _owner_of(one) == metadata["uid"]]
    return sorted(own, key=lambda one: int(one["revision"]))


def _object(pool: Object, number: int, document: Json, actor: str) -> Object:
    made = owned(CONTROLLER_REVISIONS, pool, f"{pool['metadata']['name']}-{number}")
    # Whoever declares a pool need not be allowed to keep it from being deleted.
    made["metadata"]["ownerReferences"][0].pop("blockOwnerDeletion")
    made["metadata"]["annotations"] = {ACTOR: actor}
    return {**made, "revision": number, "data": document}


def _document_of(found: Object) -> KeptDocument:
    metadata = found["metadata"]
    return KeptDocument(
        number=int(found["revision"]),
        at=datetime.fromisoformat(metadata["creationTimestamp"]),
        document=found["data"],
        actor=(metadata.get("annotations") or {}).get(ACTOR, ""),
    )


def _owner_of(found: Object) -> str:
    owners = found["metadata"].get("ownerReferences") or [{}]
    return str(owners[0].get("uid", ""))


def _namespace_of(pool: Object) -> str:
    return str(pool["metadata"]["namespace"])
