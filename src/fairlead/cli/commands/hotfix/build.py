"""`fairlead hotfix build`: a .deb and an .rpm of a fix, the same bytes every time."""

from __future__ import annotations

import sys
from argparse import Namespace
from pathlib import Path

from fairlead.cli.failure import print_error
from fairlead.cli.flags import add_form, add_state, describe_command
from fairlead.cli.request import write_json
from fairlead.errors import InputError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from fairlead.cli.flags import Commands
    from fairlead.hotfix.publish.fix_package import Recipe

PURPOSE = "build the packages of a fix"
EXAMPLE = """\
example: from the checkout that fairlead runs from, with the change in it
  fairlead hotfix build --version 202611.16.1 --to build
example: from the package that images were baked with, and a patch
  fairlead hotfix build --version 202611.16.1 --base-package agent.deb --patch fix.diff --to build

The version is that of the sources with a higher PATCH: nodes of another base never take it. A patch
with a hunk that does not apply to the letter is refused whole. Two builds give the same bytes.
"""


def add(commands: Commands) -> None:
    """Add build to the commands of hotfix."""
    parser = commands.add_parser("build", help=PURPOSE)
    describe_command(parser, f"{PURPOSE.capitalize()}.", EXAMPLE, _build)
    parser.add_argument("--version", required=True, metavar="VERSION", help="YYYYMM.DD.PATCH")
    parser.add_argument(
        "--tree", type=Path, metavar="DIR", help="sources (default: what fairlead runs from)"
    )
    parser.add_argument(
        "--base-package", type=Path, metavar="FILE", help="the agent's .deb of the base"
    )
    parser.add_argument("--patch", type=Path, metavar="FILE", help="on --base-package")
    parser.add_argument(
        "--scripts",
        type=Path,
        metavar="DIR",
        help="script files, DIR/ubuntu22.04/nodecustomdata.yml and the like",
    )
    parser.add_argument(
        "--nodecustomdata",
        type=Path,
        metavar="FILE",
        help="script files for every distribution without its own",
    )
    parser.add_argument(
        "--to", type=Path, metavar="DIR", default=Path("build"), help="where (default: build)"
    )
    add_form(parser)
    add_state(parser)


def _build(arguments: Namespace) -> int:
    from fairlead.hotfix.publish.fix_package import build_fix

    packages = build_fix(_recipe_of(arguments), arguments.to)
    if len(packages) == 1:
        print_error("warning: rpmbuild is not installed here, so no .rpm was made (Debian: rpm)")
    if arguments.json:
        write_json({"version": arguments.version, "packages": [str(path) for path in packages]})
    else:
        sys.stdout.write("".join(f"{path}\n" for path in packages))
    return 0


def _recipe_of(arguments: Namespace) -> Recipe:
    from fairlead.hotfix.publish.fix_package import Recipe
    from fairlead.hotfix.publish.fix_sources import own_tree

    if (arguments.base_package is None) != (arguments.patch is None):
        raise InputError("--base-package and --patch belong together")
    if arguments.base_package and arguments.tree:
        raise InputError("--tree and --base-package exclude each other")
    return Recipe(
        version=arguments.version,
        tree=None if arguments.base_package else arguments.tree or own_tree(),
        base_package=arguments.base_package,
        patch=arguments.patch,
        scripts=arguments.scripts,
        custom_data=arguments.nodecustomdata,
    )
