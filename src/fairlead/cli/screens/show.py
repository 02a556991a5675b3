"""Blocks on a stream: aligned text in a pipe, colours on a terminal."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable
from typing import TextIO

from fairlead.cli.screens.blocks import Block, text_of
from fairlead.cli.screens.layout import lay_out
from fairlead.cli.screens.width import find_width


def write_blocks(blocks: Iterable[Block], out: TextIO | None = None) -> None:
    """Show the blocks on stdout, or on another stream: in colour if that is a terminal."""
    stream = out or sys.stdout
    if not is_terminal(stream):
        stream.write(draw_plain(blocks, find_width(stream)))
        return
    from fairlead.cli.screens.colours import print_blocks

    print_blocks(blocks, stream)


def draw_plain(blocks: Iterable[Block], width: int | None = None) -> str:
    """Return the blocks as text; in a pipe, where `width` is None, a row of a table is a line."""
    lines = ("".join(text_of(piece) for piece in line.pieces) for line in lay_out(blocks, width))
    return "".join(f"{line}\n" for line in lines)


def is_terminal(stream: TextIO) -> bool:
    """Say whether somebody looks at this stream."""
    return stream.isatty() and os.environ.get("TERM") != "dumb"
