"""
Pools in short as they were last told: one that nothing happened to is not thought about again.

Somebody looks at all pools several times a second, and most of them rest. What an answer follows
from is in the pool's marker, as for passes (controller/attention.py), and in the time: a pool that
rests says the same for a while, in others moments are told that go by.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from datetime import datetime, timedelta

from fairlead.answers.pool import PoolAnswer
from fairlead.answers.words import PoolState

# A pool at rest tells no moment. Another one may say "since 12 s" for this long too long.
KEPT_AT_REST = timedelta(minutes=1)
KEPT_OTHERWISE = timedelta(seconds=5)


class ToldPools:
    """What was told of each pool, for as long as it is true. For one thread."""

    def __init__(self) -> None:
        self._told: dict[str, tuple[str, datetime, PoolAnswer]] = {}

    def all(
        self, markers: Iterable[tuple[str, str]], now: datetime, tell: Callable[[str], PoolAnswer]
    ) -> tuple[PoolAnswer, ...]:
        """Return every pool in the order of the markers; `tell` is asked about those that moved."""
        told = {}
        for pool, marker in markers:
            known = self._told.get(pool)
            if known is None or known[0] != marker or not now < known[1]:
                answer = tell(pool)
                is_at_rest = answer.state is PoolState.SETTLED and not answer.waits
                kept = KEPT_AT_REST if is_at_rest else KEPT_OTHERWISE
                known = (marker, now + kept, answer)
            told[pool] = known
        self._told = told
        return tuple(answer for _, _, answer in told.values())
