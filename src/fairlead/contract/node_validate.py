"""
What a node config must set for its node to be of any use.

For the side that renders user data. A node never refuses to boot over this: its bootstrap may
still work, and refusing would turn a half-working machine into a dead one.
"""

from __future__ import annotations

from fairlead.contract.node_config import FieldProblem, NodeConfig

# On every image: what a config is, and which API server its node joins.
ALWAYS_REQUIRED = ("version", "api_server_config.api_server_name")

# AKS's own bootstrap scripts stop without these, too. In the order of the table.
AKS_REQUIRED = (
    "version",
    "auth_config.subscription_id",
    "cluster_config.resource_group",
    "cluster_config.location",
    "cluster_config.cluster_network_config.vnet_name",
    "cluster_config.cluster_network_config.route_table",
    "api_server_config.api_server_name",
)


def validate(config: NodeConfig, layout: str) -> list[FieldProblem]:
    """Return one problem for each field that this layout requires and that is not set."""
    required = AKS_REQUIRED if layout == "aks" else ALWAYS_REQUIRED
    return [
        FieldProblem(path, "required, and not set") for path in required if not config.text(path)
    ]
