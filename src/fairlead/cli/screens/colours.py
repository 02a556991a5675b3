"""Blocks on a terminal, with rich. NO_COLOR is rich's to obey; this file is loaded only there."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TextIO

from rich.console import Console, RenderableType
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from fairlead.cli.screens.blocks import (
    BAD,
    GOOD,
    QUIET,
    STRONG,
    WAITING,
    Block,
    Cell,
    Grid,
    Line,
    Toned,
    text_of,
)

STYLES = {GOOD: "green", BAD: "bold red", WAITING: "yellow", QUIET: "dim", STRONG: "bold"}
HEADING = "bold bright_black"
# What may go on in the next line; names and numbers stay whole.
WRAPPED = ("SAYS", "MESSAGE", "BEFORE", "AFTER", "WAITS FOR", "VALUE", "HELD BY")


def print_blocks(blocks: Iterable[Block], stream: TextIO) -> None:
    """Draw the blocks on a terminal."""
    console = Console(file=stream, highlight=False)
    for block in blocks:
        console.print(renderable_of(block), soft_wrap=isinstance(block, Line))


def renderable_of(block: Block) -> RenderableType:
    """Return a block as rich draws it."""
    if isinstance(block, Line):
        return Text.assemble(*(coloured(piece) for piece in block.pieces))
    return Padding(_table_of(block.used()), (0, 0, 0, block.indent))


def coloured(cell: Cell) -> Text:
    """Return a cell with the colour of its tone."""
    tone = cell.tone if isinstance(cell, Toned) else ""
    return Text(text_of(cell), style=STYLES.get(tone, ""))


def _table_of(grid: Grid) -> Table:
    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), header_style=HEADING)
    for heading in grid.headings:
        table.add_column(heading, overflow="fold", no_wrap=heading not in WRAPPED)
    for row in grid.rows:
        table.add_row(*(coloured(cell) for cell in row))
    return table
