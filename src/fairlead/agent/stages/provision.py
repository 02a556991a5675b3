"""
Provision the node: by the image's bootstrap scripts, by an NBC command, or by the built-in steps.

Whatever happens here becomes an Outcome; the door in agent/boot.py turns an exception into one.
"""

from __future__ import annotations

from fairlead.agent.aks.command import BOOTSTRAP_COMMAND
from fairlead.agent.aks.script_environment import (
    read_components,
    read_usable_config,
    script_environment,
)
from fairlead.agent.host import is_regular_file
from fairlead.agent.once import HELD
from fairlead.agent.report.last_lines import last_lines
from fairlead.agent.report.redact import RedactedLines
from fairlead.agent.report.status import Outcome, find_status, read_status
from fairlead.agent.stages.read_features import environment_with_features
from fairlead.agent.stages.stage import done
from fairlead.errors import InputError, UnavailableError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from fairlead.agent.process import Finished
    from fairlead.agent.stages.stage import Boot, StageEnd

# A shell's code for "killed by a signal" starts here.
SIGNALLED = 128

# What the AKS scripts may put on the machine's own disk; re-rooted when a directory is the node.
_NODE_DIRECTORIES = ("/opt/azure/", "/var/log/azure/")

# With it a fix of ours is told what it is: see agent/hotfix/handed_fact.py.
HANDED_FACT = "FAIRLEAD_HOTFIX"

# NBC commands carry the same secrets as a node config, under these names.
SECRET_VARIABLES = (
    "TLS_BOOTSTRAP_TOKEN",
    "KUBELET_CLIENT_CONTENT",
    "SERVICE_PRINCIPAL_FILE_CONTENT",
    "SERVICE_PRINCIPAL_CLIENT_SECRET",
    "CUSTOM_SEARCH_REALM_PASSWORD",
    "HTTP_PROXY_URLS",
    "HTTPS_PROXY_URLS",
    "PROXY_VARS",
)


def provision(boot: Boot) -> StageEnd:
    """Afterwards `boot.outcome` says how provisioning ended; a failure raises after setting it."""
    if not (boot.inputs.node_config or boot.inputs.nbc_command):
        raise InputError("--provision-config or --nbc-cmd is required")
    if handed := boot.run.host.environment.pop(HANDED_FACT, ""):
        from fairlead.agent.hotfix.handed_fact import take_fact

        take_fact(boot, handed)
    if boot.agent:
        outcome = _provision_elsewhere(boot)
    elif boot.inputs.nbc_command:
        outcome = _run_nbc_command(boot)
    else:
        outcome = _provision_from_config(boot)
    boot.outcome = outcome
    if outcome.exit_code != 0:
        error = outcome.error or f"exit code {outcome.exit_code}"
        told = last_lines(boot.run.redactor, outcome.said)
        raise UnavailableError(f"{error}: {told}" if told else error)
    return done()


def has_bootstrap_scripts(boot: Boot) -> bool:
    """Say whether the image brings scripts; without them the built-in steps run."""
    return is_regular_file(boot.run.host, boot.run.layout.bootstrap_script)


def nbc_command_line(boot: Boot) -> list[str]:
    """Return how an NBC command is run. Raises InputError if it is not a regular file."""
    path = boot.inputs.nbc_command
    if not is_regular_file(boot.run.host, path):
        raise InputError(f"NBC command file {path} must be a regular file")
    return ["/bin/bash", "--", boot.run.host.real_path(path)]


def read_nbc_variables(boot: Boot) -> dict[str, str]:
    """Return the variables that the NBC command sets."""
    from fairlead.contract.nbc_command import environment_of_nbc_command

    text = boot.run.host.read_file(boot.inputs.nbc_command)
    return environment_of_nbc_command(text.decode("utf-8", "surrogateescape"))


def _provision_from_config(boot: Boot) -> Outcome:
    config = read_usable_config(boot)
    if not has_bootstrap_scripts(boot):
        from fairlead.agent.stages.built_in import run_built_in_steps

        return run_built_in_steps(boot, config)
    variables = script_environment(boot, config, read_components(boot))
    command = BOOTSTRAP_COMMAND
    if boot.run.host.is_directory:
        command, variables = _below_root(boot, command, variables)
    return _run_child(boot, command, {**environment_with_features(boot), **variables})


def _run_nbc_command(boot: Boot) -> Outcome:
    from fairlead.contract.node_secrets import spellings_of

    command = nbc_command_line(boot)
    variables = read_nbc_variables(boot)
    boot.run.redactor.learn(spellings_of(variables.get(name, "") for name in SECRET_VARIABLES))
    outcome = _run_child(boot, command, environment_with_features(boot))
    if boot.inputs.node_config:
        from fairlead.agent.aks.compare_environments import report_differences

        report_differences(boot, variables)
    return outcome


def _run_child(boot: Boot, command: list[str], environment: dict[str, str]) -> Outcome:
    if "\0" in "".join(environment.values()):
        name = next(name for name, value in environment.items() if "\0" in value)
        raise InputError("holds a NUL byte, which no environment can carry", field=name)
    lines = RedactedLines(boot.run.redactor, lambda text: boot.run.host.say(text.encode()))
    # An agent that a script starts takes its own turn.
    own = {name: value for name, value in environment.items() if name != HELD}
    try:
        finished = boot.run.host.run(command, environment=own, on_output=lines.feed)
    except OSError as error:
        from errno import E2BIG

        if error.errno != E2BIG:
            raise
        from fairlead.agent.aks.environment_size import too_large

        raise too_large(
            own, boot.read_config().config if boot.inputs.node_config else None
        ) from error
    lines.close()
    return _outcome_of(boot, finished)


def _outcome_of(boot: Boot, finished: Finished) -> Outcome:
    output = finished.output.decode("utf-8", "replace")
    if finished.exit_code == 0:
        return Outcome(0, output=output)
    said = output if output.strip() else _output_in_status(boot)
    return Outcome(finished.exit_code, f"exit status {finished.exit_code}", output, said)


def _output_in_status(boot: Boot) -> str:
    """Return what scripts that print to a log of their own put into the status they left."""
    try:
        output = read_status(boot.run.host, boot.run.layout).get("Output", "")
    except (OSError, InputError):
        return ""
    return output if isinstance(output, str) else ""


def _provision_elsewhere(boot: Boot) -> Outcome:
    """Let another agent provision; if the staged one dies without a verdict, do it here."""
    from fairlead.agent.stages.other_agent import (
        PROVISION_DEADLINE_S,
        provision_flags,
        run_other_agent,
    )

    words = ["provision", *provision_flags(boot)]
    finished = run_other_agent(boot, boot.agent, words, PROVISION_DEADLINE_S, _handed(boot))
    if boot.agent == boot.foreign_agent or not _died(boot, finished):
        return _outcome_of(boot, finished)
    cause = "hangs" if finished.is_timeout else f"died with exit code {finished.exit_code}"
    boot.run.log("ERROR", "staged agent gave no verdict, the baked one goes on", cause=cause)
    boot.run.record.note("fell_back", f"staged agent {cause}")
    fact = boot.hotfix_fact()
    fact.used, fact.cause = "", f"staged agent {cause} while it provisioned"
    boot.note_hotfix()
    boot.agent = boot.foreign_agent
    provision(boot)
    assert boot.outcome is not None  # noqa: S101 - provision sets it or raises
    return boot.outcome


def _handed(boot: Boot) -> dict[str, str]:
    if boot.foreign_agent:
        return {}
    from fairlead.agent.hotfix.handed_fact import hand_fact

    return {HANDED_FACT: hand_fact(boot)}


def _died(boot: Boot, finished: Finished) -> bool:
    has_status = find_status(boot.run.host, boot.run.layout) is not None
    return finished.exit_code != 0 and (finished.exit_code >= SIGNALLED or not has_status)


def _below_root(
    boot: Boot, command: list[str], variables: dict[str, str]
) -> tuple[list[str], dict[str, str]]:
    """Point scripts at the directory that stands for the node, never at this machine."""
    moved = {
        name: boot.run.host.real_path(value) if value.startswith(_NODE_DIRECTORIES) else value
        for name, value in variables.items()
    }
    line = command[-1]
    for directory in _NODE_DIRECTORIES:
        line = line.replace(directory, boot.run.host.real_path(directory))
    return [*command[:-1], line], moved
