"""`fairlead timeline`: what happened to a pool or machine, and where the time of a boot went."""

from __future__ import annotations

from argparse import ArgumentParser, Namespace, RawDescriptionHelpFormatter
from pathlib import Path

from fairlead.cli.flags import add_command, add_form

OF_EXAMPLE = """\
example: the story of a pool, and the last boot of a machine as a waterfall
  fairlead timeline workers
  fairlead timeline MACHINE

`fairlead timeline NAME` is short for this. The boot is drawn from the report that the machine
sent; machines that are gone keep theirs.
"""

SHOW_EXAMPLE = """\
example: one boot in the terminal, and as a page to send to somebody
  fairlead timeline show examples/boots/bookworm.json
  fairlead timeline show examples/boots/bookworm.json --html boot.html

FILE is a provision.json, or what `fairlead-node report --json` printed on the machine. The first
was written when provisioning ended and knows nothing later; the second knows the whole boot.
Several files, or a directory of them, are drawn as medians.
"""

COMPARE_EXAMPLE = """\
example: the same node on two releases of Debian
  fairlead timeline compare examples/boots/bookworm.json examples/boots/trixie.json

A and B are files, or directories of files, of which medians are compared. Spans are compared by
how long they took, marks (with a diamond) by when they were reached.
"""


def add_commands(parser: ArgumentParser) -> None:
    """Add of, show and compare."""
    commands = parser.add_subparsers(metavar="COMMAND", required=True)
    of = add_command(commands, "of", "the story of a pool or machine", OF_EXAMPLE, _of)
    of.add_argument("name", metavar="POOL|MACHINE")
    of.add_argument("--svg", type=Path, metavar="OUT", help="write its drawing here; - is stdout")
    of.add_argument("--html", type=Path, metavar="OUT", help="write its page here; - is stdout")
    _add_drawing(of, "also parts below 1 ms")
    show = commands.add_parser(
        "show",
        help="draw a boot, or the medians of many",
        description="Draw a boot as a waterfall.",
        epilog=SHOW_EXAMPLE,
        formatter_class=RawDescriptionHelpFormatter,
    )
    show.add_argument("file", type=Path, nargs="+", metavar="FILE", help="- is stdin")
    output = show.add_mutually_exclusive_group()
    add_form(output)
    output.add_argument("--svg", type=Path, metavar="OUT", help="write a drawing here; - is stdout")
    output.add_argument("--html", type=Path, metavar="OUT", help="write a page here; - is stdout")
    _add_drawing(show, "also parts below 1 ms")
    show.set_defaults(run=_show)
    compare = commands.add_parser(
        "compare",
        help="two boots, or two directories of boots, the largest difference first",
        description="Compare two boots, or the medians of two directories of boots.",
        epilog=COMPARE_EXAMPLE,
        formatter_class=RawDescriptionHelpFormatter,
    )
    compare.add_argument("a", type=Path, metavar="A")
    compare.add_argument("b", type=Path, metavar="B")
    add_form(compare)
    _add_drawing(compare, "also differences below 1 ms")
    compare.set_defaults(run=_compare)


def _add_drawing(parser: ArgumentParser, small: str) -> None:
    parser.add_argument("--all", action="store_true", help=small)
    parser.add_argument("--width", type=int, metavar="COLUMNS", help="default: the terminal's")


def _of(arguments: Namespace) -> int:
    from fairlead.cli.commands.story.timeline_of import run_of

    return run_of(arguments)


def _show(arguments: Namespace) -> int:
    from fairlead.cli.commands.story.timeline_files import run_show

    return run_show(arguments)


def _compare(arguments: Namespace) -> int:
    from fairlead.cli.commands.story.timeline_files import run_compare

    return run_compare(arguments)
