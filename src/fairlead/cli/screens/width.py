"""How wide a drawing may be."""

from __future__ import annotations

import os
from typing import TextIO

# A pipe has no width; this fits a README and a pull request.
PIPE_WIDTH = 110
# Narrower than this, nothing can be laid out: a terminal that says so has lost its size.
LEAST_WIDTH = 20


def find_width(stream: TextIO) -> int | None:
    """Return the columns that COLUMNS names, else those of a terminal; of a pipe None."""
    named = os.environ.get("COLUMNS", "")
    if named.isascii() and named.isdigit() and int(named[:4]):
        return max(int(named[:4]), LEAST_WIDTH)
    try:
        return max(os.get_terminal_size(stream.fileno()).columns or PIPE_WIDTH, LEAST_WIDTH)
    except OSError:
        return None


def width_of(stream: TextIO) -> int:
    """Return how wide a drawing may be that needs a width: PIPE_WIDTH where there is none."""
    return find_width(stream) or PIPE_WIDTH
