"""Short texts beside the database that must come back as they were: drawn once, then kept."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from fairlead.embedded.whole_file import write_whole


def read_or_draw(file: Path, draw: Callable[[], str]) -> str:
    """Return the text of this file; the first time it is drawn and kept."""
    if not file.exists():
        write_whole(file, f"{draw()}\n".encode())
    return file.read_text().strip()
