"""
One text in an object that several processes change: read, changed, and written over what was read.

Whoever changes it waits until it is written; what several threads of a process want meanwhile is
written at once. A write that another process was faster than is made again from what is there, so
every change sees all changes before it. A change may be asked for twice where an answer was lost:
it must see by itself that it was made.

Nothing is written that changes nothing. What a process writes is bounded by time: the longer a
text, the longer until the next write, so that a server keeps its history of it.
"""

from __future__ import annotations

import random
import threading
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any, Generic, TypeVar

from fairlead.errors import ConflictError, FairleadError, UnavailableError
from fairlead.kube.answer import Object
from fairlead.kube.client import KubeClient
from fairlead.kube.resource import HOTFIX_LEDGERS

S = TypeVar("S")
T = TypeVar("T")

# Bytes that one process writes of one text in a second, and the least between two writes.
BYTES_A_SECOND = 200_000
SHORTEST_GAP_S = 0.02

# Seconds that a change waits for its turn; a booting machine is answered without it rather than
# late. And for how long what was read is taken for what is there.
PATIENCE_S = 3.0
FRESH_S = 1.0

# Seconds that nobody waits for a server that did not answer; then one tries again.
REST_S = 2.0

# Others who write the same take some milliseconds each.
MOST_TRIES = 12
LONGEST_PAUSE_S = 0.05

# Changes that wait for company; beyond, the oldest are dropped.
MOST_LATER = 20_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Form(Generic[S]):
    """How a text is read and written. read may raise UnavailableError; '' is what nobody wrote."""

    read: Callable[[str], S]
    write: Callable[[S], str]


@dataclass(slots=True, eq=False)
class _Wish:
    work: Callable[[Any], Any]
    is_over: bool = False
    result: Any = None
    error: FairleadError | None = None


@dataclass(slots=True)
class _Known:
    """What is there. found: the object, or None if there is none."""

    found: Object | None
    text: str
    state: Any


@dataclass(slots=True)
class _Queue:
    """Who waits. is_busy: somebody reads or writes. changed: whoever waits looks again."""

    changed: threading.Condition = field(default_factory=threading.Condition)
    is_busy: bool = False
    wishes: list[_Wish] = field(default_factory=list)
    later: list[Callable[[Any], object]] = field(default_factory=list)


class SharedText(Generic[S]):
    """One of them, made with these labels. Every operation may raise UnavailableError."""

    def __init__(
        self,
        client: KubeClient,
        namespace: str,
        name: str,
        form: Form[S],
        *,
        labels: Mapping[str, str] = MappingProxyType({}),
    ) -> None:
        self._client = client
        self._namespace = namespace
        self._name = name
        self._form = form
        self._labels = dict(labels)
        self._queue = _Queue()
        self._known: _Known | None = None
        self._read_at = -FRESH_S
        self._write_after = 0.0
        self._problem = ""
        self._rest_until = 0.0

    @property
    def problem(self) -> str:
        """Why the last look or change failed, or ''."""
        return self._problem

    @property
    def size(self) -> int:
        """How many characters it has, as far as is known here."""
        return len(self._known.text) if self._known else 0

    @property
    def has_later(self) -> bool:
        """Whether a change waits for company."""
        return bool(self._queue.later)

    def state(self) -> S:
        """Return what is known here, which is not to be changed; looked up the first time."""
        known = self._known
        if known is None:
            self._refuse_at_rest()
            self._wait_for_first_look()
            if self._known is None:
                self.look()
            known = self._known
            assert known is not None  # noqa: S101 - it was looked up
        state: S = known.state
        return state

    def look(self) -> None:
        """Read what is there."""
        if not self._has_turn(None):
            raise UnavailableError(f"{self._name} is being written for too long")
        try:
            self._attempt(self._read)
        finally:
            self._give_turn()

    def _wait_for_first_look(self) -> None:
        """Let one read for all who come at once: each would have to wait for a turn of its own."""
        queue, end = self._queue, time.monotonic() + PATIENCE_S
        with queue.changed:
            while queue.is_busy and self._known is None and time.monotonic() < end:
                queue.changed.wait(end - time.monotonic())

    def later(self, work: Callable[[S], object]) -> None:
        """Change it with the next change, or when it is flushed."""
        with self._queue.changed:
            if len(self._queue.later) >= MOST_LATER:
                self._queue.later.pop(0)
            self._queue.later.append(work)

    def flush(self) -> None:
        """Make the changes that wait for company."""
        if self.has_later:
            self.change(lambda _: None)

    def change(self, work: Callable[[S], T]) -> T:
        """Change it, and return what the work returned once that is written."""
        self._refuse_at_rest()
        wish = _Wish(work)
        with self._queue.changed:
            self._queue.wishes.append(wish)
        if self._has_turn(wish):
            try:
                self._make_all()
            finally:
                self._give_turn()
        if not wish.is_over:
            raise UnavailableError(f"{self._name} is being written for too long")
        if wish.error is not None:
            raise wish.error
        result: T = wish.result
        return result

    def _refuse_at_rest(self) -> None:
        """Let one thread in a while try what failed, and no other wait for it."""
        now = time.monotonic()
        if self._problem and now < self._rest_until:
            raise UnavailableError(self._problem)
        if self._problem:
            self._rest_until = now + REST_S

    def _has_turn(self, wish: _Wish | None) -> bool:
        """
        Wait for a turn, and say whether it came.

        With a wish: not if somebody else made it meanwhile, or it was taken back after PATIENCE_S.
        Where somebody is at it, what becomes of it is waited for.
        """
        queue, end = self._queue, time.monotonic() + PATIENCE_S
        with queue.changed:
            while queue.is_busy and not (wish and wish.is_over):
                is_taken = wish is not None and wish not in queue.wishes
                if not is_taken and time.monotonic() >= end:
                    if wish is not None:
                        queue.wishes.remove(wish)
                    return False
                queue.changed.wait(None if is_taken else end - time.monotonic())
            if wish and wish.is_over:
                return False
            queue.is_busy = True
            return True

    def _give_turn(self) -> None:
        with self._queue.changed:
            self._queue.is_busy = False
            self._queue.changed.notify_all()

    def _make_all(self) -> None:
        """Make every change that anybody waits for."""
        time.sleep(max(0.0, self._write_after - time.monotonic()))
        with self._queue.changed:
            wishes, self._queue.wishes = self._queue.wishes, []
            later, self._queue.later = self._queue.later, []
        try:
            self._attempt(lambda: self._write(wishes, later))
        except UnavailableError as error:
            for wish in wishes:
                wish.error = error
        finally:
            for wish in wishes:
                wish.is_over = True

    def _attempt(self, work: Callable[[], None]) -> None:
        try:
            work()
        except ConflictError as error:
            raise UnavailableError(str(error)) from error
        except FairleadError as error:
            self._problem = str(error)
            self._rest_until = time.monotonic() + REST_S
            raise UnavailableError(str(error)) from error
        self._problem = ""

    def _read(self) -> None:
        found = self._client.find(HOTFIX_LEDGERS, self._name, self._namespace)
        self._learn(found)

    def _learn(self, found: Object | None) -> None:
        text = str(found["spec"]["kept"]) if found is not None else ""
        if self._known is None or self._known.text != text:
            self._known = _Known(found, text, self._form.read(text))
        else:
            self._known = _Known(found, text, self._known.state)
        self._read_at = time.monotonic()

    def _write(self, wishes: list[_Wish], later: list[Callable[[Any], object]]) -> None:
        if time.monotonic() - self._read_at > FRESH_S:
            self._read()
        for _ in range(MOST_TRIES):
            assert self._known is not None  # noqa: S101 - it was read
            state = self._form.read(self._known.text)
            for one in later:
                one(state)
            for wish in wishes:
                wish.result = wish.work(state)
            text = self._form.write(state)
            if text == self._known.text or self._put(text):
                return
            time.sleep(random.uniform(0, LONGEST_PAUSE_S))  # noqa: S311 - nobody gains by it
            self._read()
        raise ConflictError(f"{self._name}: others were faster {MOST_TRIES} times")

    def _put(self, text: str) -> bool:
        """Write it over what was read; False if something else is there by now."""
        assert self._known is not None  # noqa: S101 - it was read
        spec, found = {"kept": text}, self._known.found
        try:
            if found is None:
                about = {"apiVersion": HOTFIX_LEDGERS.api_version, "kind": HOTFIX_LEDGERS.kind}
                place = {"name": self._name, "namespace": self._namespace}
                metadata = {**place, "labels": self._labels}
                made = {**about, "metadata": metadata, "spec": spec}
                self._learn(self._client.create(HOTFIX_LEDGERS, made))
            else:
                self._learn(self._client.replace(HOTFIX_LEDGERS, {**found, "spec": spec}))
        except ConflictError:
            return False
        gap = max(SHORTEST_GAP_S, len(text) / BYTES_A_SECOND)
        self._write_after = time.monotonic() + gap
        return True
