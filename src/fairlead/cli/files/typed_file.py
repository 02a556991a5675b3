"""Files that people name, of which `-` is stdin: read whole, and only as far as any may be."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

from fairlead.errors import InputError

if TYPE_CHECKING:
    from pathlib import Path
    from typing import BinaryIO

MEBIBYTE = 1024 * 1024
# Many times what any document may hold. A device gives bytes without an end, until memory has one.
LARGEST_FILE = 64 * MEBIBYTE


def read_typed_file(path: Path) -> bytes:
    """Return what is in a file. Raises OSError, and InputError where no document can be."""
    if str(path) != "-":
        with path.open("rb") as file:
            return _read(file, str(path))
    if sys.stdin is None:
        raise InputError("is closed, expected a document", field="stdin")
    return _read(sys.stdin.buffer, "stdin")


def _read(file: BinaryIO, name: str) -> bytes:
    content = file.read(LARGEST_FILE + 1)
    if len(content) > LARGEST_FILE:
        problem = f"is larger than {LARGEST_FILE // MEBIBYTE} MiB, which no document may be"
        raise InputError(problem, field=name)
    return content
