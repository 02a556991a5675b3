"""`fairlead explain`: one sentence, then the leaves behind it."""

from __future__ import annotations

from argparse import ArgumentParser, Namespace

from fairlead.cli.flags import add_plane_flags, describe_command
from fairlead.cli.request import ask_for_subject, write_json

EXAMPLE = """\
example: is anything of this pool being replaced, and why?
  fairlead explain workers

The first line says how it stands, the second why. Below: each leaf with its owner, severity and
age, from what to what, and what is waited for. Of a machine: why it runs what it runs, and why it
leaves or left.
"""


def add_commands(parser: ArgumentParser) -> None:
    """Add the flags of explain."""
    purpose = "Say why machines are, or are not, being replaced."
    describe_command(parser, purpose, EXAMPLE, _run)
    parser.add_argument("name", metavar="POOL|MACHINE")
    add_plane_flags(parser)


def _run(arguments: Namespace) -> int:
    from fairlead.cli.screens.blocks import write_blocks
    from fairlead.cli.screens.machine import explain_machine_blocks
    from fairlead.cli.screens.pool import explain_blocks, summary_of
    from fairlead.cli.screens.spoken_time import present

    kind, found = ask_for_subject(arguments, arguments.name)
    now = present()
    if kind == "pool":
        found["summary"] = summary_of(found, now)
    if arguments.json:
        write_json(found)
    else:
        draw = explain_blocks if kind == "pool" else explain_machine_blocks
        write_blocks(draw(found, now))
    return 0
