"""
Hotfixes as objects: a copy of what is published, and how far each came, for `kubectl get`.

The depot is what is published, with its signed metadata; no key enters the cluster. What machines
booted with they said themselves, on their Machines; how far a campaign came, and whether it halted
itself, the hotfix service keeps in its ledger. Nothing is decided by these objects: they are
written anew where they differ.
"""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass

from fairlead.contract.hotfix.answer import OUR_COMPONENT
from fairlead.contract.image_version import may_upgrade
from fairlead.errors import FairleadError
from fairlead.hotfix.campaign import WAVES, Campaign
from fairlead.hotfix.catalog import Fix, State
from fairlead.hotfix.published_fixes import PublishedFixes
from fairlead.hotfix.service.standing import Standing
from fairlead.kube.answer import Object
from fairlead.kube.client import KubeClient
from fairlead.kube.cluster_api.deployment import AGENT
from fairlead.kube.ledger.kube_ledger import line_name
from fairlead.kube.ledger.line import Line, campaign_of, standing_of
from fairlead.kube.ledger.line_text import read_line
from fairlead.kube.names import owner_of
from fairlead.kube.resource import HOTFIX_LEDGERS, HOTFIXES
from fairlead.rollout.fixes import Fixes, is_for

# Seconds between two looks at the catalog and at machines.
LOOK_S = 5.0

# Pools that are named; more are counted.
MOST_NAMED = 20


@dataclass(frozen=True, slots=True, kw_only=True)
class Reach:
    """Machines of a fix's base. lacking: by pool, those that booted without it."""

    have: int
    lacking: Counter[str]

    @property
    def lack(self) -> int:
        """How many booted without it."""
        return self.lacking.total()


@dataclass(frozen=True, slots=True, kw_only=True)
class Around:
    """
    What a copy is made from. machines: all Machines of pools. acts: whether this process writes.

    changed: told when something else is published. tell: takes what goes wrong, once in a row.
    """

    published: PublishedFixes
    machines: Callable[[], Iterable[Object]]
    acts: Callable[[], bool]
    changed: Callable[[], None]
    tell: Callable[[str], None]


class HotfixCopies:
    """Keeps the Hotfixes of one namespace as what is published says."""

    def __init__(self, client: KubeClient, namespace: str, around: Around) -> None:
        self._client = client
        self._namespace = namespace
        self._around = around
        self._seen = _offers(around.published.read())
        self._problem = ""
        self._is_stopping = threading.Event()
        self._thread = threading.Thread(target=self._run, name="hotfixes", daemon=True)
        # How far each fix came, by version, as of the last look.
        self.reach: dict[str, Reach] = {}
        self._standings: dict[str, Standing] = {}

    def start(self) -> None:
        """Begin to look."""
        self._thread.start()

    def stop(self) -> None:
        """Look no more."""
        self._is_stopping.set()
        if self._thread.is_alive():
            self._thread.join()

    def standings(self) -> Mapping[str, Standing]:
        """Return how fixes that come in waves stand, by version, as of the last look."""
        return self._standings

    def _run(self) -> None:
        self.look()
        while not self._is_stopping.wait(LOOK_S):
            self.look()

    def look(self) -> None:
        """Count machines, and write what differs, if this process acts."""
        self._around.published.read()
        fixes = self._around.published.catalog.fixes
        booted = agents_of(self._around.machines()) if fixes else Counter()
        self.reach = {fix.version: reach_of(fix, booted) for fix in fixes}
        try:
            lines = self._lines_of(fixes)
            self._standings = standings_in(lines, fixes)
            if self._around.acts():
                self._write(fixes, lines)
        except FairleadError as error:
            self._told(f"Hotfixes cannot be written: {error}")
        else:
            self._problem = ""
        self._wake_if_changed()

    def _told(self, problem: str) -> None:
        if problem != self._problem:
            self._around.tell(problem)
        self._problem = problem

    def _wake_if_changed(self) -> None:
        offers = _offers(self._around.published.read())
        if offers != self._seen:
            self._seen = offers
            self._around.changed()

    def _write(self, fixes: Iterable[Fix], lines: Mapping[str, Line | None]) -> None:
        there, _ = self._client.list_all(HOTFIXES, self._namespace)
        known = {one["metadata"]["name"]: one for one in there}
        for fix in fixes:
            wanted = hotfix_object(fix, self._namespace)
            before = known.get(fix.version)
            if before is None or before.get("spec") != wanted["spec"]:
                before = self._client.apply(HOTFIXES, wanted)
            line = lines[_line_name(fix)]
            campaign = campaign_of(line, fix) if line else None
            status = hotfix_status(fix, self.reach[fix.version], campaign)
            status["region"] = self._around.published.region
            status["observedGeneration"] = before["metadata"]["generation"]
            if before.get("status") != status:
                about = {name: wanted[name] for name in ("apiVersion", "kind", "metadata")}
                self._client.apply(HOTFIXES, {**about, "status": status}, "status")

    def _lines_of(self, fixes: Iterable[Fix]) -> dict[str, Line | None]:
        """Return what replicas count of each base, by name; None where none of them counts."""
        lines: dict[str, Line | None] = {}
        for name in sorted({_line_name(fix) for fix in fixes}):
            found = self._client.find(HOTFIX_LEDGERS, name, self._namespace)
            lines[name] = read_line(found["spec"]["kept"]) if found else None
        return lines


def standings_in(lines: Mapping[str, Line | None], fixes: Iterable[Fix]) -> dict[str, Standing]:
    """Return how the fixes stand that come in waves and that replicas count, by version."""
    return {
        fix.version: standing_of(line, fix)
        for fix in fixes
        if _is_waving(fix) and (line := lines[_line_name(fix)])
    }


def _line_name(fix: Fix) -> str:
    return line_name(fix.component, fix.base)


def _offers(fixes: Fixes) -> tuple[object, ...]:
    """Return what of fixes any pool says: not each boot that is counted."""
    return (
        fixes.problem,
        tuple(
            (fix.version, fix.stopped, fix.is_withdrawn, fix.waves and fix.waves.part)
            for fix in fixes.by_version.values()
        ),
    )


def agents_of(machines: Iterable[Object]) -> Counter[tuple[str, str]]:
    """Return how many machines of each pool booted with each agent, as they said."""
    return Counter(
        (owner_of(one), agent)
        for one in machines
        if (agent := (one["metadata"].get("annotations") or {}).get(AGENT))
    )


def reach_of(fix: Fix, booted: Counter[tuple[str, str]]) -> Reach:
    """Return how far a fix came; booted: machines by pool and agent."""
    have, lacking = 0, Counter[str]()
    for (pool, agent), count in booted.items():
        if fix.component != OUR_COMPONENT or not is_for(fix.version, agent):
            continue
        if may_upgrade(agent, fix.version):
            lacking[pool] += count
        else:
            have += count
    return Reach(have=have, lacking=lacking)


def hotfix_object(fix: Fix, namespace: str) -> Object:
    """Return the Hotfix of a fix; its name is the version."""
    spec = {
        "component": fix.component,
        "version": fix.version,
        "schedule": fix.schedule.value,
        "summary": fix.summary,
    }
    return {
        "apiVersion": HOTFIXES.api_version,
        "kind": HOTFIXES.kind,
        "metadata": {"name": fix.version, "namespace": namespace},
        "spec": spec,
    }


def hotfix_status(fix: Fix, reach: Reach, campaign: Campaign | None = None) -> Object:
    """Return how far a fix came. campaign: if the hotfix service of this cluster counts."""
    why = f": {fix.reason}" if fix.reason else ""
    if campaign is not None and campaign.halted and _is_waving(fix):
        why = f", halted: {campaign.halted}"
    named = [f"{pool} ({count})" for pool, count in sorted(reach.lacking.items())[:MOST_NAMED]]
    return {
        "state": f"{fix.state.value}{why}",
        "reach": _opened(fix, campaign),
        "have": reach.have,
        "lack": reach.lack,
        "lacking": named,
    }


def _is_waving(fix: Fix) -> bool:
    return fix.state is State.PUBLISHED and not fix.everyone


def _opened(fix: Fix, campaign: Campaign | None) -> str:
    if fix.state is not State.PUBLISHED:
        return "nobody"
    if fix.everyone:
        return "everyone"
    if campaign is None:
        return f"wave {fix.wave + 1} of {len(WAVES)} at least"
    return "nobody" if campaign.halted else f"wave {campaign.wave + 1} of {len(WAVES)}"
