"""`fairlead hotfix withdraw` and `retire`: a fix that must not be used, and one nobody needs."""

from __future__ import annotations

import sys
from argparse import Namespace

from fairlead.cli.clock import present
from fairlead.cli.confirm import DECLINED, is_agreed
from fairlead.cli.depot_flags import add_depot_command, add_keys, depot_of, offline_keys_of
from fairlead.cli.flags import add_yes
from fairlead.cli.request import write_json

TYPE_CHECKING = False
if TYPE_CHECKING:
    from fairlead.cli.flags import Commands

WITHDRAW_EXAMPLE = """\
example: it broke boots; from the next boot on no machine uses it
  fairlead hotfix withdraw 202611.16.1 --reason "kubelet does not start" --yes

A tombstone is signed: machines refuse the version by name, also if an old pointer or a mirror
offers it. The version never comes back; the next fix has a higher PATCH. No machine is replaced.
"""
RETIRE_EXAMPLE = """\
example: the last image of a base is gone
  fairlead hotfix bases remove 202611.16
  fairlead hotfix retire 202611.16.1 --yes

Refused while images of its base are supported: they need the fix at every boot.
"""


def add(commands: Commands) -> None:
    """Add withdraw and retire to the commands of hotfix."""
    withdraw = add_depot_command(
        commands, "withdraw", "let no machine use a fix any more", WITHDRAW_EXAMPLE, _withdraw
    )
    withdraw.add_argument("version", metavar="VERSION", help="YYYYMM.DD.PATCH")
    withdraw.add_argument("--reason", required=True, metavar="TEXT", help="why, in one line")
    retire = add_depot_command(
        commands, "retire", "remove a fix that no supported image needs", RETIRE_EXAMPLE, _retire
    )
    retire.add_argument("version", metavar="VERSION", help="YYYYMM.DD.PATCH")
    for parser in (withdraw, retire):
        add_keys(parser)
        add_yes(parser)


def _withdraw(arguments: Namespace) -> int:
    from fairlead.hotfix.catalog_text import check_line, fix_fields
    from fairlead.hotfix.publish.publisher import withdraw

    version = arguments.version
    reason = check_line(arguments.reason, "--reason")
    if not is_agreed(arguments, f"withdraw {version}? It can never be published again."):
        return DECLINED
    depot, offline = depot_of(arguments), offline_keys_of(arguments)
    fix = withdraw(depot, offline, version, reason, present())
    if arguments.json:
        write_json({"fix": fix_fields(fix)})
    else:
        sys.stderr.write(f"{version} is revoked: machines refuse it from their next boot on\n")
    return 0


def _retire(arguments: Namespace) -> int:
    from fairlead.hotfix.catalog_text import fix_fields
    from fairlead.hotfix.publish.publisher import retire

    version = arguments.version
    if not is_agreed(arguments, f"retire {version}? Its packages are removed."):
        return DECLINED
    fix = retire(depot_of(arguments), offline_keys_of(arguments), version, present())
    if arguments.json:
        write_json({"fix": fix_fields(fix)})
    else:
        sys.stderr.write(f"{version} is retired, and its packages are removed\n")
    return 0
