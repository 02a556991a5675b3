"""
A look every second at what a running control plane stands on: its directory, lock and socket.

Somebody may remove them under it. Commands cannot reach it then, a second one could start beside
it, and what it writes is lost; so it says so and ends in order, and its machines run on.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from fairlead.embedded.state_directory import StateDirectory

LOOK_S = 1.0

Place = tuple[int, int]  # device and inode


async def watch(
    directory: StateDirectory, tend: Callable[[], object], end: Callable[[str], None]
) -> None:
    """Look until something is gone, then call `end` with what; tend the store meanwhile."""
    needed = (directory.path, directory.lock, directory.database, directory.socket)
    first = {path: find_place(path) for path in needed}
    while True:
        await asyncio.sleep(LOOK_S)
        tend()
        for path, place in first.items():
            if find_place(path) != place:
                end(
                    f"{path} is gone or another one, so this control plane ends; its machines "
                    f"run on (look at what removed it, then: fairlead up)"
                )
                return


def find_place(path: Path) -> Place | None:
    """Return what the path leads to, or None."""
    try:
        found = path.lstat()
    except OSError:
        return None
    return found.st_dev, found.st_ino
