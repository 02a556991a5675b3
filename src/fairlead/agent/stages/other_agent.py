"""
Run an agent that is not this process: a staged hotfix, or the program that BIN_PATH names.

The staged agent is a canary inside the boot. It must say the expected version, pass its own
self-test and plan this very node before it may provision it, all under one deadline.
"""

from __future__ import annotations

from fairlead.agent.report.clock_text import NS_PER_S
from fairlead.agent.stages.read_features import environment_with_features
from fairlead.agent.stages.stage import done, skipped
from fairlead.errors import UnavailableError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from fairlead.agent.process import Finished
    from fairlead.agent.stages.stage import Boot, StageEnd

# A healthy agent answers all three questions in 0.2 s; 5 s leaves room for a cold, slow disk.
CANARY_DEADLINE_S = 5.0

# The AKS scripts give themselves 15 minutes; twice that is a hang.
PROVISION_DEADLINE_S = 1800.0


def run_other_agent(boot: Boot, program: str, words: list[str], deadline_s: float) -> Finished:
    """Run one command of another agent; its output is passed on to stderr."""
    host = boot.run.host
    command = [host.real_path(program), *words, *boot.program_flags]
    environment = environment_with_features(boot)
    return host.run(command, environment=environment, deadline_s=deadline_s, on_output=host.say)


def ask_foreign_agent(boot: Boot, command: str, deadline_s: float) -> StageEnd:
    """Let the program that BIN_PATH names do a hotfix stage; its failure is passed over."""
    finished = run_other_agent(boot, boot.foreign_agent, [command], deadline_s)
    if finished.exit_code != 0:
        return skipped(f"{command} of {boot.foreign_agent}: exit code {finished.exit_code}")
    return done()


def prove_staged_agent(boot: Boot, expected_version: str) -> None:
    """Return if the staged agent may take over; else raise UnavailableError with the cause."""
    host = boot.run.host
    end_ns = host.monotonic_ns() + int(CANARY_DEADLINE_S * NS_PER_S)
    questions = [["version"], ["self-test"], ["provision", "--dry-run", *provision_flags(boot)]]
    environment = environment_with_features(boot)
    for words in questions:
        remaining_s = max(0.0, (end_ns - host.monotonic_ns()) / NS_PER_S)
        command = [host.real_path(boot.run.layout.staged_agent), *words, *boot.program_flags]
        try:
            finished = host.run(command, environment=environment, deadline_s=remaining_s)
        except OSError as error:
            raise UnavailableError(f"staged agent does not start: {error}") from error
        _refuse_unless_answered(words[0], finished, expected_version)


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
        found = finished.output.decode("utf-8", "replace").strip()
        if found != expected_version:
            raise UnavailableError(
                f"staged agent says version {found[:40]!r}, expected {expected_version!r}"
            )
