"""`fairlead completion`: a script for bash, zsh or fish, and the names that it offers."""

from __future__ import annotations

import sys
from argparse import REMAINDER, SUPPRESS, Action, ArgumentParser, Namespace

from fairlead.cli.flags import describe_command

EXAMPLE = """\
example: in this shell, and in every bash from now on
  source <(fairlead completion bash)
  fairlead completion bash > ~/.local/share/bash-completion/completions/fairlead

zsh: put the output into a file called _fairlead in a directory of $fpath.
fish: fairlead completion fish > ~/.config/fish/completions/fairlead.fish
Commands, flags, their choices and files are completed, and the names of pools, machines and
platform leaves. Names are those of the control plane that --state or $FAIRLEAD_STATE chooses, or
with --kube of the cluster that the flags name, for which a TAB waits two seconds at most; where
none answers, none are offered.
"""

SHELLS = ("bash", "zsh", "fish")


def add_commands(parser: ArgumentParser) -> None:
    """Add the argument of completion."""
    describe_command(parser, "Print a completion script for a shell.", EXAMPLE, _run)
    parser.add_argument("shell", choices=SHELLS, metavar="SHELL", help=", ".join(SHELLS))
    parser.add_argument("--names", action=_PrintNames, nargs=REMAINDER, help=SUPPRESS)


class _PrintNames(Action):
    """`--names KINDS WORD...`, as --version does, instead of a command: for the scripts alone."""

    def __call__(
        self,
        parser: ArgumentParser,
        namespace: Namespace,  # noqa: ARG002 - argparse's
        values: object,
        option_string: str | None = None,  # noqa: ARG002 - argparse's
    ) -> None:
        """Print the names of these kinds, one per line, and end."""
        from fairlead.cli.completion_names import known_names

        kinds, *line = values if isinstance(values, list) and values else [""]
        sys.stdout.write("".join(f"{name}\n" for name in known_names(kinds, line)))
        parser.exit()


def _run(arguments: Namespace) -> int:
    from fairlead.cli.completion_scripts import script_for

    sys.stdout.write(script_for(arguments.shell))
    return 0
