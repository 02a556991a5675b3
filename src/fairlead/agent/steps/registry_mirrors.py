"""
Mirrors of registries: one hosts.toml per registry, below the directory that config.toml names.

containerd reads these files at every pull, so nothing is restarted. It tries the mirrors of the
pool's owner in the order of the file, then what the platform reads instead of the registry, or
the registry itself.
"""

from __future__ import annotations

from fairlead.agent.files import find_file
from fairlead.agent.steps.step import FILES_ONLY, StepOutcome
from fairlead.agent.steps.systemd import has_systemd
from fairlead.agent.steps.taken_files import REGISTRY_HOSTS, hosts_file
from fairlead.agent.steps.write import PUBLIC, apply_absence, apply_file
from fairlead.contract.node_settings import mirrors_of, usable_overrides
from fairlead.contract.toml_text import render_toml

TYPE_CHECKING = False
if TYPE_CHECKING:
    from fairlead.agent.host import Host
    from fairlead.contract.node_config import NodeConfig

# The first line of a file that we wrote, by which we know it again.
OURS = "# Written by fairlead-node: the mirrors of this pool.\n"

CAPABILITIES = ["pull", "resolve"]

# An address that spells the protocol's own path element is whole: containerd must not add it.
PROTOCOL_PATH = "/v2/"


def mirror_files(config: NodeConfig) -> dict[str, bytes]:
    """Return the files, by path, that this config asks for."""
    mirrors = mirrors_of(config)
    overrides, _ = usable_overrides(config)
    return {
        hosts_file(source): render_hosts(
            mirrors.get(source, []), overrides.get(source, "")
        ).encode()
        for source in sorted({*mirrors, *overrides})
    }


def render_hosts(addresses: list[str], server: str = "") -> str:
    """Return a hosts.toml that tries these addresses in order, then the server if there is one."""
    table: dict[str, object] = _server_of(server) if server else {}
    hosts: dict[str, object] = {}
    for address in addresses:
        host: dict[str, object] = {"capabilities": CAPABILITIES}
        if PROTOCOL_PATH in address:
            host["override_path"] = True
        hosts[address] = host
    return OURS + render_toml({**table, "host": hosts} if hosts else table)


def _server_of(server: str) -> dict[str, object]:
    table: dict[str, object] = {"server": server, "capabilities": CAPABILITIES}
    return {**table, "override_path": True} if PROTOCOL_PATH in server else table


def apply_registry_mirrors(host: Host, config: NodeConfig) -> StepOutcome:
    """Have exactly the mirrors of this config, besides those that the image brought."""
    outcome = StepOutcome([], [], "" if has_systemd(host) else FILES_ONLY)
    wanted = mirror_files(config)
    for problem in usable_overrides(config)[1]:
        outcome.add_note(problem)
    for path, content in wanted.items():
        apply_file(host, path, content, PUBLIC, outcome)
    for path in _ours(host):
        if path not in wanted:
            apply_absence(host, path, outcome)
    return outcome


def _ours(host: Host) -> list[str]:
    if host.file_mode(REGISTRY_HOSTS) is None:
        return []
    paths = [hosts_file(name) for name in host.list_directory(REGISTRY_HOSTS)]
    return [path for path in paths if (find_file(host, path) or b"").startswith(OURS.encode())]
