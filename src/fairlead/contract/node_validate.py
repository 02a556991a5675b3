"""
What a node config must set for its node to be of any use.

For the side that renders user data. A node never refuses to boot over this: its bootstrap may
still work, and refusing would turn a half-working machine into a dead one.
"""

from __future__ import annotations

from fairlead.contract.node_config import FieldProblem, NodeConfig

REQUIRED_PATHS = (
    "version",
    "auth_config.subscription_id",
    "cluster_config.resource_group",
    "cluster_config.location",
    "cluster_config.cluster_network_config.vnet_name",
    "cluster_config.cluster_network_config.route_table",
    "api_server_config.api_server_name",
)


def validate(config: NodeConfig) -> list[FieldProblem]:
    """Return one problem for each required field that is not set, in the table's order."""
    return [
        FieldProblem(path, "required, and not set")
        for path in REQUIRED_PATHS
        if not config.text(path)
    ]
