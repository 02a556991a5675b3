"""
Memory that a crowd took, or a large document, given back when it is gone.

A connection of asyncio is a circle of objects, which only a full collection finds, and what is
free then stays with the allocator. Neither happens by itself in a process that has become idle.
"""

from __future__ import annotations

import ctypes
import gc
from contextlib import suppress

# So many connections, closed since the last time, are worth a look at everything.
CROWD = 64
# And so many bytes that were asked with: a document takes ten times its size while it is thought
# about.
LARGE = 1 << 20


def give_back() -> None:
    """Collect what nothing refers to, and return what is free to the system."""
    gc.collect()
    with suppress(OSError, AttributeError):  # another C library has no such function
        ctypes.CDLL(None).malloc_trim(0)
