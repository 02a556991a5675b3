"""
What is to be looked at next: each key once, failures ever more rarely, and nobody starves.

A key that is added while it is worked on is worked on again afterwards, never twice at a time. Keys
are handed out in the order in which they became due, so a pool that changes all the time waits
behind those that came before it.
"""

from __future__ import annotations

import heapq
import itertools
import math
import threading
import time
from collections import deque
from collections.abc import Callable

# Seconds until a key that failed is tried again, doubling with each failure.
FIRST_AGAIN_S = 0.5
LONGEST_AGAIN_S = 120.0

# Moments that may lie in wait for nothing before they are looked through.
FEWEST_LATER = 100


class WorkQueue:
    """
    Keys to work on, for several threads. clock: monotonic seconds.

    together_s: for how long at least what happens to a key is gathered, and half as long again at
    most: what changed at once comes by several watches, one a little after the other. Keys of one
    moment are handed out together, which is cheaper than a thread that wakes for each.
    """

    def __init__(
        self, clock: Callable[[], float] = time.monotonic, together_s: float = 0.0
    ) -> None:
        self._clock = clock
        self._together_s = together_s
        self._changed = threading.Condition()
        self._ready: deque[str] = deque()
        self._waiting: set[str] = set()  # in _ready
        self._working: set[str] = set()
        self._again: set[str] = set()  # added while they are worked on
        self._later: list[tuple[float, int, str]] = []  # those of one moment in turn
        self._turns = itertools.count()
        self._due: dict[str, float] = {}  # the one entry of _later that counts, by key
        self._failures: dict[str, int] = {}
        self._is_closed = False

    def add(self, key: str) -> None:
        """Let this key be worked on soon."""
        self.add_later(key, self._gathered_for())

    def add_later(self, key: str, seconds: float) -> None:
        """Let this key be worked on after this long, unless it is due earlier anyway."""
        with self._changed:
            due = self._clock() + max(0.0, seconds)
            if key in self._waiting or self._due.get(key, math.inf) <= due:
                return
            self._due[key] = due
            heapq.heappush(self._later, (due, next(self._turns), key))
            if len(self._later) > 2 * len(self._due) + FEWEST_LATER:
                # Each pass of a pool leaves the moment behind that the one before was to follow.
                self._later = [one for one in self._later if self._due.get(one[2]) == one[0]]
                heapq.heapify(self._later)
            self._changed.notify()

    def failed(
        self, key: str, at_least_s: float = 0.0, at_most_s: float = LONGEST_AGAIN_S
    ) -> float:
        """Let a key be tried again later, within these bounds; return after how many seconds."""
        with self._changed:
            count = self._failures.get(key, 0)
            self._failures[key] = count + 1
        seconds = min(at_most_s, max(at_least_s, FIRST_AGAIN_S * 2.0 ** min(count, 20)))
        self.add_later(key, seconds)
        return seconds

    def succeeded(self, key: str) -> None:
        """Forget failures of a key."""
        with self._changed:
            self._failures.pop(key, None)

    def take(self) -> str | None:
        """Return the next key, when there is one; None once the queue is closed."""
        with self._changed:
            while not self._is_closed:
                self._promote()
                if self._ready:
                    key = self._ready.popleft()
                    self._waiting.discard(key)
                    self._working.add(key)
                    return key
                self._changed.wait(self._until_next())
            return None

    def done(self, key: str) -> None:
        """Give a key back that was taken."""
        with self._changed:
            self._working.discard(key)
            if key in self._again:
                self._again.discard(key)
                self._add(key)

    def close(self) -> None:
        """Let everybody who waits for a key go."""
        with self._changed:
            self._is_closed = True
            self._changed.notify_all()

    @property
    def depth(self) -> int:
        """How many keys are due."""
        with self._changed:
            self._promote()
            return len(self._ready)

    @property
    def is_idle(self) -> bool:
        """Whether nothing is due, or is gathered, and nothing is worked on."""
        with self._changed:
            self._promote()
            soon = self._clock() + self._together_s * 1.5
            is_gathering = bool(self._later) and self._later[0][0] <= soon
            return not self._ready and not self._working and not is_gathering

    def _add(self, key: str) -> None:
        if key in self._working:
            self._again.add(key)
        elif key not in self._waiting:
            self._waiting.add(key)
            self._ready.append(key)
            self._changed.notify()

    def _promote(self) -> None:
        now = self._clock()
        while self._later and self._later[0][0] <= now:
            due, _, key = heapq.heappop(self._later)
            if self._due.get(key) == due:
                del self._due[key]
                self._add(key)

    def _gathered_for(self) -> float:
        """Return for how many seconds a key that is added now is gathered."""
        if not self._together_s:
            return 0.0
        step, now = self._together_s / 2, self._clock()
        return max(self._together_s, math.ceil((now + self._together_s) / step) * step - now)

    def _until_next(self) -> float | None:
        return max(0.0, self._later[0][0] - self._clock()) if self._later else None
