"""Waves by outcome: what a fleet loses to a bad fix, and how soon a good one is everywhere."""

import random
from collections import deque
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fairlead.hotfix.campaign import (
    Boots,
    Campaign,
    Schedule,
    advance,
    bucket_of,
    takes,
)
from fairlead.hotfix.service.ledger import LATE_AFTER, SILENT_AFTER

START = datetime(2026, 11, 16, 17, tzinfo=UTC)
USUAL = 0.002
BOOT = timedelta(seconds=90)


@dataclass
class Fleet:
    """
    Machines that boot one after the other, and tell a few minutes later how that went.

    is_silent: who failed never tells, which is counted as its failure much later.
    """

    size: int
    breaks: float
    seed: int
    schedule: Schedule
    boots_an_hour: int
    usual: float = USUAL
    is_silent: bool = False
    campaign: Campaign = field(init=False)
    fixed: Boots = field(default_factory=Boots)
    others: Boots = field(default_factory=lambda: Boots(good=998, failed=2))
    harmed: int = 0
    with_fix: set[int] = field(default_factory=set)
    silent: deque[tuple[datetime, bool, bool]] = field(default_factory=deque)

    def __post_init__(self) -> None:
        self.campaign = Campaign(version="202604.01.3", schedule=self.schedule, started_at=START)

    def run(self, hours: float) -> timedelta:
        """Boot machines until everybody is offered the fix, it is halted, or time is up."""
        chance = random.Random(self.seed)  # noqa: S311 - a simulation
        step = timedelta(hours=1) / self.boots_an_hour
        # All take as long as each other, so the first to begin is the first to tell.
        reports: deque[tuple[datetime, bool, bool]] = deque()
        now = START
        while now < START + timedelta(hours=hours):
            now += step
            for told, after in ((reports, BOOT), (self.silent, SILENT_AFTER)):
                while told and told[0][0] + after <= now:
                    _, is_fixed, is_good = told.popleft()
                    self._take(is_fixed=is_fixed, is_good=is_good, now=now)
            if self.campaign.reach == 1.0:
                return now - START
            machine = chance.randrange(self.size)
            # Who boots as usual is never late here.
            late = sum(fixed and at + LATE_AFTER < now for at, fixed, _ in self.silent)
            fixed = replace(self.fixed, late=late)
            is_fixed = takes(self.campaign, f"machine-{machine}", fixed, self.others)
            rate = self.usual + (self.breaks if is_fixed else 0.0)
            is_good = chance.random() >= rate
            if is_fixed:
                self.with_fix.add(machine)
                self.fixed = Boots(
                    good=self.fixed.good,
                    failed=self.fixed.failed,
                    under_way=self.fixed.under_way + 1,
                )
                self.harmed += not is_good
            is_told = is_good or not self.is_silent
            (reports if is_told else self.silent).append((now, is_fixed, is_good))
            if self.campaign.halted and not self.fixed.under_way:
                return now - START
        return now - START

    def _take(self, *, is_fixed: bool, is_good: bool, now: datetime) -> None:
        before = self.fixed if is_fixed else self.others
        after = Boots(
            good=before.good + is_good,
            failed=before.failed + (not is_good),
            under_way=max(0, before.under_way - 1),
        )
        if is_fixed:
            self.fixed = after
        else:
            self.others = after
        self.campaign = advance(self.campaign, self.fixed, self.others, now)


@pytest.mark.parametrize("is_silent", [False, True])
def test_a_fix_that_breaks_half_of_all_boots_harms_at_most_five_of_them(is_silent: bool) -> None:
    harmed = []
    for seed in range(100):
        fleet = Fleet(
            10_000, 0.5, seed, Schedule.EMERGENCY, boots_an_hour=3000, is_silent=is_silent
        )
        fleet.run(hours=6)
        assert fleet.campaign.halted
        harmed.append(fleet.harmed)

    # In 95 of 100 fleets.
    assert sorted(harmed)[94] <= 5


@pytest.mark.parametrize(
    ("fleets", "most_of_them"), [(4, 3), pytest.param(20, 19, marks=pytest.mark.slow)]
)
def test_a_fix_that_breaks_one_boot_in_a_hundred_never_reaches_half_of_a_fleet(
    fleets: int, most_of_them: int
) -> None:
    reached = []
    for seed in range(fleets):
        fleet = Fleet(10_000, 0.01, seed, Schedule.NORMAL, boots_an_hour=300)
        fleet.run(hours=24 * 6)
        # One that is not halted by then must have been kept small, or all have it.
        is_kept = fleet.campaign.halted or fleet.campaign.reach < 0.5
        reached.append(len(fleet.with_fix) if is_kept else fleet.size)

    # 19 of 20: 95 % of these fleets.
    assert sorted(reached)[most_of_them - 1] < 5_000


@pytest.mark.parametrize("is_silent", [False, True])
@pytest.mark.parametrize("seed", range(5))
def test_a_good_fix_reaches_everybody_within_three_hours_of_an_emergency(
    seed: int, is_silent: bool
) -> None:
    fleet = Fleet(10_000, 0.0, seed, Schedule.EMERGENCY, boots_an_hour=6000, is_silent=is_silent)

    took = fleet.run(hours=6)

    assert fleet.campaign.halted == ""
    assert fleet.campaign.reach == 1.0
    assert took <= timedelta(hours=3)


@pytest.mark.parametrize("fleets", [6, pytest.param(30, marks=pytest.mark.slow)])
def test_a_good_fix_is_halted_no_oftener_than_said(fleets: int) -> None:
    halted = 0
    for seed in range(fleets):
        fleet = Fleet(2_000, 0.0, seed, Schedule.EMERGENCY, boots_an_hour=3000)
        fleet.run(hours=3)
        halted += bool(fleet.campaign.halted)

    # One in a thousand each is what is said.
    assert halted == 0


def test_a_fix_of_a_base_that_fails_often_is_judged_by_that_base() -> None:
    """Why else would somebody publish one."""
    others = Boots(good=700, failed=300)
    campaign = Campaign(version="1", schedule=Schedule.NORMAL, started_at=START)

    assert advance(campaign, Boots(good=95, failed=5), others, START).halted == ""
    halted = advance(campaign, Boots(good=30, failed=70), others, START).halted
    assert halted == "70 of 100 boots with it failed, 300 of 1000 without it"


def test_without_a_single_boot_no_wave_opens_whatever_the_time() -> None:
    campaign = Campaign(version="1", schedule=Schedule.EMERGENCY, started_at=START)

    later = advance(campaign, Boots(), Boots(), START + timedelta(days=30))

    assert (later.wave, later.reach) == (0, 0.01)


def test_a_wave_opens_by_time_and_by_outcome_not_by_one_of_them() -> None:
    campaign = Campaign(version="1", schedule=Schedule.EMERGENCY, started_at=START)
    due = START + timedelta(minutes=27)

    assert advance(campaign, Boots(good=3), Boots(), due - timedelta(seconds=1)).wave == 0
    assert advance(campaign, Boots(good=2), Boots(), due).wave == 0
    assert advance(campaign, Boots(good=3), Boots(), due).wave == 1
    assert advance(campaign, Boots(good=3, failed=1), Boots(), due).wave == 0


def test_a_halted_campaign_stays_halted_and_offers_nothing() -> None:
    campaign = Campaign(
        version="1", schedule=Schedule.NORMAL, started_at=START, wave=1, halted="it broke"
    )

    assert advance(campaign, Boots(good=10**6), Boots(), START + timedelta(days=30)) == campaign
    assert not any(takes(campaign, f"m{n}", Boots(good=100), Boots()) for n in range(1000))


def test_few_boots_have_an_unproven_fix_at_once() -> None:
    campaign = Campaign(version="1", schedule=Schedule.NORMAL, started_at=START, wave=4)

    assert takes(campaign, "m", Boots(under_way=1), Boots())
    assert not takes(campaign, "m", Boots(under_way=2), Boots())
    assert takes(campaign, "m", Boots(under_way=2, good=1), Boots())


def test_a_boot_that_is_late_takes_the_room_of_another() -> None:
    campaign = Campaign(version="1", schedule=Schedule.NORMAL, started_at=START, wave=4)

    assert takes(campaign, "m", Boots(under_way=2, good=1), Boots())
    assert not takes(campaign, "m", Boots(under_way=2, good=1, late=1), Boots())
    assert takes(campaign, "m", Boots(under_way=2, good=2, late=1), Boots())


def test_while_so_many_are_late_that_it_would_be_halted_had_they_failed_nobody_is_offered_it() -> (
    None
):
    campaign = Campaign(version="1", schedule=Schedule.NORMAL, started_at=START, wave=4)
    usual = Boots(good=998, failed=2)

    assert takes(campaign, "m", Boots(under_way=4, good=30, late=2), usual)
    assert not takes(campaign, "m", Boots(under_way=4, good=30, late=4), usual)
    # One failed and three are late, or two and two.
    assert not takes(campaign, "m", Boots(under_way=4, good=30, failed=1, late=3), usual)
    # Failed boots alone are for the halt to judge: nothing is held back for ever.
    assert takes(campaign, "m", Boots(under_way=4, good=30, failed=4), usual)


@given(wave=st.integers(0, 3), machine=st.text(max_size=20))
def test_who_has_a_fix_keeps_it_when_the_next_wave_opens(wave: int, machine: str) -> None:
    def campaign(number: int) -> Campaign:
        return Campaign(version="1", schedule=Schedule.NORMAL, started_at=START, wave=number)

    if takes(campaign(wave), machine, Boots(), Boots()):
        assert takes(campaign(wave + 1), machine, Boots(), Boots())


def test_machines_are_spread_evenly_and_another_way_for_each_fix() -> None:
    first = [bucket_of("202604.01.3", f"machine-{n}") for n in range(10_000)]
    second = [bucket_of("202604.01.4", f"machine-{n}") for n in range(10_000)]

    for below in (100, 500, 2000, 5000):
        share = sum(bucket < below for bucket in first) / below
        assert 0.7 < share < 1.3
    both = sum(a < 500 and b < 500 for a, b in zip(first, second, strict=True))
    assert both < 60
