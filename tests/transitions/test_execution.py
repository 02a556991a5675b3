"""How a rollout is carried out: halts, batches, windows, plans, in place, on delete."""

from datetime import UTC, datetime, timedelta

import pytest

from fairlead.answers.words import ChangeClass, EventKind
from fairlead.controller.reconcile import preview
from fairlead.sim.world import ControllerKilledError
from transitions.pool_worlds import (
    POOL,
    approve,
    condition,
    drift,
    edit,
    edit_platform,
    event_kinds,
    full_condition,
    names,
    settled_world,
    state,
    template,
    template_writes,
)

THREE = ["workers-2", "workers-3", "workers-4"]


def test_a_rollout_halts_after_failures_and_names_the_cause() -> None:
    world = settled_world(management={"maxSurge": 2}, autoRepair=True)
    world.fates = ["fail", "fail"]
    edit(world, imageBase="202607.03")

    world.settle()

    assert state(world) == "Blocked"
    assert condition(world, "UpdatingConfig") == ("True", "Halted")
    assert world.records[POOL].halted == (
        "2 machines failed, among them workers-6: stage provision: exit 50"
    )
    assert {name for name in THREE if name in names(world)} == set(THREE)
    assert event_kinds(world).count("RolloutHalted") == 1


def test_a_failure_is_remembered_before_its_machine_is_removed() -> None:
    world = settled_world()
    world.fates = ["fail"]
    edit(world, imageBase="202607.03")
    world.one_pass()
    world.run_machines()
    edit(world, replicas=0)
    while "remove" not in world.log[-1]:
        world.crash_at = world.writes + 1
        with pytest.raises(ControllerKilledError):
            world.one_pass()

    world.one_pass()

    assert world.records[POOL].failed == ("workers-6",)


def test_another_change_of_intent_ends_a_halt() -> None:
    world = settled_world(management={"maxSurge": 2})
    world.fates = ["fail", "fail"]
    edit(world, imageBase="202607.03")
    world.settle()
    assert world.records[POOL].halted

    edit(world, imageBase="202607.02")
    world.settle()

    assert state(world) == "Settled"
    assert world.records[POOL].halted == ""


def test_a_machine_that_never_joins_is_named_with_its_flight_record() -> None:
    world = settled_world()
    world.fates = ["silent"]
    edit(world, imageBase="202607.03")
    world.one_pass()
    world.run_machines()

    world.clock.advance(timedelta(minutes=20))
    world.one_pass()

    assert world.records[POOL].failed == ("workers-6",)
    message = full_condition(world, "UpdatingConfig").message
    assert "workers-6: never joined; it left no flight record" in message


def test_a_machine_that_never_joins_is_an_event_and_no_healthy_node() -> None:
    world = settled_world()
    world.fates = ["silent"]
    edit(world, replicas=4)
    world.settle()
    assert full_condition(world, "AllNodesHealthy").message == "1 not ready"
    assert "MachineFailed" not in event_kinds(world)

    world.clock.advance(timedelta(minutes=20))
    world.settle()

    assert condition(world, "AllNodesHealthy") == ("False", "NodesUnhealthy")
    says = "workers-5: never joined; it left no flight record"
    assert full_condition(world, "AllNodesHealthy").message == says
    told = [one.says for one in world.read_events(POOL) if one.kind is EventKind.MACHINE_FAILED]
    assert told == ["workers-5 failed: never joined; it left no flight record."]


def test_a_drain_that_does_not_end_is_said() -> None:
    world = settled_world()
    edit(world, imageBase="202607.03")
    world.one_pass()
    world.run_machines()
    world.stuck = {"workers-2"}
    world.one_pass()

    world.one_pass()

    assert "1 machine drains" in full_condition(world, "UpdatingConfig").message


def test_the_kill_switch_stops_everything_but_secrets_and_conditions() -> None:
    world = settled_world()
    token = world.tokens[POOL, template(world).revision].token
    edit_platform(world, stopEverything=True)
    edit(world, imageBase="202607.03", replicas=5)
    world.clock.advance(timedelta(hours=6))

    world.settle()

    assert names(world) == THREE
    assert template_writes(world) == 1
    assert state(world) == "Held"
    assert condition(world, "ReconciliationActive") == ("False", "EverythingStopped")
    assert world.tokens[POOL, template(world).revision].token != token

    edit_platform(world, stopEverything=False)
    world.settle()

    assert len(names(world)) == 5
    assert template_writes(world) == 2


def test_outside_its_window_a_pool_scales_and_waits() -> None:
    world = settled_world(rollout={"windows": [{"start": "22:00", "duration": "4h"}]})
    edit(world, imageBase="202607.03", replicas=4)

    world.settle()

    assert len(names(world)) == 4
    assert state(world) == "Held"
    assert world.wake is not None
    assert world.wake.isoformat() == "2026-11-16T17:30:00+00:00", "a token is due before the window"
    world.clock.advance(timedelta(hours=10))
    world.settle()
    assert template_writes(world) == 2


def test_a_window_that_closes_holds_the_rest_of_a_rollout() -> None:
    world = settled_world(rollout={"windows": [{"start": "12:00", "duration": "20m"}]})
    edit(world, imageBase="202607.03")
    world.settle(minutes=4)

    assert state(world) == "Held"
    assert condition(world, "UpdatingConfig") == ("True", "OutsideWindow")
    assert 0 < sum(one.revision == template(world).revision for one in world.living.values()) < 3

    world.clock.advance(datetime(2026, 11, 17, 12, tzinfo=UTC) - world.clock.now)
    world.settle()

    assert state(world) == "Settled"
    assert template_writes(world) == 2


def test_canary_first_then_soak_then_the_rest() -> None:
    world = settled_world(rollout={"canary": [1], "soak": "30m"}, management={"maxSurge": 3})
    edit(world, imageBase="202607.03")

    world.settle()

    target = template(world).revision
    assert sum(machine.revision == target for machine in world.living.values()) == 1
    assert "batch 1 soaks" in full_condition(world, "UpdatingConfig").message
    world.clock.advance(timedelta(minutes=30))
    world.settle()
    assert state(world) == "Settled"


def test_on_delete_waits_for_the_owner_and_takes_what_is_deleted() -> None:
    world = settled_world(management={"strategy": "OnDelete"})
    edit(world, imageBase="202607.03")
    world.settle()
    assert names(world) == THREE
    assert "3 machines wait to be deleted" in full_condition(world, "UpdatingConfig").message

    for name in THREE:
        world.delete(name)
        world.settle()

    assert state(world) == "Settled"
    assert {machine.reason for machine in world.gone.values()} == {"deleted by hand"}


def test_in_place_changes_machines_and_keeps_their_names() -> None:
    world = settled_world(management={"type": "InPlace"})
    edit(world, imageBase="202607.03")

    world.settle()

    assert names(world) == THREE
    assert {machine.booted for machine in world.living.values()} == {template(world).revision}
    assert state(world) == "Settled"


def test_in_place_machines_are_not_said_to_be_replaced() -> None:
    world = settled_world(management={"type": "InPlace"})
    edit(world, imageBase="202607.03")

    shown = preview(POOL, world.world(), world.clock.now).status
    world.one_pass()

    says = "Machines are changed in place because the pool's owner changed imageBase."
    assert shown is not None
    assert shown.sentence == world.statuses[POOL].sentence == says
    edit(world, paused=True)
    world.one_pass()
    assert world.statuses[POOL].sentence.startswith("Machines are changed in place because")


def test_in_place_a_degraded_machine_halts_the_pool_and_is_named() -> None:
    world = settled_world(management={"type": "InPlace"})
    world._fate_of["workers-2"] = "fail"
    edit(world, imageBase="202607.03")

    world.settle()

    assert state(world) == "Blocked"
    assert "workers-2 failed on the way: the change failed" in (
        full_condition(world, "UpdatingConfig").message
    )


def test_in_place_a_machine_that_failed_on_the_way_is_waited_for_without_an_end() -> None:
    world = settled_world(management={"type": "InPlace"})
    world._fate_of["workers-2"] = "fail"
    edit(world, imageBase="202607.03")
    world.settle()

    waits = preview(POOL, world.world(), world.clock.now).waits

    assert [(wait.machine, wait.until) for wait in waits if wait.machine] == [("workers-2", None)]


def test_a_preview_shows_what_will_happen_and_writes_nothing() -> None:
    world = settled_world()
    drift(world)
    world.settle()
    writes = world.writes
    edit(world, imageBase="202607.03")

    shown = preview(POOL, world.world(), world.clock.now).shown

    assert world.writes == writes
    assert shown.change is ChangeClass.REPLACE
    assert shown.machines == ("workers-2", "workers-3", "workers-4")
    assert shown.estimate_s == 1800.0
    assert shown.because == "the pool's owner changed imageBase"
    world.settle()
    assert set(world.gone) == set(shown.machines)


@pytest.mark.parametrize(
    ("spec", "change"),
    [
        ({}, ChangeClass.NONE),
        ({"replicas": 4}, ChangeClass.IN_PLACE),
        ({"labels": {"team": "a"}}, ChangeClass.IN_PLACE),
        ({"description": "for the web team"}, ChangeClass.NONE),
        ({"machineTemplate": {"vmSize": "m5.xlarge"}}, ChangeClass.REPLACE),
        ({"machineTemplate": {"vmSize": "m5.xlarge"}, "paused": True}, ChangeClass.REPLACE),
    ],
)
def test_a_preview_says_how_much_an_edit_disturbs(
    spec: dict[str, object], change: ChangeClass
) -> None:
    world = settled_world()
    edit(world, **spec)

    assert preview(POOL, world.world(), world.clock.now).shown.change is change


def test_a_machine_that_the_plan_did_not_show_is_not_replaced() -> None:
    world = settled_world()
    edit(world, imageBase="202607.03")
    approve(world)
    declared = world.documents[POOL]
    edit(world, imageBase="202607.02", replicas=4)
    world.settle()
    world.documents[POOL] = declared
    edit(world, replicas=4)

    world.settle()

    assert template_writes(world) == 1
    assert condition(world, "UpdatingConfig") == ("True", "PlanExceeded")


def test_without_a_canary_every_batch_soaks() -> None:
    world = settled_world(rollout={"soak": "30m"})
    edit(world, imageBase="202607.03")

    for updated in (1, 2):
        world.settle()
        target = template(world).revision
        assert sum(machine.revision == target for machine in world.living.values()) == updated
        assert f"batch {updated} soaks" in full_condition(world, "UpdatingConfig").message
        world.clock.advance(timedelta(minutes=30))
    world.settle()

    assert state(world) == "Settled"
