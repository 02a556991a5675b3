"""
The ledger of replicas that share nothing but an API server: see hotfix/service/ledger.py.

One HotfixLedger for each component and base. An offer of a fix that comes in waves, and the end of
a boot with it, are answered when they are written. Everything else waits for company: questions
without an offer and boots without such a fix, which a replica that is killed takes with it. What
machines have and why boots failed is told to people, and decides nothing: fleet_parts.py.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Iterable, Sequence
from datetime import datetime

from fairlead.hotfix.catalog import Fix, State
from fairlead.hotfix.service.ledger import Asker, EndedBoot, waving
from fairlead.hotfix.service.standing import Standing
from fairlead.kube.client import KubeClient
from fairlead.kube.ledger import line as lines
from fairlead.kube.ledger.fleet_parts import FleetParts
from fairlead.kube.ledger.line import Line
from fairlead.kube.ledger.line_text import LINE_FORM
from fairlead.kube.ledger.shared_text import SharedText

# Seconds that what waits for company waits at most.
COMPANY_S = 5.0


def line_name(component: str, base: str) -> str:
    """Return the name of the object of one base."""
    return f"{component}-{base}"


class KubeLedger:
    """The ledger in one namespace. Every operation may raise UnavailableError."""

    def __init__(self, client: KubeClient, namespace: str, company_s: float = COMPANY_S) -> None:
        self._client = client
        self._namespace = namespace
        self._company_s = company_s
        self._fleet = FleetParts(client, namespace)
        self._lines: dict[tuple[str, str], SharedText[Line]] = {}
        self._lock = threading.Lock()
        self._flush_at = time.monotonic() + self._company_s

    def problem(self) -> str:
        """Return why offers cannot be decided at this moment, or ''."""
        return next((one.problem for one in self._known() if one.problem), "")

    def standings(self, fixes: Iterable[Fix]) -> dict[str, Standing]:
        """Return how these fixes stand, by version, as of the last look."""
        return {
            fix.version: lines.standing_of(self._line(fix.component, fix.base).state(), fix)
            for fix in fixes
        }

    def offer(self, fix: Fix, asker: Asker, now: datetime) -> bool:
        """Offer a fix, unless its campaign has no room; say which."""
        shared = self._line(fix.component, fix.base)
        is_offered = shared.change(lambda line: lines.offer(line, fix, asker.machine, now))
        if is_offered:
            self._fleet.note(asker, fix.version, now)
        return is_offered

    def has_had(self, fix: Fix, asker: Asker) -> bool:
        """Say whether a machine was offered this fix before, or booted with it."""
        return lines.has_had(self._line(fix.component, fix.base).state(), fix, asker.machine)

    def note(self, asker: Asker, version: str, now: datetime) -> None:
        """Note, a moment later, that a machine asked and what it was told."""
        at = lines.moment_of(now)
        self._fleet.note(asker, version, now)
        if asker.base:
            self._line(asker.component, asker.base).later(
                lambda line: lines.note(line, asker.machine, version, at)
            )

    def count(self, boot: EndedBoot, fixes: Sequence[Fix], now: datetime) -> bool:
        """Count a boot that ended, and let campaigns follow; False if it was counted before."""
        component, base = boot.asker.component, boot.asker.base
        self._fleet.end_boot(boot, now)
        if not base:
            return True
        shared, ours = self._line(component, base), waving(fixes, component, base)

        def work(line: Line) -> bool:
            return lines.count(line, boot, ours, now)

        if self._is_awaited(shared.state(), boot, ours):
            return shared.change(work)
        shared.later(work)
        return True

    def forget(self, component: str, machine: str) -> None:
        """Drop a machine that is gone."""
        self._fleet.forget(component, machine)
        for (one, _), shared in list(self._lines.items()):
            if one == component:
                shared.change(lambda line: lines.forget(line, machine))

    def tend(self, fixes: Sequence[Fix], now: datetime) -> None:
        """Look what others wrote, count who fell silent, and open waves that are due."""
        published = [fix for fix in fixes if fix.state is State.PUBLISHED]
        for component, base in sorted({(fix.component, fix.base) for fix in published}):
            shared, ours = self._line(component, base), waving(published, component, base)
            shared.look()
            shared.change(lambda line, ours=ours: lines.tend(line, ours, now))  # type: ignore[misc]

    def tidy(self, now: datetime) -> None:
        """Do nothing: a line never keeps more than it may."""

    def write_notes(self) -> None:
        """Write what waited for company long enough."""
        if time.monotonic() >= self._flush_at:
            self._flush_at = time.monotonic() + self._company_s
            self._flush()
            self._fleet.write()

    def close(self) -> None:
        """Write what waits."""
        self._flush()
        self._fleet.write(is_last=True)

    def _flush(self) -> None:
        for shared in self._known():
            shared.flush()

    def _known(self) -> list[SharedText[Line]]:
        with self._lock:
            return list(self._lines.values())

    @staticmethod
    def _is_awaited(line: Line, boot: EndedBoot, ours: Sequence[Fix]) -> bool:
        """Say whether a campaign waits for this boot: one with an unproven fix, or offered one."""
        asked = line.asked.get(lines.key_of(boot.asker.machine))
        in_waves = {fix.version for fix in ours if not fix.everyone}
        return boot.version in in_waves or (asked is not None and asked.version in in_waves)

    def _line(self, component: str, base: str) -> SharedText[Line]:
        with self._lock:
            if (component, base) not in self._lines:
                self._lines[component, base] = SharedText(
                    self._client, self._namespace, line_name(component, base), LINE_FORM
                )
            return self._lines[component, base]
