"""Machines without a fix are replaced by an edge that makes them by itself, within the budgets."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta
from random import Random
from typing import Any

import pytest

from fairlead.controller.reconcile import preview
from fairlead.errors import InputError
from fairlead.proposal.propose import propose
from fairlead.sim.deployment_world import DeploymentWorld
from fairlead.sim.world import ControllerKilledError, SimWorld
from transitions.pool_worlds import (
    POOL,
    drift,
    edit,
    edit_platform,
    event_kinds,
    names,
    settled_world,
    state,
    template,
)
from transitions.test_fix_adoption import FIX, REASON, agents, ask, half_fixed_world, publish

SATURDAYS = {"days": ["Sat"], "start": "02:00", "duration": "4h"}


def asked_world(**spec: Any) -> SimWorld:
    """Three machines that lack a fix, by default, whose owner asks for it."""
    world = settled_world(DeploymentWorld, **spec)
    publish(world)
    ask(world)
    return world


def bounds(world: SimWorld, rounds: int = 30) -> tuple[int, int]:
    """Let passes and machines take turns; return the fewest available and the most machines."""
    fewest = most = len(world.living)
    for _ in range(rounds):
        for move in (world.one_pass, world.run_machines):
            move()
            most = max(most, len(world.living))
            fewest = min(fewest, sum(one.is_available for one in world.living.values()))
        world.clock.advance(timedelta(minutes=1))
    return fewest, most


def says(world: SimWorld) -> list[str]:
    return [wait.says for wait in preview(POOL, world.world(), world.clock.now).waits]


@pytest.mark.parametrize(
    ("replicas", "management", "expected"),
    [
        (3, {"maxSurge": 1, "maxUnavailable": 0}, (3, 4)),
        (3, {"maxSurge": 0, "maxUnavailable": 1}, (2, 3)),
        (3, {"maxSurge": 1, "maxUnavailable": 1}, (2, 4)),
        (5, {"maxSurge": 2, "maxUnavailable": 0}, (5, 7)),
        (5, {"maxSurge": 2, "maxUnavailable": 2}, (3, 6)),
        (2, {"maxSurge": 5, "maxUnavailable": 0}, (2, 4)),
        (1, {"maxSurge": 1, "maxUnavailable": 0}, (1, 2)),
        (4, {"maxSurge": "25%", "maxUnavailable": "0%"}, (4, 5)),
    ],
)
def test_budgets_hold_and_no_machine_is_made_in_vain(
    replicas: int, management: dict[str, Any], expected: tuple[int, int]
) -> None:
    world = asked_world(replicas=replicas, management=management)
    old, revision = set(names(world)), template(world).revision

    assert bounds(world) == expected

    assert set(agents(world).values()) == {FIX}
    assert set(world.gone) == old, "each of them once, and no other"
    assert {machine.reason for machine in world.gone.values()} == {REASON}
    assert (len(world.living), state(world)) == (replicas, "Settled")
    assert world.records[POOL].adoption is None
    assert (template(world).revision, template(world).surge) == (revision, 0)


@pytest.mark.parametrize("away", [0, 1, 9])
def test_killed_before_any_write_the_next_controller_ends_in_the_same_state(away: int) -> None:
    """away: for so many moves of the edge nobody controls it."""
    whole, _ = half_fixed_world(DeploymentWorld)
    start, kept = whole.writes, {name for name, agent in agents(whole).items() if agent == FIX}
    ask(whole)
    whole.settle()

    for at in range(start, whole.writes):
        world, old = half_fixed_world(DeploymentWorld)
        ask(world)
        world.crash_at = at
        with pytest.raises(ControllerKilledError):
            world.settle()
        for _ in range(away):
            world.run_machines()
        fewest, most = bounds(world)
        assert (fewest, most <= 5) == (4, True), at

        assert set(world.gone) == old, at
        assert kept <= set(names(world)), at
        assert (state(world), template(world).surge, len(world.living)) == ("Settled", 0, 4), at
        told = event_kinds(world)
        assert [told.count(f"FixAdoption{end}") for end in ("Started", "Ended")] == [1, 1], at


@pytest.mark.parametrize("seed", range(40))
def test_whoever_is_faster_budgets_hold_and_each_machine_goes_once(seed: int) -> None:
    chance = Random(seed)
    replicas, surge = chance.randint(1, 6), chance.randint(0, 3)
    missing = chance.randint(0 if surge else 1, 3)
    budgets = {"maxSurge": surge, "maxUnavailable": missing}
    world = asked_world(replicas=replicas, management=budgets)
    old = set(names(world))
    for _ in range(200):
        chance.choice((world.one_pass, world.run_machines))()
        available = sum(one.is_available for one in world.living.values())
        assert available >= replicas - missing, world.log[-5:]
        assert len(world.living) <= replicas + surge, world.log[-5:]
    world.settle()

    assert set(world.gone) == old
    assert (len(world.living), state(world)) == (replicas, "Settled")


@pytest.mark.parametrize("passes", [2, 5])
def test_an_edge_that_is_slow_to_obey_is_not_hurried(passes: int) -> None:
    world = asked_world()
    fewest = 3
    for _ in range(20):
        for _ in range(passes):
            world.one_pass()
        fewest = min(fewest, sum(one.is_available for one in world.living.values()))
        world.run_machines()

    assert fewest == 3
    assert len(world.gone) == 3
    assert state(world) == "Settled"


def test_what_is_held_keeps_the_machine_too_many_and_makes_no_further() -> None:
    world = asked_world()
    world.one_pass()
    assert template(world).surge == 1

    ask(world, windows=[SATURDAYS])
    world.settle()

    assert (template(world).surge, len(world.living)) == (1, 4)
    assert not world.gone
    assert state(world) == "Held"
    assert not template(world).is_held, "nothing is to be kept from the edge"


@pytest.mark.parametrize("how", ["kill switch", "scaling too"])
def test_where_nothing_may_come_or_go_the_number_of_machines_stays(how: str) -> None:
    world = asked_world()
    world.one_pass()
    world.run_machines()
    world.run_machines()
    if how == "kill switch":
        edit_platform(world, stopEverything=True)
    else:
        edit(world, paused={"scalingToo": True})

    world.settle()
    edit(world, rollout=None)
    world.settle()

    assert (template(world).replicas, template(world).surge) == (3, 1)
    assert (len(world.living), world.gone) == (4, {})
    ask(world)
    if how == "kill switch":
        edit_platform(world, stopEverything=False)
    else:
        edit(world, paused=None)
    world.settle()
    assert (state(world), len(world.living)) == ("Settled", 3)


def test_settings_that_cannot_be_used_leave_the_number_as_the_edge_was_told() -> None:
    world = asked_world(management={"maxSurge": 2})
    world.one_pass()

    edit(world, management={"maxSurge": 0, "maxUnavailable": 0})
    world.settle()

    assert (template(world).replicas, template(world).surge) == (3, 2)


class HastyWorld(DeploymentWorld):
    """An edge that does something between the look of a pass and each of its writes."""

    def remove_machine(self, name: str, reason: str, asked_by: str = "") -> None:
        DeploymentWorld.run_machines(self)
        super().remove_machine(name, reason, asked_by)


@pytest.mark.parametrize("passes", [1, 2])
def test_what_the_edge_removes_by_itself_is_never_removed_twice(passes: int) -> None:
    budgets = {"maxSurge": 1, "maxUnavailable": 0}
    world = settled_world(HastyWorld, replicas=5, management=budgets)
    publish(world)
    ask(world)
    world.one_pass()
    world.run_machines()
    world.run_machines()
    assert sum(one.is_available for one in world.living.values()) == 6
    edit(world, replicas=4)
    fewest = 6
    for _ in range(40):
        for _ in range(passes):
            world.one_pass()
            fewest = min(fewest, sum(one.is_available for one in world.living.values()))
        world.run_machines()
        fewest = min(fewest, sum(one.is_available for one in world.living.values()))

    assert fewest == 4
    assert (state(world), len(world.living)) == ("Settled", 4)
    lacked = [one.agent for one in world.gone.values() if one.agent != FIX]
    assert len(lacked) == len(world.gone) == 5, "nobody leaves who has the fix"


def test_a_machine_that_somebody_marked_costs_no_availability() -> None:
    world, old = half_fixed_world(HastyWorld)
    marked = max(set(names(world)) - old)
    world.living[marked] = replace(world.living[marked], goes_first=True)
    ask(world)
    fewest = 4
    for _ in range(60):
        world.one_pass()
        world.one_pass()
        world.run_machines()
        fewest = min(fewest, sum(one.is_available for one in world.living.values()))

    assert fewest == 4
    assert (state(world), set(agents(world).values())) == ("Settled", {FIX})


@pytest.mark.parametrize("replicas", [2, 5])
def test_a_pool_that_is_scaled_meanwhile_has_as_many_machines_as_its_owner_says(
    replicas: int,
) -> None:
    world = asked_world()
    world.one_pass()
    world.run_machines()
    edit(world, replicas=replicas)

    fewest, most = bounds(world)

    assert fewest >= min(replicas, 3)
    assert most <= max(replicas, 3) + 1
    assert (state(world), len(world.living)) == ("Settled", replicas)
    assert set(agents(world).values()) == {FIX}


def test_a_request_that_is_taken_back_gives_the_machine_too_many_back() -> None:
    world = asked_world()
    world.one_pass()
    world.run_machines()
    made = set(names(world)) - {"workers-2", "workers-3", "workers-4"}
    assert len(made) == 1

    edit(world, rollout=None)
    world.settle()

    assert set(world.gone) == made
    assert (state(world), template(world).surge, len(world.living)) == ("Settled", 0, 3)


def test_batches_hold_while_machines_are_replaced_for_a_fix() -> None:
    world = settled_world(DeploymentWorld, replicas=5)
    publish(world)
    ask(world, canary=[1], soak="30m")

    world.settle()

    assert sorted(agents(world).values()).count(FIX) == 1
    assert "batch 1 soaks" in says(world)
    assert (len(world.living), template(world).surge) == (5, 0)
    world.clock.advance(timedelta(minutes=30))
    world.settle()
    assert set(agents(world).values()) == {FIX}


def test_a_pool_whose_owner_deletes_is_left_to_its_owner() -> None:
    world = asked_world(management={"strategy": "OnDelete"})
    world.settle()

    assert "3 machines wait to be deleted by the pool's owner" in says(world)
    assert (world.gone, template(world).surge, template(world).is_held) == ({}, 0, False)
    for name in names(world):
        world.delete(name)
    world.settle()
    assert state(world) == "Settled"


def test_where_an_autoscaler_says_how_many_machines_go_only_within_what_may_be_missing() -> None:
    world = settled_world(DeploymentWorld, replicas=None, autoscaling={"min": 3, "max": 9})
    publish(world)
    ask(world)
    world.settle()

    assert (world.gone, template(world).surge) == ({}, 0)
    why = "an autoscaler says how many machines there are, and management.maxUnavailable is 0"
    assert f"3 machines lack {FIX}; {why}: set it to 1, or delete them" in says(world)

    edit(world, management={"maxUnavailable": 1})
    assert bounds(world) == (2, 3)
    assert (set(agents(world).values()), state(world)) == ({FIX}, "Settled")


def test_asking_for_what_the_budgets_do_not_allow_is_refused() -> None:
    world = settled_world(DeploymentWorld, replicas=None, autoscaling={"min": 3, "max": 9})
    publish(world)
    document: Any = world.documents[POOL].pool
    spec = {**document["spec"], "rollout": {"replaceWithout": {"fix": FIX}}}

    with pytest.raises(InputError, match="an autoscaler says how many") as refused:
        propose(world.world(), [{**document, "spec": spec}], world.clock.now)

    assert refused.value.field == "spec.rollout.replaceWithout"


def test_a_rollout_meanwhile_is_the_edges_own_and_ends_with_no_machine_too_many() -> None:
    world = asked_world()
    world.one_pass()
    world.run_machines()

    edit(world, imageBase="202607.03")
    fewest, most = bounds(world)

    assert (fewest, most) == (3, 4)
    assert (state(world), len(world.living), template(world).surge) == ("Settled", 3, 0)
    assert world.records[POOL].adoption is None


def test_a_deleted_pool_leaves_with_its_machine_too_many() -> None:
    world = asked_world()
    world.one_pass()
    world.run_machines()

    world.delete_pool()
    world.settle()

    assert not world.living
    assert POOL not in world.documents


def test_a_platform_change_alone_still_replaces_nothing() -> None:
    world = settled_world(DeploymentWorld)
    publish(world)
    before = names(world), template(world)

    drift(world)
    world.settle()

    assert (names(world), template(world), state(world)) == (*before, "Drifted")
