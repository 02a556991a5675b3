"""One resource of several namespaces, each followed for itself: nobody needs a right to all."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager

from fairlead.kube.answer import Object
from fairlead.kube.informer import Informer, Key
from fairlead.kube.packed import Packed


class Several:
    """Informers by their namespaces, read as one. What is in another namespace is not there."""

    def __init__(self, parts: Mapping[str, Informer]) -> None:
        self._parts = {namespace: parts[namespace] for namespace in sorted(parts)}

    def start(self) -> None:
        """Begin to follow."""
        for part in self._parts.values():
            part.start()

    def look(self) -> None:
        """Know everything as it is at this moment, and follow nothing. Raises FairleadError."""
        for part in self._parts.values():
            part.look()

    def stop(self) -> None:
        """Follow nothing any more."""
        for part in self._parts.values():
            part.stop()

    def wait_until_synced(self, seconds: float) -> bool:
        """Say whether everything was listed once, after waiting for it at most this long."""
        end = time.monotonic() + seconds
        parts = self._parts.values()
        return all(part.wait_until_synced(max(0.0, end - time.monotonic())) for part in parts)

    @property
    def lives(self) -> bool:
        """Whether all that was begun is followed."""
        return all(part.lives for part in self._parts.values())

    @property
    def is_synced(self) -> bool:
        """Whether everything was listed once."""
        return all(part.is_synced for part in self._parts.values())

    def follow_keys(self, note: Callable[[Key], None]) -> None:
        """Let somebody note the key of everything, and of what is different later: see Informer."""
        for part in self._parts.values():
            part.follow_keys(note)

    def find(self, namespace: str, name: str) -> Object | None:
        """Return an object as it is known here, or None."""
        part = self._parts.get(namespace)
        return part.find(namespace, name) if part else None

    def list_keys(self) -> list[Key]:
        """Return namespace and name of every object, in this order."""
        return [key for part in self._parts.values() for key in part.list_keys()]

    def list_packed(self) -> list[tuple[Key, Packed]]:
        """Return every object as it is kept, in the order of namespace and name."""
        return [one for part in self._parts.values() for one in part.list_packed()]

    def list_all(self) -> list[Object]:
        """Return every object, in the order of namespace and name."""
        return [one for part in self._parts.values() for one in part.list_all()]

    def list_marked(self) -> list[Object]:
        """Return the objects that are marked, in the order of namespace and name."""
        return [one for part in self._parts.values() for one in part.list_marked()]

    def list_group(self, group: str) -> list[Object]:
        """Return the objects of one group, in the order of namespace and name."""
        return [one for part in self._parts.values() for one in part.list_group(group)]

    def note_written(self, written: Object, *, is_known: bool = False) -> None:
        """Let reads see what was just written: see Informer."""
        self._parts[written["metadata"]["namespace"]].note_written(written, is_known=is_known)

    @contextmanager
    def holding_back(self, key: Key) -> Iterator[None]:
        """Tell of changes of an object after the block that writes it: see Informer."""
        with self._parts[key[0]].holding_back(key):
            yield

    def note_deleted(self, namespace: str, name: str, uid: str) -> None:
        """Let reads see that this very object was deleted."""
        self._parts[namespace].note_deleted(namespace, name, uid)
