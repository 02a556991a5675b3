"""What an owner agreed to: carried out as it was shown, whatever others change meanwhile."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest

from fairlead.sim.deployment_world import DeploymentWorld
from fairlead.sim.world import ControllerKilledError, SimWorld
from transitions.pool_worlds import (
    POOL,
    approve,
    condition,
    declare,
    drift,
    edit,
    edit_platform,
    full_condition,
    names,
    settled_world,
    state,
    template,
    template_writes,
)

# The clock of a simulated world starts at noon.
NIGHT = {"windows": [{"start": "22:00", "duration": "4h"}]}


def approved_world(**spec: Any) -> SimWorld:
    """A pool whose owner was shown a plan for an edit, and agreed to it."""
    world = settled_world(**spec)
    edit(world, imageBase="202607.03")
    approve(world)
    return world


def serving(world: SimWorld) -> set[object]:
    """The control-plane images that the machines booted with."""
    booted = {machine.booted for machine in world.living.values()}
    found = {token.served.id: token.served for token in world.tokens.values()}
    return {found[name].leaves.get("platform.controlPlaneImage") for name in booted}


def revisions(world: SimWorld) -> dict[str, str]:
    """What each machine has, or is on its way to."""
    return {name: one.heading_for or one.revision for name, one in world.living.items()}


def applied(world: SimWorld) -> str:
    found = world.records[POOL].applied
    assert found is not None
    return found.id


def test_an_approved_plan_is_carried_out() -> None:
    world = approved_world()

    world.settle()

    assert state(world) == "Settled"
    assert set(world.gone) == set(world.plans[POOL].machines)


def test_a_platform_change_after_the_approval_stays_out_and_is_held() -> None:
    world = approved_world()
    drift(world)

    world.settle()

    assert len(world.gone) == 3
    assert serving(world) == {None}
    assert state(world) == "Drifted"
    assert [held.leaf for held in world.records[POOL].held] == ["platform.controlPlaneImage"]


def test_an_approved_rollout_goes_on_when_its_window_opens_whatever_the_platform_did() -> None:
    world = approved_world(rollout=NIGHT)
    drift(world)
    world.settle()
    assert state(world) == "Held"
    assert condition(world, "UpdatingConfig") == ("True", "OutsideWindow")
    first = world.clock.now

    edit_platform(world, loadBalancerAddress="10.0.0.5")
    world.settle()
    world.clock.advance(timedelta(hours=11))
    world.settle()

    assert len(world.gone) == 3
    assert serving(world) == {None}
    assert state(world) == "Drifted"
    held = {one.leaf: one.since for one in world.records[POOL].held}
    assert sorted(held) == ["platform.controlPlaneImage", "platform.loadBalancerAddress"]
    assert held["platform.controlPlaneImage"] < first, "it is as old as it is"


def test_platform_changes_that_were_shown_go_along() -> None:
    world = settled_world()
    drift(world)
    world.settle()
    edit(world, imageBase="202607.03")
    approve(world)

    world.settle()

    assert serving(world) == {"cp@sha256:bb"}
    assert state(world) == "Settled"


def test_a_platform_change_that_is_taken_back_leaves_no_trace() -> None:
    world = approved_world(rollout=NIGHT)
    drift(world)
    world.settle()
    edit_platform(world, controlPlaneImage=None)
    world.clock.advance(timedelta(hours=11))

    world.settle()

    assert len(world.gone) == 3
    assert state(world) == "Settled"


def test_a_pass_that_starts_an_approved_rollout_is_followed_by_one_that_writes_nothing() -> None:
    world = approved_world()
    drift(world)
    world.one_pass()

    assert world.one_pass() == 0


@pytest.mark.parametrize("after", range(8))
def test_an_approved_rollout_survives_a_kill_between_any_two_writes(after: int) -> None:
    world = approved_world()
    shown = world.plans[POOL]
    drift(world)
    world.crash_at = world.writes + after
    try:
        world.settle()
    except ControllerKilledError:
        world.settle()

    assert set(world.gone) == set(shown.machines)
    assert serving(world) == {None}
    assert state(world) == "Drifted"
    assert template_writes(world) == 2


def test_another_intent_than_the_approved_one_is_not_bound_by_it() -> None:
    world = approved_world(rollout=NIGHT)
    edit(world, imageBase="202607.04")
    drift(world)
    world.clock.advance(timedelta(hours=11))

    world.settle()

    assert serving(world) == {"cp@sha256:bb"}


def taken_back_world(**spec: Any) -> SimWorld:
    """
    A rollout that its owner takes back, and machines that the plan for it does not show.

    The pool grew under the first target after that plan was shown.
    """
    world = settled_world(**spec)
    edit(world, imageBase="202607.03")
    approve(world)
    world.one_pass()
    edit(world, imageBase="202607.02", paused=True)
    approve(world)
    edit(world, replicas=6)
    for _ in range(4):
        world.one_pass()
        world.run_machines()
    edit(world, paused=None)
    return world


@pytest.mark.parametrize("management", [{}, {"type": "InPlace", "maxUnavailable": 1}])
def test_what_an_owner_took_back_disturbs_nobody_while_the_new_plan_waits(
    management: dict[str, Any],
) -> None:
    world = taken_back_world(management=management)
    before = revisions(world)

    world.settle()

    assert revisions(world) == before
    assert len(set(before.values())) == 2
    assert state(world) == "Held"
    assert condition(world) == ("True", "PlanExceeded")
    assert "plan again" in full_condition(world, "ConfigUpdatePending").message


def test_an_edge_replaces_nobody_for_what_an_owner_took_back() -> None:
    world = settled_world(DeploymentWorld)
    edit(world, imageBase="202607.03")
    approve(world)
    world.one_pass()
    world.run_machines()
    edit(world, imageBase="202607.02")
    approve(world)
    for _ in range(2):
        world.run_machines()  # it goes on until the next pass

    world.settle()

    assert template(world).is_held
    assert state(world) == "Held"
    assert len(world.gone) == 1


def test_a_rollout_that_was_taken_back_ends_once_its_owner_planned_again() -> None:
    world = taken_back_world()
    old = {name for name, of in revisions(world).items() if of == applied(world)}
    world.settle()

    approve(world)
    world.settle()

    assert state(world) == "Settled"
    assert set(revisions(world).values()) == {applied(world)}
    assert len(old) == 3
    assert old <= set(names(world))


def test_a_platform_change_beyond_its_maximum_age_rolls_every_time() -> None:
    world = approved_world(platformChanges={"maximumAge": {"routine": "24h"}})
    world.settle()

    for image in ("cp@sha256:aa", "cp@sha256:bb", "cp@sha256:cc"):
        before = names(world)
        drift(world, image)
        world.settle()
        assert names(world) == before, "it is held first"
        world.clock.advance(timedelta(hours=24))
        world.settle()
        assert not set(names(world)) & set(before)
        assert serving(world) == {image}
        assert state(world) == "Settled"


def test_an_approval_from_a_release_that_kept_no_revision_is_not_exceeded() -> None:
    world = approved_world()
    world.plans[POOL] = world.plans[POOL].but(revision=None)
    drift(world)
    world.settle()

    assert template_writes(world) == 1
    assert state(world) == "Held"
    assert condition(world, "UpdatingConfig") == ("True", "PlanExceeded")
    assert "platform inputs changed since the plan was shown; plan again" in (
        full_condition(world, "UpdatingConfig").message
    )


def test_an_approval_that_such_a_release_carried_out_holds_up_nothing_any_more() -> None:
    world = approved_world(platformChanges={"maximumAge": {"routine": "24h"}})
    world.settle()
    world.plans[POOL] = world.plans[POOL].but(revision=None)
    for image in ("cp@sha256:aa", "cp@sha256:bb"):
        world.records[POOL] = replace(world.records[POOL], spent="")
        drift(world, image)
        world.settle()
        world.clock.advance(timedelta(hours=24))
        world.settle()
        assert serving(world) == {image}


def test_an_approval_survives_that_a_default_is_written_out() -> None:
    motd = {"path": "/etc/motd", "content": "hello"}
    world = settled_world(rollout=NIGHT)
    edit(world, config=[{"kind": "Files", "files": [motd]}])
    approve(world)
    edit(world, config=[{"kind": "Files", "files": [motd | {"mode": "0644"}]}])
    drift(world)
    world.clock.advance(timedelta(hours=11))

    world.settle()

    assert len(world.gone) == 3
    assert serving(world) == {None}


def test_a_forced_rollout_takes_along_what_was_shown_for_it() -> None:
    world = settled_world(rollout=NIGHT)
    edit(world, force="now")
    approve(world)
    drift(world)
    world.clock.advance(timedelta(hours=11))

    world.settle()

    assert len(world.gone) == 3
    assert serving(world) == {None}
    assert state(world) == "Drifted"


@pytest.mark.parametrize(
    ("policy", "there"),
    [("Roll", "sha256:2"), ("Ignore", "sha256:2"), ("Drift", "sha256:1")],
)
def test_the_content_of_a_secret_goes_along_as_the_owner_declared(policy: str, there: str) -> None:
    world = settled_world(secretContent=policy)
    declare(world, pull_secret="sha256:1")
    world.settle()
    edit(world, imageBase="202607.03", rollout=NIGHT)
    approve(world)
    before = set(names(world))
    declare(world, pull_secret="sha256:2")
    drift(world)
    world.clock.advance(timedelta(hours=11))

    world.settle()

    assert not set(names(world)) & before
    assert serving(world) == {None}, "the platform's change stays out all the same"
    revision = world.tokens[POOL, template(world).revision].revision
    assert revision.leaves["pullSecret.content"] == there
