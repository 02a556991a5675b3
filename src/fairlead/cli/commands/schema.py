"""`fairlead schema`: the documents as JSON Schema, for editors and other programs."""

from __future__ import annotations

from argparse import ArgumentParser, Namespace

from fairlead.cli.flags import describe_command
from fairlead.cli.request import write_json

EXAMPLE = """\
example: let an editor complete and judge pools while you type
  fairlead schema NodePool > node-pool.schema.json

In a YAML file, for the YAML language server:
  # yaml-language-server: $schema=node-pool.schema.json
"""

KINDS = ("NodePool", "PlatformConfig")


def add_commands(parser: ArgumentParser) -> None:
    """Add the argument of schema."""
    describe_command(parser, "Print the JSON Schema of a document.", EXAMPLE, _run)
    parser.add_argument("kind", choices=KINDS, metavar="KIND", help=" or ".join(KINDS))


def _run(arguments: Namespace) -> int:
    from fairlead.inputs.schema import node_pool_schema, platform_config_schema

    write_json(node_pool_schema() if arguments.kind == "NodePool" else platform_config_schema())
    return 0
