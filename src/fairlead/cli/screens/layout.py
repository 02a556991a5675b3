"""
Blocks as lines that fit: one layout for terminals, dumb ones and pipes.

A table that is too wide lets its sentences go on in their column; where that is too narrow they
stand below their row; and where not even the short columns have room, every row is a card.
Columns are those of the command, whatever is in them.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from unicodedata import combining, east_asian_width

from fairlead.cli.screens.blocks import QUIET, STRONG, Block, Cell, Grid, Line, Toned, text_of

# What may go on in the next line; names and numbers stay whole.
SENTENCES = ("SAYS", "MESSAGE", "BEFORE", "AFTER", "WAITS FOR", "VALUE", "HELD BY", "CHANGED")
# A sentence in fewer columns than this is no longer read as one.
LEAST_SENTENCE = 24
# One that would go on for more lines than this stands better below its row.
MOST_FOLDS = 3
GAP = 2
NOTHING = "-"

_WORDS = re.compile(r" *[^ ]+| +")
_WIDE = ("W", "F")


def lay_out(blocks: Iterable[Block], width: int | None) -> list[Line]:
    """Return lines no wider than `width` columns; None: as wide as they come."""
    found: list[Line] = []
    for block in blocks:
        if isinstance(block, Line):
            found += _folded(block, width)
        elif block.rows:
            found += _grid_lines(block, width)
    return found


def columns_of(text: str) -> int:
    """Return how many columns of a terminal a text takes."""
    if text.isascii():
        return len(text)
    return sum(2 if east_asian_width(mark) in _WIDE else int(not combining(mark)) for mark in text)


def _grid_lines(grid: Grid, width: int | None) -> Iterator[Line]:
    rows = [tuple(_filled(cell) for cell in row) for row in grid.rows]
    below: tuple[int, ...] = ()
    for_sentences = [at for at, heading in enumerate(grid.headings) if heading in SENTENCES]
    widths = [
        max(columns_of(text_of(row[at])) for row in (grid.headings, *rows))
        for at in range(len(grid.headings))
    ]
    if width is not None:
        room = width - grid.indent - GAP * (len(widths) - 1)
        short = sum(size for at, size in enumerate(widths) if at not in for_sentences)
        if not _shrink(widths, for_sentences, room - short):
            below = tuple(for_sentences)
            short += GAP * (len(widths) - len(below) - 1) + grid.indent
            if short > width or len(below) == len(widths):
                yield from _cards(grid, rows, width)
                return
    kept = [at for at in range(len(widths)) if at not in below]
    heading = [Toned(grid.headings[at], QUIET) for at in kept]
    yield from _row_lines(heading, [widths[at] for at in kept], grid.indent)
    for row in rows:
        yield from _row_lines([row[at] for at in kept], [widths[at] for at in kept], grid.indent)
        yield from _below(grid, row, below, width)


def _shrink(widths: list[int], sentences: Sequence[int], room: int) -> bool:
    """Give the sentences a share of the room, if they need one and it is enough; say so."""
    if sum(widths[at] for at in sentences) <= room:
        return True
    left = room
    for count, at in enumerate(sorted(sentences, key=lambda at: widths[at])):
        share = left // (len(sentences) - count)
        if widths[at] > share:
            if share < LEAST_SENTENCE or widths[at] > MOST_FOLDS * share:
                return False
            widths[at] = share
        left -= widths[at]
    return bool(sentences)


def _row_lines(row: Sequence[Cell], widths: Sequence[int], indent: int) -> Iterator[Line]:
    cells = [_folded(Line((cell,), hang=0), width) for cell, width in zip(row, widths, strict=True)]
    for level in range(max(len(lines) for lines in cells)):
        pieces: list[Cell] = [" " * indent] if indent else []
        for at, (lines, width) in enumerate(zip(cells, widths, strict=True)):
            part = lines[level].pieces if level < len(lines) else ()
            taken = _size(part)
            gap = GAP if at < len(widths) - 1 else 0
            pieces += [*part, " " * (width - taken + gap)]
        yield _trimmed(Line(tuple(pieces)))


def _below(
    grid: Grid, row: Sequence[Cell], below: Sequence[int], width: int | None
) -> Iterator[Line]:
    for at in below:
        if text_of(row[at]) != NOTHING:
            label = " " * (grid.indent + GAP) + grid.headings[at].lower() + ": "
            yield from _folded(Line((Toned(label, QUIET), row[at]), hang=grid.indent + 4), width)


def _cards(grid: Grid, rows: Sequence[Sequence[Cell]], width: int) -> Iterator[Line]:
    """A row as a title and one line for every other column that says something."""
    label = min(max(columns_of(heading) for heading in grid.headings[1:]), width // 3) + GAP
    for row in rows:
        title = Toned(text_of(row[0]), STRONG)
        yield from _folded(Line((" " * grid.indent, title)), width)
        for heading, cell in zip(grid.headings[1:], row[1:], strict=True):
            if text_of(cell) != NOTHING:
                name = " " * (grid.indent + GAP) + heading.lower().ljust(label)
                yield from _folded(Line((Toned(name, QUIET), cell), hang=columns_of(name)), width)


def _filled(cell: Cell) -> Cell:
    return cell if text_of(cell) else Toned(NOTHING, QUIET)


def _folded(line: Line, width: int | None) -> list[Line]:
    """Return a line in as many as it takes; those behind the first begin further in."""
    if width is None or _size(line.pieces) <= width:
        return [_trimmed(line)]
    first = "".join(text_of(piece) for piece in line.pieces)
    hang = len(first) - len(first.lstrip(" ")) + GAP if line.hang is None else line.hang
    hang = min(hang, width // 2)
    lines: list[list[Cell]] = [[]]
    taken = 0
    for unit in _units_of(line, width - hang):
        size = _size(unit)
        if taken + size > width:
            lines.append([" " * hang] if hang else [])
            unit[0] = _toned(unit[0], text_of(unit[0]).lstrip(" "))  # the gap ends the line
            taken, size = hang, _size(unit)
        lines[-1] += unit
        taken += size
    return [_trimmed(Line(tuple(pieces))) for pieces in lines]


def _units_of(line: Line, longest: int) -> list[list[Cell]]:
    """Return what stays together: words with the gap before them, in whatever tones they are."""
    units: list[list[Cell]] = []
    for word in _words_of(line, longest):
        text = text_of(word)
        is_next = bool(units) and not text.startswith(" ") and text_of(units[-1][-1])[-1:] != " "
        if is_next and _size([*units[-1], word]) <= longest:
            units[-1].append(word)
        else:
            units.append([word])
    return units


def _size(cells: Sequence[Cell]) -> int:
    return sum(columns_of(text_of(cell)) for cell in cells)


def _words_of(line: Line, longest: int) -> Iterator[Cell]:
    """Give words with the gap before them; one that has no room anywhere comes in parts."""
    for piece in line.pieces:
        for word in _WORDS.findall(text_of(piece)):
            rest = word
            while columns_of(rest.lstrip(" ")) > longest:
                at = len(rest) - len(rest.lstrip(" ")) + longest
                while columns_of(rest[:at].lstrip(" ")) > longest:
                    at -= 1
                yield _toned(piece, rest[:at])
                rest = rest[at:]
            yield _toned(piece, rest)


def _toned(cell: Cell, text: str) -> Cell:
    return Toned(text, cell.tone) if isinstance(cell, Toned) else text


def _trimmed(line: Line) -> Line:
    """Return a line without spaces at its end."""
    pieces = list(line.pieces)
    while pieces:
        text = text_of(pieces[-1]).rstrip(" ")
        if text:
            return Line((*pieces[:-1], _toned(pieces[-1], text)))
        pieces.pop()
    return Line()
