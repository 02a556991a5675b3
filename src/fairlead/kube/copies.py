"""
What the operator reads: a copy of every resource that a pass looks at, and the pools they concern.

Writes go to the server and into the copy, so that a pass which follows at once sees them. While a
pass runs, its thread reads each object as it first saw it: see look.py.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, nullcontext, suppress
from dataclasses import replace
from functools import partial
from typing import TypeVar

from fairlead.errors import ConflictError, InputError, UnavailableError
from fairlead.kube.answer import Object
from fairlead.kube.client import NO_VERSION, KubeClient
from fairlead.kube.informer import Informer, Key, Selection, key_of
from fairlead.kube.look import Look
from fairlead.kube.names import POOL_LABEL, owner_of, pool_of, split
from fairlead.kube.packed import Packed
from fairlead.kube.resource import (
    NODE_POOLS,
    NODE_REVISIONS,
    PLATFORM_CONFIGS,
    ROLLOUT_PLANS,
    SECRETS,
    Resource,
)
from fairlead.kube.several import Several

Read = TypeVar("Read")


def pool_itself(found: Object) -> str:
    """Return the pool that a NodePool is."""
    metadata = found["metadata"]
    return pool_of(metadata["namespace"], metadata["name"])


def pool_in_spec(found: Object) -> str:
    """Return the pool that an object names in its spec, in its own namespace."""
    name = found.get("spec", {}).get("pool", "")
    return pool_of(found["metadata"]["namespace"], name) if name else ""


# What is copied, of which objects only some; and how each tells its pool.
COPIED: dict[Resource, Selection] = {
    NODE_POOLS: Selection(group_of=pool_itself),
    PLATFORM_CONFIGS: Selection(),
    NODE_REVISIONS: Selection(group_of=pool_in_spec),
    ROLLOUT_PLANS: Selection(group_of=pool_in_spec),
    SECRETS: Selection(labels=POOL_LABEL, group_of=owner_of),
}


class Copies:
    """
    One copy for each resource.

    wake: asks for a pass over one pool, or over more of them: see names.concerns. tell: takes what
    goes wrong.
    """

    def __init__(
        self,
        client: KubeClient,
        copied: Mapping[Resource, Selection],
        wake: Callable[[str], None],
        tell: Callable[[str], None],
    ) -> None:
        self.client = client
        self._copied = copied
        self._pass = threading.local()
        self._informers: dict[Resource, Informer | Several] = {}
        for resource, selection in copied.items():
            follow = partial(Informer, client, resource, _waking(wake, selection), tell)
            self._informers[resource] = _follower(follow, selection)

    def start(self, seconds: float = 60.0) -> None:
        """Follow everything. Raises UnavailableError if the first lists take longer than this."""
        for informer in self._informers.values():
            informer.start()
        end = time.monotonic() + seconds
        for resource, informer in self._informers.items():
            if not informer.wait_until_synced(max(0.0, end - time.monotonic())):
                raise UnavailableError(f"{resource.plural} could not be listed in {seconds:.0f} s")

    def look(self) -> None:
        """Know everything as it is at this moment, and follow nothing. Raises FairleadError."""
        with ThreadPoolExecutor(len(self._informers)) as lists:
            for looked in [lists.submit(one.look) for one in self._informers.values()]:
                looked.result()

    def stop(self) -> None:
        """Follow nothing any more."""
        for informer in self._informers.values():
            informer.stop()

    @property
    def is_synced(self) -> bool:
        """Whether everything was listed once."""
        return all(informer.is_synced for informer in self._informers.values())

    @property
    def lives(self) -> bool:
        """Whether everything is followed that was begun."""
        return all(informer.lives for informer in self._informers.values())

    @contextmanager
    def one_look(self) -> Iterator[None]:
        """Let this thread read each object as it first sees it, for as long as the block runs."""
        self._pass.look = Look()
        try:
            yield
        finally:
            self._pass.look = None

    def find(self, resource: Resource, namespace: str, name: str) -> Object | None:
        """Return an object, or None. It must not be changed."""
        informer, look = self._informers[resource], self._look
        if look is None:
            return informer.find(namespace, name)
        key = (namespace if resource.is_namespaced else "", name)
        return look.find(resource, key, informer.find)

    def list_all(self, resource: Resource) -> list[Object]:
        """Return every object of a resource."""
        return self._informers[resource].list_all()

    def list_marked(self, resource: Resource) -> list[Object]:
        """Return those objects of a resource that are looked for often."""
        return self._informers[resource].list_marked()

    def list_packed(self, resource: Resource) -> list[tuple[Key, Packed]]:
        """Return every object of a resource as it is kept."""
        return self._informers[resource].list_packed()

    def list_keys(self, resource: Resource) -> list[Key]:
        """Return namespace and name of every object of a resource."""
        return self._informers[resource].list_keys()

    def list_of(self, resource: Resource, pool: str) -> list[Object]:
        """Return the objects of one pool."""
        informer, look = self._informers[resource], self._look
        if look is None:
            return informer.list_group(pool)
        return look.list_of(resource, pool, lambda: informer.list_group(pool))

    def find_listed(self, resource: Resource, name: str) -> Object | None:
        """Return the object of this name among those that this pass listed, or None."""
        return self._look.find_listed(resource, name) if self._look else None

    def is_leaving(self, pool: str) -> bool:
        """Say whether a pool is known to be deleted, and there until all of it is gone."""
        found = self.find(NODE_POOLS, *split(pool)) if NODE_POOLS in self._informers else None
        return found is not None and "deletionTimestamp" in found["metadata"]

    def read_if_stays(self, pool: str, read: Callable[[], Read]) -> Read | None:
        """
        Return what is read; None if it cannot be, of a pool that leaves: as if it were not there.

        Whoever deletes a namespace, or a pool in the foreground, deletes its objects in any order.
        """
        try:
            return read()
        except InputError:
            if not self.is_leaving(pool):
                raise
        return None

    def follow_keys(self, resource: Resource, note: Callable[[Key], None]) -> None:
        """Let somebody note the keys of all objects, and of those that are different later."""
        self._informers[resource].follow_keys(note)

    def create(self, resource: Resource, made: Object) -> Object:
        """Make an object. Raises ConflictError if one of its name is there."""
        return self._noted(resource, self.client.create(resource, made))

    def replace(self, resource: Resource, changed: Object) -> Object:
        """Write an object whole, if it is still what was read; else ConflictError."""
        return self._noted(resource, self.client.replace(resource, changed))

    def apply(
        self, resource: Resource, wanted: Object, subresource: str = "", *, is_last: bool = False
    ) -> Object:
        """
        Make these fields so, over exactly what this thread sees of the object.

        is_last: nothing follows from it, so that it wakes no pool when the watch brings it.
        Raises ConflictError if another one is there, or one although none was seen; InputError if
        that one is of others.
        """
        metadata = wanted["metadata"]
        seen = self.find(resource, metadata.get("namespace", ""), metadata["name"])
        expected = {"resourceVersion": NO_VERSION}
        if seen is not None:
            expected = {name: seen["metadata"][name] for name in ("uid", "resourceVersion")}
        wanted = {**wanted, "metadata": {**metadata, **expected}}
        informer = self._informers[resource]
        with informer.holding_back(key_of(wanted)) if is_last else nullcontext():
            try:
                written = self.client.apply(resource, wanted, subresource)
            except ConflictError:
                if seen is None:
                    self._refuse_taken(resource, metadata)
                raise
            return self._noted(resource, written, is_last=is_last)

    def _refuse_taken(self, resource: Resource, metadata: Object) -> None:
        """Raise InputError if somebody else has an object of this name that no copy shows."""
        namespace, name = metadata.get("namespace", ""), metadata["name"]
        found, _ = self.client.list_all(resource, namespace, fields=f"metadata.name={name}")
        labels = metadata.get("labels") or {}
        if any(_lacks(one, labels) for one in found):
            raise InputError(
                f"{resource.kind} {name} in {namespace} is there and not ours",
                hint="rename the pool, or delete what has its name",
            )

    def delete(self, resource: Resource, found: Object) -> None:
        """Delete this very object; one that is gone is no error."""
        with suppress(ConflictError):  # another one of the same name, which nobody asked about
            self._delete(resource, found, ("uid",))

    def delete_as_seen(self, resource: Resource, found: Object) -> None:
        """
        Delete this very object if it is what was read; one that is gone is no error.

        Raises ConflictError if somebody wrote it since: they may need it.
        """
        self._delete(resource, found, ("uid", "resourceVersion"))

    def _delete(self, resource: Resource, found: Object, told_by: Iterable[str]) -> None:
        metadata = found["metadata"]
        namespace, name, uid = metadata.get("namespace", ""), metadata["name"], metadata["uid"]
        conditions = {part: metadata[part] for part in told_by}
        self.client.delete(resource, name, namespace, conditions)
        self._informers[resource].note_deleted(namespace, name, uid)
        if self._look:
            self._look.note_deleted(resource, self._group_of(resource, found), key_of(found))

    def note_gone(self, resource: Resource, found: Object) -> None:
        """Let reads see that a write of ours was the last word about an object."""
        metadata = found["metadata"]
        self._informers[resource].note_deleted(
            metadata.get("namespace", ""), metadata["name"], metadata["uid"]
        )

    @property
    def _look(self) -> Look | None:
        look: Look | None = getattr(self._pass, "look", None)
        return look

    def _group_of(self, resource: Resource, found: Object) -> str:
        return self._copied[resource].group_of(found)

    def _noted(self, resource: Resource, written: Object, *, is_last: bool = False) -> Object:
        self._informers[resource].note_written(written, is_known=is_last)
        if self._look:
            self._look.note_written(resource, self._group_of(resource, written), written)
        return written


def _follower(follow: Callable[[Selection], Informer], selection: Selection) -> Informer | Several:
    if not selection.namespaces:
        return follow(selection)
    parts = {one: follow(replace(selection, namespace=one)) for one in selection.namespaces}
    return Several(parts)


def _waking(wake: Callable[[str], None], selection: Selection) -> Callable[[Object], None]:
    def on_change(changed: Object) -> None:
        if group := selection.group_of(changed):
            wake(group)

    return on_change


def _lacks(found: Object, labels: Object) -> bool:
    """Say whether an object has not all of these labels."""
    return not labels.items() <= (found["metadata"].get("labels") or {}).items()


def newest_first(objects: Iterable[Object]) -> list[Object]:
    """Return objects by when they were made, and by name of those of one second."""
    return sorted(
        objects,
        key=lambda one: (one["metadata"].get("creationTimestamp", ""), one["metadata"]["name"]),
        reverse=True,
    )
