"""
The command line of the agent. `argparse` costs 10 ms of start-up; this is what we use of it.

Flags are `--name value` or `--name=value`; a switch takes no value. Every path of the layout is a
flag, with dashes for underscores.
"""

from __future__ import annotations

from fairlead.agent.layout import PATHS
from fairlead.errors import InputError

# The AKS names of two paths.
ALIASES = {"provision-config": "node-config", "nbc-cmd": "nbc-command"}

PATH_FLAGS = tuple(name.replace("_", "-") for name in PATHS)

# Every command takes these.
COMMON_VALUES = ("root", "layout", *PATH_FLAGS, *ALIASES)

# Per command: flags with a value, and switches.
COMMANDS: dict[str, tuple[tuple[str, ...], tuple[str, ...]]] = {
    "provision": (("containerd-version",), ("again", "dry-run", "json")),
    "provision-wait": (("timeout",), ()),
    "check-hotfix": ((), ()),
    "download-hotfix": (("current-version",), ("dry-run", "json")),
    "boot": (("containerd-version",), ("again",)),
    "change": (("from", "containerd-version"), ()),
    "find-document": ((), ()),
    "conclude": ((), ()),
    "report": ((), ("json", "all")),
    "self-test": ((), ()),
    "version": ((), ()),
}

USAGE = """\
fairlead-node: turns this machine into a Kubernetes node, and says what happened.

usage: fairlead-node COMMAND [FLAGS]

  boot              the whole flow: features, hotfix, provision; once per document and boot,
                    --again runs it again
  change            take this node to the boot document --from FILE, in place: its service boots
                    from it, and exits as that did; safe to repeat
  find-document     put in place what a credential, seed or drive brings; exit 1 if nothing
  conclude          at the end of a boot that left no verdict: leave one, exit 1
  provision         provision from --provision-config FILE or --nbc-cmd FILE; like boot once per
                    document and boot, --again runs it again
                    --dry-run [--json] shows what would run and changes nothing
  provision-wait    wait for the verdict, print provision.json  [--timeout SECONDS]
  check-hotfix      refresh the hotfix pointer; always exits 0
  download-hotfix   stage the hotfix that the pointer names
                    --dry-run --json [--current-version V] shows the decision
  report            the last boot as a waterfall  [--json] [--all]
  self-test         prove that this agent can work on this machine
  version           print the version; so does --version

flags of every command:
  --root DIR        a directory stands for the machine: files only, nothing is started
  --layout NAME     aks or fairlead; found by itself where not given
  --PATH FILE       any path of the layout: """


class Arguments:
    """A parsed command line. `rest` is what is neither a flag nor its value."""

    __slots__ = ("command", "rest", "switches", "values")

    def __init__(self, command: str) -> None:
        self.command = command
        self.values: dict[str, str] = {}
        self.switches: set[str] = set()
        self.rest: list[str] = []


def parse_arguments(words: list[str]) -> Arguments:
    """Return the arguments of a known command. Raises InputError in the words of ANC."""
    if not words:
        raise InputError("missing command argument")
    arguments = Arguments(words[0])
    if arguments.command not in COMMANDS:
        raise InputError(f"unknown command: {arguments.command}")
    values, switches = COMMANDS[arguments.command]
    known_values = {*values, *COMMON_VALUES}
    pending = list(reversed(words[1:]))
    while pending:
        word = pending.pop()
        name, equals, value = word.removeprefix("--").partition("=")
        if not word.startswith("--") or (name not in known_values and name not in switches):
            arguments.rest.append(word)
        elif name in switches:
            arguments.switches.add(name)
        elif equals or pending:
            arguments.values[ALIASES.get(name, name)] = value if equals else pending.pop()
        else:
            raise InputError(f"flag needs a value: --{name}")
    return arguments


def usage() -> str:
    """Return the help text."""
    return USAGE + ", ".join(f"--{name}" for name in PATH_FLAGS) + "\n" + EXAMPLE


EXAMPLE = """
example: see what a node would do with a config, on any machine
  fairlead-node provision --provision-config node-config.json --dry-run --json
"""
