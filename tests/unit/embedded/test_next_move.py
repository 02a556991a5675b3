"""What becomes of a machine: one row per thing that can be seen of it."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from fairlead.answers.words import Fault, Phase
from fairlead.contract.boot_report import BootReport, StageReport, report_fields
from fairlead.contract.json_text import encode_json
from fairlead.embedded.machines.kind import Life
from fairlead.embedded.machines.next_move import (
    Become,
    Destroy,
    Move,
    PowerOn,
    Restart,
    Sight,
    next_move,
)
from fairlead.embedded.store.machines import StoredMachine
from fairlead.rollout.machines import Machine, NodeSettings

NOW = datetime(2026, 11, 16, 12, tzinfo=UTC)


def report(exit_code: int = 0, *stages: StageReport) -> bytes:
    told = BootReport("run", agent="1", layout="fairlead", started="2026-11-16T12:00:00.000Z")
    told.exit_code = exit_code
    told.stages = list(stages)
    return encode_json(report_fields(told)).encode()


def stored(machine: dict[str, Any] | None = None, **facts: Any) -> StoredMachine:
    """A machine that was made a second ago and has not had power yet."""
    fields: dict[str, Any] = {
        "name": "workers-a",
        "pool": "workers",
        "revision": "r1",
        "phase": Phase.BOOTING,
        "created_at": NOW - timedelta(seconds=1),
    }
    known: dict[str, Any] = {
        "kind": "directory",
        "fault": Fault.NONE,
        "gone_at": None,
        "report": b"",
        "reported_at": None,
        "boots": 0,
        "powered_at": None,
    }
    return StoredMachine(machine=Machine(**{**fields, **(machine or {})}), **{**known, **facts})


def powered(seconds: float = 1.0, **facts: Any) -> StoredMachine:
    return stored(powered_at=NOW - timedelta(seconds=seconds), boots=1, **facts)


def move_of(machine: StoredMachine, life: Life, **sight: Any) -> Move | None:
    return next_move(machine, Sight(life=life, **sight), NOW)


def ready(**machine: Any) -> StoredMachine:
    fields = {"phase": Phase.READY, "booted": "r1", "ready_at": NOW, **machine}
    return powered(60, machine=fields)


def test_a_machine_without_power_gets_it() -> None:
    assert move_of(stored(), Life.ABSENT) == PowerOn("r1")


def test_a_boot_under_way_is_left_alone() -> None:
    assert move_of(powered(60, machine={"created_at": NOW}), Life.BOOTING) is None


def test_a_good_report_makes_it_ready() -> None:
    machine = powered(report=report(), reported_at=NOW, machine={"booted": "r1", "problem": "x"})

    move = move_of(machine, Life.UP)

    assert move == Become(replace(machine.machine, phase=Phase.READY, ready_at=NOW, problem=""))


def test_a_bad_report_makes_it_failed_and_says_why() -> None:
    stopped = StageReport("provision/kubelet-config", 1.0, 1.0, "stopped", "no room on the disk")
    machine = powered(report=report(241, stopped), reported_at=NOW)

    move = move_of(machine, Life.UP)

    assert isinstance(move, Become)
    assert move.machine.phase is Phase.FAILED
    assert move.machine.problem == "stage provision/kubelet-config: no room on the disk"


def test_a_report_from_before_it_last_had_power_does_not_count() -> None:
    machine = powered(report=report(), reported_at=NOW - timedelta(seconds=5))

    assert move_of(machine, Life.BOOTING) is None


def test_a_report_that_cannot_be_read_does_not_count() -> None:
    assert move_of(powered(report=b"{", reported_at=NOW), Life.BOOTING) is None


def test_a_machine_that_reports_and_never_fetched_has_failed() -> None:
    """What it runs is not known, so it cannot count as one of its revision."""
    move = move_of(powered(report=report(), reported_at=NOW), Life.UP)

    assert isinstance(move, Become)
    assert move.machine.phase is Phase.FAILED
    assert move.machine.problem == "it reported a boot and never fetched its node config"


@pytest.mark.parametrize(
    ("life", "seconds", "move"),
    [
        (Life.OFF, 1.9, None),
        (Life.OFF, 2.0, PowerOn("r1")),
        (Life.DOWN, 2.0, PowerOn("r1")),
        (Life.UP, 14.9, None),
        (Life.UP, 15.0, PowerOn("r1")),
        (Life.BOOTING, 1000.0, None),
    ],
)
def test_a_boot_that_ended_without_a_report_is_tried_again_after_a_while(
    life: Life, seconds: float, move: Move | None
) -> None:
    assert move_of(powered(seconds, machine={"created_at": NOW}), life) == move


def test_a_machine_that_says_nothing_is_quoted_from_its_own_record() -> None:
    machine = powered(machine={"created_at": NOW - timedelta(seconds=5)})

    move = move_of(machine, Life.BOOTING, last_words="stage fetch-config: status 511")

    assert move == Become(replace(machine.machine, problem="stage fetch-config: status 511"))


def test_a_machine_that_is_to_never_join_gets_power_once_and_no_more() -> None:
    assert move_of(stored(fault=Fault.NEVER_JOIN), Life.ABSENT) == PowerOn("r1")
    machine = powered(1000, fault=Fault.NEVER_JOIN, machine={"created_at": NOW})
    assert move_of(machine, Life.OFF) is None


def test_a_ready_machine_that_lives_is_left_alone() -> None:
    assert move_of(ready(), Life.UP) is None


@pytest.mark.parametrize("life", [Life.DOWN, Life.OFF, Life.BOOTING])
def test_a_ready_machine_that_fell_is_not_ready(life: Life) -> None:
    move = move_of(ready(), life)

    assert isinstance(move, Become)
    assert move.machine.phase is Phase.NOT_READY
    assert move.machine.problem == "it no longer runs"
    assert move.machine.ready_at is None


def test_a_fallen_machine_boots_from_what_it_has_and_is_ready_once_it_lives() -> None:
    fallen = ready(phase=Phase.NOT_READY, ready_at=None, problem="it no longer runs", since=NOW)

    assert move_of(fallen, Life.DOWN) == Restart()
    assert move_of(fallen, Life.BOOTING) is None
    well = replace(fallen.machine, phase=Phase.READY, ready_at=NOW, problem="", since=None)
    assert move_of(fallen, Life.UP) == Become(well)


def test_since_when_a_machine_is_fallen_is_noted_also_if_an_older_release_did_not() -> None:
    fallen = ready(phase=Phase.NOT_READY, ready_at=None, problem="it no longer runs")

    for machine in (ready(), fallen):
        move = move_of(machine, Life.DOWN)
        assert isinstance(move, Become)
        assert move.machine.since == NOW


def test_a_ready_machine_of_which_nothing_is_left_has_failed() -> None:
    move = move_of(ready(), Life.ABSENT)

    assert isinstance(move, Become)
    assert move.machine.phase is Phase.FAILED
    assert move.machine.problem == "nothing of it is left on this computer"


def test_a_machine_that_breaks_on_request_has_failed() -> None:
    broken = replace(ready(), fault=Fault.BREAK)

    move = move_of(broken, Life.UP)

    assert isinstance(move, Become)
    assert move.machine.phase is Phase.FAILED
    assert move.machine.problem == "it broke, on request"


@pytest.mark.parametrize("life", list(Life))
def test_a_failed_machine_stays_until_it_is_told_to_leave(life: Life) -> None:
    assert move_of(ready(phase=Phase.FAILED, ready_at=None), life) is None


def test_a_machine_told_to_leave_goes() -> None:
    assert move_of(ready(phase=Phase.LEAVING, reason="scaled down"), Life.UP) == Destroy()


def test_a_stuck_drain_says_so_and_waits_without_a_limit() -> None:
    stuck = replace(ready(phase=Phase.LEAVING, reason="x"), fault=Fault.STUCK_DRAIN)

    move = move_of(stuck, Life.UP, leaving_since=NOW - timedelta(days=30))

    assert isinstance(move, Become)
    assert move.machine.problem == "its drain does not end: a disruption budget allows no eviction"
    told = replace(stuck, machine=move.machine)
    assert move_of(told, Life.UP, leaving_since=NOW - timedelta(days=30)) is None


def test_a_stuck_drain_ends_with_its_timeout() -> None:
    settings = NodeSettings(drain_timeout=timedelta(seconds=30))
    stuck = replace(
        ready(phase=Phase.LEAVING, reason="x", settings=settings), fault=Fault.STUCK_DRAIN
    )

    early = move_of(stuck, Life.UP, leaving_since=NOW - timedelta(seconds=29))
    late = move_of(stuck, Life.UP, leaving_since=NOW - timedelta(seconds=30))

    assert isinstance(early, Become)
    assert late == Destroy()


def test_a_stuck_drain_ends_at_once_if_its_owner_does_not_wait_for_it() -> None:
    stuck = replace(
        ready(phase=Phase.LEAVING, reason="x", skips_drain=True), fault=Fault.STUCK_DRAIN
    )

    assert move_of(stuck, Life.UP, leaving_since=NOW) == Destroy()


def test_a_change_in_place_boots_the_other_revision() -> None:
    assert move_of(ready(heading_for="r2"), Life.UP) == PowerOn("r2")


def test_a_change_in_place_ends_with_its_report() -> None:
    machine = replace(changing("r2"), report=report(), reported_at=NOW)

    move = move_of(machine, Life.UP)

    assert isinstance(move, Become)
    assert (move.machine.revision, move.machine.heading_for) == ("r2", "")
    assert move.machine.phase is Phase.READY


def test_a_change_in_place_that_fails_says_why() -> None:
    stopped = StageReport("fetch-config", 1.0, 1.0, "stopped", "status 401")
    machine = replace(changing("r2"), report=report(1, stopped), reported_at=NOW)

    move = move_of(machine, Life.UP)

    assert isinstance(move, Become)
    assert move.machine.phase is Phase.FAILED
    assert move.machine.problem == "stage fetch-config: status 401"


def test_a_change_in_place_that_says_nothing_is_tried_again() -> None:
    assert move_of(changing("r2"), Life.UP) == PowerOn("r2")
    early = replace(changing("r2"), powered_at=NOW - timedelta(seconds=5))
    assert move_of(early, Life.UP) is None


def test_a_change_in_place_to_yet_another_revision_turns_at_once() -> None:
    turned = replace(ready(heading_for="r3"), powered_for="r2")

    assert move_of(turned, Life.BOOTING) == PowerOn("r3")


def changing(revision: str) -> StoredMachine:
    """A machine that was given power a minute ago to become another."""
    return replace(ready(heading_for=revision), powered_for=revision)


@pytest.mark.parametrize("life", [Life.ABSENT, Life.OFF, Life.BOOTING, Life.DOWN])
def test_a_good_report_of_a_machine_that_cannot_be_seen_to_run_makes_none_ready(
    life: Life,
) -> None:
    fresh = powered(report=report(), reported_at=NOW, machine={"booted": "r1"})
    turned = replace(changing("r2"), report=report(), reported_at=NOW, powered_at=NOW)

    assert move_of(fresh, life) == Become(
        replace(fresh.machine, problem="it reported a good boot, of which nothing can be seen here")
    )
    assert move_of(turned, life) is None


@pytest.mark.parametrize(
    ("life", "seconds", "move"),
    [
        (Life.OFF, 2.0, PowerOn("r1")),
        (Life.DOWN, 2.0, PowerOn("r1")),
        (Life.BOOTING, 14.9, None),
        (Life.BOOTING, 15.0, PowerOn("r1")),
    ],
)
def test_a_machine_whose_report_is_contradicted_is_given_power_again(
    life: Life, seconds: float, move: Move | None
) -> None:
    problem = "it reported a good boot, of which nothing can be seen here"
    fields = {"booted": "r1", "problem": problem}

    machine = powered(seconds, report=report(), reported_at=NOW, machine=fields)

    assert move_of(machine, life) == move


def test_bad_news_needs_no_second_witness() -> None:
    move = move_of(powered(report=report(1), reported_at=NOW), Life.OFF)

    assert isinstance(move, Become)
    assert move.machine.phase is Phase.FAILED


@pytest.mark.parametrize(("hours", "moves"), [(10.9, False), (11.0, True)])
def test_a_boot_that_outlives_its_token_is_begun_again_with_another(
    hours: float, moves: bool
) -> None:
    fresh = powered(hours * 3600, machine={"created_at": NOW})
    turned = replace(changing("r2"), powered_at=NOW - timedelta(hours=hours))

    assert move_of(fresh, Life.BOOTING) == (PowerOn("r1") if moves else None)
    assert move_of(turned, Life.BOOTING) == (PowerOn("r2") if moves else None)


def test_a_machine_that_only_takes_its_time_is_not_quoted() -> None:
    machine = powered(machine={"created_at": NOW - timedelta(seconds=4.9)})

    assert move_of(machine, Life.BOOTING, last_words="stage provision: under way") is None
