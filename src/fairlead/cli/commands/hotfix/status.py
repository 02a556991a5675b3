"""`fairlead hotfix status`: how far fixes came, who lacks them, and how boots ended."""

from __future__ import annotations

from argparse import Namespace

from fairlead.cli.depot_flags import add_published_command, catalog_of, fleet_of
from fairlead.cli.request import write_json
from fairlead.errors import InputError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from fairlead.cli.flags import Commands
    from fairlead.hotfix.campaign import Boots
    from fairlead.hotfix.service.fleet import Reach

EXAMPLE = """\
example: every fix; then one in full, with who lacks it and why boots failed
  fairlead hotfix status
  fairlead hotfix status 202611.16.1

By the last boot that each machine reported; the ledger of the depot's service is read, or with
--kube the one that the replicas of a cluster count in. With --json and a VERSION all machines that
have it, and all that lack it, are listed by name. Agents of AKS send no report: who has a fix of
theirs is not known, and its waves open by `promote` alone.
"""

# Names on a screen.
MOST_NAMES = 10
# Names in an answer for scripts.
MOST_LISTED = 1_000_000


def add(commands: Commands) -> None:
    """Add status to the commands of hotfix."""
    parser = add_published_command(
        commands, "status", "say how far fixes came, and who lacks them", EXAMPLE, _status
    )
    parser.add_argument("version", metavar="VERSION", nargs="?", help="YYYYMM.DD.PATCH")


def _status(arguments: Namespace) -> int:
    return _one(arguments) if arguments.version else _all(arguments)


def _all(arguments: Namespace) -> int:
    fixes = tuple(reversed(catalog_of(arguments).fixes))
    reaches = fleet_of(arguments).reach_of(fixes)
    if arguments.json:
        write_json({"fixes": [_fields(reach) for reach in reaches]})
        return 0
    from fairlead.cli.screens.blocks import line
    from fairlead.cli.screens.fix_reach import reach_grid
    from fairlead.cli.screens.show import write_blocks

    grid = reach_grid(reaches)
    write_blocks([grid] if grid.rows else [line("no fix was ever published here")])
    return 0


def _one(arguments: Namespace) -> int:
    fix = catalog_of(arguments).find(arguments.version)
    if fix is None:
        hint = "fairlead hotfix list"
        raise InputError("was never published here", field=arguments.version, hint=hint)
    fleet = fleet_of(arguments)
    (reach,) = fleet.reach_of([fix])
    if arguments.json:
        listed = {
            "lacking": list(fleet.lacking(fix, MOST_LISTED)),
            "having": list(fleet.having(fix, MOST_LISTED)),
        }
        write_json({**_fields(reach), **listed})
        return 0
    from fairlead.cli.screens.fix_reach import reach_blocks
    from fairlead.cli.screens.show import write_blocks

    write_blocks(reach_blocks(reach, fleet.lacking(fix, MOST_NAMES)))
    return 0


def _fields(reach: Reach) -> dict[str, object]:
    from fairlead.cli.screens.fix_reach import is_told

    fix, campaign = reach.fix, reach.campaign
    return {
        "name": fix.version,
        "component": fix.component,
        "base": fix.base,
        "state": fix.state.value,
        "schedule": fix.schedule.value,
        "everyone": fix.everyone,
        "wave": campaign.wave,
        "reach": 1.0 if fix.everyone else campaign.reach,
        "halted": campaign.halted,
        "under_way": reach.under_way,
        "have": reach.have if is_told(reach) else None,
        "lack": reach.lack if is_told(reach) else None,
        "regions": [
            {
                "region": one.region,
                "have": one.have,
                "lack": one.lack,
                "with": _boots(one.with_fix),
                "without": _boots(one.without),
            }
            for one in reach.regions
        ],
        "causes": [{"cause": cause, "machines": count} for cause, count in reach.causes],
    }


def _boots(boots: Boots) -> dict[str, int]:
    return {"good": boots.good, "failed": boots.failed}
