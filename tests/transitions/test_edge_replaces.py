"""
An edge that replaces machines by itself: only templates are written, and everything else holds.

The simulated edge raises if the controller creates, removes or changes a machine.
"""

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from fairlead.controller.reconcile import preview
from fairlead.errors import InvariantError
from fairlead.sim.deployment_world import DeploymentWorld
from fairlead.sim.world import ControllerKilledError, SimWorld
from transitions.pool_worlds import (
    POOL,
    condition,
    drift,
    edit,
    edit_platform,
    event_kinds,
    full_condition,
    names,
    pairs,
    settled_world,
    state,
    template,
    template_writes,
    with_template,
)

THREE = ["workers-2", "workers-3", "workers-4"]


def deployed_world(**spec: Any) -> SimWorld:
    return settled_world(DeploymentWorld, **spec)


def says(world: SimWorld) -> list[str]:
    return [wait.says for wait in preview(POOL, world.world(), world.clock.now).waits]


def test_its_machines_are_made_and_counted_by_their_stamps() -> None:
    world = deployed_world()

    assert names(world) == THREE
    assert state(world) == "Settled"
    assert {kind for kind, _ in world.log} == {
        "token", "user data", "template", "events", "record", "status",
    }  # fmt: skip


def test_a_change_of_intent_is_one_template_write_and_waits_for_the_edge() -> None:
    world = deployed_world()
    before = world.writes
    edit(world, imageBase="202607.03")

    world.one_pass()

    kinds = [kind for kind, _ in world.log[before:]]
    assert kinds == ["token", "user data", "template", "events", "record", "status"]
    assert says(world) == ["its edge replaces the machines"]
    assert state(world) == "RollingOut"


def test_it_is_complete_when_every_machine_carries_the_revision() -> None:
    world = deployed_world()
    edit(world, imageBase="202607.03")
    world.one_pass()
    # A counter that runs ahead of the machines ends nothing.
    with_template(world, observed_generation=template(world).generation)
    world.one_pass()
    assert world.records[POOL].is_rolling

    world.settle()

    assert state(world) == "Settled"
    assert {machine.booted for machine in world.living.values()} == {template(world).revision}
    assert names(world) == ["workers-6", "workers-7", "workers-8"]
    assert template_writes(world) == 2
    assert event_kinds(world).count("RolloutCompleted") == 2


def test_machines_that_leave_without_a_word_are_told_with_the_rollouts_reason() -> None:
    world = deployed_world()
    edit(world, imageBase="202607.03")
    world.settle()

    told = [event.says for event in world.read_events(POOL) if event.machine == "workers-2"]

    assert told == [
        "workers-2 was made: the pool declares 3.",
        "workers-2 leaves: the pool's owner changed imageBase.",
        "workers-2 is gone.",
    ]


def test_a_platform_change_writes_no_template_and_a_scale_up_boots_like_its_siblings() -> None:
    world = deployed_world()
    booted = template(world).revision
    drift(world)
    edit(world, replicas=4)

    world.settle()

    assert condition(world) == ("True", "ManagementConfigDrift")
    assert {machine.booted for machine in world.living.values()} == {booted}
    assert len(names(world)) == 4
    assert template_writes(world) == 1


def test_a_retarget_completes_once_for_the_newest() -> None:
    world = deployed_world()
    edit(world, imageBase="202607.03")
    world.one_pass()
    world.run_machines()

    edit(world, imageBase="202607.04")
    world.settle()

    assert state(world) == "Settled"
    assert event_kinds(world).count("RolloutCompleted") == 2
    assert event_kinds(world).count("RolloutRetargeted") == 1
    world.clock.advance(timedelta(hours=3))
    world.settle()
    assert pairs(world) == [template(world).revision]


def test_a_machine_that_the_edge_made_too_late_for_a_superseded_target_holds_nothing() -> None:
    world = deployed_world()
    edit(world, imageBase="202607.03")
    world.one_pass()
    middle = template(world).revision
    edit(world, imageBase="202607.04")
    world.one_pass()

    # The edge acted on the template of before, and its machine is seen only now.
    world.start_machine(POOL, "workers-late", middle)
    world.one_pass()

    assert not template(world).is_held
    world.settle()
    assert state(world) == "Settled"
    assert {machine.revision for machine in world.list_machines(POOL)} == {template(world).revision}


@pytest.mark.parametrize(
    ("hold", "free", "reason"),
    [
        ({"paused": True}, {"paused": None}, "Paused"),
        (
            {"rollout": {"windows": [{"start": "22:00", "duration": "4h"}]}},
            {"rollout": None},
            "OutsideWindow",
        ),
    ],
)
def test_what_holds_a_rollout_holds_the_edge(
    hold: dict[str, Any], free: dict[str, Any], reason: str
) -> None:
    world = deployed_world()
    edit(world, imageBase="202607.03")
    world.one_pass()
    world.run_machines()
    edit(world, **hold)

    world.settle()

    assert template(world).is_held
    assert sum(name in names(world) for name in THREE) >= 2
    assert condition(world, "UpdatingConfig") == ("True", reason)
    assert "its edge replaces the machines" not in says(world)

    edit(world, **free)
    world.settle()

    assert not template(world).is_held
    assert state(world) == "Settled"
    assert template_writes(world) == 2, "holding and letting go names no other revision"


def test_an_edge_that_waits_for_deletions_makes_another_of_what_its_owner_deletes() -> None:
    world = deployed_world(management={"strategy": "OnDelete"})
    edit(world, imageBase="202607.03")
    world.settle()
    assert names(world) == THREE
    assert not template(world).is_held
    assert "its edge replaces the machines" not in says(world)

    for name in THREE:
        world.release_machine(world.living[name], "deleted by hand")
        world.settle()
        assert len(names(world)) == 3

    assert state(world) == "Settled"
    assert {machine.booted for machine in world.living.values()} == {template(world).revision}


def test_the_kill_switch_holds_an_edge_that_waits_for_deletions_too() -> None:
    world = deployed_world(management={"strategy": "OnDelete"})
    edit(world, imageBase="202607.03")
    world.settle()
    edit_platform(world, stopEverything=True)
    world.settle()

    assert template(world).is_held


def test_the_kill_switch_holds_the_edge() -> None:
    world = deployed_world()
    edit(world, imageBase="202607.03")
    world.one_pass()
    edit_platform(world, stopEverything=True)
    world.settle()
    assert template(world).is_held
    assert names(world) == THREE

    edit_platform(world, stopEverything=False)
    world.settle()

    assert state(world) == "Settled"


def test_a_settled_pool_is_not_held_by_a_closed_window() -> None:
    world = deployed_world(rollout={"windows": [{"start": "22:00", "duration": "4h"}]})

    assert not template(world).is_held
    world.clock.advance(timedelta(hours=11))
    before = template(world)
    world.settle()
    assert template(world) == before


def test_the_moment_at_which_the_window_is_too_short_is_woken_for() -> None:
    world = deployed_world(rollout={"windows": [{"start": "12:00", "duration": "20m"}]})
    edit(world, imageBase="202607.03")
    world.one_pass()
    world.stuck = set(THREE)
    world.run_machines()
    world.one_pass()

    # Ten minutes, which a machine takes, before the window closes.
    assert world.wake == datetime(2026, 11, 16, 12, 10, 0, 1, tzinfo=UTC)
    world.clock.advance(world.wake - world.clock.now)
    world.one_pass()

    assert template(world).is_held


def test_failures_halt_the_edge_and_a_resume_lets_it_go_on() -> None:
    world = deployed_world(rollout={"haltAfter": 1})
    world.fates = ["fail"]
    edit(world, imageBase="202607.03")
    world.settle()
    assert state(world) == "Blocked"
    assert template(world).is_held
    assert world.records[POOL].failed == ("workers-6",)

    edit(world, rollout={"haltAfter": 1, "resume": "one"})
    world.one_pass()
    assert not template(world).is_held
    world.delete("workers-6")
    world.settle()

    assert state(world) == "Settled"


def test_an_edge_that_is_held_in_the_midst_lets_no_machine_go_that_works() -> None:
    world = deployed_world()
    world.fates = ["fail"]
    edit(world, imageBase="202607.03", rollout={"haltAfter": 1})

    world.settle()

    assert template(world).is_held
    assert [name for name in names(world) if world.living[name].is_available] == THREE


def test_a_canary_batch_holds_the_edge_until_it_has_soaked() -> None:
    world = deployed_world(rollout={"canary": [1], "soak": "30m"})
    edit(world, imageBase="202607.03")

    world.settle()

    assert template(world).is_held
    target = template(world).revision
    assert sum(machine.revision == target for machine in world.living.values()) == 1
    assert "batch 1 soaks" in full_condition(world, "UpdatingConfig").message
    world.clock.advance(timedelta(minutes=30))
    world.settle()
    assert state(world) == "Settled"


@pytest.mark.parametrize("spec", [{}, {"paused": {"scalingToo": True}}])
def test_a_deleted_pool_is_emptied_by_its_edge_and_forgotten(spec: dict[str, Any]) -> None:
    world = deployed_world()
    edit(world, **spec)
    world.settle()
    world.delete_pool()
    world.one_pass()
    assert template(world).replicas == 0
    assert says(world) == ["its edge removes the machines"]

    world.settle()

    assert POOL not in world.documents
    assert not world.living
    assert not world.tokens
    assert event_kinds(world)[-1] == "PoolDeleted"


def test_a_deleted_pool_stays_while_everything_is_stopped() -> None:
    world = deployed_world()
    edit_platform(world, stopEverything=True)
    world.delete_pool()

    world.settle()

    assert names(world) == THREE
    assert template(world).replicas == 3


def test_a_rollout_may_be_cut_off_before_any_write() -> None:
    whole = deployed_world()
    start = whole.writes
    edit(whole, imageBase="202607.03")
    whole.settle()

    for at in range(start, whole.writes):
        world = deployed_world()
        edit(world, imageBase="202607.03")
        world.crash_at = at
        with pytest.raises(ControllerKilledError):
            world.settle()
        world.settle()

        assert state(world) == "Settled", at
        assert template_writes(world) == 2, at


def test_the_simulated_edge_refuses_what_is_its_own_business() -> None:
    world = deployed_world()
    revision = template(world).revision

    with pytest.raises(InvariantError):
        world.create_machine(POOL, "workers-9", revision)
    with pytest.raises(InvariantError):
        world.remove_machine("workers-2", "because")
    with pytest.raises(InvariantError):
        world.change_machine("workers-2", revision)


def test_a_pool_that_changes_in_place_is_changed_by_our_steps_on_such_an_edge_too() -> None:
    world = deployed_world(management={"type": "InPlace"})
    before = names(world)

    edit(world, imageBase="202607.03")
    world.settle()

    assert state(world) == "Settled"
    assert names(world) == before
    pacing = template(world).pacing
    assert pacing is not None
    assert pacing.in_place
    assert {machine.revision for machine in world.living.values()} == {template(world).revision}


def test_in_place_the_edge_makes_and_removes_machines_and_our_steps_none() -> None:
    world = deployed_world(management={"type": "InPlace"})

    edit(world, replicas=5)
    world.settle()
    assert (state(world), len(names(world))) == ("Settled", 5)

    edit(world, replicas=2)
    world.settle()
    assert (state(world), len(names(world))) == ("Settled", 2)
    assert template_writes(world) == 1

    world.delete_pool()
    world.settle()
    assert POOL not in world.documents
    assert not world.living
    assert not [what for what, _ in world.log if what in ("create", "remove")]


def test_in_place_a_degraded_machine_halts_such_an_edge_and_resuming_makes_another() -> None:
    world = deployed_world(management={"type": "InPlace"})
    before = names(world)
    world._fate_of.clear()
    world.fates = ["fail"]

    edit(world, imageBase="202607.03")
    world.settle()
    assert state(world) == "Blocked"
    failed = next(one.name for one in world.living.values() if one.problem)
    assert failed in world.statuses[POOL].sentence

    edit(world, imageBase="202607.03", rollout={"resume": "1"})
    world.settle()
    assert state(world) == "Settled"
    assert set(before) - set(names(world)) == {failed}
    assert {machine.revision for machine in world.living.values()} == {template(world).revision}


def test_in_place_settings_that_cannot_be_used_leave_the_set_as_it_was_told() -> None:
    world = deployed_world(management={"type": "InPlace"})
    edit(world, imageBase="202607.03")
    world.one_pass()
    told = template(world)

    edit(world, imageBase="202607.03", management={"type": "InPlace", "maxSurge": 1})
    world.one_pass()

    assert template(world) == told


def test_how_fast_the_edge_may_go_reaches_it_without_another_revision() -> None:
    world = deployed_world()
    revision = template(world).revision

    edit(world, management={"maxSurge": "25%", "maxUnavailable": 1})
    world.settle()

    pacing = template(world).pacing
    assert pacing is not None
    assert (pacing.max_surge, pacing.max_unavailable) == ("25%", 1)
    assert template(world).revision == revision
    assert names(world) == THREE


def test_who_repairs_and_how_long_a_machine_may_take_reaches_the_edge() -> None:
    world = deployed_world(
        autoRepair=True, maxUnhealthy="40%", timeouts={"join": "7m", "ready": "3m"}
    )

    pacing = template(world).pacing
    assert pacing is not None
    assert pacing.unhealthy == "40%"
    assert (pacing.join_timeout, pacing.ready_timeout) == (
        timedelta(minutes=7),
        timedelta(minutes=3),
    )
    edit(world, autoRepair=False)
    world.settle()
    pacing = template(world).pacing
    assert pacing is not None
    assert pacing.unhealthy is None


def test_a_held_edge_scales_the_set_that_it_had_and_its_pair_stays() -> None:
    world = deployed_world()
    first = template(world).revision
    edit(world, imageBase="202607.03")
    world.one_pass()
    edit(world, paused=True)
    world.one_pass()
    assert template(world).is_held
    assert template(world).revision != first
    edit(world, replicas=5)
    world.settle()

    assert {machine.revision for machine in world.living.values()} == {first}
    assert first in pairs(world)
    assert len(world.living) == 5


def test_a_pair_that_only_the_edge_still_names_does_not_expire() -> None:
    world = deployed_world()
    edit(world, imageBase="202607.03")
    world.one_pass()
    world.run_machines()
    second = template(world).revision
    edit(world, imageBase="202608.01")
    world.one_pass()
    edit(world, paused=True)
    world.one_pass()
    # Its machines are lost: the edge will make them again, from the set that it has.
    world.living = {
        name: machine for name, machine in world.living.items() if machine.revision != second
    }

    world.one_pass()
    world.clock.advance(timedelta(hours=5))
    world.one_pass()

    assert world.list_references(POOL) == (second,)
    assert world.tokens[POOL, second].expires_at is None
