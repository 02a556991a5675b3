"""
What was worked out from texts, by the text: those used last, within a bound on all characters.

For work that gives the same for the same text, whoever asks, and whenever: nothing in here grows
old. A fleet is looked at pool by pool, so a bound on their number would hold a few large ones, or
too few small ones. For any thread.
"""

from collections import OrderedDict
from threading import Lock
from typing import Generic, TypeVar

T = TypeVar("T")


class Remembered(Generic[T]):
    """Values by text. most_text: characters of the texts, and of what was made of them."""

    def __init__(self, most_text: int) -> None:
        self._most_text = most_text
        self._kept: OrderedDict[str, tuple[T, int]] = OrderedDict()
        self._size = 0
        self._lock = Lock()

    def find(self, text: str) -> T | None:
        """Return what was worked out from this text, or None."""
        with self._lock:
            found = self._kept.get(text)
            if found is None:
                return None
            self._kept.move_to_end(text)
            return found[0]

    def keep(self, text: str, value: T, made: int = 0) -> None:
        """Remember what was worked out from a text. made: characters that the value holds."""
        with self._lock:
            if text in self._kept:  # by another thread meanwhile
                return
            size = len(text) + made
            self._kept[text] = value, size
            self._size += size
            while self._size > self._most_text and len(self._kept) > 1:
                _, (_, oldest) = self._kept.popitem(last=False)
                self._size -= oldest
