"""
Mirrors of registries: one hosts.toml per registry, below the directory that config.toml names.

containerd reads these files at every pull, so nothing is restarted. It tries the mirrors in the
order of the file, then the registry itself.
"""

from __future__ import annotations

from fairlead.agent.files import find_file
from fairlead.agent.steps.containerd_config import REGISTRY_HOSTS
from fairlead.agent.steps.step import FILES_ONLY, StepOutcome
from fairlead.agent.steps.systemd import has_systemd
from fairlead.agent.steps.write import PUBLIC, apply_absence, apply_file
from fairlead.contract.node_settings import mirrors_of
from fairlead.contract.toml_text import render_toml

TYPE_CHECKING = False
if TYPE_CHECKING:
    from fairlead.agent.host import Host
    from fairlead.contract.node_config import NodeConfig

HOSTS_FILE = "hosts.toml"

# The first line of a file that we wrote, by which we know it again.
OURS = "# Written by fairlead-node: the mirrors of this pool.\n"

CAPABILITIES = ["pull", "resolve"]

# An address that spells the protocol's own path element is whole: containerd must not add it.
PROTOCOL_PATH = "/v2/"


def mirror_files(config: NodeConfig) -> dict[str, bytes]:
    """Return the files, by path, that this config asks for."""
    return {
        f"{REGISTRY_HOSTS}/{source}/{HOSTS_FILE}": render_hosts(addresses).encode()
        for source, addresses in mirrors_of(config).items()
    }


def render_hosts(addresses: list[str]) -> str:
    """Return a hosts.toml that tries these addresses in order."""
    hosts: dict[str, object] = {}
    for address in addresses:
        host: dict[str, object] = {"capabilities": CAPABILITIES}
        if PROTOCOL_PATH in address:
            host["override_path"] = True
        hosts[address] = host
    return OURS + render_toml({"host": hosts} if hosts else {})


def apply_registry_mirrors(host: Host, config: NodeConfig) -> StepOutcome:
    """Have exactly the mirrors of this config, besides those that the image brought."""
    outcome = StepOutcome([], [], "" if has_systemd(host) else FILES_ONLY)
    wanted = mirror_files(config)
    for path, content in wanted.items():
        apply_file(host, path, content, PUBLIC, outcome)
    for path in _ours(host):
        if path not in wanted:
            apply_absence(host, path, outcome)
    return outcome


def _ours(host: Host) -> list[str]:
    if host.file_mode(REGISTRY_HOSTS) is None:
        return []
    paths = [
        f"{REGISTRY_HOSTS}/{name}/{HOSTS_FILE}" for name in host.list_directory(REGISTRY_HOSTS)
    ]
    return [path for path in paths if (find_file(host, path) or b"").startswith(OURS.encode())]
