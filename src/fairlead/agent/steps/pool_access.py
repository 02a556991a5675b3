"""
Who may log in to this machine, and with what its kubelet pulls images.

Both go into files that programs read by themselves, so nothing is restarted. Keys are root's: the
default user of an image is made by cloud-init, which may come later, or never. They stand in the
second file that sshd reads, because the first one is cloud-init's to write.
"""

from __future__ import annotations

from fairlead.agent.files import find_file
from fairlead.agent.steps.step import FILES_ONLY, StepOutcome
from fairlead.agent.steps.systemd import has_systemd
from fairlead.agent.steps.taken_files import KEYS_FILE, logins_file
from fairlead.agent.steps.write import SECRET, apply_absence, apply_file
from fairlead.contract.json_text import encode_json
from fairlead.contract.node_settings import pull_secret_of, ssh_keys_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from fairlead.agent.host import Host
    from fairlead.contract.node_config import NodeConfig


# The first line of a file that we wrote, by which we know it again.
OUR_KEYS = "# Written by fairlead-node: the keys of this pool.\n"


# What a file of logins that we wrote holds besides them; the kubelet passes over it.
OUR_MARK = {"writtenBy": "fairlead-node"}
OUR_MARK_WRITTEN = b'"writtenBy": "fairlead-node"'


def apply_ssh_keys(host: Host, config: NodeConfig) -> StepOutcome:
    """Let exactly the keys of this config log in as root, besides those of the image."""
    outcome = StepOutcome([], [], "" if has_systemd(host) else FILES_ONLY)
    keys = ssh_keys_of(config)
    if keys:
        text = OUR_KEYS + "".join(f"{key}\n" for key in keys)
        apply_file(host, KEYS_FILE, text.encode(), SECRET, outcome)
    elif (find_file(host, KEYS_FILE) or b"").startswith(OUR_KEYS.encode()):
        apply_absence(host, KEYS_FILE, outcome)
    return outcome


def apply_pull_secret(host: Host, config: NodeConfig) -> StepOutcome:
    """Give the kubelet the logins of this config, or none of ours."""
    outcome = StepOutcome([], [], "" if has_systemd(host) else FILES_ONLY)
    path = logins_file(config)
    secret = pull_secret_of(config)
    if secret:
        text = encode_json({**OUR_MARK, **secret}, indent=2) + "\n"
        apply_file(host, path, text.encode(), SECRET, outcome)
    elif OUR_MARK_WRITTEN in (find_file(host, path) or b""):
        apply_absence(host, path, outcome)
    return outcome
