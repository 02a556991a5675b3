"""`fairlead explain`: one sentence, then the leaves behind it."""

from __future__ import annotations

from argparse import ArgumentParser, Namespace

from fairlead.cli.flags import add_plane_flags, describe_command
from fairlead.cli.request import find_subject, plane_of
from fairlead.cli.watching import add_watch, show_answer

TYPE_CHECKING = False
if TYPE_CHECKING:
    from fairlead.answering.questions import Questions
    from fairlead.answers.machine import MachineDetail
    from fairlead.answers.pool import PoolDetail
    from fairlead.cli.screens.blocks import Block

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
    add_watch(parser)
    add_plane_flags(parser)


def _run(arguments: Namespace) -> int:
    client = plane_of(arguments)
    return show_answer(arguments, lambda: _asked(client, arguments.name), _blocks)


def _asked(client: Questions, name: str) -> PoolDetail | MachineDetail:
    from fairlead.answers.pool import PoolDetail
    from fairlead.cli.clock import present
    from fairlead.telling.summary import summary_of

    found = find_subject(client, name)
    if isinstance(found, PoolDetail):
        # Ages are told on the clock of whoever looks.
        return found.but(summary=summary_of(found, found.plan, present()))
    return found


def _blocks(found: PoolDetail | MachineDetail) -> list[Block]:
    from fairlead.answers.pool import PoolDetail
    from fairlead.cli.clock import present
    from fairlead.cli.screens.machine import explain_machine_blocks
    from fairlead.cli.screens.pool import explain_blocks

    if isinstance(found, PoolDetail):
        return explain_blocks(found, present())
    return explain_machine_blocks(found, present())
