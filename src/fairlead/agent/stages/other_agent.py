"""
Run an agent that is not this process: a staged hotfix, or the program that BIN_PATH names.

The staged agent is a canary inside the boot. It must say the expected version, pass its own
self-test and plan this very node before it may provision it, all under one deadline. A staged
neighbour of a foreign agent is foreign too: it knows `version` and no self-test.
"""

from __future__ import annotations

from fairlead import __version__
from fairlead.agent.report.clock_text import NS_PER_S
from fairlead.agent.stages.read_features import environment_with_features
from fairlead.agent.stages.stage import done, skipped
from fairlead.contract.image_version import is_version
from fairlead.errors import UnavailableError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from fairlead.agent.host import Host
    from fairlead.agent.process import Finished
    from fairlead.agent.stages.stage import Boot, StageEnd

# As deploy/node/launcher.py begins.
OUR_FIRST_LINE = b"#!/usr/bin/python3 -ISXutf8\n"

# A healthy agent answers all three questions in 0.2 s; 5 s leaves room for a cold, slow disk.
CANARY_DEADLINE_S = 5.0

# The AKS agent says its version in 20 ms; 2 s leaves room for 20 MB on a cold, slow disk.
VERSION_DEADLINE_S = 2.0

# The AKS scripts give themselves 15 minutes. The baked agent, which goes on after a hang, has what
# is left of the 30 minutes of fairlead-node.service.
PROVISION_DEADLINE_S = 1200.0


def run_other_agent(
    boot: Boot,
    program: str,
    words: list[str],
    deadline_s: float,
    handed: dict[str, str] | None = None,
) -> Finished:
    """Run one command of another agent; its output is passed on to stderr. handed: variables."""
    host = boot.run.host
    command = [*start_of(boot, program), *words, *boot.program_flags]
    environment = {**environment_with_features(boot), **(handed or {})}
    return host.run(command, environment=environment, deadline_s=deadline_s, on_output=host.say)


def start_of(boot: Boot, program: str) -> list[str]:
    """
    Return the words that start a program.

    Our own program names the Python of a machine. A directory has none: ours runs it instead.
    """
    host = boot.run.host
    path = host.real_path(program)
    if not host.is_directory or not find_first_bytes(host, program).startswith(OUR_FIRST_LINE):
        return [path]
    import sys

    return [sys.executable, "-I", "-S", "-X", "utf8", path]


def find_first_bytes(host: Host, path: str) -> bytes:
    """Return the beginning of a file; b'' if it cannot be read."""
    try:
        return host.read_file(path)[: len(OUR_FIRST_LINE)]
    except OSError:
        return b""


def ask_foreign_agent(boot: Boot, command: str, deadline_s: float) -> StageEnd:
    """Let the program that BIN_PATH names do a hotfix stage; its failure is passed over."""
    finished = run_other_agent(boot, boot.foreign_agent, [command], deadline_s)
    if finished.exit_code != 0:
        return skipped(f"{command} of {boot.foreign_agent}: exit code {finished.exit_code}")
    return done()


def baked_version(boot: Boot) -> str:
    """Return the version that a fix must be a fix of. Raises UnavailableError if nobody knows."""
    if not boot.foreign_agent:
        return __version__
    if boot.foreign_version is None:
        boot.foreign_version = ask_foreign_version(boot)
    version = boot.foreign_version
    if not version:
        raise UnavailableError(f"{boot.foreign_agent} does not say which version it would replace")
    return version


def ask_foreign_version(boot: Boot) -> str:
    """Return the version of the program that BIN_PATH names; '' if it tells none."""
    host = boot.run.host
    # No flags of ours: this question is about no file, and a foreign program may know none.
    command = [host.real_path(boot.foreign_agent), "version"]
    environment = environment_with_features(boot)
    try:
        finished = host.run(command, environment=environment, deadline_s=VERSION_DEADLINE_S)
    except OSError:
        return ""
    return version_in(finished.output) if finished.exit_code == 0 else ""


def version_in(output: bytes) -> str:
    """Return the one version among these lines, log lines passed over; '' if none or several."""
    lines = output.decode("utf-8", "replace").split("\n")
    found = {line.strip() for line in lines if is_version(line)}
    return found.pop() if len(found) == 1 else ""


def prove_staged_agent(boot: Boot, expected_version: str) -> None:
    """Return if the staged agent may take over; else raise UnavailableError with the cause."""
    host = boot.run.host
    end_ns = host.monotonic_ns() + int(CANARY_DEADLINE_S * NS_PER_S)
    if boot.fix_until_ns:
        end_ns = min(end_ns, boot.fix_until_ns)
    environment = environment_with_features(boot)
    for words in _questions(boot):
        remaining_s = max(0.0, (end_ns - host.monotonic_ns()) / NS_PER_S)
        command = [*start_of(boot, boot.run.layout.staged_agent), *words]
        try:
            finished = host.run(command, environment=environment, deadline_s=remaining_s)
        except OSError as error:
            raise UnavailableError(f"staged agent does not start: {error}") from error
        _refuse_unless_answered(words[0], finished, expected_version)


def _questions(boot: Boot) -> list[list[str]]:
    if boot.foreign_agent:
        return [["version"]]
    plan = ["provision", "--dry-run", *provision_flags(boot)]
    return [[*words, *boot.program_flags] for words in (["version"], ["self-test"], plan)]


def provision_flags(boot: Boot) -> list[str]:
    """Return the inputs as the AKS launcher writes them."""
    flags = []
    if boot.inputs.node_config:
        flags.append(f"--provision-config={boot.run.host.real_path(boot.inputs.node_config)}")
    if boot.inputs.nbc_command:
        flags.append(f"--nbc-cmd={boot.run.host.real_path(boot.inputs.nbc_command)}")
    return flags


def _refuse_unless_answered(word: str, finished: Finished, expected_version: str) -> None:
    if finished.is_timeout:
        raise UnavailableError(f"staged agent hangs in {word}")
    if finished.exit_code != 0:
        raise UnavailableError(f"staged agent fails {word} with exit code {finished.exit_code}")
    if word == "version":
        said = finished.output.decode("utf-8", "replace").strip()
        found = version_in(finished.output) or said
        if found != expected_version:
            raise UnavailableError(
                f"staged agent says version {found[:40]!r}, expected {expected_version!r}"
            )
