"""
What is published, and how far it came, for a person who asks a cluster.

The catalog is the ConfigMap that the operator is given; what replicas of the hotfix service count
is in HotfixLedgers. Both are in the operator's namespace.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from datetime import datetime

from fairlead.errors import InputError, UnavailableError
from fairlead.hotfix.catalog import Catalog, Fix, State
from fairlead.hotfix.catalog_text import parse_catalog
from fairlead.hotfix.published_fixes import fixes_in, with_standings
from fairlead.hotfix.service.fleet import Reach
from fairlead.kube.answer import ForbiddenError, Object
from fairlead.kube.client import KubeClient
from fairlead.kube.front.identity import refusal_of, told_by_roles
from fairlead.kube.ledger.fleet_reach import ClusterFleet
from fairlead.kube.resource import CONFIG_MAPS, HOTFIXES
from fairlead.rollout.fixes import NO_FIXES, Fixes

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
    return _catalog_in(found, home)


def _catalog_in(found: Object, home: str) -> Catalog:
    try:
        return parse_catalog(str((found.get("data") or {}).get(CATALOG_FILE, "")).encode())
    except InputError as error:
        raise InputError(
            f"{CATALOG_FILE} in the ConfigMap {CATALOG} of {home} is damaged: {error}",
            hint="make it anew from the depot",
        ) from error


class SeenFixes:
    """
    What the operator acts by: what is published to its region, and how far that came.

    Read once between two looks, and only if anybody asks.
    """

    def __init__(self, client: KubeClient, home: str, now: Callable[[], datetime]) -> None:
        self._client = client
        self._home = home
        self._now = now
        self._known: Fixes | None = None

    def forget(self) -> None:
        """Read anew when somebody asks."""
        self._known = None

    def read(self) -> Fixes:
        """Return what is published. Who may not read it is told so in the place of fixes."""
        if self._known is None:
            self._known = self._read()
        return self._known

    def _read(self) -> Fixes:
        try:
            found = self._client.find(CONFIG_MAPS, CATALOG, self._home)
            if found is None:
                return NO_FIXES
            catalog = _catalog_in(found, self._home)
            return self._offered(catalog) if catalog.fixes else NO_FIXES
        except ForbiddenError as error:
            return Fixes(problem=f"what is published is not shown: {refusal_of(error.problem)}")
        except (InputError, UnavailableError) as error:
            # Or a ledger that cannot be read: pools are told all the same.
            return Fixes(problem=str(error))

    def _offered(self, catalog: Catalog) -> Fixes:
        copies, _ = self._client.list_all(HOTFIXES, self._home)
        regions = {str((one.get("status") or {}).get("region", "")) for one in copies} - {""}
        if not regions:
            return Fixes(
                problem=f"what its machines are offered is not known: no operator in {self._home} "
                "has read the catalog, which --hotfix-depot names"
            )
        waving = [fix for fix in catalog.fixes if fix.state is State.PUBLISHED and not fix.everyone]
        fleet = ClusterFleet(self._client, self._home, self._now())
        standings = {fix.version: fleet.standing_of(fix) for fix in waving}
        return with_standings(fixes_in(catalog, min(regions)), standings)


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
