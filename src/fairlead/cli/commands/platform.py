"""`fairlead platform`: what the platform adds to every pool. A change waits; it never rolls."""

from __future__ import annotations

import sys
from argparse import ArgumentParser, Namespace

from fairlead.answers.words import Severity
from fairlead.cli.flags import add_command, add_dry_run
from fairlead.cli.request import plane_of, write_answer, write_json

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

    from fairlead.inputs.leaf import Json

SET_EXAMPLE = """\
example: another data-plane proxy image for the fleet, with a notice that pools show; then unset
  fairlead platform set proxy.image=haproxy@sha256:bb --notice-id CHG-1042 --severity security
  fairlead platform set proxy.image=

VALUE is a YAML value, [a, b] is a list; nothing unsets the leaf. `fairlead platform list` names
the leaves that are set, `fairlead schema PlatformConfig` all that can be. No machine is replaced:
pools hold the change until their next rollout, unless they set a maximum age that is over.
"""
LIST_EXAMPLE = """\
example: every platform leaf that is set, and which pools do not have it yet
  fairlead platform list
"""
SHOW_EXAMPLE = """\
example: the document, to edit and apply again
  fairlead platform show
"""

SEVERITIES = tuple(severity.value for severity in Severity)


def add_commands(parser: ArgumentParser) -> None:
    """Add the commands of platform."""
    commands = parser.add_subparsers(metavar="COMMAND", required=True)
    change = add_command(commands, "set", "set or unset platform leaves", SET_EXAMPLE, _set)
    change.add_argument("leaf", nargs="+", metavar="LEAF=VALUE", help="LEAF= unsets it")
    change.add_argument("--notice-id", metavar="ID", help="what people call this change")
    change.add_argument("--owner", metavar="TEAM", help="who answers for it")
    change.add_argument("--severity", choices=SEVERITIES, help="how much holding it may hurt")
    add_dry_run(change)
    add_command(commands, "list", "list the leaves that are set", LIST_EXAMPLE, _list)
    add_command(commands, "show", "print the document", SHOW_EXAMPLE, _show)


def _set(arguments: Namespace) -> int:
    from fairlead.cli.files.platform_patch import platform_patch

    notice = {
        "id": arguments.notice_id,
        "owner": arguments.owner,
        "severity": arguments.severity,
    }
    patch = platform_patch(arguments.leaf, {key: text for key, text in notice.items() if text})
    return change_platform(arguments, patch)


def change_platform(arguments: Namespace, patch: Mapping[str, Json]) -> int:
    """Change the platform's leaves and say what that does to pools; an exit code."""
    answer = plane_of(arguments).patch_platform(patch, dry_run=arguments.dry_run)
    if arguments.json:
        write_answer(answer)
        return 0
    from fairlead.cli.screens.platform import effect_blocks
    from fairlead.cli.screens.show import write_blocks

    write_blocks(effect_blocks(answer.plans))
    return 0


def _list(arguments: Namespace) -> int:
    answer = plane_of(arguments).platform()
    if arguments.json:
        write_answer(answer)
        return 0
    from fairlead.cli.screens.blocks import line
    from fairlead.cli.screens.platform import platform_grid
    from fairlead.cli.screens.show import write_blocks

    grid = platform_grid(answer.leaves)
    write_blocks([grid] if grid.rows else [line("no platform leaf is set")])
    return 0


def _show(arguments: Namespace) -> int:
    document = plane_of(arguments).platform().document
    if arguments.json:
        write_json(document)
        return 0
    from fairlead.cli.files.yaml_text import yaml_of

    sys.stdout.write(yaml_of(document))
    return 0
