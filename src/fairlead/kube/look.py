"""
What one pass looks at: each object as it was when the pass first saw it.

A copy of the cluster moves on while a pass thinks. A pass that decided from what it saw writes over
exactly that, so the server refuses it if somebody else was faster: also somebody who holds the
lease by now. Its own writes it sees.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable

from fairlead.kube.answer import Object
from fairlead.kube.informer import Key, key_of
from fairlead.kube.resource import Resource


class Look:
    """The objects, and the lists of a pool's objects, that one pass has seen."""

    def __init__(self) -> None:
        self._objects: dict[tuple[Resource, Key], Object | None] = {}
        self._lists: dict[tuple[Resource, str], dict[Key, Object]] = {}
        self._listed: set[Resource] = set()

    def find(
        self, resource: Resource, key: Key, read: Callable[[str, str], Object | None]
    ) -> Object | None:
        """
        Return an object as it was first seen, or None if it was not there then.

        A pass is about one pool: of a resource that it listed there is nothing else. It asks for
        the same few objects some forty times.
        """
        known = resource, key
        try:
            return self._objects[known]
        except KeyError:
            found = None if resource in self._listed else read(*key)
            self._objects[known] = found
            return found

    def list_of(
        self, resource: Resource, pool: str, read: Callable[[], Iterable[Object]]
    ) -> list[Object]:
        """Return a pool's objects as they were first seen."""
        if (resource, pool) not in self._lists:
            seen = {key_of(one): one for one in read()}
            self._lists[resource, pool] = seen
            self._listed.add(resource)
            for key, one in seen.items():
                self._objects.setdefault((resource, key), one)
        return [one for _, one in sorted(self._lists[resource, pool].items())]

    def find_listed(self, resource: Resource, name: str) -> Object | None:
        """Return the object of this name among those that were listed, or None."""
        for (kind, _), listed in self._lists.items():
            for key, one in listed.items():
                if kind == resource and key[1] == name:
                    return one
        return None

    def note_written(self, resource: Resource, pool: str, written: Object) -> None:
        """Let the pass see what it wrote itself."""
        self._objects[resource, key_of(written)] = written
        if (resource, pool) in self._lists:
            self._lists[resource, pool][key_of(written)] = written

    def note_deleted(self, resource: Resource, pool: str, key: Key) -> None:
        """Let the pass see what it deleted itself."""
        self._objects[resource, key] = None
        self._lists.get((resource, pool), {}).pop(key, None)
