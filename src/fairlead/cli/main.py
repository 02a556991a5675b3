"""
The `fairlead` command, and the door where errors become exit codes.

Only the chosen group of commands is imported. stdout carries what was asked for and nothing else;
everything for people goes to stderr. Exit codes are those of fairlead.errors, and DIFFERS.
"""

from __future__ import annotations

import argparse
import importlib
import sys

from fairlead import __version__
from fairlead.errors import FairleadError, InputError, InvariantError

# group or command: (module of cli/commands, what it is for). MODULE has add_commands(parser);
# MODULE:FUNCTION names another function, where one module adds several rows.
GROUPS = {
    "up": ("up:add_up", "start a control plane and a pool of three on this computer"),
    "down": ("up:add_down", "stop the control plane; its machines stay or go"),
    "backup": ("backup:add_backup", "keep all that a control plane knows in one file"),
    "restore": ("backup:add_restore", "go back to a backup, or take a damaged database as it is"),
    "pool": ("pool", "pools of machines: list, show, scale, pause, resume, force"),
    "platform": ("platform", "what the platform adds to every pool"),
    "machine": ("machine", "machines: list, show, delete, break on purpose"),
    "plan": ("plan", "what a file would replace, why, in what order, how long"),
    "apply": ("apply", "show the plan of a file, carry out exactly that, follow it"),
    "explain": ("explain", "why machines are, or are not, being replaced"),
    "rollout": ("rollout", "how far rollouts are, what they wait for, stop them"),
    "diff": ("diff", "leaf by leaf: a file against what is live, machines against it"),
    "timeline": ("timeline", "the story of a pool, and where the time of a boot went"),
    "userdata": ("userdata", "what a machine boots from: render it, inspect it"),
    "schema": ("schema", "print the JSON Schema of a document"),
    "completion": ("completion", "print a completion script for a shell"),
}

# Groups in which a first word that is none of these is a name, and which command takes it.
NAMES_GO_TO = {"timeline": ("of", ("of", "show", "compare", "-h", "--help"))}

INTERRUPTED = 130  # 128 + SIGINT, as a shell counts it


def main() -> int:
    """Run the command that sys.argv names; the process exits with what this returns."""
    return run_command(sys.argv[1:])


def run_command(words: list[str]) -> int:
    """Run one command and return its exit code. Raises SystemExit for --help and bad usage."""
    words = whole_words(words)
    arguments = make_parser(words).parse_args(words)
    try:
        code: int = arguments.run(arguments)
    except BrokenPipeError:
        return 0  # the reader has what it wanted
    except KeyboardInterrupt:
        return INTERRUPTED
    except FairleadError as error:
        print_error(str(error))
        return error.exit_code
    except OSError as error:
        print_error(str(error))
        return InputError.exit_code
    except Exception as error:  # noqa: BLE001 - door 3: a defect in a command ends as an exit code
        print_error(f"defect: {error!r}")
        return InvariantError.exit_code
    return code


def whole_words(words: list[str]) -> list[str]:
    """Return the words with the command that a bare name stands for: `timeline workers`."""
    command, known = NAMES_GO_TO.get("".join(words[:1]), ("", ()))
    if not command or len(words) == 1 or words[1] in known:
        return words
    return [words[0], command, *words[1:]]


def make_parser(words: list[str]) -> argparse.ArgumentParser:
    """Return the parser of every group, and of the commands in those that the words name."""
    parser = argparse.ArgumentParser(
        prog="fairlead", description="Boots, fixes and rolls Kubernetes nodes without surprises."
    )
    parser.add_argument("--version", action="version", version=__version__)
    groups = parser.add_subparsers(metavar="GROUP", required=True)
    for name, (place, purpose) in GROUPS.items():
        group = groups.add_parser(name, help=purpose, description=purpose)
        if name in words[:1]:
            add_group(group, place)
    return parser


def add_group(group: argparse.ArgumentParser, place: str) -> None:
    """Import the module of a row of GROUPS, and let it add its commands."""
    module, _, function = place.partition(":")
    commands = importlib.import_module(f"fairlead.cli.commands.{module}")
    getattr(commands, function or "add_commands")(group)


def print_error(text: str) -> None:
    """Write one line for the person at the terminal."""
    sys.stderr.write(f"fairlead: {text}\n")
