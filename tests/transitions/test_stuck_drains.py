"""A drain that does not end: what it holds up, what it does not, and the ways out of it."""

from datetime import timedelta
from typing import Any

import pytest

from fairlead.sim.world import SimWorld
from transitions.pool_worlds import (
    POOL,
    edit,
    edit_platform,
    names,
    settled_world,
    state,
    template,
)

DAY = timedelta(days=1)


def stuck_world(**spec: Any) -> SimWorld:
    """A pool whose rollout waits for the drain of workers-2."""
    world = settled_world(**spec)
    world.stuck = {"workers-2"}
    edit(world, imageBase="202607.03")
    world.settle()
    assert world.living["workers-2"].is_leaving
    return world


def test_a_limit_that_is_set_later_ends_the_drain_that_runs() -> None:
    world = stuck_world()
    assert state(world) == "RollingOut"

    edit(world, timeouts={"drain": "2h"})
    world.settle()
    assert "workers-2" in names(world), "the limit counts from when it was told to leave"
    world.clock.advance(timedelta(hours=2))
    world.settle()

    assert state(world) == "Settled"
    assert "workers-2" in world.gone


@pytest.mark.parametrize("hold", [{"paused": True}, {"paused": {"scalingToo": True}}])
def test_a_pause_does_not_keep_the_limit_from_a_drain(hold: dict[str, Any]) -> None:
    world = stuck_world()
    edit(world, **hold, timeouts={"drain": "1m"}, labels={"team": "a"})
    world.clock.advance(DAY)

    world.settle()

    assert "workers-2" in world.gone
    assert {machine.settings.drain_timeout for machine in world.living.values()} == {None}


def test_a_pause_does_not_keep_the_limit_of_detaching_volumes_from_a_machine_that_leaves() -> None:
    world = stuck_world()

    edit(world, paused=True, timeouts={"detach": "5m"})
    world.settle()

    limits = {name: one.settings.detach_timeout for name, one in world.living.items()}
    assert limits.pop("workers-2") == timedelta(minutes=5)
    assert set(limits.values()) == {None}


def test_the_kill_switch_keeps_it() -> None:
    world = stuck_world()
    edit_platform(world, stopEverything=True)
    edit(world, timeouts={"drain": "1m"})
    world.clock.advance(DAY)

    world.settle()

    assert "workers-2" in names(world)


def test_a_deleted_pool_leaves_within_a_limit_that_is_set_then() -> None:
    world = stuck_world()
    world.delete_pool()
    world.settle()
    assert names(world) == ["workers-2"]

    edit(world, timeouts={"drain": "1m"})
    world.settle()

    assert POOL not in world.documents


def test_a_machine_that_its_owner_forces_is_gone_and_the_rollout_completes() -> None:
    world = stuck_world()

    world.delete("workers-2", skips_drain=True)
    world.settle()

    assert state(world) == "Settled"
    assert world.gone["workers-2"].reason == "the pool's owner changed imageBase"


def test_a_stuck_drain_costs_a_rollout_one_of_its_surge_and_no_more() -> None:
    world = stuck_world(management={"maxSurge": 2})

    target = template(world).revision
    staying = [machine for machine in world.living.values() if not machine.is_leaving]
    assert [machine.revision for machine in staying] == [target] * 3


def test_a_stuck_drain_does_not_keep_a_pool_from_growing() -> None:
    world = settled_world(replicas=4)
    world.stuck = set(names(world))
    edit(world, replicas=3)
    world.settle()
    assert sum(machine.is_leaving for machine in world.living.values()) == 1

    edit(world, replicas=5)
    world.settle()

    assert sum(machine.is_available for machine in world.living.values()) == 5


def test_one_that_was_deleted_by_hand_is_made_good_while_it_drains() -> None:
    world = settled_world()
    world.stuck = {"workers-3"}
    world.delete("workers-3")

    world.settle()

    assert sum(machine.is_available for machine in world.living.values()) == 3
    assert len(world.living) == 4, "within the surge"


def test_without_a_surge_no_machine_comes_before_the_one_that_drains_is_gone() -> None:
    world = settled_world(management={"maxSurge": 0, "maxUnavailable": 1})
    world.stuck = {"workers-3"}
    world.delete("workers-3")

    world.settle()

    assert len(world.living) == 3
