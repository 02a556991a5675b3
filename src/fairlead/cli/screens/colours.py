"""Lines on a terminal, with rich. NO_COLOR is rich's to obey; this file is loaded only there."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TextIO, cast

from rich.console import Console, ConsoleOptions, RenderableType
from rich.segment import Segment
from rich.text import Text

from fairlead.cli.output import OutputStream
from fairlead.cli.screens.blocks import (
    BAD,
    GOOD,
    QUIET,
    STRONG,
    WAITING,
    Block,
    Cell,
    Line,
    Toned,
    text_of,
)
from fairlead.cli.screens.layout import lay_out
from fairlead.contract.visible_text import visible

STYLES = {GOOD: "green", BAD: "bold red", WAITING: "yellow", QUIET: "dim", STRONG: "bold"}


class Terminal(Console):
    """A terminal that shows text escaped, whatever it is drawn with, and obeys only rich."""

    def __init__(self, stream: TextIO) -> None:
        drawn = cast("TextIO", _Drawn(stream)) if isinstance(stream, OutputStream) else stream
        super().__init__(file=drawn, highlight=False)

    def render(
        self, renderable: RenderableType, options: ConsoleOptions | None = None
    ) -> Iterable[Segment]:
        """Give what is drawn, with everything escaped that is not rich's own."""
        for segment in super().render(renderable, options):
            if segment.control or visible(segment.text, "\n") == segment.text:
                yield segment
            else:
                yield Segment(visible(segment.text, "\n"), segment.style)


class _Drawn:
    """The way past the escaping of a stream, for what was escaped before."""

    def __init__(self, stream: OutputStream) -> None:
        self._stream = stream
        self.write = stream.write_drawn
        self.flush = stream.flush
        self.isatty = stream.isatty
        self.fileno = stream.fileno
        self.encoding = stream.encoding


def print_blocks(blocks: Iterable[Block], stream: TextIO) -> None:
    """Draw the blocks on a terminal."""
    terminal = Terminal(stream)
    for line in lay_out(blocks, terminal.width):
        terminal.print(text_line(line), soft_wrap=True)


def text_line(line: Line) -> Text:
    """Return a line as rich draws it."""
    return Text.assemble(*(coloured(piece) for piece in line.pieces))


def coloured(cell: Cell) -> Text:
    """Return a cell with the colour of its tone."""
    tone = cell.tone if isinstance(cell, Toned) else ""
    return Text(text_of(cell), style=STYLES.get(tone, ""))
