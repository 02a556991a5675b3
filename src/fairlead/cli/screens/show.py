"""Blocks on a stream: aligned text in a pipe, colours on a terminal."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable
from typing import TextIO

from fairlead.cli.screens.blocks import Block, draw_plain


def write_blocks(blocks: Iterable[Block], out: TextIO | None = None) -> None:
    """Show the blocks on stdout, or on another stream: in colour if that is a terminal."""
    stream = out or sys.stdout
    if not is_terminal(stream):
        stream.write(draw_plain(blocks))
        return
    from fairlead.cli.screens.colours import print_blocks

    print_blocks(blocks, stream)


def is_terminal(stream: TextIO) -> bool:
    """Say whether somebody looks at this stream."""
    return stream.isatty() and os.environ.get("TERM") != "dumb"
