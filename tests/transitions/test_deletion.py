"""The end of a pool: machines leave, secrets go, the pool is forgotten; or why it waits."""

from datetime import timedelta
from typing import Any

import pytest

from fairlead.answers.words import ChangeClass
from fairlead.controller.reconcile import preview
from fairlead.errors import InvariantError
from fairlead.rollout.step import RemoveMachine
from fairlead.sim.world import ControllerKilledError, SimWorld
from pool_documents import platform_document
from transitions.pool_worlds import (
    POOL,
    condition,
    declare,
    drift,
    edit,
    edit_platform,
    event_kinds,
    fresh_world,
    names,
    settled_world,
    state,
    template,
)

THREE = ["workers-2", "workers-3", "workers-4"]


def is_forgotten(world: SimWorld) -> bool:
    left = (world.documents, world.records, world.statuses, world.plans, world.templates)
    return not any(left) and not world.living and not world.tokens and not world.user_data


def test_a_deleted_pool_loses_its_machines_then_its_secrets_and_is_forgotten() -> None:
    world = settled_world()
    start = world.writes

    world.delete_pool()
    world.settle()

    assert is_forgotten(world)
    assert {machine.reason for machine in world.gone.values()} == {"the pool was deleted"}
    assert sorted(world.gone) == THREE
    kinds = [kind for kind, _ in world.log[start:]]
    assert kinds == [
        "template in place", "status",
        "remove", "remove", "remove",
        "events",
        "delete token", "delete user data",
        "events", "forget",
    ]  # fmt: skip
    assert event_kinds(world)[-7:] == [
        "MachineLeaves", "MachineLeaves", "MachineLeaves",
        "MachineGone", "MachineGone", "MachineGone",
        "PoolDeleted",
    ]  # fmt: skip


def test_while_machines_drain_the_pool_says_that_it_leaves() -> None:
    world = settled_world()
    world.stuck = {"workers-3"}
    world.delete_pool()

    world.settle()

    assert names(world) == ["workers-3"]
    assert state(world) == "Leaving"
    assert world.statuses[POOL].sentence == (
        "The pool was deleted: its machines leave, then its secrets go."
    )
    assert world.statuses[POOL].desired == 0
    assert condition(world, "Ready") == ("False", "PoolDeleted")
    assert condition(world) == ("False", "PoolDeleted")
    waits = preview(POOL, world.world(), world.clock.now).waits
    assert [wait.says for wait in waits] == ["1 machine drains"]
    assert world.tokens, "a machine that is there keeps its pair"


def test_a_drain_that_takes_days_keeps_a_valid_token() -> None:
    world = settled_world()
    world.stuck = {"workers-3"}
    world.delete_pool()
    world.settle()
    before = world.tokens[POOL, template(world).revision].token

    world.clock.advance(timedelta(hours=6))
    world.settle()

    assert world.tokens[POOL, template(world).revision].token != before


@pytest.mark.parametrize(
    "spec",
    [
        {"paused": True},
        {"paused": {"scalingToo": True}},
        {"rollout": {"windows": [{"start": "22:00", "duration": "4h"}]}},
        {"management": {"strategy": "OnDelete"}},
        {"management": {"type": "InPlace"}},
        {"config": [{"kind": "Nonsense"}]},
        {"replicas": "many"},
    ],
)
def test_the_owners_word_wins_over_everything_that_holds_a_rollout(spec: dict[str, Any]) -> None:
    world = settled_world()
    edit(world, **spec)
    world.settle()

    world.delete_pool()
    world.settle()

    assert is_forgotten(world)


def test_a_halted_rollout_does_not_keep_a_pool() -> None:
    world = settled_world(management={"maxSurge": 2})
    world.fates = ["fail", "fail"]
    edit(world, imageBase="202607.03")
    world.settle()
    assert world.records[POOL].halted

    world.delete_pool()
    world.settle()

    assert is_forgotten(world)
    assert event_kinds(world).count("RolloutCompleted") == 1, "the first; it never completed again"


def test_the_kill_switch_holds_a_deletion_and_scaling_for_it() -> None:
    world = settled_world()
    edit_platform(world, stopEverything=True)
    world.delete_pool()

    world.settle()

    assert names(world) == THREE
    assert state(world) == "Held"
    assert template(world).replicas == 3
    assert condition(world, "ReconciliationActive") == ("False", "EverythingStopped")

    edit_platform(world, stopEverything=False)
    world.settle()

    assert is_forgotten(world)


def test_the_kill_switch_holds_also_in_a_document_that_cannot_be_used() -> None:
    world = settled_world()
    declare(world, platform=platform_document(proxy={"image": 7}, stopEverything=True))
    edit(world, replicas=5)
    world.delete_pool()

    world.settle()

    assert names(world) == THREE


def test_an_unusable_platform_document_alone_does_not_keep_a_pool() -> None:
    world = settled_world()
    declare(world, platform=platform_document(proxy={"image": 7}))

    world.delete_pool()
    world.settle()

    assert is_forgotten(world)


def test_a_pool_that_never_had_a_pass_is_forgotten_in_one() -> None:
    world = fresh_world()
    world.delete_pool()

    world.one_pass()

    assert is_forgotten(world)
    assert event_kinds(world) == ["PoolDeleted"]


def test_a_deletion_found_without_a_record_still_removes_the_machines() -> None:
    world = settled_world()
    del world.records[POOL]

    world.delete_pool()
    world.settle()

    assert is_forgotten(world)


def test_a_preview_of_a_deletion_names_every_machine_and_writes_nothing() -> None:
    world = settled_world()
    world.delete_pool()
    writes = world.writes

    thought = preview(POOL, world.world(), world.clock.now)

    assert world.writes == writes
    assert thought.shown.change is ChangeClass.DELETE
    assert list(thought.shown.machines) == THREE
    removed = [step.machine for step in thought.steps if isinstance(step, RemoveMachine)]
    assert removed == THREE
    assert not thought.is_over


def test_nothing_else_happens_to_a_pool_that_leaves() -> None:
    world = settled_world()
    world.stuck = set(THREE)
    world.delete_pool()
    world.settle()
    pointed = template(world)

    edit(world, imageBase="202607.03", replicas=7, labels={"team": "a"}, force="now")
    drift(world)
    world.settle()

    assert template(world) == pointed
    assert names(world) == THREE
    assert world.records[POOL].held == ()


@pytest.mark.parametrize("machines", [0, 3])
def test_a_deletion_may_be_cut_off_before_any_write(machines: int) -> None:
    whole = settled_world(replicas=machines)
    start = whole.writes
    whole.delete_pool()
    whole.settle()
    kinds = event_kinds(whole)

    for at in range(start, whole.writes):
        world = settled_world(replicas=machines)
        world.delete_pool()
        world.crash_at = at
        with pytest.raises(ControllerKilledError):
            world.settle()
        world.settle()

        assert is_forgotten(world), at
        assert sorted(event_kinds(world)) == sorted(kinds), at


@pytest.mark.parametrize("after", range(3))
def test_a_pool_that_never_had_a_pass_is_told_of_once(after: int) -> None:
    world = fresh_world()
    world.delete_pool()
    world.crash_at = world.writes + after

    with pytest.raises(ControllerKilledError):
        world.settle()
    world.settle()

    assert is_forgotten(world)
    assert event_kinds(world) == ["PoolDeleted"]


def test_a_pool_of_the_same_name_tells_its_own_story() -> None:
    world = settled_world()
    world.delete_pool()
    world.settle()
    declare(world)

    world.settle()
    world.delete_pool()
    world.settle()

    told = event_kinds(world)
    assert told.count("PoolAdopted") == 2
    assert told.count("RolloutCompleted") == 2
    assert told.count("PoolDeleted") == 2
    assert len(world.gone) == 6


def test_the_simulated_world_refuses_to_forget_a_pool_with_machines() -> None:
    world = settled_world()

    with pytest.raises(InvariantError):
        world.forget_pool(POOL)
