"""
Which pools need a pass: those that changed, and those whose time has come.

A marker is whatever an edge can read cheaply that changes with anything a pass looks at: a
resource version, a change counter. It is read before the pass, so what changes during a pass is
looked at by the next.
"""

from collections.abc import Container, Iterable
from dataclasses import dataclass
from datetime import datetime


@dataclass(frozen=True, slots=True)
class LastPass:
    """The marker that a pass began with, and when it asked to be run again."""

    marker: str
    wake: datetime | None


class Attention:
    """What is remembered of the last pass over each pool. Losing it costs one pass per pool."""

    def __init__(self) -> None:
        self._last: dict[str, LastPass] = {}

    def due(self, markers: Iterable[tuple[str, str]], now: datetime) -> list[tuple[str, str]]:
        """Return the pools that need a pass, each with its marker."""
        last = self._last
        return [
            (pool, marker)
            for pool, marker in markers
            if (known := last.get(pool)) is None
            or known.marker != marker
            or (known.wake is not None and known.wake <= now)
        ]

    def next_wake(self, besides: Container[str] = ()) -> datetime | None:
        """Return the earliest moment that a pass asked for, of the other pools."""
        wakes = (
            last.wake
            for pool, last in self._last.items()
            if last.wake is not None and pool not in besides
        )
        return min(wakes, default=None)

    def passed(self, pool: str, last: LastPass) -> None:
        """Remember a pass that ended well. One that did not stays due."""
        self._last[pool] = last

    def forget(self, pool: str) -> None:
        """Forget a pool that is gone."""
        self._last.pop(pool, None)
