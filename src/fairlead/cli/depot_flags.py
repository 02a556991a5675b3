"""The flags of commands that work on a depot of hotfixes: where it is, and where keys are."""

from __future__ import annotations

from argparse import ArgumentParser, Namespace
from pathlib import Path

from fairlead.cli.cluster import (
    add_cluster_flags,
    cluster_named,
    refuse_without_lightkube,
    scope_of,
)
from fairlead.cli.flags import add_form, add_state, describe_command
from fairlead.errors import InputError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from fairlead.cli.flags import Commands, Run
    from fairlead.hotfix.catalog import Catalog
    from fairlead.hotfix.publish.depot import Depot
    from fairlead.hotfix.service.fleet import KnownFleet

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


def add_published_command(
    commands: Commands, name: str, purpose: str, example: str, run: Run
) -> ArgumentParser:
    """Return a command of a group that says what is published, in a depot or to a cluster."""
    parser = add_depot_command(commands, name, purpose, example, run)
    add_cluster_flags(parser)
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


def catalog_of(arguments: Namespace) -> Catalog:
    """Return what is published in the depot, or to the cluster, that the flags name."""
    if not _asks_cluster(arguments):
        return depot_of(arguments).read_catalog()
    from fairlead.kube.front.published import read_catalog

    client, scope = scope_of(arguments)
    return read_catalog(client, scope.home)


def fleet_of(arguments: Namespace) -> KnownFleet:
    """Return what the ledger of the depot, or of the cluster, that the flags name knows."""
    if not _asks_cluster(arguments):
        from fairlead.hotfix.service.fleet import Fleet

        return Fleet(depot_of(arguments).directory)
    from fairlead.cli.clock import present
    from fairlead.kube.front.published import SeenFleet

    client, scope = scope_of(arguments)
    return SeenFleet(client, scope.home, present())


def _asks_cluster(arguments: Namespace) -> bool:
    if not cluster_named(arguments):
        return False
    if arguments.depot:
        raise InputError("expected --kube or --depot", hint="they name two ledgers")
    refuse_without_lightkube()
    return True


def offline_keys_of(arguments: Namespace) -> Path:
    """Return the directory of offline keys that the flags name."""
    given: Path | None = arguments.keys
    return given.absolute() if given else _state(arguments) / OFFLINE_KEYS


def _state(arguments: Namespace) -> Path:
    from fairlead.embedded.state_directory import find_state_directory

    return find_state_directory(arguments.state).path
