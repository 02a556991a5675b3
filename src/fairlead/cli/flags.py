"""The flags that many commands share, and how a command says what it is for."""

from __future__ import annotations

from argparse import (
    ArgumentParser,
    ArgumentTypeError,
    Namespace,
    RawDescriptionHelpFormatter,
)
from pathlib import Path

from fairlead.cli.cluster import add_cluster_flags
from fairlead.cli.output import FORMS, JSON, NAME, YAML

TYPE_CHECKING = False
if TYPE_CHECKING:
    from argparse import _MutuallyExclusiveGroup, _SubParsersAction
    from collections.abc import Callable

    Commands = _SubParsersAction[ArgumentParser]
    Run = Callable[[Namespace], int]

# Forms in which an answer is written for scripts.
DATA = (JSON, YAML, NAME)

# plan and diff: nothing went wrong, and there is something to see.
DIFFERS = 10


def describe_command(parser: ArgumentParser, purpose: str, example: str, run: Run) -> None:
    """Give a command its sentence, an example that works as written, and what it runs."""
    parser.description = purpose
    parser.epilog = example
    parser.formatter_class = RawDescriptionHelpFormatter
    parser.set_defaults(run=run)


def add_command(
    commands: Commands, name: str, purpose: str, example: str, run: Run
) -> ArgumentParser:
    """Return a command of a group that talks to the control plane."""
    sentence = purpose[0].upper() + purpose[1:] + "."
    parser = commands.add_parser(name, help=purpose)
    describe_command(parser, sentence, example, run)
    add_plane_flags(parser)
    return parser


def add_plane_flags(parser: ArgumentParser) -> None:
    """Add what every command that talks to the control plane takes."""
    add_form(parser)
    add_state(parser)
    add_cluster_flags(parser)


def add_state(parser: ArgumentParser) -> None:
    """Add which control plane is talked to."""
    parser.add_argument(
        "--state",
        type=directory,
        metavar="DIR",
        help="the control plane that lives there (default: $FAIRLEAD_STATE, or the usual place)",
    )


def directory(text: str) -> Path:
    """Return a directory that was typed: nothing stands for the working directory elsewhere."""
    if not text:
        raise ArgumentTypeError("is empty, expected a directory")
    return Path(text)


def add_form(parser: ArgumentParser | _MutuallyExclusiveGroup) -> None:
    """Add what a command's answer is written as."""
    parser.add_argument(
        "-o",
        "--output",
        dest="form",
        choices=FORMS,
        metavar="FORMAT",
        help="json, yaml or name (names only) for scripts, errors too; wide: more columns",
    )
    add_json(parser)


def add_json(parser: ArgumentParser | _MutuallyExclusiveGroup) -> None:
    """Add --json to a command that has -o FORMAT."""
    parser.add_argument(
        "--json", dest="form", action="store_const", const=JSON, help="the same as -o json"
    )


def add_dry_run(parser: ArgumentParser) -> None:
    """Add --dry-run to a command that writes."""
    parser.add_argument("--dry-run", action="store_true", help="say what would happen, no more")


def add_yes(parser: ArgumentParser) -> None:
    """Add --yes to a command that asks before machines are disturbed."""
    parser.add_argument("--yes", action="store_true", help="do not ask")


def add_file(parser: ArgumentParser, *, is_needed: bool = True) -> None:
    """Add -f FILE."""
    parser.add_argument(
        "-f",
        "--file",
        type=Path,
        metavar="FILE",
        required=is_needed,
        help="YAML or JSON, one or more NodePool and PlatformConfig documents; - is stdin",
    )


def add_follow_flags(parser: ArgumentParser) -> None:
    """Add what a command takes that stays until a rollout is complete."""
    parser.add_argument("--no-wait", action="store_true", help="do not follow the rollout")
    add_timeout(parser)


def add_timeout(parser: ArgumentParser) -> None:
    """Add --timeout, which ends the following and never the rollout."""
    parser.add_argument(
        "--timeout", type=float, metavar="SECONDS", help="stop following after this (exit 4)"
    )
