"""Events in memory: the part of a simulated control plane that keeps them."""

from abc import ABC, abstractmethod
from collections.abc import Iterable

from fairlead.answers.event import Event


class SimJournal(ABC):
    """The events of every pool, each key once."""

    def __init__(self) -> None:
        super().__init__()
        self.events: dict[tuple[str, str], Event] = {}

    @abstractmethod
    def _write(self, kind: str, detail: str) -> None:
        """Take note of a write before it is made; it may be cut off here."""

    def append(self, events: Iterable[Event]) -> None:
        """Add the events that are not there yet."""
        fresh = [event for event in events if (event.pool, event.key) not in self.events]
        if fresh:
            self._write("events", ", ".join(event.kind.value for event in fresh))
            self.events |= {(event.pool, event.key): event for event in fresh}

    def read_events(self, pool: str) -> tuple[Event, ...]:
        """Return the pool's events."""
        return tuple(event for (owner, _), event in self.events.items() if owner == pool)
