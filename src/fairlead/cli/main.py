"""
The `fairlead` command, and the door where errors become exit codes.

Only the chosen group of commands is imported. stdout carries what was asked for and nothing else;
everything for people goes to stderr. Exit codes are those of fairlead.errors and cli.output, and
DIFFERS.
"""

from __future__ import annotations

import argparse
import importlib
import sys

from fairlead import __version__
from fairlead.cli import cluster
from fairlead.cli.failure import print_error, tell_failure
from fairlead.cli.flags import DATA, add_plane_flags
from fairlead.cli.output import FORM, FORMS, FULL, JSON, OutputEndedError, escaped_output
from fairlead.cli.parser import (
    Parser,
    UsageError,
    commands_of,
    find_command,
    meant,
    refuse_unknown_flags,
    refuse_unusable,
)
from fairlead.errors import FairleadError, InputError, InvariantError

# group or command: (module of cli/commands, what it is for). MODULE has add_commands(parser);
# MODULE:FUNCTION names another function, where one module adds several rows.
GROUPS = {
    "up": ("up:add_up", "start a control plane and a pool of three on this computer"),
    "down": ("up:add_down", "stop the control plane; its machines stay or go"),
    "operator": ("kube.operator", "run the control plane of a cluster, as a process in it"),
    "payload": ("kube.payload", "serve the machines of a cluster, as a process in it"),
    "extension": ("kube.extension", "let Cluster API change machines in place, as a process in it"),
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
    "events": ("story.events", "what happened to pools and machines, and happens from here on"),
    "logs": ("story.logs", "what a machine printed"),
    "timeline": ("story.timeline", "the story of a pool, and where the time of a boot went"),
    "userdata": ("userdata", "what a machine boots from: render it, inspect it"),
    "hotfix": ("hotfix.group", "fixes of one image base: build, publish, promote, withdraw"),
    "keys": ("keys", "who signs hotfixes: make, replace and list keys"),
    "whoami": ("whoami", "who you are to the control plane, and what you may do"),
    "certificates": ("certificates", "which authority machines trust, and replace it"),
    "schema": ("schema", "print the JSON Schema of a document"),
    "completion": ("completion", "print a completion script for a shell"),
}

# Groups in which a first word that is none of these is a name, and which command takes it.
NAMES_GO_TO = {"timeline": ("of", ("of", "show", "compare", "-h", "--help"))}

# Flags that may stand before a command as well as behind it, and how many words each takes along.
ANYWHERE = {"--state": 1, "-o": 1, "--output": 1, "--json": 0, **cluster.ANYWHERE}

INTERRUPTED = 130  # 128 + SIGINT, as a shell counts it


def main() -> int:
    """Run the command that sys.argv names; the process exits with what this returns."""
    return run_command(sys.argv[1:])


def run_command(words: list[str]) -> int:
    """Run one command and return its exit code. Raises SystemExit for --help and --version."""
    with escaped_output() as out:
        try:
            try:
                return _run(words)
            finally:
                out.flush()
        except OutputEndedError as ended:
            out.forget()
            if ended.code == FULL:
                from fairlead.telling.errno_text import os_problem

                print_error(f"stdout takes no more: {os_problem(ended.why)}")
            return ended.code


def _run(words: list[str]) -> int:
    try:
        FORM.set(form_in(words))
        code: int = _parsed(words)
    except OutputEndedError:
        raise
    except KeyboardInterrupt:
        return INTERRUPTED
    except FairleadError as error:
        return tell_failure(error)
    except OSError as error:
        from fairlead.telling.errno_text import os_problem

        return tell_failure(InputError(os_problem(error)))
    except Exception as error:  # noqa: BLE001 - door 3: a defect in a command ends as an exit code
        return tell_failure(InvariantError(f"defect: {error!r}"))
    return code


def _parsed(words: list[str]) -> int:
    """Run the command that the words name; without any, print what there is."""
    words = whole_words(asked_for_help(flags_last(words)))
    cluster.refuse_elsewhere(words)
    parser = make_parser(words)
    if not words:
        parser.print_help()
        return InputError.exit_code
    _refuse_unknown_group(words[0])
    command, rest = find_command(parser, words)
    if commands_of(command) and not rest:
        command.print_help(sys.stderr)
        return InputError.exit_code
    refuse_unknown_flags(command, rest)
    arguments, beyond = parser.parse_known_args(words)
    if beyond:
        problem = f"found {beyond[0]!r} where nothing more is expected"
        raise UsageError(problem, command.prog, f"{command.prog} --help says more")
    refuse_unusable(command, arguments)
    # Each command has flags for what it can do; what it asks for is the same for all.
    form = str(getattr(arguments, "form", None) or "")
    FORM.set(form)
    arguments.json = form in DATA or getattr(arguments, "json", False)
    return int(arguments.run(arguments))


def _refuse_unknown_group(word: str) -> None:
    """Raise UsageError for a word that is no command; if it is one of some group, name those."""
    if word in GROUPS or word.startswith("-"):
        return
    whole = make_parser([])
    groups = commands_of(whole)
    for name, (place, _) in GROUPS.items():
        add_group(groups[name], place)
    having = [f"fairlead {name} {word}" for name in GROUPS if word in commands_of(groups[name])]
    hint = f"did you mean {' or '.join(having)}?" if having else meant(word, GROUPS, "fairlead")
    raise UsageError(f"there is no command {word!r}", "fairlead", hint)


def form_in(words: list[str]) -> str:
    """Return the form that the words ask for, however wrong they are otherwise."""
    for at, word in enumerate(words):
        if word == "--json":
            return JSON
        if word in ("-o", "--output") and "".join(words[at + 1 : at + 2]) in FORMS:
            return words[at + 1]
    return ""


def flags_last(words: list[str]) -> list[str]:
    """Return the words with flags that stand before the command put behind everything else."""
    kept: list[str] = []
    moved: list[str] = []
    rest = list(words)
    while rest and len(kept) < 2:  # noqa: PLR2004 - a group and its command
        word = rest.pop(0)
        flag, equals, _ = word.partition("=")
        if flag in ANYWHERE:
            count = 0 if equals else ANYWHERE[flag]
            moved += [word, *rest[:count]]
            del rest[:count]
        elif word.startswith("-"):
            rest.insert(0, word)
            break
        else:
            kept.append(word)
    at = rest.index("--") if "--" in rest else len(rest)
    return [*kept, *rest[:at], *moved, *rest[at:]]


def asked_for_help(words: list[str]) -> list[str]:
    """Return the words with `help COMMAND` as what it is short for: `COMMAND --help`."""
    if words[:1] != ["help"]:
        return words
    at = next((at for at, word in enumerate(words) if word.startswith("-")), len(words))
    return [*words[1:at], "--help"]  # flags say nothing about a help


def whole_words(words: list[str]) -> list[str]:
    """Return the words with the command that a bare name stands for: `timeline workers`."""
    command, known = NAMES_GO_TO.get("".join(words[:1]), ("", ()))
    if not command or len(words) == 1 or words[1] in known:
        return words
    return [words[0], command, *words[1:]]


def make_parser(words: list[str]) -> argparse.ArgumentParser:
    """Return the parser of every group, and of the commands in those that the words name."""
    parser = Parser(
        prog="fairlead", description="Boots, fixes and rolls Kubernetes nodes without surprises."
    )
    parser.add_argument("--version", action="version", version=__version__)
    add_plane_flags(parser)
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
