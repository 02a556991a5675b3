"""Repair: what is replaced without the owner, where that ends, and that it says so."""

from datetime import timedelta
from typing import Any

import pytest

from fairlead.sim.world import SimWorld
from transitions.pool_worlds import (
    POOL,
    condition,
    edit,
    event_kinds,
    full_condition,
    names,
    settled_world,
    state,
)


def lose_all(world: SimWorld, count: int) -> list[str]:
    """Let so many machines be not ready."""
    lost = names(world)[:count]
    for name in lost:
        world.lose(name)
    world.settle()
    return lost


def wait_until_dead(world: SimWorld, minutes: int = 8) -> None:
    world.clock.advance(timedelta(minutes=minutes))
    world.settle()


def test_a_machine_that_is_not_ready_for_too_long_is_replaced() -> None:
    world = settled_world(autoRepair=True)
    (lost,) = lose_all(world, 1)
    assert lost in names(world), "it may come back by itself"

    wait_until_dead(world)

    assert world.gone[lost].reason == "repair: not ready for too long; it says nothing"
    assert state(world) == "Settled"


def test_a_machine_that_comes_back_in_time_stays() -> None:
    world = settled_world(autoRepair=True)
    (lost,) = lose_all(world, 1)
    world.recover(lost)

    wait_until_dead(world, minutes=60)

    assert lost in names(world)


def test_how_long_a_machine_may_be_not_ready_is_the_owners_to_say() -> None:
    world = settled_world(autoRepair=True, timeouts={"ready": "1h"})
    (lost,) = lose_all(world, 1)
    wait_until_dead(world, minutes=30)
    assert lost in names(world)

    wait_until_dead(world, minutes=30)

    assert lost in world.gone


def test_without_repair_nothing_is_taken_away_and_the_pool_says_so() -> None:
    world = settled_world()
    (lost,) = lose_all(world, 1)
    wait_until_dead(world)

    assert lost in names(world)
    assert state(world) == "Unsettled"
    assert condition(world, "AutorepairEnabled") == ("False", "NotAsked")


def test_a_repair_that_gives_up_says_so_in_state_condition_and_event() -> None:
    world = settled_world(autoRepair=True, replicas=4)
    assert condition(world, "AutorepairEnabled") == ("True", "AsExpected")
    lost = lose_all(world, 3)
    wait_until_dead(world)

    says = "3 machines are unhealthy and maxUnhealthy is 2: none is repaired"
    assert set(lost) <= set(names(world))
    assert state(world) == "Blocked"
    assert condition(world, "AutorepairEnabled") == ("False", "TooManyUnhealthy")
    assert full_condition(world, "AutorepairEnabled").message == says
    assert condition(world, "Ready") == ("False", "TooManyUnhealthy")
    told = [event.says for event in world.read_events(POOL) if "Repair" in event.kind.value]
    assert told == [f"Repair stopped: {says}."]

    world.recover(lost[0])
    world.settle()

    assert state(world) == "Settled", "it went on by itself"
    assert event_kinds(world).count("RepairStopped") == 1
    assert event_kinds(world).count("RepairGoesOn") == 1


@pytest.mark.parametrize(
    ("spec", "is_over"), [({"maxUnhealthy": "100%"}, False), ({"imageBase": "202607.03"}, True)]
)
def test_repairs_in_vain_end_with_another_target_and_not_with_a_higher_limit(
    spec: dict[str, Any], *, is_over: bool
) -> None:
    world = settled_world(autoRepair=True)
    world.fate = "fail"
    world.fail(names(world)[0], "its disk is gone")
    world.settle()
    assert state(world) == "Blocked"

    world.fate = "ready"
    edit(world, **spec)
    world.settle()

    assert (state(world) == "Settled") is is_over


@pytest.mark.parametrize("spec", [None, {"autoRepair": False}])
def test_a_repair_that_nobody_asks_for_any_more_is_not_said_to_go_on(
    spec: dict[str, Any] | None,
) -> None:
    world = settled_world(autoRepair=True, replicas=4)
    lose_all(world, 3)
    wait_until_dead(world)

    if spec is None:
        world.delete_pool()
    else:
        edit(world, **spec)
    world.settle()

    assert event_kinds(world).count("RepairStopped") == 1
    assert "RepairGoesOn" not in event_kinds(world)


@pytest.mark.parametrize(
    ("spec", "why"),
    [
        ({"maxUnhealthy": 3}, "no more machines are unhealthy than maxUnhealthy allows"),
        ({"imageBase": "202607.03"}, "the pool has another target"),
    ],
)
def test_a_repair_that_goes_on_says_why(spec: dict[str, Any], why: str) -> None:
    world = settled_world(autoRepair=True, replicas=4, management={"maxSurge": 4})
    lose_all(world, 3)
    wait_until_dead(world)

    edit(world, **spec)
    world.settle()

    told = [one.says for one in world.read_events(POOL) if one.kind.value == "RepairGoesOn"]
    assert told == [f"Repair may go on: {why}."]


@pytest.mark.parametrize(
    ("most", "count", "is_repaired"),
    [(3, 3, True), (0, 1, False), ("50%", 2, True), ("49%", 2, False), (None, 2, True)],
)
def test_how_many_may_be_unhealthy_is_the_owners_to_say(
    most: object, count: int, is_repaired: bool
) -> None:
    spec: dict[str, Any] = {} if most is None else {"maxUnhealthy": most}
    world = settled_world(autoRepair=True, replicas=4, **spec)
    lost = lose_all(world, count)
    wait_until_dead(world)

    assert (set(lost) <= set(world.gone)) is is_repaired
    assert (state(world) == "Settled") is is_repaired


def test_a_higher_limit_lets_a_repair_that_gave_up_go_on() -> None:
    world = settled_world(autoRepair=True, replicas=4)
    lost = lose_all(world, 3)
    wait_until_dead(world)

    edit(world, maxUnhealthy=3)
    world.settle()

    assert set(lost) <= set(world.gone)
    assert state(world) == "Settled"


def test_a_boot_that_always_fails_is_repaired_a_few_times_and_then_a_person_is_asked() -> None:
    world = settled_world(autoRepair=True)
    world.fate = "fail"
    world.fail(names(world)[0], "its disk is gone")

    for _ in range(20):
        world.one_pass()
        assert world.one_pass() == 0, "a second pass writes nothing"
        world.run_machines()
    world.settle()

    says = "5 machines were repaired and none came up since: none is repaired"
    assert len(world.gone) == 5
    assert condition(world, "Ready") == ("False", "RepairedInVain")
    assert state(world) == "Blocked"
    assert condition(world, "AutorepairEnabled") == ("False", "RepairedInVain")
    assert full_condition(world, "AutorepairEnabled").message == says
    assert event_kinds(world).count("RepairStopped") == 1

    (failed,) = [one.name for one in world.living.values() if one.phase.value == "failed"]
    world.fate = "ready"
    world.delete(failed)
    world.settle()

    assert state(world) == "Settled", "the way out works"
    assert event_kinds(world).count("RepairGoesOn") == 1
    world.fail(names(world)[0], "its disk is gone")
    world.settle()
    assert len(world.gone) == 7, "and repair goes on"


def test_a_pass_that_repairs_is_made_twice_and_writes_once() -> None:
    world = settled_world(autoRepair=True)
    # Made at the very moment of the repair, and up already: it counts as one that came up.
    world.fail(names(world)[0], "its disk is gone")
    world.run_machines()
    world.clock.now = min(machine.created_at for machine in world.living.values())

    world.one_pass()

    assert world.one_pass() == 0
    assert world.records[POOL].repaired == ()


def test_repairs_that_succeed_are_not_counted() -> None:
    world = settled_world(autoRepair=True)
    for _ in range(7):
        world.fail(names(world)[0], "its disk is gone")
        world.settle()

    assert len(world.gone) == 7
    assert state(world) == "Settled"


def test_another_target_lets_a_repair_that_was_in_vain_go_on() -> None:
    world = settled_world(autoRepair=True)
    world.fate = "fail"
    world.fail(names(world)[0], "its disk is gone")
    world.settle()
    world.fate = "ready"

    edit(world, imageBase="202607.03")
    world.settle()

    assert state(world) == "Settled"


def test_a_change_in_place_that_never_ends_has_failed() -> None:
    world = settled_world(management={"type": "InPlace"}, autoRepair=True)
    edit(world, imageBase="202607.03")
    world.one_pass()
    (changing,) = [one.name for one in world.living.values() if one.is_in_flight]

    world.clock.advance(timedelta(minutes=20))
    world.one_pass()

    assert world.records[POOL].failed == (changing,)
    assert world.living[changing].reason == "repair: its change never ended; it says nothing"
