"""`fairlead hotfix list`: every fix there ever was, and what has become of it."""

from __future__ import annotations

from argparse import Namespace

from fairlead.cli.depot_flags import add_published_command, catalog_of
from fairlead.cli.request import write_json

TYPE_CHECKING = False
if TYPE_CHECKING:
    from fairlead.cli.flags import Commands

EXAMPLE = """\
example: all of them, the newest first
  fairlead hotfix list
"""


def add(commands: Commands) -> None:
    """Add list to the commands of hotfix."""
    add_published_command(commands, "list", "list every fix, whatever became of it", EXAMPLE, _list)


def _list(arguments: Namespace) -> int:
    from fairlead.hotfix.catalog_text import fix_fields

    catalog = catalog_of(arguments)
    if arguments.json:
        fixes = [{"name": fix.version, **fix_fields(fix)} for fix in reversed(catalog.fixes)]
        regions = dict(catalog.regions)
        write_json({"bases": list(catalog.bases), "regions": regions, "fixes": fixes})
        return 0
    from fairlead.cli.screens.blocks import line
    from fairlead.cli.screens.fixes import fix_grid
    from fairlead.cli.screens.show import write_blocks

    grid = fix_grid(catalog)
    write_blocks([grid] if grid.rows else [line("no fix was ever published here")])
    return 0
