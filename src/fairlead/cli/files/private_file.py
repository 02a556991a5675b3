"""Output that may hold secrets: whole or not at all, and for its owner's eyes only."""

from __future__ import annotations

import os
import sys
import tempfile
from pathlib import Path


def write_private(path: Path | None, content: bytes) -> None:
    """Put the content at the path with mode 0600, or on stdout if there is no path."""
    if path is None:
        sys.stdout.buffer.write(content)
        sys.stdout.buffer.flush()
        return
    if path.exists() and not path.is_file():
        path.write_bytes(content)  # a pipe or a device, which has no mode to set
        return
    descriptor, temporary = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
    try:
        with os.fdopen(descriptor, "wb") as file:
            file.write(content)
        Path(temporary).replace(path)
    except OSError:
        Path(temporary).unlink(missing_ok=True)
        raise
