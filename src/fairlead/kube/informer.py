"""
What the API server has of one resource, kept here, and who is told when it changes.

Listed once, in pages, and watched from there. A watch ends at any time: by itself, with a bare
end of the stream where the reader was slow, or because its version is too old. The first two go
on from the last version that was seen, bookmarks included; the last one lists again. Whatever was
missed meanwhile shows as a difference of two lists.

Reads see own writes: what was written counts until the watch has caught up with it.
"""

from __future__ import annotations

import random
import threading
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from fairlead.errors import FairleadError, UnavailableError
from fairlead.kube.answer import BusyError, Change, ExpiredError, Object, version_of
from fairlead.kube.client import KubeClient, Watch
from fairlead.kube.packed import Packed, packed
from fairlead.kube.resource import Resource

# Seconds between two tries while the server does not answer; the longest after seven of them.
FIRST_WAIT_S = 0.25
LONGEST_WAIT_S = 30.0

Key = tuple[str, str]


@dataclass(frozen=True, slots=True)
class Selection:
    """
    Which objects are kept; both '' is all that there are. namespaces: those that are followed one
    by one in the place of all, if any.

    group_of: what objects that are looked for together have in common, or ''. is_marked: which of
    them are looked for often, and so are found without unpacking the others. part_of: what
    anybody reads of one, where that is little; nobody is told when the rest changes.
    """

    namespace: str = ""
    labels: str = ""
    group_of: Callable[[Object], str] = lambda _: ""
    is_marked: Callable[[Object], bool] = lambda _: False
    part_of: Callable[[Object], object] | None = None
    namespaces: tuple[str, ...] = ()


def key_of(found: Object) -> Key:
    """Return what tells two objects of one resource apart: namespace and name."""
    metadata = found["metadata"]
    return metadata.get("namespace", ""), metadata["name"]


class Informer:
    """
    A copy of one resource that follows the server.

    on_change: told of every object that appeared, changed or went, by the thread of the informer or
    by one that wrote; it must be quick and must not raise. tell: takes what goes wrong, in words.
    """

    def __init__(
        self,
        client: KubeClient,
        resource: Resource,
        on_change: Callable[[Object], None],
        tell: Callable[[str], None],
        selection: Selection = Selection(),  # noqa: B008 - it never changes
    ) -> None:
        self.resource = resource
        self._client = client
        self._on_change = on_change
        self._tell = tell
        self._selection = selection
        self._objects: dict[Key, Packed] = {}
        self._written: dict[Key, Packed] = {}
        self._groups: dict[str, set[Key]] = {}
        self._deleted: dict[Key, str] = {}
        self._own: dict[Key, str] = {}  # versions that nobody is to be told of, one a key at most
        self._held_back: dict[Key, list[Object]] = {}  # while they are written
        self._lock = threading.Lock()
        self._version = ""
        self._current: Watch | None = None
        self._has_begun = False  # the last watch
        self._followers: list[Callable[[Key], None]] = []
        self._is_stopping = threading.Event()
        self._is_synced = threading.Event()
        self._thread = threading.Thread(target=self._run, name=f"{resource.plural}", daemon=True)
        self.lists = 0
        self.watches = 0

    def start(self) -> None:
        """Begin to follow."""
        self._thread.start()

    def follow_keys(self, note: Callable[[Key], None]) -> None:
        """
        Let somebody note the key of everything that is there, and of what is different later.

        It is quick and does not raise; what is there then is looked up by the key.
        """
        self._followers.append(note)
        for key, _ in self.list_packed():
            note(key)

    def _noted(self, keys: Iterable[Key]) -> None:
        for key in keys if self._followers else ():
            for note in self._followers:
                note(key)

    def look(self) -> None:
        """Know everything as it is at this moment, and follow nothing. Raises FairleadError."""
        self._list()

    def stop(self) -> None:
        """Follow nothing any more; afterwards nothing of this informer runs."""
        self._is_stopping.set()
        watch = self._current
        if watch is not None:
            watch.cut()
        if self._thread.is_alive():
            self._thread.join()

    def wait_until_synced(self, seconds: float) -> bool:
        """Say whether everything was listed once, after waiting for it at most this long."""
        return self._is_synced.wait(seconds)

    @property
    def lives(self) -> bool:
        """Whether it follows the server, or was not told to yet."""
        return self._thread.ident is None or self._thread.is_alive()

    @property
    def is_synced(self) -> bool:
        """Whether everything was listed once."""
        return self._is_synced.is_set()

    def find(self, namespace: str, name: str) -> Object | None:
        """Return an object as it is known here, or None."""
        with self._lock:
            found = self._find((namespace, name))
        return None if found is None else found.object

    def list_keys(self) -> list[Key]:
        """Return namespace and name of every object, in this order."""
        return [key for key, _ in self.list_packed()]

    def list_packed(self) -> list[tuple[Key, Packed]]:
        """Return every object as it is kept, in the order of namespace and name."""
        with self._lock:
            keys = sorted({*self._objects, *self._written})
            return [(key, one) for key in keys if (one := self._find(key)) is not None]

    def list_all(self) -> list[Object]:
        """Return every object, in the order of namespace and name."""
        return [one.object for _, one in self.list_packed()]

    def list_marked(self) -> list[Object]:
        """Return the objects that are marked, in the order of namespace and name."""
        return [one.object for _, one in self.list_packed() if one.is_marked]

    def list_group(self, group: str) -> list[Object]:
        """Return the objects of one group, in the order of namespace and name."""
        with self._lock:
            found = [self._find(key) for key in sorted(self._groups.get(group, ()))]
        objects = [one.object for one in found if one is not None]
        return [one for one in objects if self._selection.group_of(one) == group]

    def _find(self, key: Key) -> Packed | None:
        found = self._written.get(key) or self._objects.get(key)
        if found is None or self._deleted.get(key) == found.uid:
            return None
        return found

    def note_written(self, written: Object, *, is_known: bool = False) -> None:
        """
        Let reads see what was just written, until the watch brings it or something newer.

        is_known: whoever would be told of this very write knows it, and has drawn every conclusion.
        """
        key = key_of(written)
        with self._lock:
            if is_known:
                self._own[key] = version_of(written)
            known = self._objects.get(key)
            if known is None or _is_newer(version_of(written), known.version):
                self._written[key] = self._packed(written)
                self._join_group(key, written)
        self._noted([key])

    @contextmanager
    def holding_back(self, key: Key) -> Iterator[None]:
        """
        Tell of changes of an object after the block that writes it, but for what it wrote itself.

        A watch is often faster than the answer, by which alone a write of ours is known. One block
        for each object at a time.
        """
        with self._lock:
            self._held_back[key] = []
        try:
            yield
        finally:
            with self._lock:
                changed = self._held_back.pop(key)
                told = [one for one in changed if not self._is_own(key, version_of(one))]
            for one in told:
                self._on_change(one)

    def note_deleted(self, namespace: str, name: str, uid: str) -> None:
        """Let reads see that this very object was deleted."""
        with self._lock:
            if (namespace, name) in self._objects or (namespace, name) in self._written:
                self._deleted[namespace, name] = uid
        self._noted([(namespace, name)])

    def _run(self) -> None:
        waited = 0
        while not self._is_stopping.is_set():
            self._has_begun = False
            try:
                if not self._version:
                    self._list()
                self._watch()
                waited = 0
            except ExpiredError as error:
                self._tell(f"{self.resource.plural}: {error}; listing again")
                self._version = ""
            except FairleadError as error:
                if self._is_stopping.is_set():
                    return
                # A watch that was taken on and then cut is no server that does not answer.
                waited = 1 if self._has_begun else waited + 1
                self._tell(f"{self.resource.plural}: {error}")
                asked = error.seconds if isinstance(error, BusyError) else 0.0
                self._is_stopping.wait(max(wait_before(waited), min(asked, LONGEST_WAIT_S)))

    def _list(self) -> None:
        fresh, groups, version = self._read_all()
        self.lists += 1
        with self._lock:
            before, self._objects = self._objects, fresh
            known = {**before, **self._written}
            # What the list does not have is gone, unless it was written after the list was made.
            self._written = {
                key: one for key, one in self._written.items() if _is_newer(one.version, version)
            }
            for key, one in self._written.items():
                groups.setdefault(self._selection.group_of(one.object), set()).add(key)
            self._groups = groups
            self._deleted = {
                key: uid
                for key, uid in self._deleted.items()
                if (there := self._written.get(key) or fresh.get(key)) and there.uid == uid
            }
        self._version = version
        self._noted(key for key, one in fresh.items() if before.get(key) != one)
        self._noted(known.keys() - fresh.keys())
        self._is_synced.set()
        for key, one in fresh.items():
            is_changed = key in before and before[key].version != one.version
            if key not in before or (is_changed and self._is_read(before[key], one.object)):
                self._on_change(one.object)
        for key, one in known.items():
            if key not in fresh and key not in self._written:
                self._on_change(one.object)

    def _read_all(self) -> tuple[dict[Key, Packed], dict[str, set[Key]], str]:
        """Return what the server has: objects, their groups, and the version of all of it."""
        selection, version = self._selection, ""
        fresh: dict[Key, Packed] = {}
        groups: dict[str, set[Key]] = {}
        pages = self._client.list_pages(self.resource, selection.namespace, selection.labels)
        for page, version in pages:  # noqa: B007 - the last page's counts
            for one in page:
                key = key_of(one)
                fresh[key] = self._packed(self._completed(one))
                groups.setdefault(selection.group_of(one), set()).add(key)
        return fresh, groups, version

    def _completed(self, listed: Object) -> Object:
        """Items of a list lack what every other object has."""
        listed.setdefault("apiVersion", self.resource.api_version)
        listed.setdefault("kind", self.resource.kind)
        return listed

    def _watch(self) -> None:
        self.watches += 1
        selection = self._selection
        self._current = self._client.watch(
            self.resource, self._version, selection.namespace, selection.labels
        )
        # Who stops it looks the other way round: it sees this watch, or it is seen here.
        if self._is_stopping.is_set():
            return
        try:
            for change in self._current:
                if self._is_stopping.is_set():
                    return
                self._take(change)
                self._version = change.version or self._version
        finally:
            self._has_begun = self._current.has_begun

    def _take(self, change: Change) -> None:
        if change.kind == "BOOKMARK":
            return
        if change.kind not in ("ADDED", "MODIFIED", "DELETED"):
            raise UnavailableError(f"a watch brought {change.kind[:40]!a}, which means nothing")
        key = key_of(change.object)
        with self._lock:
            known = self._objects.get(key)
            is_gone = change.kind == "DELETED"
            is_news = is_gone or known is None or self._is_read(known, change.object)
            written = self._written.get(key)
            if written and not _is_newer(written.version, change.version):
                del self._written[key]
            if is_gone:
                self._objects.pop(key, None)
                self._deleted.pop(key, None)
                self._own.pop(key, None)
                self._leave_group(key, change.object)
            elif written and written.version == change.version:
                self._objects[key] = written
            else:
                self._objects[key] = self._packed(change.object)
                self._join_group(key, change.object)
            held_back = self._held_back.get(key)
            if held_back is not None and is_news:
                held_back.append(change.object)
            is_told_here = is_news and held_back is None and not self._is_own(key, change.version)
        self._noted([key])
        if is_told_here:
            self._on_change(change.object)

    def _is_read(self, known: Packed, changed: Object) -> bool:
        """Say whether anybody reads of an object what is different now."""
        part_of = self._selection.part_of
        return part_of is None or part_of(known.object) != part_of(changed)

    def _is_own(self, key: Key, version: str) -> bool:
        """Say, once, whether this version is one that nobody is to be told of."""
        is_own = self._own.get(key) == version
        if is_own:
            del self._own[key]
        return is_own

    def _packed(self, found: Object) -> Packed:
        return packed(found, is_marked=self._selection.is_marked(found))

    def _join_group(self, key: Key, one: Object) -> None:
        self._groups.setdefault(self._selection.group_of(one), set()).add(key)

    def _leave_group(self, key: Key, one: Object) -> None:
        group = self._selection.group_of(one)
        members = self._groups.get(group, set())
        members.discard(key)
        if not members:
            self._groups.pop(group, None)


def wait_before(tries: int) -> float:
    """Return seconds before the next try: doubling, and spread so that operators do not march."""
    longest = min(LONGEST_WAIT_S, FIRST_WAIT_S * 2.0 ** min(tries - 1, 10))
    return longest * random.uniform(0.5, 1.0)  # noqa: S311 - nobody gains by guessing it


def _is_newer(version: str, other: str) -> bool:
    """
    Say whether one version of an object is newer than another.

    Versions of one resource may be compared as numbers (Kubernetes 1.35); where they are none,
    what the server told last counts.
    """
    return version.isdigit() and other.isdigit() and int(version) > int(other)
