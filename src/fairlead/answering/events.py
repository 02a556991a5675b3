"""Which events are told to whoever asks for some."""

from collections.abc import Iterable
from datetime import datetime

from fairlead.answers.event import Event, Events

DEFAULT_EVENTS = 100


def latest_events(found: Iterable[Event], pool: str, since: datetime | None, limit: int) -> Events:
    """Return the latest of the events, the oldest first; of one pool, or since a moment."""
    kept = tuple(
        event
        for event in found
        if (not pool or event.pool == pool) and (since is None or event.at >= since)
    )
    return Events(events=kept[-limit:])
