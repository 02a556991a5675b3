"""
What is published, and how far it came, for a person who asks a cluster.

The catalog is the ConfigMap that the operator is given; what replicas of the hotfix service count
is in HotfixLedgers. Both are in the operator's namespace.
"""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime

from fairlead.errors import InputError
from fairlead.hotfix.catalog import Catalog, Fix
from fairlead.hotfix.catalog_text import parse_catalog
from fairlead.hotfix.service.fleet import Reach
from fairlead.kube.client import KubeClient
from fairlead.kube.front.identity import told_by_roles
from fairlead.kube.ledger.fleet_reach import ClusterFleet
from fairlead.kube.resource import CONFIG_MAPS

CATALOG = "fairlead-hotfix-catalog"
CATALOG_FILE = "catalog.json"


def read_catalog(client: KubeClient, home: str) -> Catalog:
    """Return what is published. Raises InputError with what to do."""
    with told_by_roles():
        found = client.find(CONFIG_MAPS, CATALOG, home)
    if found is None:
        raise InputError(
            f"{home} has no ConfigMap {CATALOG}: nobody told this cluster what is published",
            hint=f"kubectl -n {home} create configmap {CATALOG} --from-file={CATALOG_FILE}, with "
            "that file of the depot; --operator-namespace says where the operator is",
        )
    try:
        return parse_catalog(str((found.get("data") or {}).get(CATALOG_FILE, "")).encode())
    except InputError as error:
        raise InputError(
            f"{CATALOG_FILE} in the ConfigMap {CATALOG} of {home} is damaged: {error}",
            hint="make it anew from the depot",
        ) from error


class SeenFleet:
    """What replicas counted, as this user may read it. What they may not is told by its role."""

    def __init__(self, client: KubeClient, home: str, now: datetime) -> None:
        self._fleet = ClusterFleet(client, home, now)

    def reach_of(self, fixes: Iterable[Fix]) -> tuple[Reach, ...]:
        """Return how far these fixes came."""
        with told_by_roles():
            return self._fleet.reach_of(fixes)

    def lacking(self, fix: Fix, most: int) -> tuple[str, ...]:
        """Return machines of the fix's base whose last boot did not have it, by name."""
        with told_by_roles():
            return self._fleet.lacking(fix, most)

    def having(self, fix: Fix, most: int) -> tuple[str, ...]:
        """Return machines whose last boot had the fix, by name."""
        with told_by_roles():
            return self._fleet.having(fix, most)
