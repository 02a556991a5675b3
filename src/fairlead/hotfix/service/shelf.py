"""
What a service reads of its depot, as it is at this moment: the catalog and the signed metadata.

Whoever publishes writes both while the service runs. They are looked at a few times a second and
read again if they are others; what cannot be read leaves what was read before in force.
"""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

from fairlead.contract.hotfix.answer import render_answer
from fairlead.errors import FairleadError
from fairlead.hotfix.catalog import Catalog, Fix, State
from fairlead.hotfix.publish.depot import Depot

LOOK_EVERY = timedelta(milliseconds=250)

# Answers that are kept as they go out: as many as there are ways to stand in line.
MOST_ANSWERS = 512

# Answer by base: a version, or None for a tombstone.
Hotfixes = dict[str, str | None]


class Shelf:
    """The depot as its service sees it. on_trouble: told what cannot be read, '' once it can."""

    def __init__(self, depot: Depot, on_trouble: Callable[[str], None] = lambda _: None) -> None:
        self.depot = depot
        self.catalog = Catalog()
        # By component and base, the newest first.
        self.lines: dict[str, dict[str, tuple[Fix, ...]]] = {}
        self._update: dict[str, Any] = {}
        self._answers: dict[tuple[object, ...], bytes] = {}
        self._on_trouble = on_trouble
        self._looked_at: datetime | None = None
        self._seen: tuple[object, ...] = ()

    def look(self, now: datetime) -> None:
        """Read what changed, if it is time to look."""
        if self._looked_at is not None and timedelta() <= now - self._looked_at < LOOK_EVERY:
            return
        self._looked_at = now
        files = (self.depot.catalog, self.depot.metadata / "update.json")
        seen = tuple(_mark_of(file) for file in files)
        if seen != self._seen:
            self._read(seen)

    def _read(self, seen: tuple[object, ...]) -> None:
        try:
            update = self.depot.read_signed().encode()
            catalog = self.depot.read_catalog()
        except FairleadError as error:
            self._on_trouble(f"not read, what was there before is in force: {error}")
            return
        self._on_trouble("")
        self._seen, self._update, self.catalog = seen, update, catalog
        self._answers.clear()
        places = sorted({(fix.component, fix.base) for fix in catalog.fixes})
        lines: dict[str, dict[str, tuple[Fix, ...]]] = {component: {} for component, _ in places}
        for component, base in places:
            kept = [one for one in catalog.of_base(component, base) if one.state != State.RETIRED]
            lines[component][base] = tuple(kept)
        # At once: other threads answer meanwhile.
        self.lines = lines

    def answer(self, hotfixes: Hotfixes, *, with_update: bool) -> bytes:
        """Return the body for these hotfixes."""
        key = (with_update, *hotfixes.items())
        body = self._answers.get(key)
        if body is None:
            if len(self._answers) >= MOST_ANSWERS:
                self._answers.clear()
            body = render_answer(hotfixes, self._update if with_update else None)
            self._answers[key] = body
        return body


def _mark_of(file: Path) -> object:
    """Return what another file at this path would not have."""
    try:
        found = file.stat()
    except OSError:
        return None
    return found.st_ino, found.st_mtime_ns, found.st_size
