"""Short texts beside the database that must come back as they were: whole, and nobody else's."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path


def read_or_draw(file: Path, draw: Callable[[], str]) -> str:
    """Return the text of this file; the first time it is drawn and kept."""
    if not file.exists():
        write_private(file, draw() + "\n")
    return file.read_text().strip()


def write_private(file: Path, text: str) -> None:
    """Replace a file as a whole; it is on the disk before it has its name."""
    half = file.with_name(f".{file.name}.half")
    half.unlink(missing_ok=True)
    descriptor = os.open(half, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    try:
        os.write(descriptor, text.encode())
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
    half.replace(file)
