"""
What a command shows, as lines and tables that know nothing of colours or widths.

One description is drawn everywhere: laid out by layout.py, coloured by colours.py on a terminal.
Names and causes come from documents and machines: what is not printable is shown escaped, so that
none of them can move the cursor. Paths of the state directory are told from there, but those of
files that people write.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace

from fairlead.cli.output import STATE_PATH
from fairlead.contract.visible_text import visible, without_errno

# What a piece of text means; colours.py says how a terminal shows it.
GOOD, BAD, WAITING, QUIET, STRONG = "good", "bad", "waiting", "quiet", "strong"

# What screens call the state directory; a file on a machine's own disk has the path it has there.
STATE, SECRETS = "STATE", "secrets"
_OWN_DISK = re.compile(rf"{STATE}/machines/[A-Za-z0-9.-]+/root(?=/)")

# Characters. What is shorter may be told twice.
LONG_CAUSE = 40
AS_ABOVE = "(as above)"


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
    return shown(cell.text if isinstance(cell, Toned) else cell)


def shown(told: str) -> str:
    """Return what a document or a machine says as every screen and every plain line says it."""
    text = visible(told)
    state = STATE_PATH.get()
    if state and state in text:
        text = _OWN_DISK.sub("", text.replace(state, STATE))
        # Files that people write are told where they are.
        text = text.replace(f"{STATE}/{SECRETS}/", f"{state}/{SECRETS}/")
    return without_errno(text)


def told_once(blocks: Iterable[Block], causes: Iterable[str]) -> list[Block]:
    """Return the blocks with each of these causes in full where it is told first."""
    wanted = sorted({text_of(cause) for cause in causes if len(cause) >= LONG_CAUSE}, key=len)
    told: set[str] = set()

    def once(cell: Cell) -> Cell:
        text = text_of(cell)
        for cause in reversed(wanted):
            if cause not in text:
                continue
            first, _, rest = text.partition(cause)
            kept = AS_ABOVE if cause in told else cause
            told.add(cause)
            text = first + kept + rest.replace(cause, AS_ABOVE)
        return Toned(text, cell.tone) if isinstance(cell, Toned) else text

    return [_mapped(block, once) for block in blocks]


def _mapped(block: Block, change: Callable[[Cell], Cell]) -> Block:
    if isinstance(block, Line):
        return replace(block, pieces=tuple(change(piece) for piece in block.pieces))
    return replace(block, rows=tuple(tuple(change(cell) for cell in row) for row in block.rows))
