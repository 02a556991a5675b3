"""What provisioning would do with these inputs, without doing it."""

from __future__ import annotations

from fairlead.agent.aks.command import BOOTSTRAP_COMMAND
from fairlead.agent.aks.script_environment import (
    read_components,
    read_usable_config,
    script_environment,
)
from fairlead.agent.stages.provision import (
    has_bootstrap_scripts,
    nbc_command_line,
    read_nbc_variables,
)
from fairlead.contract.json_text import encode_json
from fairlead.errors import InputError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from fairlead.agent.aks.components import Components
    from fairlead.agent.stages.stage import Boot


def describe_provision(boot: Boot, *, as_json: bool) -> str:
    """
    Return the command that would run, or with as_json its arguments, environment and receipt.

    `runs` says which way this image provisions; `stops` is there only if the boot would stop,
    and says why. Secrets are part of the environment: this is for the operator's own terminal.
    """
    answer = _answer(boot)
    if as_json:
        return encode_json(answer) + "\n"
    if "stops" in answer:
        return f"would stop: {answer['stops']}\n"
    if answer["runs"] == "built-in-steps":
        return "would run the built-in steps: " + ", ".join(answer["steps"]) + "\n"
    return "would run: " + " ".join(answer["args"]) + "\n"


def _answer(boot: Boot) -> dict[str, Any]:
    if not (boot.inputs.node_config or boot.inputs.nbc_command):
        raise InputError("--provision-config or --nbc-cmd is required")
    if boot.inputs.nbc_command:
        command = nbc_command_line(boot)
        return {
            "args": command,
            "env": read_nbc_variables(boot),
            "receipt": {},
            "runs": "nbc-command",
        }
    parsed = boot.read_config()
    components, stops = _components_or_why_not(boot)
    answer: dict[str, Any] = {
        "args": BOOTSTRAP_COMMAND,
        "env": script_environment(boot, parsed.config, components),
        "receipt": parsed.receipt.encode(),
        "runs": "bootstrap-scripts",
    }
    if not has_bootstrap_scripts(boot):
        from fairlead.agent.steps.table import NODE_STEPS

        answer["runs"] = "built-in-steps"
        answer["steps"] = [step.name for step in NODE_STEPS]
        stops = ""
    try:
        read_usable_config(boot)
    except InputError as error:
        stops = str(error)
    if stops:
        answer["stops"] = stops
    return answer


def _components_or_why_not(boot: Boot) -> tuple[Components, str]:
    from fairlead.agent.aks.components import Components

    try:
        return read_components(boot), ""
    except (InputError, OSError) as error:
        return Components(), str(error)
