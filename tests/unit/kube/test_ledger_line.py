"""How much replicas keep of one base, whatever a fleet does, and what they read of it."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta

import pytest

from fairlead.errors import UnavailableError
from fairlead.hotfix.service.ledger import SILENT_AFTER
from fairlead.hotfix.service.standing import Standing
from fairlead.kube.ledger.line import Line, count, note, offer, standing_of, tend
from fairlead.kube.ledger.line_text import read_line, write_line
from ledger_boots import THE_FIX, boot
from served_hotfixes import BASE, NOW

LAST_WAVE = replace(THE_FIX, wave=4)


def hear(line: Line, machines: int, versions: int = 1) -> None:
    for number in range(machines):
        for patch in range(1, versions + 1):
            ended = replace(
                boot(f"m{number}", fixed=True, run=str(patch)), version=f"{BASE}.{patch}"
            )
            count(line, ended, [], NOW + timedelta(seconds=number))


def proven() -> Line:
    """A line that heard of so many good boots that a thousand more may be under way."""
    line = Line()
    for number in range(1200):
        count(line, boot(f"good{number}", fixed=True), [LAST_WAVE], NOW)
    return line


def standing(line: Line) -> Standing:
    return standing_of(line, LAST_WAVE)


def test_what_is_kept_is_read_back_as_it_was() -> None:
    line = Line()
    hear(line, 3, versions=2)
    offer(line, THE_FIX, "a", NOW)
    note(line, "b", "", 1.5)

    assert read_line(write_line(line)) == line
    assert read_line("") == Line()


def test_a_fleet_of_any_size_takes_no_more_than_half_a_megabyte() -> None:
    line = proven()
    for number in range(2000):
        offer(line, LAST_WAVE, f"new{number}", NOW)
        note(line, f"plain{number}", "", NOW.timestamp())
    hear(line, 700, versions=30)

    assert len(line.asked) == 1500
    assert sum(len(one.said) for one in line.heard.values()) <= 6000
    assert len(write_line(line)) < 500_000


def test_no_more_than_a_thousand_boots_with_unproven_fixes_are_under_way_at_once() -> None:
    line = proven()

    given = sum(offer(line, LAST_WAVE, f"new{number}", NOW) for number in range(1500))

    assert given == 1000
    assert standing(line).fixed.under_way == 1000


def test_a_question_that_is_noted_late_does_not_undo_what_the_machine_said_since() -> None:
    line = Line()
    count(line, boot("a", fixed=False), [THE_FIX], NOW)
    assert offer(line, THE_FIX, "b", NOW)

    for machine in ("a", "b"):
        note(line, machine, "", (NOW - timedelta(seconds=5)).timestamp())
    # Those of five seconds ago would be silent by now, that of this moment is not.
    tend(line, [THE_FIX], NOW + SILENT_AFTER - timedelta(seconds=2))

    assert (standing(line).others.failed, standing(line).fixed.under_way) == (0, 1)


def test_no_machine_is_kept_by_its_name() -> None:
    line = Line()
    offer(line, THE_FIX, "the-name-of-a-machine", NOW)
    count(line, boot("another-name", fixed=True), [THE_FIX], NOW)

    assert "name" not in write_line(line)


@pytest.mark.parametrize("text", ["{}", "[]", "nothing", '{"campaigns":{"a":["",-1]}}'])
def test_a_line_that_somebody_edited_offers_nothing(text: str) -> None:
    with pytest.raises(UnavailableError, match="a ledger that is damaged"):
        read_line(text)
