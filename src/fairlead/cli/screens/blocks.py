"""
What a command shows, as lines and tables that know nothing of colours or widths.

One description is drawn twice: aligned text in a pipe, colours on a terminal. Names and causes
come from documents and machines: what is not printable is shown as `?`, so that none of them can
move the cursor.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

# What a piece of text means; colours.py says how a terminal shows it.
GOOD, BAD, WAITING, QUIET, STRONG = "good", "bad", "waiting", "quiet", "strong"


@dataclass(frozen=True, slots=True)
class Toned:
    """Text with a meaning that a terminal may show as a colour."""

    text: str
    tone: str = ""


Cell = str | Toned


@dataclass(frozen=True, slots=True)
class Line:
    """One line, made of pieces without anything between them."""

    pieces: tuple[Cell, ...] = ()


@dataclass(frozen=True, slots=True)
class Grid:
    """Rows below headings; a column that is empty in every row is left out."""

    headings: tuple[str, ...]
    rows: tuple[tuple[Cell, ...], ...]
    indent: int = 0

    def used(self) -> Grid:
        """Return the table without its empty columns."""
        kept = [
            at for at in range(len(self.headings)) if any(text_of(row[at]) for row in self.rows)
        ]
        return Grid(
            tuple(self.headings[at] for at in kept),
            tuple(tuple(row[at] for at in kept) for row in self.rows),
            self.indent,
        )


Block = Line | Grid


def line(*pieces: Cell) -> Line:
    """Return one line."""
    return Line(pieces)


def text_of(cell: Cell) -> str:
    """Return what a cell says, fit for a terminal."""
    text = cell.text if isinstance(cell, Toned) else cell
    return text if text.isprintable() else "".join(c if c.isprintable() else "?" for c in text)


def draw_plain(blocks: Iterable[Block]) -> str:
    """Return the blocks as text, columns aligned by spaces."""
    lines: list[str] = []
    for block in blocks:
        if isinstance(block, Line):
            lines.append("".join(text_of(piece) for piece in block.pieces))
        else:
            lines += _grid_lines(block.used())
    return "".join(text.rstrip() + "\n" for text in lines)


def _grid_lines(grid: Grid) -> list[str]:
    rows = [grid.headings, *([text_of(cell) for cell in row] for row in grid.rows)]
    widths = [max(len(row[at]) for row in rows) for at in range(len(grid.headings))]
    return [" " * grid.indent + _aligned(row, widths) for row in rows] if grid.rows else []


def _aligned(row: Sequence[str], widths: Sequence[int]) -> str:
    return "  ".join(text.ljust(width) for text, width in zip(row, widths, strict=True))
