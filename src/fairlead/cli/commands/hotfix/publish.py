"""`fairlead hotfix publish`: packages into both repositories, signed, and on offer in waves."""

from __future__ import annotations

import sys
from argparse import Namespace
from pathlib import Path

from fairlead.cli.clock import present
from fairlead.cli.depot_flags import add_depot_command, add_keys, depot_of, offline_keys_of
from fairlead.cli.request import write_json
from fairlead.contract.hotfix.answer import AKS_COMPONENT, OUR_COMPONENT

TYPE_CHECKING = False
if TYPE_CHECKING:
    from fairlead.cli.flags import Commands
    from fairlead.hotfix.catalog import Fix

EXAMPLE = """\
example: the two packages of one fix, as they were built
  fairlead hotfix publish build/*hotfix*202611.16.1* --summary "wait for the disk"
example: a fix of the AKS agent, as its makers built it, within three hours
  fairlead hotfix publish agent.deb --component aksNodeController --schedule emergency

Boots with the fix are compared with boots without it, and the next wave opens if they do as well; a
fix that harms is halted by itself. Refused: a version that is not above all that were published for
its base, a base that no supported image has, other bytes under a version that is out.
"""

# campaign.Schedule, which takes long to load; a test compares.
SCHEDULES = ("normal", "accelerated", "emergency")
COMPONENTS = (OUR_COMPONENT, AKS_COMPONENT)


def add(commands: Commands) -> None:
    """Add publish to the commands of hotfix."""
    parser = add_depot_command(commands, "publish", "offer a fix to machines", EXAMPLE, _publish)
    parser.add_argument("package", nargs="+", type=Path, metavar="PACKAGE", help=".deb and .rpm")
    parser.add_argument(
        "--schedule", choices=SCHEDULES, default=SCHEDULES[0],
        help="how fast waves may open: 6 days, 24 hours or 3 hours (default: normal)",
    )  # fmt: skip
    parser.add_argument("--summary", default="", metavar="TEXT", help="what it is for, in one line")
    parser.add_argument(
        "--component", choices=COMPONENTS, default="", help="whose packages these must be"
    )
    add_keys(parser)


def _publish(arguments: Namespace) -> int:
    from fairlead.hotfix.campaign import WAVES, Schedule
    from fairlead.hotfix.catalog_text import check_line, fix_fields
    from fairlead.hotfix.publish.publisher import Wish, publish

    depot = depot_of(arguments)
    wish = Wish(
        schedule=Schedule(arguments.schedule),
        summary=check_line(arguments.summary, "--summary"),
        component=arguments.component,
    )
    done = publish(depot, offline_keys_of(arguments), arguments.package, wish, present())
    if arguments.json:
        write_json({"published": done.is_new, "fix": fix_fields(done.fix)})
        return 0
    fix = done.fix
    if not done.is_new:
        sys.stderr.write(f"{fix.version} was published before, with these bytes\n")
        return 0
    regions = [name for name, is_on in depot.read_catalog().regions.items() if is_on]
    where = "nowhere yet: fairlead hotfix region on NAME"
    if regions:
        where = (
            f"in {', '.join(regions)}, to {WAVES[0][0]:.0%} of machines first\n"
            f"how far it came: fairlead hotfix status {fix.version}; "
            f"further {_further(fix)}: fairlead hotfix promote {fix.version}"
        )
    sys.stderr.write(
        f"{fix.version} is published for the base {fix.base}, schedule {fix.schedule.value}; "
        f"offered {where}\n"
    )
    return 0


def _further(fix: Fix) -> str:
    # Waves of the others open by what their machines report.
    return "at once" if fix.component == OUR_COMPONENT else "by hand alone"
