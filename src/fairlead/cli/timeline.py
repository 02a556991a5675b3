"""`fairlead timeline`: where the time of a boot went, and how two boots differ."""

from __future__ import annotations

import shutil
import sys
from argparse import ArgumentParser, Namespace, RawDescriptionHelpFormatter
from pathlib import Path

from fairlead.contract.json_text import encode_json
from fairlead.errors import InputError
from fairlead.timeline.boot import BootTimeline, boot_timeline_of, parse_boots, timeline_fields
from fairlead.timeline.compare import compare_boots, difference_fields
from fairlead.timeline.draw_page import draw_page
from fairlead.timeline.draw_svg import draw_svg
from fairlead.timeline.draw_text import draw_comparison, draw_text
from fairlead.timeline.medians import median_timeline, medians_fields, medians_of

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

# A pipe has no width; this fits a README and a pull request.
PIPE_WIDTH = 110


def add_commands(parser: ArgumentParser) -> None:
    """Add show and compare."""
    commands = parser.add_subparsers(metavar="COMMAND", required=True)
    show = commands.add_parser(
        "show",
        help="draw a boot, or the medians of many",
        description="Draw a boot as a waterfall.",
        epilog=SHOW_EXAMPLE,
        formatter_class=RawDescriptionHelpFormatter,
    )
    show.add_argument("file", type=Path, nargs="+", metavar="FILE", help="- is stdin")
    output = show.add_mutually_exclusive_group()
    output.add_argument("--json", action="store_true", help="for scripts")
    output.add_argument("--svg", type=Path, metavar="OUT", help="write a drawing to this file")
    output.add_argument("--html", type=Path, metavar="OUT", help="write a page to this file")
    show.add_argument("--all", action="store_true", help="also parts below 1 ms")
    show.add_argument("--width", type=int, metavar="COLUMNS", help="default: the terminal's")
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
    compare.add_argument("--json", action="store_true", help="for scripts")
    compare.add_argument("--all", action="store_true", help="also differences below 1 ms")
    compare.add_argument("--width", type=int, metavar="COLUMNS", help="default: the terminal's")
    compare.set_defaults(run=_compare)


def _show(arguments: Namespace) -> int:
    boots = [boot for path in arguments.file for boot in read_boots(path)]
    if len(boots) == 1:
        timeline, fields = boots[0], timeline_fields(boots[0])
    else:
        medians = medians_of(boots)
        timeline, fields = median_timeline(medians), medians_fields(medians)
    if arguments.svg is not None:
        _write(arguments.svg, draw_svg(timeline))
    elif arguments.html is not None:
        _write(arguments.html, draw_page(timeline))
    elif arguments.json:
        sys.stdout.write(encode_json(fields, indent=2) + "\n")
    else:
        sys.stdout.write(draw_text(timeline, _width(arguments), shows_all=arguments.all))
    return 0


def _compare(arguments: Namespace) -> int:
    a, b = read_boots(arguments.a), read_boots(arguments.b)
    differences = compare_boots(a, b)
    if arguments.json:
        fields = {
            "a": {"name": str(arguments.a), "boots": len(a)},
            "b": {"name": str(arguments.b), "boots": len(b)},
            "differences": [difference_fields(difference) for difference in differences],
        }
        sys.stdout.write(encode_json(fields, indent=2) + "\n")
        return 0
    for letter, path, boots in (("A", arguments.a, a), ("B", arguments.b, b)):
        counted = "1 boot" if len(boots) == 1 else f"medians of {len(boots)} boots"
        sys.stdout.write(f"{letter}: {path}, {counted}\n")
    drawn = draw_comparison(differences, _width(arguments), shows_all=arguments.all)
    sys.stdout.write(drawn)
    return 0


def read_boots(path: Path) -> list[BootTimeline]:
    """Return every boot in a file, or in the *.json files of a directory. Raises InputError."""
    if path.is_dir():
        files = sorted(path.glob("*.json"))
        if not files:
            raise InputError("holds no *.json file", field=str(path), hint="expected boot reports")
        return [boot for file in files for boot in _read_file(file)]
    return _read_file(path)


def _read_file(path: Path) -> list[BootTimeline]:
    try:
        text = sys.stdin.buffer.read() if str(path) == "-" else path.read_bytes()
    except FileNotFoundError as error:
        raise InputError(
            "no such file",
            field=str(path),
            hint="on a machine: fairlead-node report --json > boot.json",
        ) from error
    try:
        return [boot_timeline_of(report) for report in parse_boots(text)]
    except InputError as error:
        where = f"{path}: {error.field}" if error.field else str(path)
        hint = error.hint or "expected provision.json or the output of fairlead-node report --json"
        raise InputError(error.problem, field=where, hint=hint) from error


def _write(path: Path, text: str) -> None:
    # Lone surrogates cannot be in it: xml_text has replaced them.
    path.write_text(text, encoding="utf-8")
    sys.stderr.write(f"wrote {path}\n")


def _width(arguments: Namespace) -> int:
    if arguments.width is not None:
        return int(arguments.width)
    return shutil.get_terminal_size((PIPE_WIDTH, 24)).columns if _is_terminal() else PIPE_WIDTH


def _is_terminal() -> bool:
    return sys.stdout.isatty()
