"""`fairlead certificates`: which authority machines trust, and another one before its time."""

from __future__ import annotations

from argparse import ArgumentParser, Namespace

from fairlead.cli.flags import add_command
from fairlead.cli.request import plane_here, write_answer

TYPE_CHECKING = False
if TYPE_CHECKING:
    from fairlead.answers.reply import Authorities

DAY_S = 86400
OVERLAP_DAYS = 30

SHOW_EXAMPLE = """\
example: which authority do machines trust, and how long?
  fairlead certificates show
"""
ROTATE_EXAMPLE = """\
example: its key may have been read by somebody else
  fairlead certificates rotate --now

The next authority is made and announced at once: user data names both, and no machine is replaced.
It takes over after 30 days, or with --now as soon as no machine boots that knows the present one
only: within a minute if none does, within an hour in any case. From then on nobody trusts the
authority of before. A machine that was provisioned has nothing to ask, and is left alone.
"""


def add_commands(parser: ArgumentParser) -> None:
    """Add the commands of certificates."""
    commands = parser.add_subparsers(metavar="COMMAND", required=True)
    purpose = "show which authority machines trust, and which one comes next"
    add_command(commands, "show", purpose, SHOW_EXAMPLE, _show)
    purpose = "replace the authority before its time, and no machine"
    rotate = add_command(commands, "rotate", purpose, ROTATE_EXAMPLE, _rotate)
    rotate.add_argument("--now", action="store_true", help="as soon as no boot depends on it")


def _show(arguments: Namespace) -> int:
    _tell(arguments, plane_here(arguments).certificates())
    return 0


def _rotate(arguments: Namespace) -> int:
    overlap_s = 0 if arguments.now else OVERLAP_DAYS * DAY_S
    _tell(arguments, plane_here(arguments).rotate_authority(overlap_s))
    return 0


def _tell(arguments: Namespace, found: Authorities) -> None:
    if arguments.json:
        write_answer(found)
        return
    from fairlead.cli.screens.access import authority_blocks
    from fairlead.cli.screens.show import write_blocks

    write_blocks(authority_blocks(found))
