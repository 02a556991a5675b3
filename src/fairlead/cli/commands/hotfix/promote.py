"""`fairlead hotfix promote`: one more wave, or everybody, because a person says so."""

from __future__ import annotations

import sys
from argparse import Namespace

from fairlead.cli.clock import present
from fairlead.cli.confirm import DECLINED, is_agreed
from fairlead.cli.depot_flags import add_depot_command, depot_of
from fairlead.cli.flags import add_yes
from fairlead.cli.request import write_json

TYPE_CHECKING = False
if TYPE_CHECKING:
    from fairlead.cli.flags import Commands

EXAMPLE = """\
example: one more wave; a halted fix goes on, and boots until now no longer count against it
  fairlead hotfix promote 202611.16.1
example: no more waves
  fairlead hotfix promote 202611.16.1 --everyone --yes
"""


def add(commands: Commands) -> None:
    """Add promote to the commands of hotfix."""
    parser = add_depot_command(
        commands,
        "promote",
        "offer a fix to more machines, or go on after a halt",
        EXAMPLE,
        _promote,
    )
    parser.add_argument("version", metavar="VERSION", help="YYYYMM.DD.PATCH")
    parser.add_argument("--everyone", action="store_true", help="to all machines of its base")
    add_yes(parser)


def _promote(arguments: Namespace) -> int:
    from fairlead.hotfix.campaign import WAVES
    from fairlead.hotfix.catalog import promote
    from fairlead.hotfix.catalog_text import fix_fields
    from fairlead.hotfix.publish.publisher import change_catalog

    version, everyone = arguments.version, arguments.everyone
    question = f"offer {version} to every machine of its base, without waves?"
    if everyone and not is_agreed(arguments, question):
        return DECLINED
    after = change_catalog(
        depot_of(arguments), lambda one: promote(one, version, present(), everyone=everyone)
    )
    fix = after.find(version)
    if fix is None or arguments.json:
        write_json({"fix": fix_fields(fix) if fix else None})
        return 0
    reach = 1.0 if fix.everyone else WAVES[fix.wave][0]
    sys.stderr.write(
        f"{version} is offered to at least {reach:.0%} of the machines of {fix.base}; "
        "boots until now no longer count against it\n"
    )
    return 0
