"""`fairlead completion`: a script for bash, zsh or fish. At TAB time no Python runs."""

from __future__ import annotations

import sys
from argparse import ArgumentParser, Namespace

from fairlead.cli.flags import describe_command

EXAMPLE = """\
example: in this shell, and in every bash from now on
  source <(fairlead completion bash)
  fairlead completion bash > ~/.local/share/bash-completion/completions/fairlead

zsh: put the output into a file called _fairlead in a directory of $fpath.
fish: fairlead completion fish > ~/.config/fish/completions/fairlead.fish
Commands, flags, their choices and files are completed; names of pools and machines are not.
"""

SHELLS = ("bash", "zsh", "fish")


def add_commands(parser: ArgumentParser) -> None:
    """Add the argument of completion."""
    describe_command(parser, "Print a completion script for a shell.", EXAMPLE, _run)
    parser.add_argument("shell", choices=SHELLS, metavar="SHELL", help=", ".join(SHELLS))


def _run(arguments: Namespace) -> int:
    from fairlead.cli.completion_scripts import SCRIPTS

    sys.stdout.write(SCRIPTS[arguments.shell]())
    return 0
