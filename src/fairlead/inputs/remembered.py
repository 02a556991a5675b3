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


class Last(Generic[T]):
    """
    What was worked out last from two objects, for whoever asks for the very same two again.

    For objects that never change: two that are remembered here are no others than they were. For
    any thread.
    """

    def __init__(self) -> None:
        self._found: tuple[object, object, T] | None = None

    def find(self, one: object, other: object) -> T | None:
        """Return what was worked out from these two, or None if others were asked for since."""
        found = self._found  # of any thread; read once
        return found[2] if found and found[0] is one and found[1] is other else None

    def keep(self, one: object, other: object, value: T) -> T:
        """Remember this, and nothing before it."""
        self._found = (one, other, value)
        return value


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
