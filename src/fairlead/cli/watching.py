"""Answers shown once, or again whenever they are others: --watch. Looking changes nothing."""

from __future__ import annotations

import sys
import time
from argparse import ArgumentParser, Namespace

from fairlead.cli.output import FORM, NAME, YAML
from fairlead.cli.request import write_answer
from fairlead.contract.json_text import encode_json

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from typing import TypeVar

    from fairlead.answers.document import Document
    from fairlead.cli.screens.blocks import Block

    A = TypeVar("A", bound=Document)

LOOK_S = 0.5


def add_watch(parser: ArgumentParser) -> None:
    """Add --watch to a command that shows how things stand."""
    parser.add_argument(
        "--watch", action="store_true", help="show it again whenever it changes, until Ctrl-C"
    )


def show_answer(
    arguments: Namespace, ask: Callable[[], A], draw: Callable[[A], Sequence[Block]]
) -> int:
    """Ask and show, as often as the flags say; an exit code. draw: the answer for people."""
    if not getattr(arguments, "watch", False):
        _show(arguments, ask(), draw)
        return 0
    from fairlead.cli.screens.show import is_terminal

    if arguments.json or not is_terminal(sys.stdout):
        _watch_lines(arguments, ask, draw)
    _watch_screen(ask, draw)
    return 0


def _show(arguments: Namespace, answer: A, draw: Callable[[A], Sequence[Block]]) -> None:
    if arguments.json:
        write_answer(answer)
        return
    from fairlead.cli.screens.show import write_blocks

    write_blocks(draw(answer))


def _watch_screen(ask: Callable[[], A], draw: Callable[[A], Sequence[Block]]) -> None:
    from fairlead.cli.screens.live import LiveScreen

    with LiveScreen(is_error_stream=False, hint="q or Ctrl-C: stop looking") as screen:
        while True:
            screen.draw(draw(ask()))
            screen.rest(LOOK_S)


def _watch_lines(
    arguments: Namespace, ask: Callable[[], A], draw: Callable[[A], Sequence[Block]]
) -> None:
    """Write every answer that differs from the one before; as JSON, one on a line."""
    before: A | None = None
    while True:
        answer = ask()
        if answer != before:
            if arguments.json and FORM.get() not in (YAML, NAME):
                _write_line(answer)
            else:
                sys.stdout.write("" if before is None else "---\n")
                _show(arguments, answer, draw)
            sys.stdout.flush()
            before = answer
        time.sleep(LOOK_S)


def _write_line(answer: Document) -> None:
    from fairlead.answers.text import plain

    sys.stdout.write(encode_json(plain(answer)) + "\n")
