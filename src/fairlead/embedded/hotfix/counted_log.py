"""
Lines that anybody on the network can cause, so each is told once and then counted.

A refusal is told at once. The same again is counted, and the count is told a while later: nobody
fills a disk by asking for nothing ever so often.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from datetime import datetime, timedelta
from typing import Protocol

TOLD_EVERY = timedelta(seconds=30)

# Different lines between two tellings; what is beyond is counted as one.
MOST_LINES = 50
OTHERS = "other lines"


class Said(Protocol):
    """What a process says where nobody looks: embedded/serve/log.py."""

    def tell(self, text: str) -> None:
        """Say one line."""

    def trouble(self, about: str, text: str) -> None:
        """Say what goes wrong with something, unless that was said."""

    def is_well(self, about: str) -> None:
        """Say that what went wrong no longer does."""


class CountedLog:
    """Tells through `tell`."""

    def __init__(self, tell: Callable[[str], None]) -> None:
        self._tell = tell
        self._again: Counter[str] = Counter()
        self._told_at: datetime | None = None

    def tell(self, text: str) -> None:
        """Tell a line, unless it was told a moment ago."""
        if text in self._again:
            self._again[text] += 1
        elif len(self._again) < MOST_LINES:
            self._again[text] = 0
            self._tell(text)
        else:
            self._again[OTHERS] += 1

    def settle(self, now: datetime) -> None:
        """Tell how often lines came again, if it is time."""
        if self._told_at is not None and timedelta() <= now - self._told_at < TOLD_EVERY:
            return
        self._told_at = now
        again, self._again = self._again, Counter()
        for text, count in again.items():
            if count:
                self._tell(f"{text} ({count} more)")
