"""One suite for every ledger: what is counted of boots, and what follows for waves."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from datetime import timedelta
from pathlib import Path

import pytest

from conformance.conftest import ON_A_CLUSTER
from fairlead.hotfix.campaign import Boots
from fairlead.hotfix.service.file_ledger import FileLedger
from fairlead.hotfix.service.fleet import Fleet, KnownFleet
from fairlead.hotfix.service.ledger import LATE_AFTER, SILENT_AFTER, Ledger
from fairlead.kube.client import KubeClient
from fairlead.kube.ledger.fleet_reach import ClusterFleet
from fairlead.kube.ledger.kube_ledger import KubeLedger
from kube.processes import HOME
from ledger_boots import IN_FIRST_WAVE, THE_FIX, asker, boot, count, counted
from served_hotfixes import BASE, FIX, NOW, make_fix

# Another one who serves the same, and what people ask.
Another = Callable[[], Ledger]
Told = Callable[[], KnownFleet]


@pytest.fixture(params=["file", ON_A_CLUSTER])
def client(request: pytest.FixtureRequest) -> KubeClient | None:
    if request.param != "kube":
        return None
    found: KubeClient = request.getfixturevalue("hotfix_client")
    return found


@pytest.fixture
def another(client: KubeClient | None, tmp_path: Path) -> Iterator[Another]:
    made: list[Ledger] = []

    def make() -> Ledger:
        if client is not None:
            # Nothing waits for company: what a test counted it looks for at once.
            made.append(KubeLedger(client, HOME, company_s=0))
        else:
            made.append(FileLedger(tmp_path))
        return made[-1]

    yield make
    for one in made:
        one.close()


@pytest.fixture
def ledger(another: Another) -> Ledger:
    return another()


@pytest.fixture
def told(request: pytest.FixtureRequest, client: KubeClient | None, tmp_path: Path) -> Told:
    """What people are told of machines, by everything that the ledger wrote."""
    if client is None:
        return lambda: Fleet(tmp_path)
    admin, _ = request.getfixturevalue("clients")
    return lambda: ClusterFleet(admin, HOME, NOW)


def test_boots_are_counted_with_and_without_the_fix(ledger: Ledger) -> None:
    count(ledger, boot("m1", fixed=True))
    count(ledger, boot("m2", fixed=False))
    count(ledger, boot("m3", fixed=False, good=False))

    assert counted(ledger) == (Boots(good=1), Boots(good=1, failed=1))


def test_a_newer_fix_that_fails_does_not_make_failing_usual_for_the_one_before(
    ledger: Ledger,
) -> None:
    newer = make_fix(version=f"{BASE}.4")
    both = [THE_FIX, newer]

    def count_boot(machine: str, version: str, *, good: bool = True) -> None:
        ended = replace(boot(machine, fixed=bool(version), good=good), version=version)
        ledger.count(ended, both, NOW)

    count_boot("m1", "")
    count_boot("m2", FIX)
    for number in range(2):
        count_boot(f"n{number}", newer.version, good=False)

    assert counted(ledger) == (Boots(good=1), Boots(good=1))
    assert counted(ledger, newer) == (Boots(failed=2), Boots(good=2))

    # Once the older one is halted, its boots are no measure for the newer one either.
    for number in range(8):
        count_boot(f"f{number}", FIX, good=False)
    assert ledger.standings([THE_FIX])[FIX].campaign.halted
    assert counted(ledger, newer)[1] == Boots(good=1)


def test_one_run_is_counted_once_however_often_it_is_reported(ledger: Ledger) -> None:

    assert [count(ledger, boot("m1", fixed=True)) for _ in range(3)] == [True, False, False]
    assert counted(ledger)[0] == Boots(good=1)


def test_a_machine_speaks_for_a_fix_three_times_and_no_more(ledger: Ledger) -> None:
    for run in range(100):
        count(ledger, boot("m1", fixed=True, run=str(run)))

    assert counted(ledger)[0] == Boots(good=3)


def test_an_offer_is_under_way_until_its_boot_is_reported(ledger: Ledger) -> None:
    assert ledger.offer(THE_FIX, asker(IN_FIRST_WAVE[0]), NOW)
    assert counted(ledger)[0] == Boots(under_way=1)

    count(ledger, boot(IN_FIRST_WAVE[0], fixed=True))

    assert counted(ledger)[0] == Boots(good=1)


def test_failed_boots_halt_the_fix_by_themselves(ledger: Ledger) -> None:
    for number in range(2):
        count(ledger, boot(f"m{number}", fixed=True, good=False))

    campaign = ledger.standings([THE_FIX])[FIX].campaign
    assert campaign.halted == "2 of 2 boots with it failed, 0 of 0 without it"
    assert not ledger.offer(THE_FIX, asker(IN_FIRST_WAVE[0]), NOW)


def test_a_machine_that_was_offered_a_halted_fix_is_not_told_it_again(ledger: Ledger) -> None:
    assert ledger.offer(THE_FIX, asker(IN_FIRST_WAVE[0]), NOW)
    for number in range(2):
        count(ledger, boot(f"m{number}", fixed=True, good=False))

    assert not ledger.offer(THE_FIX, asker(IN_FIRST_WAVE[0]), NOW)


def test_after_a_halt_a_resumed_fix_begins_anew_and_earlier_boots_do_not_count(
    ledger: Ledger,
) -> None:
    for number in range(2):
        count(ledger, boot(f"m{number}", fixed=True, good=False))
    resumed = replace(THE_FIX, resumed_at=NOW + timedelta(hours=1), wave=1)

    assert counted(ledger, resumed)[0] == Boots()
    standing = ledger.standings([resumed])[FIX]
    assert (standing.campaign.halted, standing.campaign.reach) == ("", 0.05)
    # A machine that failed before speaks again.
    count(ledger, boot("m1", fixed=True, run="2"), fix=resumed)
    assert counted(ledger, resumed)[0] == Boots(good=1)


def test_waves_open_when_time_passes_and_nobody_reports(ledger: Ledger) -> None:
    for number in range(3):
        count(ledger, boot(f"m{number}", fixed=True))
    ledger.tend([THE_FIX], NOW + timedelta(minutes=26))
    assert ledger.standings([THE_FIX])[FIX].campaign.wave == 0

    ledger.tend([THE_FIX], NOW + timedelta(minutes=27))

    assert ledger.standings([THE_FIX])[FIX].campaign.wave == 1


def test_silence_counts_without_the_fix_as_well(ledger: Ledger) -> None:
    count(ledger, boot("m1", fixed=False))
    ledger.note(asker("m2"), "", NOW)
    ledger.write_notes()

    ledger.tend([THE_FIX], NOW + 2 * SILENT_AFTER)

    assert counted(ledger)[1] == Boots(good=1, failed=1)


def test_where_nobody_ever_reported_silence_says_nothing_and_gives_room(ledger: Ledger) -> None:
    offered = [name for name in IN_FIRST_WAVE if ledger.offer(THE_FIX, asker(name), NOW)]
    assert len(offered) == 2

    ledger.tend([THE_FIX], NOW + 2 * SILENT_AFTER)

    assert counted(ledger) == (Boots(), Boots())


def test_a_boot_that_is_late_takes_the_room_of_another(ledger: Ledger) -> None:
    count(ledger, boot("m1", fixed=True))
    count(ledger, boot("m2", fixed=True))
    assert ledger.offer(THE_FIX, asker(IN_FIRST_WAVE[0]), NOW)
    assert ledger.offer(THE_FIX, asker(IN_FIRST_WAVE[1]), NOW + timedelta(seconds=1))
    # The first is late by then and the second is not: there is room for three.
    soon = NOW + LATE_AFTER + timedelta(seconds=1)
    assert ledger.offer(THE_FIX, asker(IN_FIRST_WAVE[2]), soon)
    assert not ledger.offer(THE_FIX, asker(IN_FIRST_WAVE[3]), soon)

    count(ledger, boot(IN_FIRST_WAVE[0], fixed=True))

    assert ledger.offer(THE_FIX, asker(IN_FIRST_WAVE[3]), soon)


def test_late_boots_that_would_halt_a_fix_had_they_failed_hold_it_back_until_they_end(
    ledger: Ledger,
) -> None:
    for number in range(10):
        count(ledger, boot(f"m{number}", fixed=True))
    for name in IN_FIRST_WAVE[:4]:
        assert ledger.offer(THE_FIX, asker(name), NOW)
    late = NOW + LATE_AFTER + timedelta(seconds=1)
    # Room is for four more.
    assert not ledger.offer(THE_FIX, asker(IN_FIRST_WAVE[4]), late)

    # Two of them end well, and two would not halt it.
    for name in IN_FIRST_WAVE[:2]:
        count(ledger, boot(name, fixed=True))

    assert ledger.offer(THE_FIX, asker(IN_FIRST_WAVE[4]), late)
    # Without a word from the others they failed, which frees their room again.
    ledger.tend([THE_FIX], NOW + SILENT_AFTER + timedelta(seconds=1))
    assert counted(ledger)[0] == Boots(good=12, failed=2, under_way=1)
    assert ledger.offer(THE_FIX, asker(IN_FIRST_WAVE[5]), NOW + SILENT_AFTER)


def test_a_machine_has_one_voice_though_it_says_other_things_in_between(ledger: Ledger) -> None:
    for run in range(10):
        count(ledger, boot("m1", fixed=True, good=False, run=f"a{run}"))
        count(ledger, boot("m1", fixed=False, run=f"b{run}"))

    assert counted(ledger) == (Boots(failed=1), Boots(good=3))


def test_who_had_a_fix_has_it_again_without_taking_room(ledger: Ledger) -> None:
    assert ledger.offer(THE_FIX, asker("outside"), NOW)
    count(ledger, boot("outside", fixed=True))
    for name in IN_FIRST_WAVE[:3]:
        assert ledger.offer(THE_FIX, asker(name), NOW)
    assert not ledger.offer(THE_FIX, asker(IN_FIRST_WAVE[3]), NOW)

    assert ledger.has_had(THE_FIX, asker("outside"))
    assert not ledger.has_had(THE_FIX, asker("nobody"))
    assert ledger.offer(THE_FIX, asker("outside"), NOW)


def test_a_machine_that_is_gone_is_no_longer_waited_for(ledger: Ledger) -> None:
    assert ledger.offer(THE_FIX, asker(IN_FIRST_WAVE[0]), NOW)

    ledger.forget("fairlead-node", IN_FIRST_WAVE[0])

    assert counted(ledger)[0] == Boots()


def test_room_is_one_for_all_who_serve(ledger: Ledger, another: Another) -> None:
    second = another()
    assert ledger.offer(THE_FIX, asker(IN_FIRST_WAVE[0]), NOW)
    assert second.offer(THE_FIX, asker(IN_FIRST_WAVE[1]), NOW)

    for name in IN_FIRST_WAVE[2:]:
        assert not ledger.offer(THE_FIX, asker(name), NOW)
        assert not second.offer(THE_FIX, asker(name), NOW)

    count(second, boot(IN_FIRST_WAVE[0], fixed=True))
    # Room that another one made is known after the next look.
    ledger.tend([THE_FIX], NOW)
    given = [name for name in IN_FIRST_WAVE[2:] if ledger.offer(THE_FIX, asker(name), NOW)]
    assert given == IN_FIRST_WAVE[2:4]


def test_a_run_that_was_told_to_one_is_not_counted_by_another(
    ledger: Ledger, another: Another
) -> None:
    assert count(ledger, boot("m1", fixed=True))

    assert not count(another(), boot("m1", fixed=True))


def test_who_has_a_newer_fix_or_an_image_with_it_lacks_no_older_one(
    ledger: Ledger, told: Told
) -> None:
    newer = make_fix(version=f"{BASE}.10")
    count(ledger, boot("as-baked", fixed=False))
    count(ledger, boot("fixed", fixed=True))
    for machine, used in (
        ("newer", newer.version),
        ("image", f"{BASE}.12"),
        ("older", f"{BASE}.2"),
    ):
        ledger.count(replace(boot(machine, fixed=False), used=used), [THE_FIX, newer], NOW)
    ledger.write_notes()

    fleet = told()
    one, other = fleet.reach_of([THE_FIX, newer])

    assert fleet.lacking(THE_FIX, 10) == ("as-baked", "older")
    assert fleet.having(THE_FIX, 10) == ("fixed",)
    assert (one.have, one.lack) == (1, 2)
    assert fleet.lacking(newer, 10) == ("as-baked", "fixed", "older")
    assert (other.have, other.lack) == (1, 3)


def test_a_halt_found_by_one_is_the_halt_of_all(ledger: Ledger, another: Another) -> None:
    second = another()
    assert second.offer(THE_FIX, asker(IN_FIRST_WAVE[0]), NOW)
    for number in range(2):
        count(ledger, boot(f"m{number}", fixed=True, good=False))

    assert not second.offer(THE_FIX, asker(IN_FIRST_WAVE[1]), NOW)
    assert not second.offer(THE_FIX, asker(IN_FIRST_WAVE[0]), NOW)
