"""Boots in files: drawn, and compared."""

from __future__ import annotations

import sys
from argparse import Namespace
from pathlib import Path

from fairlead.boots.boot import BootTimeline, boot_timeline_of, parse_boots, timeline_fields
from fairlead.boots.compare import compare_boots, difference_fields
from fairlead.boots.draw_page import draw_page
from fairlead.boots.draw_svg import draw_svg
from fairlead.boots.draw_text import draw_comparison, draw_text
from fairlead.boots.medians import median_timeline, medians_fields, medians_of
from fairlead.cli.files.typed_file import read_typed_file
from fairlead.cli.request import write_json
from fairlead.cli.screens.blocks import line
from fairlead.cli.screens.show import write_blocks
from fairlead.cli.screens.width import width_of
from fairlead.errors import InputError


def run_show(arguments: Namespace) -> int:
    """Draw the boots of the files; an exit code."""
    boots = [boot for path in arguments.file for boot in read_boots(path)]
    if len(boots) == 1:
        timeline, fields = boots[0], timeline_fields(boots[0])
    else:
        medians = medians_of(boots)
        timeline, fields = median_timeline(medians), medians_fields(medians)
    if arguments.svg is not None:
        write_drawing(arguments.svg, draw_svg(timeline))
    elif arguments.html is not None:
        write_drawing(arguments.html, draw_page(timeline))
    elif arguments.json:
        write_json(fields)
    else:
        sys.stdout.write(draw_text(timeline, drawing_width(arguments), shows_all=arguments.all))
    return 0


def run_compare(arguments: Namespace) -> int:
    """Show how two boots, or two sets, differ; an exit code."""
    a, b = read_boots(arguments.a), read_boots(arguments.b)
    differences = compare_boots(a, b)
    if arguments.json:
        fields = {
            "a": {"name": str(arguments.a), "boots": len(a)},
            "b": {"name": str(arguments.b), "boots": len(b)},
            "differences": [difference_fields(difference) for difference in differences],
        }
        write_json(fields)
        return 0
    for letter, path, boots in (("A", arguments.a, a), ("B", arguments.b, b)):
        counted = "1 boot" if len(boots) == 1 else f"medians of {len(boots)} boots"
        write_blocks([line(f"{letter}: {path}, {counted}")])
    drawn = draw_comparison(differences, drawing_width(arguments), shows_all=arguments.all)
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
        text = read_typed_file(path)
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


def write_drawing(path: Path, text: str) -> None:
    """Put a drawing in a file, and say so; - is stdout."""
    # Lone surrogates cannot be in it: xml_text has replaced them.
    if str(path) == "-":
        sys.stdout.write(text)
        return
    path.write_text(text, encoding="utf-8")
    sys.stderr.write(f"wrote {path}\n")


def drawing_width(arguments: Namespace) -> int:
    """Return how wide a drawing in the terminal may be."""
    return int(arguments.width) if arguments.width is not None else width_of(sys.stdout)
