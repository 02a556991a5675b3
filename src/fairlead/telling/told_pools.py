"""
Pools in short as they were last told: one that nothing happened to is not thought about again.

Somebody looks at all pools several times a second or once a week, and most of them rest. What an
answer follows from is in the pool's marker, as for passes (controller/attention.py), and in the
time: a pool at rest says the same until its next pass is due by itself, in others moments are told
that go by. What a pass thought that wrote nothing is told as it is.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from datetime import UTC, datetime, timedelta
from typing import NamedTuple

from fairlead.answers.pool import PoolAnswer
from fairlead.answers.words import PoolState
from fairlead.controller.attempt import Failed, attempt
from fairlead.controller.observe import Snapshot
from fairlead.controller.thought import Thought
from fairlead.telling.pool import pool_answer

# May say "since 12 s" for this long too long, and "since 3 h" for this part of it.
KEPT_AT_LEAST = timedelta(seconds=5)
KEPT_OF_AGE = 60
AT_REST = (PoolState.SETTLED, PoolState.DRIFTED)
LATER_THAN_ALL = datetime.max.replace(tzinfo=UTC)


class Told(NamedTuple):
    """
    A pool in short.

    rests: the next pass would write nothing. wake: when that may change though nobody else writes.
    """

    answer: PoolAnswer
    rests: bool = False
    wake: datetime | None = None

    def kept_until(self, now: datetime) -> datetime:
        """Return until when this is true, if nothing is written."""
        answer, moment = self.answer, now + KEPT_AT_LEAST
        is_moving = answer.waits or answer.rollout or answer.adoption or answer.is_paused
        if is_moving or not self.rests or answer.state not in AT_REST:
            return moment
        until = self.wake or LATER_THAN_ALL
        if answer.held:
            age = now - min(change.since for change in answer.held)
            until = min(until, now + age / KEPT_OF_AGE)
        return max(until, moment)


def told_of(answer: PoolAnswer, thought: Thought) -> Told:
    """Return the answer that follows from this thought."""
    return Told(answer, rests=not thought.writes, wake=thought.wake)


class ToldPools:
    """What was told of each pool, for as long as it is true. For one thread."""

    def __init__(self) -> None:
        self._told: dict[str, tuple[str, datetime, PoolAnswer]] = {}

    def all(
        self, markers: Iterable[tuple[str, str]], now: datetime, tell: Callable[[str], Told]
    ) -> tuple[PoolAnswer, ...]:
        """Return every pool in the order of the markers; `tell` is asked about those that moved."""
        told = {}
        for pool, marker in markers:
            known = self._told.get(pool)
            if known is None or known[0] != marker or not now < known[1]:
                found = tell(pool)
                known = (marker, found.kept_until(now), found.answer)
            told[pool] = known
        self._told = told
        return tuple(answer for _, _, answer in told.values())

    def keep_quiet(self, seen: Snapshot, marker: str, thought: Thought, now: datetime) -> None:
        """Keep what a pass thought from this marker on, if nothing is written that changes it."""
        if seen.documents.is_leaving:
            self._told.pop(seen.pool, None)  # it may be gone before anybody looks
        elif not thought.writes:
            # What cannot be told is met by who asks for it, and costs the pass nothing.
            answer = attempt(lambda: pool_answer(seen, thought, now))
            if not isinstance(answer, Failed):
                until = told_of(answer, thought).kept_until(now)
                self._told[seen.pool] = marker, until, answer
