"""
containerd's config.toml, in the format of the containerd that is there: containerd_text.py.
"""

from __future__ import annotations

from fairlead.agent.host import is_regular_file
from fairlead.agent.steps.containerd_text import config_version, render_containerd_config
from fairlead.agent.steps.programs import program_path
from fairlead.agent.steps.step import FILES_ONLY, StepOutcome
from fairlead.agent.steps.systemd import has_systemd, run_command
from fairlead.agent.steps.taken_files import CONTAINERD_CONFIG, REGISTRY_HOSTS
from fairlead.agent.steps.write import PUBLIC, apply_file
from fairlead.contract.node_settings import containerd_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from fairlead.agent.host import Host
    from fairlead.contract.node_config import NodeConfig

SOCKET = "/run/containerd/containerd.sock"

# Where CNI plugins are: containerd's own default, and the packages of Debian and Ubuntu.
UPSTREAM_PLUGINS = "/opt/cni/bin"
PACKAGED_PLUGINS = "/usr/lib/cni"

# 2.1 brought `bin_dirs`, and 2.2 took `bin_dir` out of format 3.
FIRST_WITH_TWO_DIRECTORIES = (2, 1)

# The plugin that containerd itself needs before any pod.
LOOPBACK = "loopback"


def apply_containerd_config(host: Host, config: NodeConfig) -> StepOutcome:
    """Leave a config.toml that this machine's containerd reads."""
    outcome = StepOutcome([], [], "" if has_systemd(host) else FILES_ONLY)
    found = None
    if has_systemd(host):
        found = number_of(run_command(host, [program_path(host, "containerd"), "--version"]))
    version = config_version(containerd_of(config), found[0] if found else None)
    text = render_containerd_config(config, version, network_plugins_of(host, version, found))
    apply_file(host, CONTAINERD_CONFIG, text.encode(), PUBLIC, outcome)
    # containerd only warns about a missing directory; it is made so that a mirror can drop in.
    host.make_directory(REGISTRY_HOSTS)
    return outcome


def network_plugins_of(
    host: Host, version: int, found: tuple[int, int] | None
) -> dict[str, object]:
    """
    Return what the table `cni` needs so that the image's plugins are found.

    Nothing if they are where containerd looks by itself, or nowhere yet. Two directories where
    it takes two: what installs itself into a running node uses the first.
    """
    is_found = is_regular_file(host, f"{UPSTREAM_PLUGINS}/{LOOPBACK}")
    if is_found or not is_regular_file(host, f"{PACKAGED_PLUGINS}/{LOOPBACK}"):
        return {}
    if version > 2 and found and found >= FIRST_WITH_TWO_DIRECTORIES:  # noqa: PLR2004 - a format
        return {"bin_dirs": [UPSTREAM_PLUGINS, PACKAGED_PLUGINS]}
    return {"bin_dir": PACKAGED_PLUGINS}


def number_of(answer: str) -> tuple[int, int]:
    """
    Return major and minor of what `containerd --version` printed, (1, 0) if they cannot be told.

    Upstream prints `containerd NAME v2.1.4 COMMIT`, Debian `containerd NAME 1.6.20~ds1 ...`.
    """
    for word in answer.split():
        major, dot, rest = word.removeprefix("v").partition(".")
        if dot and major.isascii() and major.isdigit():
            minor = rest.partition(".")[0]
            return int(major), int(minor) if minor.isascii() and minor.isdigit() else 0
    return 1, 0
