"""
The `fairlead` command, and the door where errors become exit codes.

Only the chosen group of commands is imported. stdout carries what was asked for and nothing else;
everything for people goes to stderr. Exit codes are those of fairlead.errors.
"""

from __future__ import annotations

import argparse
import importlib
import sys

from fairlead import __version__
from fairlead.errors import FairleadError, InputError, InvariantError

# group: (its module, what it is for). A module has add_commands(parser).
GROUPS = {
    "timeline": ("fairlead.cli.timeline", "where the time of a boot went, and how boots differ"),
    "userdata": ("fairlead.cli.userdata", "what a machine boots from: render it, inspect it"),
}


def main() -> int:
    """Run the command that sys.argv names; the process exits with what this returns."""
    return run_command(sys.argv[1:])


def run_command(words: list[str]) -> int:
    """Run one command and return its exit code. Raises SystemExit for --help and bad usage."""
    arguments = make_parser(words).parse_args(words)
    try:
        code: int = arguments.run(arguments)
    except BrokenPipeError:
        return 0  # the reader has what it wanted
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


def make_parser(words: list[str]) -> argparse.ArgumentParser:
    """Return the parser of every group, and of the commands in the one that the words name."""
    parser = argparse.ArgumentParser(
        prog="fairlead", description="Boots, fixes and rolls Kubernetes nodes without surprises."
    )
    parser.add_argument("--version", action="version", version=__version__)
    groups = parser.add_subparsers(metavar="GROUP", required=True)
    for name, (module, purpose) in GROUPS.items():
        group = groups.add_parser(name, help=purpose, description=purpose)
        if name in words[:1]:
            importlib.import_module(module).add_commands(group)
    return parser


def print_error(text: str) -> None:
    """Write one line for the person at the terminal."""
    sys.stderr.write(f"fairlead: {text}\n")
