"""
Passes over all pools, one after another: those that are due, the longest unattended first.

A pass that fails is made again after a while, one second at first and a minute at most, so that
one broken pool costs the others nothing. Everything here is lost with the process, at the cost
of one pass per pool.
"""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from datetime import datetime, timedelta

from fairlead.controller.attempt import says_of
from fairlead.controller.attention import Attention, LastPass
from fairlead.controller.observe import Snapshot, World
from fairlead.controller.reconcile import Chance, reconcile
from fairlead.controller.thought import Thought

FIRST_WAIT = timedelta(seconds=1)
LONGEST_WAIT = timedelta(seconds=60)


@dataclass(frozen=True, slots=True, kw_only=True)
class Failure:
    """
    Why the last pass over a pool failed, how many did in a row, and when the next is made.

    marker: the pool's marker as it was first seen after the failure, or ''. A pass may write
    before it fails; what changes after this marker was changed by somebody else.
    """

    says: str
    count: int
    retry_at: datetime
    marker: str = ""


class Loop:
    """
    The passes of one process, for one thread.

    markers: the pools that exist, each with what changes when anything about it does; see
    attention.py. on_failure: told of every failed pass, for a log. hear: told what a pass saw and
    thought, and from which marker on.
    """

    def __init__(
        self,
        world: World,
        chance: Chance,
        markers: Callable[[], Iterable[tuple[str, str]]],
        on_failure: Callable[[str, Exception], None] = lambda _pool, _error: None,
        hear: Callable[[Snapshot, str, Thought, datetime], None] = lambda *_: None,
    ) -> None:
        self._world = world
        self._chance = chance
        self._markers = markers
        self._on_failure = on_failure
        self._hear = hear
        self._attention = Attention()
        self._failures: dict[str, Failure] = {}
        self._turns: dict[str, int] = {}
        self._passes = 0
        self._may_have_more = True

    @property
    def failures(self) -> Mapping[str, Failure]:
        """The pools whose last pass failed."""
        return self._failures

    def run_due(self, now: datetime, most: int) -> int:
        """
        Make at most `most` passes over the pools that need one; return how many were made.

        A pool that is gone is forgotten. Call it again until it returns 0: a pass that writes
        changes the marker of its own pool.
        """
        markers = dict(self._markers())
        for pool in self._turns.keys() - markers.keys():
            self._forget(pool)
        due = [
            (pool, marker)
            for pool, marker in self._attention.due(markers.items(), now)
            if self._may_pass(pool, marker, now)
        ]
        due.sort(key=lambda one: self._turns.get(one[0], 0))
        for pool, marker in due[:most]:
            self._pass_over(pool, marker, now)
        self._may_have_more = bool(due)
        return min(len(due), most)

    def next_due(self, now: datetime) -> datetime | None:
        """Return when to run again even if no marker changes, or None: then only a change does."""
        if self._may_have_more:
            return now
        moments = [failure.retry_at for failure in self._failures.values()]
        if (wake := self._attention.next_wake(self._failures)) is not None:
            moments.append(wake)
        return min(moments, default=None)

    def _may_pass(self, pool: str, marker: str, now: datetime) -> bool:
        failure = self._failures.get(pool)
        if failure is None or failure.retry_at <= now:
            return True
        if not failure.marker:
            self._failures[pool] = replace(failure, marker=marker)
            return False
        return failure.marker != marker

    def _pass_over(self, pool: str, marker: str, now: datetime) -> None:
        self._passes += 1
        self._turns[pool] = self._passes

        def hear(seen: Snapshot, thought: Thought) -> None:
            self._hear(seen, marker, thought, now)

        try:
            wake = reconcile(pool, self._world, self._chance, now, hear)
        except Exception as error:  # noqa: BLE001 - door 2: a failed pass stops no other
            self._note_failure(pool, error, now)
            return
        self._attention.passed(pool, LastPass(marker, wake))
        self._failures.pop(pool, None)

    def _note_failure(self, pool: str, error: Exception, now: datetime) -> None:
        known = self._failures.get(pool)
        count = known.count + 1 if known else 1
        # The exponent is bounded, so that a pool broken for a year does not overflow.
        wait = min(FIRST_WAIT * 2 ** min(count - 1, 10), LONGEST_WAIT)
        self._failures[pool] = Failure(says=says_of(error), count=count, retry_at=now + wait)
        self._on_failure(pool, error)

    def _forget(self, pool: str) -> None:
        self._attention.forget(pool)
        self._failures.pop(pool, None)
        del self._turns[pool]
