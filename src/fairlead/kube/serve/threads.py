"""
Threads in which an event loop's questions to the API server are asked.

A server that does not answer holds these threads and nothing else: the loop goes on to take, refuse
and end connections.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

from fairlead.errors import UnavailableError

T = TypeVar("T")

# Questions at once, and how many may wait: one asks a few times, each within milliseconds. Who
# finds no room hears so, and tries again.
AT_ONCE = 16
MOST_WAITING = 512


class Threads:
    """A bounded number of threads. Only the event loop calls it."""

    def __init__(self, at_once: int = AT_ONCE, most_waiting: int = MOST_WAITING) -> None:
        self._pool = ThreadPoolExecutor(at_once, thread_name_prefix="asks")
        self._most = at_once + most_waiting
        self.under_way = 0

    async def __call__(self, work: Callable[[], T]) -> T:
        """Do work in a thread. Raises UnavailableError if too much is under way."""
        if self.under_way >= self._most:
            raise UnavailableError(f"{self.under_way} requests are under way")
        self.under_way += 1
        future = asyncio.get_running_loop().run_in_executor(self._pool, work)
        # Also of one whose asker went away: it holds its thread until it ends.
        future.add_done_callback(self._ended)
        return await asyncio.shield(future)

    def close(self) -> None:
        """Let what is under way end, and begin nothing more."""
        self._pool.shutdown(wait=True, cancel_futures=True)

    def _ended(self, _: object) -> None:
        self.under_way -= 1
