"""
The seam behind which events are kept: append only, each key once.
"""

from collections.abc import Iterable
from typing import Protocol

from fairlead.answers.event import Event


class Journal(Protocol):
    """An append-only list of events."""

    def append(self, events: Iterable[Event]) -> None:
        """Add the events whose keys are not there yet. Raises UnavailableError."""

    def read_events(self, pool: str) -> tuple[Event, ...]:
        """Return the pool's events, oldest first."""
