"""`fairlead explain`: one sentence, then the leaves behind it."""

from __future__ import annotations

from argparse import ArgumentParser, Namespace

from fairlead.cli.flags import add_plane_flags, describe_command
from fairlead.cli.request import find_subject, plane_of, write_answer

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
    from fairlead.answers.pool import PoolDetail
    from fairlead.cli.clock import present
    from fairlead.cli.screens.machine import explain_machine_blocks
    from fairlead.cli.screens.pool import explain_blocks
    from fairlead.cli.screens.show import write_blocks
    from fairlead.telling.summary import summary_of

    found, now = find_subject(plane_of(arguments), arguments.name), present()
    if isinstance(found, PoolDetail):
        # Ages are told on the clock of whoever looks.
        found = found.but(summary=summary_of(found, found.plan, now))
    if arguments.json:
        write_answer(found)
    elif isinstance(found, PoolDetail):
        write_blocks(explain_blocks(found, now))
    else:
        write_blocks(explain_machine_blocks(found, now))
    return 0
