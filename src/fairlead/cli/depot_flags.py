"""The flags of commands that work on a depot of hotfixes: where it is, and where keys are."""

from __future__ import annotations

from argparse import ArgumentParser, Namespace
from pathlib import Path

from fairlead.cli.flags import add_form, add_state, describe_command

TYPE_CHECKING = False
if TYPE_CHECKING:
    from fairlead.cli.flags import Commands, Run
    from fairlead.hotfix.publish.depot import Depot

# Below the state directory, unless flags say otherwise.
DEPOT = "hotfix"
OFFLINE_KEYS = "hotfix-keys"


def add_depot_command(
    commands: Commands, name: str, purpose: str, example: str, run: Run
) -> ArgumentParser:
    """Return a command of a group that works on a depot."""
    parser = commands.add_parser(name, help=purpose)
    describe_command(parser, purpose[0].upper() + purpose[1:] + ".", example, run)
    parser.add_argument(
        "--depot",
        type=Path,
        metavar="DIR",
        help=f"the depot of hotfixes (default: {DEPOT} in the state directory)",
    )
    add_form(parser)
    add_state(parser)
    return parser


def add_keys(parser: ArgumentParser) -> None:
    """Add where the release key is, which never lies in a depot."""
    parser.add_argument(
        "--keys",
        type=Path,
        metavar="DIR",
        help=f"the offline keys (default: {OFFLINE_KEYS} in the state directory)",
    )


def depot_of(arguments: Namespace) -> Depot:
    """Return the depot that the flags name."""
    from fairlead.hotfix.publish.depot import Depot

    return Depot(arguments.depot.absolute() if arguments.depot else _state(arguments) / DEPOT)


def offline_keys_of(arguments: Namespace) -> Path:
    """Return the directory of offline keys that the flags name."""
    given: Path | None = arguments.keys
    return given.absolute() if given else _state(arguments) / OFFLINE_KEYS


def _state(arguments: Namespace) -> Path:
    from fairlead.embedded.state_directory import find_state_directory

    return find_state_directory(arguments.state).path
