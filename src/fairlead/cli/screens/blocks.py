"""
What a command shows, as lines and tables that know nothing of colours or widths.

One description is drawn everywhere: laid out by layout.py, coloured by colours.py on a terminal.
Names and causes come from documents and machines: what is not printable is shown escaped, so that
none of them can move the cursor. Paths of the state directory are told from there.
"""

from __future__ import annotations

from dataclasses import dataclass

from fairlead.cli.output import STATE_PATH
from fairlead.contract.visible_text import visible

# What a piece of text means; colours.py says how a terminal shows it.
GOOD, BAD, WAITING, QUIET, STRONG = "good", "bad", "waiting", "quiet", "strong"

# What screens call the state directory.
STATE = "STATE"


@dataclass(frozen=True, slots=True)
class Toned:
    """Text with a meaning that a terminal may show as a colour."""

    text: str
    tone: str = ""


Cell = str | Toned


@dataclass(frozen=True, slots=True)
class Line:
    """
    One line, made of pieces without anything between them.

    hang: where it goes on if it has no room; None: two columns further in than it begins.
    """

    pieces: tuple[Cell, ...] = ()
    hang: int | None = None


@dataclass(frozen=True, slots=True)
class Grid:
    """Rows below headings. A command's columns are always the same; an empty cell is a dash."""

    headings: tuple[str, ...]
    rows: tuple[tuple[Cell, ...], ...]
    indent: int = 0


Block = Line | Grid


def line(*pieces: Cell) -> Line:
    """Return one line."""
    return Line(pieces)


def fact(name: str, value: Cell, width: int = 10) -> Line:
    """Return a line that says one thing of what is shown; `width` is that of the names."""
    label = f"  {name:<{width}}"
    return Line((Toned(label, QUIET), value), hang=len(label))


def text_of(cell: Cell) -> str:
    """Return what a cell says, fit for a terminal."""
    text = visible(cell.text if isinstance(cell, Toned) else cell)
    state = STATE_PATH.get()
    return text.replace(state, STATE) if state else text
