"""
Events in SQLite: append only, each key of a pool once, for longer than the pool itself lives.

They come back in the order in which they were appended.
"""

from __future__ import annotations

from collections.abc import Iterable

from fairlead.answers.event import Event
from fairlead.embedded.store.database import Store
from fairlead.kept_text import render_value


class StoredJournal:
    """The Journal seam over one store."""

    def __init__(self, store: Store) -> None:
        self._store = store

    def append(self, events: Iterable[Event]) -> None:
        """Add the events whose keys are not there yet; nothing is written if all of them are."""
        fresh = [event for event in events if not self._has(event)]
        if not fresh:
            return
        rows = [
            (event.pool, event.key, event.at.isoformat(), event.machine, render_value(event))
            for event in fresh
        ]
        with self._store.writing() as connection:
            connection.executemany(
                "INSERT INTO events (pool, key, at, machine, value) VALUES (?, ?, ?, ?, ?) "
                "ON CONFLICT (pool, key) DO NOTHING",
                rows,
            )

    def read_events(self, pool: str) -> tuple[Event, ...]:
        """Return the pool's events, oldest first."""
        return self._store.values(
            Event, "SELECT value FROM events WHERE pool = ? ORDER BY number", pool
        )

    def read_machine_events(self, name: str) -> tuple[Event, ...]:
        """Return what was told about one machine, oldest first."""
        if not name:
            return ()
        return self._store.values(
            Event,
            "SELECT value FROM events WHERE machine = ? AND machine <> '' ORDER BY number",
            name,
        )

    def read_all(self, limit: int) -> tuple[Event, ...]:
        """Return the latest events of all pools, oldest first."""
        latest = self._store.values(
            Event, "SELECT value FROM events ORDER BY number DESC LIMIT ?", limit
        )
        return latest[::-1]

    def _has(self, event: Event) -> bool:
        return bool(
            self._store.rows(
                "SELECT 1 FROM events WHERE pool = ? AND key = ?", event.pool, event.key
            )
        )
