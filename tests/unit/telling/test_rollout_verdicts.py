"""When following a rollout ends: complete, or waiting for somebody."""

from typing import Any

import pytest

from fairlead.answers.machine import MachineDetail
from fairlead.answers.pool import PoolDetail, Verdict
from fairlead.telling.verdict import verdict_of as verdict
from unit.telling.answers import (
    make_leaf,
    make_machine,
    make_plan,
    make_pool,
    make_rolling_pool,
    make_wait,
)

GOES_ON = Verdict(is_complete=False)


def verdict_of(pool: PoolDetail) -> Verdict:
    return verdict(pool, pool.plan, pool.machines, pool.document)


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
        ("WaitsForOwner", "fairlead machine delete NAME"),
        ("PlanExceeded", "fairlead plan -f FILE, then fairlead apply -f FILE"),
    ],
)
def test_what_only_a_person_can_end_ends_the_following(reason: str, command: str) -> None:
    pool = make_rolling_pool(waits=[make_wait(reason, "says why")])

    assert verdict_of(pool) == Verdict(is_complete=False, needs="says why", command=command)


@pytest.mark.parametrize("reason", ["Paused", "OutsideWindow"])
def test_what_ends_by_itself_is_waited_for(reason: str) -> None:
    until = "2026-11-20T22:00:00.000Z"

    assert verdict_of(make_rolling_pool(waits=[make_wait(reason, "later", until=until)])) == GOES_ON


def stuck_pool(*others: MachineDetail, **spec: Any) -> PoolDetail:
    failed = make_machine("workers-9", phase="failed", problem="exit code 50")
    return make_rolling_pool(
        machines=[failed, *others],
        waits=[
            make_wait("BudgetSpent", "2 machines wait for their turn"),
            make_wait("MachineNotJoined", "workers-9: exit code 50", machine="workers-9"),
        ],
        document={"spec": {"replicas": 3, **spec}},
    )


def test_a_failed_machine_that_nobody_replaces_ends_the_following() -> None:
    assert verdict_of(stuck_pool()) == Verdict(
        is_complete=False,
        needs="workers-9 failed: exit code 50",
        command="fairlead machine delete workers-9",
    )


def test_a_failed_machine_is_no_end_while_others_move_or_it_is_repaired() -> None:
    assert verdict_of(stuck_pool(make_machine("workers-8", phase="booting"))) == GOES_ON
    assert verdict_of(stuck_pool(make_machine("workers-8", phase="leaving"))) == GOES_ON
    assert verdict_of(stuck_pool(autoRepair=True)) == GOES_ON
