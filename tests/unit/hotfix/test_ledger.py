"""What is read from reports, what the ledger in a file says of a fleet, and how it is shared."""

from __future__ import annotations

import time
from datetime import timedelta
from pathlib import Path

import pytest

from fairlead.contract.boot_report import parse_report
from fairlead.contract.hotfix.answer import OUR_COMPONENT
from fairlead.errors import UnavailableError
from fairlead.hotfix.campaign import Boots
from fairlead.hotfix.service.attestation.verifier import Claims
from fairlead.hotfix.service.file_ledger import FileLedger
from fairlead.hotfix.service.fleet import Fleet
from fairlead.hotfix.service.ledger import SILENT, SILENT_AFTER
from fairlead.hotfix.service.reports import ended_boot
from ledger_boots import IN_FIRST_WAVE, THE_FIX, asker, boot, count, counted
from served_hotfixes import BASE, FIX, NOW, make_catalog, report_text


def test_a_machine_has_one_voice_however_often_it_says_that_a_fix_failed(tmp_path: Path) -> None:
    ledger = FileLedger(tmp_path)
    for run in range(100):
        count(ledger, boot("m1", fixed=True, good=False, run=str(run)))

    assert counted(ledger)[0] == Boots(failed=1)
    assert ledger.standings([THE_FIX])[FIX].campaign.halted == ""
    (reach,) = Fleet(tmp_path).reach_of([THE_FIX])
    assert reach.regions[0].with_fix == Boots(failed=100)


def test_a_fix_that_silences_machines_is_halted_as_one_that_breaks_them(tmp_path: Path) -> None:
    ledger = FileLedger(tmp_path)
    count(ledger, boot("m1", fixed=False))
    offered = [name for name in IN_FIRST_WAVE if ledger.offer(THE_FIX, asker(name), NOW)]
    assert len(offered) == 2

    ledger.tend([THE_FIX], NOW + SILENT_AFTER)
    assert counted(ledger)[0] == Boots(under_way=2)
    ledger.tend([THE_FIX], NOW + SILENT_AFTER + timedelta(seconds=1))

    assert counted(ledger)[0] == Boots(failed=2)
    (reach,) = Fleet(tmp_path).reach_of([THE_FIX])
    assert reach.campaign.halted == "2 of 2 boots with it failed, 0 of 1 without it"
    assert reach.causes == ((SILENT, 2),)


def test_a_boot_that_fell_back_to_the_baked_agent_failed_for_the_fix() -> None:
    catalog = make_catalog([THE_FIX])
    claims = Claims(machine="m1", region="local", pool="workers")

    ended = ended_boot(parse_report(report_text(run="1", wanted=FIX)), claims, catalog)

    assert (ended.version, ended.is_good, ended.used, ended.pool) == (FIX, False, "", "workers")


@pytest.mark.parametrize(
    ("used", "exit_code", "version", "is_good"),
    [
        (FIX, 0, FIX, True),
        (FIX, 1, FIX, False),
        ("", 0, "", True),
        ("", 1, "", False),
        # Versions that were never published here say nothing of any fix.
        ("202611.16.9", 0, "", True),
    ],
)
def test_a_report_speaks_for_the_fix_that_it_used(
    used: str, exit_code: int, version: str, is_good: bool
) -> None:
    report = parse_report(report_text(run="1", used=used, exit_code=exit_code))
    claims = Claims(machine="m1", region="local")

    ended = ended_boot(report, claims, make_catalog([THE_FIX]))

    assert (ended.version, ended.is_good, ended.asker.base) == (version, is_good, BASE)


@pytest.mark.parametrize(
    ("baked", "used", "told"),
    [
        (f"{BASE}.0", "", ""),
        (f"{BASE}.0", FIX, FIX),
        # An image that was built with a fix in it.
        (f"{BASE}.4", "", f"{BASE}.4"),
        ("999912.31.7", "", ""),
    ],
)
def test_a_report_says_which_version_a_machine_has_from_a_fix_or_its_image(
    baked: str, used: str, told: str
) -> None:
    report = parse_report(report_text(run="1", baked=baked, used=used))

    ended = ended_boot(report, Claims(machine="m1", region="local"), make_catalog([THE_FIX]))

    assert ended.used == told


def test_a_base_that_a_machine_made_up_takes_no_room_of_its_own() -> None:
    report = parse_report(report_text(run="1", baked="999912.31.7"))

    ended = ended_boot(report, Claims(machine="m1", region="local"), make_catalog([THE_FIX]))

    assert ended.asker.base == ""


def test_who_has_a_fix_and_who_lacks_it_by_region(tmp_path: Path) -> None:
    ledger = FileLedger(tmp_path)
    count(ledger, boot("a", fixed=True, region="east"))
    count(ledger, boot("b", fixed=False, region="east"))
    count(ledger, boot("c", fixed=False, region="west"))
    count(ledger, boot("d", fixed=True, good=False, region="west"))
    fleet = Fleet(tmp_path)

    (reach,) = fleet.reach_of([THE_FIX])

    assert [(one.region, one.have, one.lack) for one in reach.regions] == [
        ("east", 1, 1),
        ("west", 0, 2),
    ]
    assert (reach.have, reach.lack) == (1, 3)
    assert reach.causes == (("it crashed", 1),)
    assert fleet.lacking(THE_FIX, 10) == ("b", "c", "d")
    assert fleet.having(THE_FIX, 10) == ("a",)
    assert [fleet.used_by(OUR_COMPONENT, name) for name in ("a", "b", "z")] == [FIX, "", None]


def test_a_machine_that_is_gone_lacks_nothing(tmp_path: Path) -> None:
    ledger = FileLedger(tmp_path)
    count(ledger, boot("a", fixed=False))

    ledger.forget(OUR_COMPONENT, "a")

    assert Fleet(tmp_path).lacking(THE_FIX, 10) == ()
    assert counted(ledger)[1] == Boots(good=1)


def test_a_machine_of_long_ago_is_forgotten(tmp_path: Path) -> None:
    ledger = FileLedger(tmp_path)
    count(ledger, boot("a", fixed=False))
    count(ledger, boot("b", fixed=False), NOW + timedelta(days=100))

    ledger.tidy(NOW + timedelta(days=181))

    assert Fleet(tmp_path).lacking(THE_FIX, 10) == ("b",)


def test_before_anybody_was_served_a_fleet_is_empty(tmp_path: Path) -> None:
    (reach,) = Fleet(tmp_path).reach_of([THE_FIX])

    assert (reach.have, reach.lack, reach.regions) == (0, 0, ())


def test_who_lacks_a_fix_is_known_at_once_for_a_hundred_thousand_machines(tmp_path: Path) -> None:
    ledger = FileLedger(tmp_path)
    count(ledger, boot("first", fixed=True))
    regions = [f"region-{number}" for number in range(20)]
    with ledger._file.writing() as db:
        db.executemany(
            "INSERT INTO machines VALUES (?, ?, ?, ?, 'workers', ?, ?, 1, '', '1', ?)",
            (
                (
                    *(OUR_COMPONENT, f"m{n}", BASE, regions[n % 20]),
                    *(FIX if n % 3 else "", FIX, NOW.timestamp()),
                )
                for n in range(100_000)
            ),
        )
    fleet = Fleet(tmp_path)
    began = time.monotonic()

    (reach,) = fleet.reach_of([THE_FIX])
    lacking = fleet.lacking(THE_FIX, 100_000)
    took_s = time.monotonic() - began

    assert (reach.have, reach.lack) == (66_667, 33_334)
    assert len(lacking) == 33_334
    assert took_s < 1.0


def test_a_ledger_that_another_process_holds_is_not_waited_for_long(tmp_path: Path) -> None:
    first, second = FileLedger(tmp_path), FileLedger(tmp_path)
    began = time.monotonic()
    with first._file.writing(), pytest.raises(UnavailableError, match="held by another process"):
        second.offer(THE_FIX, asker("m1"), NOW)

    assert time.monotonic() - began < 2.0
