"""`fairlead whoami`: who you are to the control plane, and what you may do."""

from __future__ import annotations

from argparse import ArgumentParser, Namespace

from fairlead.cli.failure import print_error
from fairlead.cli.flags import add_plane_flags, describe_command
from fairlead.cli.request import plane_of, write_answer

EXAMPLE = """\
example: may I change pools here?
  fairlead whoami

roles, each may what the one before it may:
  fairlead-viewer      look at everything, and plan
  fairlead-pool-owner  apply pools, scale, pause, resume, delete machines and pools
  fairlead-platform    change the platform, stop the control plane

Whoever owns the state directory gives them, in its file `roles`. On a cluster: ClusterRoles.
Without a role: exit code 2.
"""


def add_commands(parser: ArgumentParser) -> None:
    """Add the flags of whoami."""
    describe_command(parser, "Show who you are to the control plane.", EXAMPLE, _run)
    add_plane_flags(parser)


def _run(arguments: Namespace) -> int:
    found = plane_of(arguments).whoami()
    if arguments.json:
        write_answer(found)
        return 0
    from fairlead.cli.screens.access import identity_blocks
    from fairlead.cli.screens.show import write_blocks

    write_blocks(identity_blocks(found))
    for problem in found.problems:
        print_error(problem)
    return 0
