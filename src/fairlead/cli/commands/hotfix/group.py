"""`fairlead hotfix`: which commands there are, in the order in which a fix meets them."""

from __future__ import annotations

from argparse import ArgumentParser

from fairlead.cli.commands.hotfix import (
    build,
    listing,
    promote,
    publish,
    reach,
    serve,
    status,
    token,
    withdraw,
)

PARTS = (build, publish, listing, status, promote, withdraw, reach, serve, token)


def add_commands(parser: ArgumentParser) -> None:
    """Add every command of hotfix."""
    commands = parser.add_subparsers(metavar="COMMAND", required=True)
    for part in PARTS:
        part.add(commands)
