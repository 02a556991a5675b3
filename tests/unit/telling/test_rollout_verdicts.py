"""When following a rollout ends: complete, or waiting for somebody."""

from typing import Any

import pytest

from fairlead.answers.pool import PoolDetail, Verdict, Way
from fairlead.answers.wait import Wait
from fairlead.telling.verdict import verdict_of as verdict
from unit.telling.answers import (
    make_leaf,
    make_plan,
    make_pool,
    make_rolling_pool,
    make_wait,
)

GOES_ON = Verdict(is_complete=False)


def verdict_of(pool: PoolDetail) -> Verdict:
    return verdict(pool, pool.plan, pool.document)


def test_a_settled_pool_is_complete() -> None:
    assert verdict_of(make_pool()) == Verdict(is_complete=True)


def test_a_rolling_pool_is_followed() -> None:
    assert verdict_of(make_rolling_pool()) == GOES_ON


@pytest.mark.parametrize(
    "changed",
    [
        {"available": 2},
        {"total": 4},
        {"updated": 2},
        {"desired": 4},
        {"plan": make_plan(machines=["workers-1"])},
        {"plan": make_plan(creates=1)},
        {"plan": make_plan(removes=1, removed=["workers-1"])},
        # The kill switch keeps a new number of machines from the template.
        {"document": {"spec": {"replicas": 5}}},
    ],
)
def test_a_pool_with_anything_left_to_do_is_not_complete(changed: dict[str, Any]) -> None:
    assert not verdict_of(make_pool(**changed)).is_complete


def test_a_pool_that_is_complete_does_not_wait_for_the_end_of_its_pause() -> None:
    paused = make_pool(is_paused=True, waits=[make_wait("Paused", "the pool is paused")])

    assert verdict_of(paused) == Verdict(is_complete=True)


def test_a_held_platform_change_is_nothing_to_wait_for() -> None:
    held = make_pool(state="Drifted", plan=make_plan(leaves=[make_leaf("platform.proxy.image")]))

    assert verdict_of(held) == Verdict(is_complete=True)


@pytest.mark.parametrize(
    ("reason", "command"),
    [
        ("Halted", "fairlead pool resume workers"),
        ("Paused", "fairlead pool resume workers"),
        ("EverythingStopped", "fairlead platform set stopEverything=false"),
        ("WaitsForOwner", "fairlead machine delete workers-2"),
        ("PlanExceeded", "fairlead apply -f FILE"),
        ("InputMissing", "fairlead explain workers"),
    ],
)
def test_what_only_a_person_can_end_ends_the_following(reason: str, command: str) -> None:
    pool = make_rolling_pool(halted="2 failed", waits=[make_wait(reason, "says why")])

    found = verdict_of(pool)

    assert (found.is_complete, found.needs, found.command) == (False, "says why", command)
    assert found.ways[0].command == command


@pytest.mark.parametrize("reason", ["Paused", "OutsideWindow"])
def test_what_ends_by_itself_is_waited_for(reason: str) -> None:
    until = "2026-11-20T22:00:00.000Z"

    found = verdict_of(make_rolling_pool(waits=[make_wait(reason, "later", until=until)]))

    assert (found.is_complete, found.needs) == (False, "")


def test_a_pause_with_an_end_says_what_ends_it_sooner() -> None:
    until = "2026-11-20T22:00:00.000Z"
    waits = [make_wait("Paused", "the pool is paused", until=until)]
    resume = Way(command="fairlead pool resume workers", says="ends the pause")

    assert verdict_of(make_rolling_pool(waits=waits)).ways == (resume,)
    # A pause that holds nobody is nothing to end.
    assert verdict_of(make_rolling_pool(waits=waits, plan=make_plan())).ways == ()


def stuck_pool(*others: Wait, **spec: Any) -> PoolDetail:
    return make_rolling_pool(
        waits=[
            make_wait("BudgetSpent", "2 machines wait for their turn"),
            make_wait("MachineNotJoined", "workers-9: exit code 50", machine="workers-9"),
            *others,
        ],
        document={"spec": {"replicas": 3, **spec}},
    )


def test_a_failed_machine_that_nobody_replaces_ends_the_following() -> None:
    found = verdict_of(stuck_pool())

    assert (found.is_complete, found.needs) == (False, "workers-9 failed: exit code 50")
    assert [(way.command, way.says) for way in found.ways] == [
        ("fairlead machine delete workers-9", "the pool makes another"),
        (
            "fairlead apply -f FILE",
            "a document with autoRepair: true; then it is replaced without you",
        ),
    ]


def test_a_failed_machine_is_no_end_while_others_move_or_it_is_repaired() -> None:
    boots = make_wait("MachineNotJoined", "1 machine boots", until="2026-11-20T12:20:00.000Z")
    drains = make_wait("MachineLeaving", "1 machine drains")

    assert verdict_of(stuck_pool(boots)) == GOES_ON
    assert verdict_of(stuck_pool(drains)) == GOES_ON
    assert verdict_of(stuck_pool(autoRepair=True)) == GOES_ON


def test_a_repair_that_gave_up_ends_the_following() -> None:
    found = verdict_of(
        stuck_pool(make_wait("TooManyUnhealthy", "3 are unhealthy"), autoRepair=True)
    )

    assert found.needs == "3 are unhealthy"
    assert [way.command for way in found.ways] == [
        "fairlead machine delete workers-9",
        "fairlead apply -f FILE",
    ]


def test_after_repairs_in_vain_no_way_is_told_that_changes_nothing() -> None:
    found = verdict_of(
        stuck_pool(make_wait("RepairedInVain", "5 machines were repaired"), autoRepair=True)
    )

    assert found.needs == "5 machines were repaired"
    assert [(way.command, way.says) for way in found.ways] == [
        (
            "fairlead machine delete workers-9",
            "one more try; once a machine comes up, repair goes on",
        ),
        (
            "fairlead apply -f FILE",
            "a document that boots; with another target repair begins anew",
        ),
    ]


def test_a_drain_that_does_not_end_names_both_ways_out() -> None:
    stuck = make_wait("MachineLeaving", "workers-2: a pod stays", machine="workers-2")

    found = verdict_of(make_rolling_pool(waits=[stuck]))

    assert found.needs == "workers-2: a pod stays"
    assert [(way.command, way.says) for way in found.ways] == [
        ("fairlead machine delete workers-2 --force", "goes at once, without its drain"),
        (
            "fairlead apply -f FILE",
            "a document with timeouts.drain: 10m; drains that run are held to it",
        ),
    ]


def test_a_machine_that_drained_and_does_not_go_is_its_providers_to_take_away() -> None:
    stuck = make_wait("ReplacedByItsEdge", "workers-2: it does not go", machine="workers-2")

    found = verdict_of(make_rolling_pool(waits=[stuck]))

    assert (found.needs, found.command) == (
        "workers-2: it does not go",
        "fairlead explain workers-2",
    )


def test_a_drain_with_a_limit_is_waited_for() -> None:
    stuck = make_wait(
        "MachineLeaving",
        "workers-2: a pod stays",
        machine="workers-2",
        until="2026-11-20T12:01:00Z",
    )

    assert verdict_of(make_rolling_pool(waits=[stuck])) == GOES_ON


def test_settings_that_cannot_be_used_are_mended_and_not_resumed() -> None:
    halted = make_rolling_pool(waits=[make_wait("Halted", "the settings cannot be used")])

    assert verdict_of(halted).command == "fairlead apply -f FILE"


def test_a_blocked_pool_is_not_complete_though_its_machines_are_well() -> None:
    found = verdict_of(make_pool(state="Blocked", sentence="Unknown: a secret is missing."))

    assert (found.needs, found.command) == (
        "Unknown: a secret is missing.", "fairlead apply -f FILE",
    )  # fmt: skip


def test_a_pause_is_no_end_for_machines_that_only_boot() -> None:
    boots = make_wait("MachineNotJoined", "1 machine boots", until="2026-11-20T12:20:00.000Z")
    growing = make_pool(
        state="Unsettled", available=2, waits=[make_wait("Paused", "the pool is paused"), boots]
    )

    assert verdict_of(growing) == GOES_ON
