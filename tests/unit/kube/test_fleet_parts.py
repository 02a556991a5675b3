"""What replicas know of machines: how much of it, whatever a fleet does, and what is read of it."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta

import pytest

from fairlead.errors import UnavailableError
from fairlead.hotfix.service.ledger import FORGOTTEN_AFTER, SILENT, SILENT_AFTER
from fairlead.kube.ledger.fleet_part import Part, end_boot, forget, note, settle
from fairlead.kube.ledger.fleet_text import LARGEST, read_part, write_part
from ledger_boots import asker, boot
from served_hotfixes import BASE, FIX, NOW

AT = int(NOW.timestamp())
LATE = NOW + 2 * SILENT_AFTER


def test_what_is_known_is_read_back_as_it_was() -> None:
    part = Part()
    end_boot(part, boot("m1", fixed=True), NOW)
    end_boot(part, boot("m2", fixed=True, good=False, region="far"), NOW)
    note(part, asker("m3"), FIX, AT)

    assert read_part(write_part(part)) == part
    assert read_part("") == Part()


@pytest.mark.parametrize(
    "text",
    [
        "[]",
        '{"machines":{}}',
        '[{},{},[],{"m":{"1":4}},["a"]]',
        "[{},{},[],{},[],1]",
    ],
)
def test_a_text_that_nobody_of_us_wrote_is_refused(text: str) -> None:
    with pytest.raises(UnavailableError, match="what is known of machines is damaged"):
        read_part(text)


def test_the_last_boot_of_a_machine_counts_and_every_boot_is_counted() -> None:
    part = Part()
    end_boot(part, boot("m1", fixed=False), NOW)
    end_boot(part, boot("m1", fixed=True, run="2"), NOW)
    for _ in range(3):  # told again
        end_boot(part, boot("m1", fixed=True, run="2"), NOW)

    assert part.machines["m1"].used == FIX
    assert part.tallies == {(BASE, "", "local"): (1, 0), (BASE, FIX, "local"): (1, 0)}


def test_who_fell_silent_failed_where_machines_of_its_base_report() -> None:
    part = Part()
    note(part, asker("m2"), FIX, AT)
    settle(part, LATE)
    assert part.tallies == {}

    settle(part, LATE, frozenset({BASE}))

    assert part.tallies == {(BASE, FIX, "local"): (0, 1)}
    assert part.failed == {"m2": {FIX: SILENT}}
    assert (part.machines, part.asked) == ({}, {})


def test_who_is_told_the_same_again_is_silent_since_it_asked_first() -> None:
    part = Part()
    note(part, asker("m1"), FIX, AT)
    note(part, asker("m1"), FIX, AT + 1000)
    assert part.asked["m1"].at == AT

    note(part, asker("m1"), "", AT + 1000)
    assert part.asked["m1"].at == AT + 1000
    end_boot(part, boot("m1", fixed=False), NOW + timedelta(seconds=2000))
    note(part, asker("m1"), "", AT + 1500)  # written late
    assert part.asked == {}


def test_a_machine_that_is_gone_or_long_unheard_of_has_and_lacks_nothing() -> None:
    part = Part()
    for name in ("gone", "old"):
        end_boot(part, boot(name, fixed=True), NOW)
    forget(part, "gone")
    end_boot(part, boot("new", fixed=True), NOW + FORGOTTEN_AFTER + timedelta(seconds=1))

    assert list(part.machines) == ["new"]
    assert part.tallies == {(BASE, FIX, "local"): (3, 0)}


def test_a_fleet_of_any_size_and_any_names_takes_no_more_than_a_text_may() -> None:
    part = Part()
    for number in range(4000):
        name, region = f"{number:0253}", f"{number % 400:063}"
        ended = boot(name, fixed=True, good=bool(number % 2), region=region)
        end_boot(part, replace(ended, cause=f"{number:0300}"), NOW + timedelta(seconds=number))
        note(part, asker(f"a{name}"), FIX, AT + number)

    assert len(part.machines) == 2500
    assert len({one for causes in part.failed.values() for one in causes.values()}) <= 51
    text = write_part(part)
    assert len(text) <= LARGEST
    # Those that were heard of last are kept.
    assert f"{3999:0253}" in read_part(text).machines
