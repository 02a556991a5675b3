"""What replicas in a cluster counted, as people ask for it: see hotfix/service/fleet.py."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable
from datetime import datetime
from typing import TypeVar

from fairlead.errors import UnavailableError
from fairlead.hotfix.campaign import Boots
from fairlead.hotfix.catalog import Fix
from fairlead.hotfix.service.fleet import MOST_CAUSES, InRegion, Reach, lacks
from fairlead.hotfix.service.standing import Standing
from fairlead.kube.answer import Object
from fairlead.kube.client import KubeClient
from fairlead.kube.ledger.fleet_part import Known, Part, settle
from fairlead.kube.ledger.fleet_parts import LABEL, fleet_name
from fairlead.kube.ledger.fleet_text import read_part
from fairlead.kube.ledger.kube_ledger import line_name
from fairlead.kube.ledger.line import Line, standing_of
from fairlead.kube.ledger.line_text import read_line
from fairlead.kube.resource import HOTFIX_LEDGERS

T = TypeVar("T")


class ClusterFleet:
    """The ledgers of one namespace at one moment, as this client may read them."""

    def __init__(self, client: KubeClient, namespace: str, now: datetime) -> None:
        self._client = client
        self._namespace = namespace
        self._now = now
        self._lines: dict[str, Line] = {}
        self._parts: dict[str, list[Part]] = {}

    def reach_of(self, fixes: Iterable[Fix]) -> tuple[Reach, ...]:
        """Return how far these fixes came."""
        return tuple(self._reach_of(fix) for fix in fixes)

    def lacking(self, fix: Fix, most: int) -> tuple[str, ...]:
        """Return machines of the fix's base whose last boot lacked it, by name."""
        return self._names(fix, most, lambda used: lacks(fix, used))

    def having(self, fix: Fix, most: int) -> tuple[str, ...]:
        """Return machines whose last boot had the fix, by name."""
        return self._names(fix, most, lambda used: used == fix.version)

    def standing_of(self, fix: Fix) -> Standing:
        """Return how a fix stands."""
        return standing_of(self._line(fix), fix)

    def _names(self, fix: Fix, most: int, is_one: Callable[[str], bool]) -> tuple[str, ...]:
        found = (name for name, one in self._machines_of(fix) if is_one(one.used))
        return tuple(sorted(found)[:most])

    def _reach_of(self, fix: Fix) -> Reach:
        standing = self.standing_of(fix)
        have: Counter[str] = Counter()
        lack: Counter[str] = Counter()
        for _, one in self._machines_of(fix):
            have[one.region] += one.used == fix.version
            lack[one.region] += lacks(fix, one.used)
        boots = self._boots_of(fix)
        return Reach(
            fix=fix,
            campaign=standing.campaign,
            regions=tuple(
                InRegion(
                    region=region,
                    have=have[region],
                    lack=lack[region],
                    with_fix=boots[region][0],
                    without=boots[region][1],
                )
                for region in sorted({*have, *lack, *boots})
            ),
            causes=self._causes_of(fix),
            under_way=standing.fixed.under_way,
        )

    def _machines_of(self, fix: Fix) -> Iterable[tuple[str, Known]]:
        for part in self._parts_of(fix.component):
            for name, one in part.machines.items():
                if one.base == fix.base:
                    yield name, one

    def _boots_of(self, fix: Fix) -> defaultdict[str, tuple[Boots, Boots]]:
        """Return boots with the fix, and without it, by region."""
        found: defaultdict[str, tuple[Boots, Boots]] = defaultdict(lambda: (Boots(), Boots()))
        for part in self._parts_of(fix.component):
            for (base, version, region), (good, failed) in part.tallies.items():
                if base == fix.base:
                    with_fix, without = found[region]
                    if version == fix.version:
                        found[region] = (_plus(with_fix, good, failed), without)
                    else:
                        found[region] = (with_fix, _plus(without, good, failed))
        return found

    def _causes_of(self, fix: Fix) -> tuple[tuple[str, int], ...]:
        causes = Counter(
            failed[fix.version]
            for part in self._parts_of(fix.component)
            for failed in part.failed.values()
            if fix.version in failed
        )
        most_first = sorted(causes.items(), key=lambda one: (-one[1], one[0]))
        return tuple(most_first[:MOST_CAUSES])

    def _parts_of(self, component: str) -> list[Part]:
        if component not in self._parts:
            wanted = f"{LABEL}={fleet_name(component)}"
            objects, _ = self._client.list_all(HOTFIX_LEDGERS, self._namespace, wanted)
            self._parts[component] = [_read(one, read_part) for one in objects]
            self._settle(self._parts[component])
        return self._parts[component]

    def _settle(self, parts: list[Part]) -> None:
        """Count who fell silent since the last write."""
        reporting = frozenset(one.base for part in parts for one in part.machines.values())
        for part in parts:
            settle(part, self._now, reporting)

    def _line(self, fix: Fix) -> Line:
        name = line_name(fix.component, fix.base)
        if name not in self._lines:
            found = self._client.find(HOTFIX_LEDGERS, name, self._namespace)
            self._lines[name] = _read(found, read_line) if found else Line()
        return self._lines[name]


def _read(found: Object, read: Callable[[str], T]) -> T:
    try:
        return read(str(found["spec"]["kept"]))
    except (UnavailableError, KeyError, TypeError) as error:
        where = f"{found['metadata']['namespace']}/{found['metadata']['name']}"
        raise UnavailableError(f"HotfixLedger {where} cannot be read: {error}") from error


def _plus(boots: Boots, good: int, failed: int) -> Boots:
    return Boots(good=boots.good + good, failed=boots.failed + failed)
