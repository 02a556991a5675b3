"""Output that may hold secrets: whole or not at all, and for its owner's eyes only."""

from __future__ import annotations

import sys
from pathlib import Path

from fairlead.whole_file import write_whole


def write_private(path: Path | None, content: bytes) -> None:
    """
    Put the content at the path with mode 0600, or on stdout if there is no path.

    A terminal gets it as text that can be looked at, escaped like everything there; all else gets
    these very bytes.
    A link stays, and what it leads to is written; so /dev/stdout remains what it is.
    """
    if path is None and sys.stdout.isatty():
        sys.stdout.write(content.decode(errors="backslashreplace"))
    elif path is None:
        sys.stdout.buffer.write(content)
        sys.stdout.buffer.flush()
    elif path.exists() and not path.is_file():
        path.write_bytes(content)  # a pipe or a device, which has no mode to set
    else:
        write_whole(path.resolve(), content)
