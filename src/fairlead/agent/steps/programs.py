"""
The programs that the image must bring.

Looked for by path: a boot that would fail after a minute of other steps fails here, in the first
millisecond, with the name of what to install.
"""

from __future__ import annotations

from fairlead.agent.host import is_executable_file
from fairlead.agent.steps.step import FILES_ONLY, StepOutcome
from fairlead.agent.steps.systemd import has_systemd
from fairlead.errors import UnavailableError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from fairlead.agent.host import Host
    from fairlead.contract.node_config import NodeConfig

# Where packages and where release archives put them.
DIRECTORIES = ("/usr/bin", "/usr/local/bin", "/opt/bin")

# program: what an image builder installs to get it
REQUIRED = {
    "containerd": "the containerd package of Debian or Ubuntu, or containerd.io",
    "kubelet": "the kubelet package of pkgs.k8s.io",
}


def find_program(host: Host, name: str) -> str | None:
    """Return the path of a program, or None if the machine lacks it."""
    for directory in DIRECTORIES:
        if is_executable_file(host, f"{directory}/{name}"):
            return f"{directory}/{name}"
    return None


def program_path(host: Host, name: str) -> str:
    """Return the path of a program; where its package will put it if it is not there yet."""
    return find_program(host, name) or f"{DIRECTORIES[0]}/{name}"


def apply_programs(host: Host, _config: NodeConfig) -> StepOutcome:
    """Find containerd and kubelet. A directory root may get them later."""
    found = {name: find_program(host, name) for name in REQUIRED}
    missing = [name for name, path in found.items() if path is None]
    if missing and has_systemd(host):
        advice = "; ".join(f"{name} is missing: install {REQUIRED[name]}" for name in missing)
        raise UnavailableError(advice)
    already = [path for path in found.values() if path is not None]
    return StepOutcome([], already, "" if has_systemd(host) else FILES_ONLY)
