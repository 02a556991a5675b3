"""
Where things are on a node: the AKS paths, or our own.

The table is spec/node.md section 1 as data. A path can be overridden by a flag or by the
environment names of the AKS launcher; everything moves below `--root` in host.py.
"""

from __future__ import annotations

from fairlead.contract.node_paths import DOCUMENT_PATHS

TYPE_CHECKING = False
if TYPE_CHECKING:
    from fairlead.agent.host import Host

AKS_MARKER = "/opt/azure/containers"

# what: (aks, fairlead); '' means that this layout has no such thing.
PATHS = {
    **DOCUMENT_PATHS,  # node_config, features, boot_document, baked_agent
    "sentinel": (
        "/opt/azure/containers/provision.complete",
        "/var/lib/fairlead/provision.complete",
    ),
    "status": ("/var/log/azure/aks/provision.json", "/var/log/fairlead/provision.json"),
    "log": ("/var/log/azure/aks-node-controller.log", "/var/log/fairlead/node.log"),
    "record": (
        "/var/log/azure/aks-node-controller-record.jsonl",
        "/var/log/fairlead/record.jsonl",
    ),
    "events": (
        "/var/log/azure/Microsoft.Azure.Extensions.CustomScript/events",
        "/var/log/fairlead/events",
    ),
    "pointer": (
        "/opt/azure/containers/aks-node-controller-hotfix.json",
        "/var/lib/fairlead/hotfix.json",
    ),
    "nbc_command": ("/opt/azure/containers/aks-node-controller-nbc-cmd.sh", ""),
    "bootstrap_script": ("/opt/azure/containers/provision_start.sh", ""),
    "components": ("/opt/azure/components.json", ""),
    # What must not outlive a boot.
    "state": ("/run/fairlead", "/run/fairlead"),
}

# The staged agent is always the baked one's neighbour, so that an override moves both.
STAGED_SUFFIX = "-hotfix"

# The AKS launcher's environment names, honoured in both layouts.
ENVIRONMENT_OVERRIDES = {
    "BIN_PATH": "baked_agent",
    "CONFIG_PATH": "node_config",
    "NBC_CMD_PATH": "nbc_command",
    "HOTFIX_JSON": "pointer",
    "FEATURES_PATH": "features",
}


class Layout:
    """The paths of one node, by the names of PATHS."""

    __slots__ = (*PATHS, "name")

    name: str
    node_config: str
    boot_document: str
    sentinel: str
    status: str
    log: str
    record: str
    events: str
    pointer: str
    features: str
    nbc_command: str
    baked_agent: str
    bootstrap_script: str
    components: str
    state: str

    def __init__(self, name: str, overrides: dict[str, str]) -> None:
        self.name = name
        column = 0 if name == "aks" else 1
        for what, paths in PATHS.items():
            setattr(self, what, overrides.get(what) or paths[column])

    @property
    def staged_agent(self) -> str:
        """Where a hotfix puts the agent that takes over."""
        return self.baked_agent + STAGED_SUFFIX


def find_layout_name(host: Host) -> str:
    """Return 'aks' on an image that AKS built, else 'fairlead'."""
    return "aks" if host.file_mode(AKS_MARKER) is not None else "fairlead"


def environment_overrides(environment: dict[str, str]) -> dict[str, str]:
    """Return the paths that the AKS launcher's environment names set; an empty value sets none."""
    return {
        what: environment[name]
        for name, what in ENVIRONMENT_OVERRIDES.items()
        if environment.get(name)
    }
