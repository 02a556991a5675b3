"""How wide a drawing may be."""

from __future__ import annotations

import shutil
from typing import TextIO

# A pipe has no width; this fits a README and a pull request.
PIPE_WIDTH = 110


def width_of(stream: TextIO) -> int:
    """Return the columns of a terminal, or PIPE_WIDTH."""
    return shutil.get_terminal_size((PIPE_WIDTH, 24)).columns if stream.isatty() else PIPE_WIDTH
