"""
The kubelet's command line: ours, then the config's flags, then labels.

It replaces the command line of the image's unit, kubeadm's drop-in included. Every argument is
one quoted word, so that a value can be neither split nor expanded by systemd.
"""

from __future__ import annotations

from fairlead.agent.steps.kubelet.labels import (
    ALPHANUMERIC,
    LABELS_FIELD,
    render_labels,
    require_taints,
)
from fairlead.agent.steps.one_line import entry_field, is_made_of, one_line
from fairlead.agent.steps.programs import program_path
from fairlead.agent.steps.step import FILES_ONLY, StepOutcome
from fairlead.agent.steps.systemd import command_word, drop_in_path, has_systemd
from fairlead.agent.steps.taken_files import (
    BOOTSTRAP_KUBECONFIG,
    FLAGS_FIELD,
    KUBECONFIG,
    KUBELET_CONFIG,
)
from fairlead.agent.steps.write import PUBLIC, apply_file
from fairlead.errors import InputError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from fairlead.agent.host import Host
    from fairlead.contract.node_config import NodeConfig

DROP_IN = drop_in_path("kubelet.service", "command")

# Files that other steps write. A bootstrap file that does not exist is never read once the
# kubelet has a kubeconfig, so the flag is there with a client certificate too.
OWN_FLAGS = {
    "--config": KUBELET_CONFIG,
    "--kubeconfig": KUBECONFIG,
    "--bootstrap-kubeconfig": BOOTSTRAP_KUBECONFIG,
}
LABELS_FLAG = "--node-labels"
TAINTS_FLAG = "--register-with-taints"


def kubelet_flags(config: NodeConfig) -> dict[str, str]:
    """Return every flag by name, with dashes, in the order of the command line."""
    flags = dict(OWN_FLAGS)
    for name, value in sorted(config.mapping(FLAGS_FIELD).items()):
        field = entry_field(FLAGS_FIELD, name)
        if not name.startswith("--") or not is_made_of(name[2:], ALPHANUMERIC + "-_."):
            raise InputError("not the name of a flag", field=field, hint="expected --flag-name")
        flags.setdefault(name, one_line(value if isinstance(value, str) else "", field))
    if flags.get(TAINTS_FLAG):
        require_taints(flags[TAINTS_FLAG], entry_field(FLAGS_FIELD, TAINTS_FLAG))
    labels = render_labels(config.mapping(LABELS_FIELD))
    if labels:
        # The last of two equal keys wins, so the labels of their own field come last.
        given = flags.pop(LABELS_FLAG, "")
        flags[LABELS_FLAG] = f"{given},{labels}" if given else labels
    return flags


def render_command_drop_in(program: str, flags: dict[str, str]) -> str:
    """Return a drop-in whose command line is the program with these flags, and nothing else."""
    words = [program, *(command_word(f"{name}={value}") for name, value in flags.items())]
    return "[Service]\nExecStart=\nExecStart=" + " \\\n  ".join(words) + "\n"


def apply_kubelet_flags(host: Host, config: NodeConfig) -> StepOutcome:
    """Leave the kubelet's command line in a drop-in."""
    outcome = StepOutcome([], [], "" if has_systemd(host) else FILES_ONLY)
    flags = kubelet_flags(config)
    text = render_command_drop_in(program_path(host, "kubelet"), flags)
    apply_file(host, DROP_IN, text.encode(), PUBLIC, outcome)
    replaced = [name for name in OWN_FLAGS if name in config.mapping(FLAGS_FIELD)]
    if replaced:
        names = ", ".join(replaced)
        outcome.add_note(f"{names} of the config is not used: the built-in steps set it")
    return outcome
