"""The names of pools and machines in a scope, without a thought about any of them."""

from __future__ import annotations

from fairlead.kube.client import KubeClient
from fairlead.kube.front.scope import Scope
from fairlead.kube.names import POOL_LABEL, pool_of
from fairlead.kube.resource import MACHINES, NODE_POOLS


def pool_names(client: KubeClient, scope: Scope) -> list[str]:
    """Return what the pools are called here."""
    found, _ = client.list_all(NODE_POOLS, scope.listed)
    places = (one["metadata"] for one in found)
    return [scope.told(pool_of(place["namespace"], place["name"])) for place in places]


def machine_names(client: KubeClient, scope: Scope) -> list[str]:
    """Return the machines of pools."""
    found, _ = client.list_all(MACHINES, scope.listed, POOL_LABEL)
    return [str(one["metadata"]["name"]) for one in found]
