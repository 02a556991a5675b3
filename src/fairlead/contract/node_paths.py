"""
Where the side that renders user data and the agent must meet on a node's disk.

The rest of a node's paths are the agent's own business: agent/layout.py, which takes these rows
into its table. Paths hold letters, digits and `/._-` only, so that no shell or unit quotes them.
"""

from __future__ import annotations

LAYOUTS = ("aks", "fairlead")

# what: (aks, fairlead), in the order of LAYOUTS.
DOCUMENT_PATHS = {
    "node_config": (
        "/opt/azure/containers/aks-node-controller-config.json",
        "/etc/fairlead/node-config.json",
    ),
    "features": ("/opt/azure/containers/enabled_features.sh", "/etc/fairlead/features.env"),
    "boot_document": (
        "/opt/azure/containers/fairlead-boot-document.json",
        "/etc/fairlead/boot-document.json",
    ),
    "baked_agent": ("/opt/azure/containers/aks-node-controller", "/usr/lib/fairlead/fairlead-node"),
}

# The service that runs the agent.
UNITS = ("aks-node-controller.service", "fairlead-node.service")

# What a boothook has to say: cloud-init 22.4 throws a hook's output away.
BOOTHOOK_LOGS = ("/var/log/azure/fairlead-boothook.log", "/var/log/fairlead/boothook.log")


def document_path(what: str, layout: str) -> str:
    """Return where this document is in this layout. Raises KeyError or ValueError."""
    return DOCUMENT_PATHS[what][LAYOUTS.index(layout)]


def layout_of(path: str) -> str:
    """Return the layout that has its node config here, or ''."""
    places = DOCUMENT_PATHS["node_config"]
    return LAYOUTS[places.index(path)] if path in places else ""


def unit_of(layout: str) -> str:
    """Return the name of the agent's service in this layout."""
    return UNITS[LAYOUTS.index(layout)]


def boothook_log_of(layout: str) -> str:
    """Return where a boothook writes down what it did in this layout."""
    return BOOTHOOK_LOGS[LAYOUTS.index(layout)]
