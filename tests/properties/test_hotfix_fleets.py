"""A fleet behind a real service: what a bad fix harms, how soon a good one is everywhere."""

from __future__ import annotations

import json
import random
from collections import deque
from datetime import datetime, timedelta
from pathlib import Path

import pytest

from fairlead.contract.hotfix.answer import OUR_COMPONENT
from fairlead.hotfix.campaign import Campaign, Schedule
from fairlead.hotfix.service.attestation.verifier import Claims
from fairlead.hotfix.service.ledger import Asker, EndedBoot
from served_hotfixes import BASE, FIX, NOW, NamedMachines, Serving, make_depot, make_fix

BOOT = timedelta(seconds=90)


class CheapProof(NamedMachines):
    """Believes everybody; what is measured is not attestation."""

    def verify(self, proof: str, machine: str, now: datetime) -> Claims:
        return Claims(machine=machine, region="local")


class ServedFleet:
    """
    Machines that ask, boot, and report a minute and a half later, through the real service.

    is_silent: who failed never reports, and is not seen again.
    """

    def __init__(
        self,
        path: Path,
        seed: int,
        breaks: float,
        schedule: Schedule,
        *,
        is_silent: bool = False,
    ) -> None:
        self.fix = make_fix(schedule=schedule)
        self.service = Serving(make_depot(path / f"depot-{seed}", [self.fix]), CheapProof())
        self.chance = random.Random(seed)
        self.breaks = breaks
        self.is_silent = is_silent
        self.stopped: set[int] = set()
        self.harmed = 0
        self.with_fix: set[int] = set()
        self.now = NOW
        self._reports: deque[tuple[datetime, EndedBoot]] = deque()
        self._runs = 0
        self._learn_without()

    def _learn_without(self) -> None:
        """What is known of the base before: a thousand boots, two of which failed."""
        for number in range(1000):
            self._count(self._boot(f"before-{number}", "", is_good=number >= 2))

    def run(self, size: int, boots_an_hour: int, hours: float, usual: float = 0.002) -> timedelta:
        """Boot machines until all are offered the fix, it is halted, or time is up."""
        end, step = NOW + timedelta(hours=hours), timedelta(hours=1) / boots_an_hour
        tend_at = NOW
        while self.now < end:
            self.now += step
            while self._reports and self._reports[0][0] <= self.now:
                self._count(self._reports.popleft()[1])
            if self.now >= tend_at:
                tend_at = self.now + timedelta(minutes=1)
                self.service.ledger.write_notes()
                self.service.ledger.tend([self.fix], self.now)
                if self.campaign.reach == 1.0 or (self.campaign.halted and not self.under_way):
                    break
            self._start(self.chance.randrange(size), usual)
        return self.now - NOW

    def _start(self, machine: int, usual: float) -> None:
        if machine in self.stopped:
            return
        name = f"machine-{machine}"
        reply = self.service.ask(name, self.now)
        offered = json.loads(reply.body)["hotfixes"].get(BASE) or ""
        rate = usual + (self.breaks if offered else 0.0)
        is_good = self.chance.random() >= rate
        if offered:
            self.with_fix.add(machine)
            self.harmed += not is_good
        if self.is_silent and not is_good:
            self.stopped.add(machine)
        else:
            self._reports.append((self.now + BOOT, self._boot(name, offered, is_good=is_good)))

    def _boot(self, name: str, version: str, *, is_good: bool) -> EndedBoot:
        self._runs += 1
        asker = Asker(component=OUR_COMPONENT, machine=name, region="local", base=BASE)
        used = version if is_good else ""
        return EndedBoot(
            asker=asker, version=version, used=used, is_good=is_good, run=str(self._runs)
        )

    def _count(self, boot: EndedBoot) -> None:
        self.service.ledger.count(boot, [self.fix], self.now)

    @property
    def campaign(self) -> Campaign:
        return self.service.ledger.standings([self.fix])[FIX].campaign

    @property
    def under_way(self) -> int:
        return self.service.ledger.standings([self.fix])[FIX].fixed.under_way


@pytest.mark.slow
@pytest.mark.parametrize("is_silent", [False, True])
def test_a_served_fix_that_breaks_half_of_all_boots_harms_at_most_five(
    tmp_path: Path, is_silent: bool
) -> None:
    harmed = []
    for seed in range(100):
        fleet = ServedFleet(tmp_path, seed, 0.5, Schedule.EMERGENCY, is_silent=is_silent)
        fleet.run(10_000, boots_an_hour=3000, hours=3)
        assert fleet.campaign.halted
        harmed.append(fleet.harmed)

    # In 95 of 100 fleets.
    assert sorted(harmed)[94] <= 5


@pytest.mark.slow
@pytest.mark.parametrize(("seed", "is_silent"), [(1, False), (2, True), (3, True)])
def test_a_served_good_fix_reaches_everybody_within_three_hours(
    tmp_path: Path, seed: int, is_silent: bool
) -> None:
    fleet = ServedFleet(tmp_path, seed, 0.0, Schedule.EMERGENCY, is_silent=is_silent)

    took = fleet.run(10_000, boots_an_hour=6000, hours=3)

    assert fleet.campaign.halted == ""
    assert fleet.campaign.reach == 1.0
    assert took <= timedelta(hours=3)


@pytest.mark.slow
def test_a_served_fix_that_breaks_one_boot_in_a_hundred_never_reaches_half(tmp_path: Path) -> None:
    reached = []
    for seed in range(3):
        fleet = ServedFleet(tmp_path, seed, 0.01, Schedule.ACCELERATED)
        fleet.run(10_000, boots_an_hour=600, hours=24)
        is_kept = fleet.campaign.halted or fleet.campaign.reach < 0.5
        reached.append(len(fleet.with_fix) if is_kept else 10_000)

    assert max(reached) < 5_000
