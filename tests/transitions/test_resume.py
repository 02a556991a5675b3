"""Going on after a halt: once per value, and never for a halt that comes later."""

from datetime import timedelta
from typing import Any

import pytest

from fairlead.sim.world import ControllerKilledError, SimWorld
from transitions.pool_worlds import (
    POOL,
    edit,
    event_kinds,
    names,
    settled_world,
    state,
    template,
    template_writes,
)


def halted_world(**spec: Any) -> SimWorld:
    """A pool whose rollout halted after two machines failed."""
    world = settled_world(**{"management": {"maxSurge": 2}, **spec})
    world.fates = ["fail", "fail"]
    edit(world, imageBase="202607.03")
    world.settle()
    assert state(world) == "Blocked"
    assert world.records[POOL].failed == ("workers-6", "workers-7")
    return world


def resume(world: SimWorld, value: str) -> None:
    edit(world, rollout={"resume": value})


def test_a_fresh_value_ends_a_halt_and_the_rollout_completes() -> None:
    world = halted_world()

    resume(world, "after the disk was mended")
    world.settle()

    assert state(world) == "Settled"
    record = world.records[POOL]
    assert (record.halted, record.failed, record.forgiven) == ("", (), ())
    assert record.resumed == ("after the disk was mended",)
    assert world.gone["workers-6"].reason == (
        "the rollout was resumed after: stage provision: exit 50"
    )
    assert event_kinds(world).count("RolloutResumed") == 1
    assert template_writes(world) == 2, "a halt is ended without another revision"


def test_a_rollout_that_halts_again_needs_another_value() -> None:
    world = halted_world()
    world.fates = ["fail", "fail"]

    resume(world, "one")
    world.settle()

    assert state(world) == "Blocked"
    assert event_kinds(world).count("RolloutHalted") == 2
    assert world.records[POOL].forgiven == (), "who is gone needs no forgiving"
    for _ in range(3):
        world.clock.advance(timedelta(hours=1))
        world.settle()
    assert state(world) == "Blocked", "one value ends one halt"

    resume(world, "two")
    world.settle()

    assert state(world) == "Settled"
    assert world.records[POOL].resumed == ("one", "two")


def test_a_value_that_was_seen_before_ends_nothing() -> None:
    world = halted_world()
    world.fates = ["fail", "fail"]
    resume(world, "one")
    world.settle()
    world.fates = ["fail", "fail"]
    resume(world, "two")
    world.settle()

    resume(world, "one")
    world.settle()

    assert state(world) == "Blocked"


def test_a_value_without_a_halt_is_seen_and_changes_nothing() -> None:
    world = settled_world(management={"maxSurge": 2})
    before = (template(world), names(world))

    resume(world, "just in case")
    world.settle()

    assert (template(world), names(world)) == before
    assert world.records[POOL].resumed == ("just in case",)
    assert "RolloutResumed" not in event_kinds(world)
    world.fates = ["fail", "fail"]
    edit(world, imageBase="202607.03")
    world.settle()
    assert state(world) == "Blocked", "what was written before the halt does not end it"


def test_a_value_that_a_pool_is_made_with_ends_no_later_halt() -> None:
    world = halted_world(rollout={"resume": "from the template of the team"})

    assert world.records[POOL].resumed == ("from the template of the team",)


def test_another_change_of_intent_still_ends_a_halt_without_a_value() -> None:
    world = halted_world()

    edit(world, imageBase="202607.04")
    world.settle()

    assert state(world) == "Settled"
    assert world.records[POOL].resumed == ()
    assert "RolloutResumed" not in event_kinds(world)


def test_a_value_that_comes_with_another_change_is_spent() -> None:
    world = halted_world()
    world.fates = ["fail", "fail"]

    edit(world, imageBase="202607.04", rollout={"resume": "one"})
    world.settle()

    assert state(world) == "Blocked", "the second revision failed as well"
    assert world.records[POOL].resumed == ("one",)


def test_failures_before_a_halt_of_machines_that_are_gone_are_forgotten() -> None:
    world = halted_world()
    for name in ("workers-6", "workers-7"):
        world.delete(name)
    world.settle()
    assert state(world) == "Blocked"

    resume(world, "one")
    world.fates = ["fail"]
    world.settle()

    assert world.records[POOL].halted == "", "one failure of two that halt"
    assert len(world.records[POOL].failed) == 1
    assert event_kinds(world).count("RolloutResumed") == 1


@pytest.mark.parametrize("pause", [True, {"scalingToo": True}])
def test_a_pause_outlives_the_halt(pause: object) -> None:
    world = halted_world()
    edit(world, paused=pause)
    resume(world, "one")
    world.settle()
    assert world.records[POOL].halted == ""
    assert state(world) == "Held"

    edit(world, paused=None)
    world.settle()

    assert state(world) == "Settled"


def test_another_target_forgives_nobody() -> None:
    world = halted_world()
    edit(world, paused={"scalingToo": True})
    resume(world, "one")
    world.settle()
    assert world.records[POOL].forgiven == ("workers-6", "workers-7")
    world.stuck = {"workers-6", "workers-7"}

    edit(world, paused=None, imageBase="202607.04")
    world.one_pass()

    assert world.records[POOL].forgiven == ()


def test_in_place_a_degraded_machine_is_replaced_and_the_rest_changed() -> None:
    world = settled_world(management={"type": "InPlace"})
    world._fate_of["workers-2"] = "fail"
    edit(world, imageBase="202607.03")
    world.settle()
    assert state(world) == "Blocked"
    assert world.records[POOL].halted == "", "one failure; the machine itself holds the pool"

    resume(world, "one")
    world.settle()

    assert state(world) == "Settled"
    assert world.gone["workers-2"].reason == "the rollout was resumed after: the change failed"
    assert {"workers-3", "workers-4"} <= set(names(world))
    assert event_kinds(world).count("RolloutResumed") == 1


def test_a_resume_may_be_cut_off_before_any_write() -> None:
    whole = halted_world()
    start = whole.writes
    resume(whole, "one")
    whole.settle()

    for at in range(start, whole.writes):
        world = halted_world()
        resume(world, "one")
        world.crash_at = at
        with pytest.raises(ControllerKilledError):
            world.settle()
        world.settle()

        assert state(world) == "Settled", at
        assert event_kinds(world).count("RolloutResumed") == 1, at
        assert event_kinds(world).count("RolloutHalted") == 1, at
        assert len(names(world)) == 3, at
