"""Where a service does work that may wait for somebody: in its event loop only what never does."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Protocol, TypeVar

T = TypeVar("T")


class Aside(Protocol):
    """Does work that may wait."""

    def __call__(self, work: Callable[[], T]) -> Awaitable[T]:
        """Return what the work returns. May raise UnavailableError if there is too much of it."""


async def at_once(work: Callable[[], T]) -> T:
    """Do work in the event loop, where nothing waits."""
    return work()
