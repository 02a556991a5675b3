"""The scenarios of predictable rollouts: one change, and what passes make of it."""

from dataclasses import replace
from datetime import timedelta

import pytest

from fairlead.rollout.secrets import is_valid
from fairlead.sim.world import ControllerKilledError, SimWorld
from transitions.pool_worlds import (
    POOL,
    condition,
    drift,
    edit,
    edit_platform,
    event_kinds,
    fresh_world,
    full_condition,
    names,
    pairs,
    settled_world,
    state,
    template,
    template_writes,
)

THREE = ["workers-2", "workers-3", "workers-4"]


def start_rollout(world: SimWorld, **spec: object) -> None:
    """A rollout that has replaced one machine of three."""
    edit(world, **(spec or {"imageBase": "202607.03"}))
    for _ in range(3):
        world.one_pass()
        world.run_machines()


def test_a_new_pool_gets_its_machines() -> None:
    world = fresh_world()

    world.one_pass()
    assert state(world) == "RollingOut"
    world.settle()

    assert names(world) == THREE
    assert state(world) == "Settled"
    assert template_writes(world) == 1
    assert world.statuses[POOL].version == "1.34.2"


def test_a_new_pool_is_adopted_once_wherever_its_first_pass_was_cut_off() -> None:
    whole = fresh_world()
    whole.one_pass()

    for at in range(whole.writes):
        world = fresh_world()
        world.crash_at = at
        with pytest.raises(ControllerKilledError):
            world.one_pass()
        world.one_pass()
        assert world.records[POOL].is_rolling, "no machine has it yet"
        world.settle()

        made = ["MachineCreated"] * 3
        assert event_kinds(world) == ["PoolAdopted", *made, "RolloutCompleted"], at
        assert world.records[POOL].reason == "the pool is new"
        assert state(world) == "Settled"


def test_a_platform_change_alone_rolls_nothing_and_reverting_clears_it() -> None:
    world = settled_world()
    before = template(world), pairs(world)

    drift(world)
    world.settle()

    assert names(world) == THREE
    assert (template(world), pairs(world)) == before
    assert state(world) == "Drifted"
    assert condition(world) == ("True", "ManagementConfigDrift")
    assert condition(world, "UpdatingConfig") == ("False", "AsExpected")
    assert full_condition(world, "ConfigUpdatePending").message == (
        "Held: 1 platform change (platform.controlPlaneImage) since 2026-11-16T12:03:00Z;"
        " no machine will be replaced, new machines boot like their siblings."
    )

    edit_platform(world, controlPlaneImage=None)
    world.settle()

    assert condition(world) == ("False", "AsExpected")
    assert (template(world), pairs(world)) == before


def test_an_intent_change_replaces_every_machine_once() -> None:
    world = settled_world()
    first = template(world).revision

    edit(world, imageBase="202607.03")
    world.one_pass()

    second = template(world).revision
    assert second != first
    assert pairs(world) == sorted([first, second])
    assert condition(world) == ("False", "RolloutInProgress")
    assert condition(world, "UpdatingConfig") == ("True", "RolloutInProgress")
    assert condition(world, "UpdatingVersion") == ("False", "AsExpected")

    world.settle()

    assert names(world) == ["workers-6", "workers-7", "workers-8"]
    assert world.records[POOL].applied == world.records[POOL].target
    assert {machine.booted for machine in world.living.values()} == {second}
    assert {machine.reason for machine in world.gone.values()} == {
        "the pool's owner changed imageBase"
    }
    assert template_writes(world) == 2
    assert condition(world, "UpdatingConfig") == ("False", "AsExpected")

    world.clock.advance(timedelta(hours=2))
    world.settle()

    assert pairs(world) == [second], "the first pair goes two hours after its last reference"


def test_a_platform_change_during_a_rollout_waits_until_it_is_over() -> None:
    world = settled_world()
    start_rollout(world)
    target = template(world).revision

    drift(world)
    world.one_pass()
    assert template(world).revision == target
    assert condition(world) == ("False", "RolloutInProgress")
    assert full_condition(world, "ConfigUpdatePending").message == (
        "Machines are replaced because the pool's owner changed imageBase."
        " A further platform change is queued."
    )
    world.settle()

    assert {machine.booted for machine in world.living.values()} == {target}
    applied = world.records[POOL].applied
    assert applied is not None
    assert applied.id == target
    assert condition(world) == ("True", "ManagementConfigDrift")


def test_an_intent_change_during_a_rollout_retargets_it_and_completes_once() -> None:
    world = settled_world()
    first = template(world).revision
    start_rollout(world)
    middle = template(world).revision

    edit(world, imageBase="202607.04")
    world.one_pass()
    newest = template(world).revision
    assert state(world) == "Superseding"
    assert pairs(world) == sorted([first, middle, newest])
    world.settle()

    assert {machine.revision for machine in world.living.values()} == {newest}
    assert event_kinds(world).count("RolloutCompleted") == 2, "the first boot, and the newest"
    completed = [
        event.key for event in world.read_events(POOL) if event.kind.value == "RolloutCompleted"
    ]
    assert not any(middle in key for key in completed)
    world.clock.advance(timedelta(hours=2, minutes=1))
    world.settle()
    assert pairs(world) == [newest]


def test_an_intent_change_while_drifted_is_one_rollout_to_the_latest_of_both() -> None:
    world = settled_world()
    drift(world)
    world.settle()

    edit(world, imageBase="202607.03")
    world.settle()

    assert template_writes(world) == 2
    assert condition(world) == ("False", "AsExpected")
    applied = world.records[POOL].applied
    assert applied is not None
    assert applied.leaves["platform.controlPlaneImage"] == "cp@sha256:bb"


def test_reverting_within_the_grace_brings_the_first_secrets_back_to_life() -> None:
    world = settled_world()
    first = template(world).revision
    edit(world, imageBase="202607.03")
    world.settle()
    assert world.tokens[POOL, first].expires_at is not None
    token = world.tokens[POOL, first].token

    edit(world, imageBase="202607.02")
    world.settle()

    assert template(world).revision == first
    assert world.tokens[POOL, first].expires_at is None
    assert world.tokens[POOL, first].token == token


@pytest.mark.parametrize("rotations", [0, 1, 3])
def test_scaling_up_while_drifted_boots_like_the_siblings(rotations: int) -> None:
    world = settled_world()
    drift(world)
    world.settle()
    for _ in range(rotations):
        world.clock.advance(timedelta(hours=5, minutes=30))
        world.one_pass()

    edit(world, replicas=5)
    world.settle()

    assert len(names(world)) == 5
    booted = {machine.booted for machine in world.living.values()}
    assert booted == {template(world).revision}
    assert template_writes(world) == 1
    assert condition(world) == ("True", "ManagementConfigDrift")


@pytest.mark.parametrize("lost", ["token", "user data", "both"])
def test_a_pinned_secret_that_was_deleted_comes_back_under_its_name(lost: str) -> None:
    world = settled_world()
    drift(world)
    world.settle()
    before = template(world)
    if lost != "user data":
        del world.tokens[POOL, before.revision]
    if lost != "token":
        del world.user_data[POOL, before.revision]

    world.settle()

    token = world.tokens[POOL, before.revision]
    user_data = world.user_data[POOL, before.revision]
    assert is_valid(token, user_data.token, world.clock.now)
    assert "platform.controlPlaneImage" not in token.served.leaves
    assert template(world) == before
    assert ("SecretRecreated" in event_kinds(world)) is (lost != "user data")


def test_a_paused_pool_shows_drift_scales_and_replaces_nothing() -> None:
    world = settled_world()
    edit(world, paused=True, imageBase="202607.03", replicas=4, labels={"team": "a"})
    drift(world)

    world.settle()

    assert len(names(world)) == 4
    assert template_writes(world) == 1
    assert state(world) == "Held"
    assert condition(world, "UpdatingConfig") == ("True", "Paused")
    assert condition(world, "ReconciliationActive") == ("False", "Paused")
    assert [held.leaf for held in world.records[POOL].held] == ["platform.controlPlaneImage"]
    assert all(not machine.settings.labels for machine in world.living.values())

    edit(world, paused=None)
    world.settle()

    assert template_writes(world) == 2
    assert all(machine.settings.labels == {"team": "a"} for machine in world.living.values())


def test_no_machine_is_up_to_date_with_what_a_pause_keeps_from_it() -> None:
    world = settled_world()
    edit(world, paused=True, imageBase="202607.03")
    world.settle()

    assert world.statuses[POOL].updated == 0
    assert full_condition(world, "UpdatingConfig").message == (
        "the pool's owner changed imageBase; 0 of 3 machines have it; the pool is paused."
    )

    edit(world, imageBase="202607.02")
    world.settle()

    assert world.statuses[POOL].updated == 3


def test_machines_that_still_have_what_is_wanted_again_are_up_to_date() -> None:
    world = settled_world()
    edit(world, imageBase="202607.03")
    world.one_pass()
    world.run_machines()
    edit(world, imageBase="202607.02", paused=True)
    world.one_pass()

    assert world.records[POOL].is_rolling
    assert world.statuses[POOL].updated == 3


def test_a_pause_that_covers_scaling_stops_scaling_as_well() -> None:
    world = settled_world()

    edit(world, paused={"scalingToo": True}, replicas=5)
    world.settle()

    assert names(world) == THREE
    assert template(world).replicas == 3


def test_a_pause_ends_by_itself() -> None:
    world = settled_world()
    edit(world, paused="2026-11-16T13:00:00Z", imageBase="202607.03")
    world.settle()
    assert world.wake is not None
    assert world.wake.isoformat() == "2026-11-16T13:00:00+00:00"

    world.clock.advance(timedelta(hours=1))
    world.settle()

    assert template_writes(world) == 2


def test_a_pool_without_machines_adopts_at_once() -> None:
    world = settled_world(replicas=0)
    drift(world)

    world.one_pass()

    record = world.records[POOL]
    assert record.applied == record.target
    assert record.target is not None
    assert record.target.leaves["platform.controlPlaneImage"] == "cp@sha256:bb"
    assert condition(world) == ("False", "AsExpected")
    assert world.one_pass() == 0


@pytest.mark.parametrize("after", range(6))
def test_a_pool_without_machines_adopts_at_once_also_after_a_crash(after: int) -> None:
    world = settled_world(replicas=0)
    edit(world, imageBase="202607.03")
    world.crash_at = world.writes + after
    with pytest.raises(ControllerKilledError):
        world.one_pass()

    world.one_pass()

    record = world.records[POOL]
    assert record.applied == record.target
    assert template_writes(world) == 2
    assert world.one_pass() == 0


def test_a_pool_that_is_being_scaled_up_from_nothing_holds() -> None:
    world = settled_world(replicas=0)
    drift(world)
    edit(world, replicas=2)

    world.settle()

    assert template_writes(world) == 1
    assert condition(world) == ("True", "ManagementConfigDrift")


def test_new_machines_get_held_changes_if_the_pool_says_refresh() -> None:
    world = settled_world(platformChanges={"newNodes": "Refresh"})
    drift(world)
    world.settle()
    before = template(world)

    edit(world, replicas=4)
    world.settle()

    newest = world.living[names(world)[-1]]
    assert newest.revision == before.revision
    assert newest.booted != before.revision
    assert template_writes(world) == 1
    assert full_condition(world, "ConfigUpdatePending").message.endswith("new machines get it.")


def test_a_pinned_payload_that_cannot_be_served_is_refreshed_and_said() -> None:
    world = settled_world()
    drift(world)
    world.settle()
    revision = template(world).revision
    world.tokens[POOL, revision] = replace(
        world.tokens[POOL, revision], problem="image haproxy@sha256:aa is gone"
    )
    world.one_pass()

    assert condition(world) == ("True", "PinnedPayloadUnavailable")
    served = world.tokens[POOL, revision].served
    assert served.leaves["platform.controlPlaneImage"] == "cp@sha256:bb"
    assert template_writes(world) == 1
    assert world.one_pass() == 0, "it stays so until there is something better"
    assert condition(world) == ("True", "PinnedPayloadUnavailable")
    assert "image haproxy@sha256:aa is gone" in full_condition(world, "ConfigUpdatePending").message


def test_a_pinned_payload_is_served_again_once_nothing_else_is_held() -> None:
    world = settled_world()
    drift(world)
    world.settle()
    revision = template(world).revision
    world.tokens[POOL, revision] = replace(world.tokens[POOL, revision], problem="it is gone")
    world.settle()

    edit_platform(world, controlPlaneImage=None)
    world.settle()

    token = world.tokens[POOL, revision]
    assert token.served.id == revision
    assert (token.problem, token.unserved) == ("", ""), "the payload service looks again"
    assert condition(world) == ("False", "AsExpected")


def test_a_change_held_beyond_its_maximum_age_rolls_in_the_next_window() -> None:
    world = settled_world(
        platformChanges={"maximumAge": {"connectivity": "24h"}},
        rollout={"windows": [{"start": "22:00", "duration": "4h"}]},
    )
    world.documents[POOL] = replace(world.documents[POOL], asked_by="alice")
    edit_platform(world, loadBalancerAddress="10.0.0.5")
    world.settle()
    assert template_writes(world) == 1

    world.clock.advance(timedelta(hours=24))
    world.settle()
    assert state(world) == "Held"
    assert condition(world, "UpdatingConfig") == ("True", "OutsideWindow")

    world.clock.advance(timedelta(hours=10))
    world.settle()

    assert template_writes(world) == 2
    assert {machine.reason for machine in world.gone.values()} == {
        "platform.loadBalancerAddress was held for too long"
    }
    assert {machine.asked_by for machine in world.gone.values()} == {""}, "nobody asked for it"


def test_labels_taints_and_timeouts_reach_running_machines_without_a_rollout() -> None:
    world = settled_world()

    edit(
        world,
        labels={"team": "a"},
        taints=[{"key": "dedicated", "effect": "NoSchedule"}],
        timeouts={"drain": "10m", "detach": "5m"},
    )
    world.settle()

    assert names(world) == THREE
    settings = world.living["workers-2"].settings
    assert settings.labels == {"team": "a"}
    assert settings.drain_timeout == timedelta(minutes=10)
    assert settings.detach_timeout == timedelta(minutes=5)
    assert template_writes(world) == 1


def test_a_refreshed_endpoint_reaches_user_data_without_a_template_write() -> None:
    world = settled_world()

    edit_platform(world, stub={"endpoint": "https://other.example.test/", "ca": "CA2"})
    world.settle()

    user_data = world.user_data[POOL, template(world).revision]
    assert user_data.stub.endpoint == "https://other.example.test/"
    assert template_writes(world) == 1
    assert condition(world) == ("False", "AsExpected")


def test_what_new_machines_are_served_stays_while_a_change_of_intent_waits() -> None:
    """Until it is decided, a machine that is added boots like those that were added before."""
    world = settled_world(platformChanges={"newNodes": "Refresh"})
    drift(world)
    world.settle()
    (served,) = {token.served.id for token in world.tokens.values()}
    assert served != world.templates[POOL].revision

    edit(world, imageBase="202607.03", paused=True, replicas=4)
    world.settle()

    assert {token.served.id for token in world.tokens.values()} == {served}
    assert [machine.booted for machine in world.living.values()].count(served) == 1
