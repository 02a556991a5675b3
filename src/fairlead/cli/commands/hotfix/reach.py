"""`fairlead hotfix bases` and `region`: which images are supported, and where fixes are offered."""

from __future__ import annotations

import sys
from argparse import Namespace

from fairlead.cli.cluster import cluster_named
from fairlead.cli.depot_flags import add_published_command, catalog_of, depot_of
from fairlead.cli.request import write_json
from fairlead.errors import InputError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from fairlead.cli.flags import Commands
    from fairlead.hotfix.catalog import Catalog

BASES_EXAMPLE = """\
example: images of 16 November 2026 are in use; a fix for any other base is refused
  fairlead hotfix bases add 202611.16
  fairlead hotfix bases list

Removing a base takes nothing from machines; `fairlead hotfix retire` removes its fixes afterwards.
"""
REGION_EXAMPLE = """\
example: fixes are offered where a region is on, and nowhere else
  fairlead hotfix region on local
  fairlead hotfix region list
"""


def add(commands: Commands) -> None:
    """Add bases and region to the commands of hotfix."""
    bases = add_published_command(
        commands,
        "bases",
        "which image bases are supported: list, add, remove",
        BASES_EXAMPLE,
        _bases,
    )
    bases.add_argument("what", choices=("list", "add", "remove"), help="list, add or remove")
    bases.add_argument("base", nargs="*", metavar="BASE", help="YYYYMM.DD")
    region = add_published_command(
        commands, "region", "where fixes are offered: list, on, off", REGION_EXAMPLE, _region
    )
    region.add_argument("what", choices=("list", "on", "off"), help="list, on or off")
    region.add_argument("region", nargs="*", metavar="REGION", help="its name")


def _bases(arguments: Namespace) -> int:
    from fairlead.hotfix.catalog import add_base, remove_base
    from fairlead.hotfix.catalog_text import check_base

    names = [check_base(base) for base in arguments.base]
    change = add_base if arguments.what == "add" else remove_base

    def changed(catalog: Catalog) -> Catalog:
        for name in names:
            catalog = change(catalog, name)
        return catalog

    catalog = _changed(arguments, names, changed)
    if arguments.json:
        write_json({"bases": list(catalog.bases)})
    else:
        sys.stdout.write("".join(f"{base}\n" for base in catalog.bases))
    return 0


def _region(arguments: Namespace) -> int:
    from fairlead.hotfix.catalog import switch_region
    from fairlead.hotfix.catalog_text import check_region

    names = [check_region(name) for name in arguments.region]

    def changed(catalog: Catalog) -> Catalog:
        for name in names:
            catalog = switch_region(catalog, name, is_on=arguments.what == "on")
        return catalog

    regions = dict(_changed(arguments, names, changed).regions)
    if arguments.json:
        write_json({"regions": regions})
    else:
        lines = [f"{name} {'on' if is_on else 'off'}\n" for name, is_on in sorted(regions.items())]
        sys.stdout.write("".join(lines))
    return 0


def _changed(
    arguments: Namespace, names: list[str], changed: Callable[[Catalog], Catalog]
) -> Catalog:
    """Return the catalog, changed unless it is only listed."""
    from fairlead.hotfix.publish.publisher import change_catalog

    if bool(names) == (arguments.what == "list"):
        expected = "no name" if names else "at least one name"
        raise InputError(f"expected {expected} behind {arguments.what}")
    if names and cluster_named(arguments):
        raise InputError("a catalog is changed in its depot", hint="leave out --kube")
    return change_catalog(depot_of(arguments), changed) if names else catalog_of(arguments)
