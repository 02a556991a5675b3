"""
Events of a pool, in its status: the last of them, each key once.

They are written together with what they are about, so they cost no write of their own. What is told
after that is kept until the end of the pass. What a person did stands beside what they wrote, and
is taken in by the pass that follows (said.py). Kubernetes' own Events are a copy of what
was written, and expire.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable

from fairlead.answers.event import Event
from fairlead.errors import InputError
from fairlead.kept_text import parse_value, render_value
from fairlead.kube.answer import Object
from fairlead.kube.copies import Copies
from fairlead.kube.names import split
from fairlead.kube.resource import NODE_POOLS
from fairlead.kube.said import said_in

MOST_EVENTS = 100


class KubeJournal:
    """
    The Journal seam over the status of NodePools.

    copy: takes each event that was written, with its NodePool; never raises.
    """

    def __init__(self, copies: Copies) -> None:
        self._copies = copies
        self.copy: Callable[[Object, Event], None] = _not_copied
        self._untold: dict[str, list[Event]] = {}

    def append(self, events: Iterable[Event]) -> None:
        """Add the events whose keys are not there yet; they are written with the next outcome."""
        for event in events:
            known = {one.key for one in self.read_events(event.pool)}
            if event.key not in known:
                self._untold.setdefault(event.pool, []).append(event)

    def read_events(self, pool: str) -> tuple[Event, ...]:
        """Return the pool's events, oldest first."""
        return (*(event for event, _ in self._kept(pool)), *self._untold.get(pool, ()))

    def has_untold(self, pool: str) -> bool:
        """Say whether something was told and not written yet."""
        return bool(self._untold.get(pool))

    def texts_of(self, pool: str) -> list[str]:
        """Return what is to stand in the status: the last events, as text."""
        told = [*self._kept(pool), *((one, "") for one in self._untold.get(pool, ()))]
        return [text or render_value(event) for event, text in told[-MOST_EVENTS:]]

    def told(self, pool: str) -> None:
        """Note that everything was written."""
        found = self._copies.find(NODE_POOLS, *split(pool))
        for event in self._untold.pop(pool, ()):
            if found is not None:
                self.copy(found, event)

    def _kept(self, pool: str) -> list[tuple[Event, str]]:
        """Return what is written, each event with its text; '' where it stands elsewhere."""
        found = self._copies.find(NODE_POOLS, *split(pool)) or {}
        texts = (found.get("status") or {}).get("journal") or ()
        events = []
        for text in texts:
            try:
                events.append((parse_value(Event, text), text))
            except InputError:
                continue  # of a later version, or damaged: history, by which nothing is decided
        known = {event.key for event, _ in events}
        return [*events, *((event, "") for event in said_in(found) if event.key not in known)]


def _not_copied(_pool: Object, _event: Event) -> None:
    return None
