"""The order that a plan shows is the order in which machines go."""

from __future__ import annotations

from typing import Any

import pytest

from fairlead.proposal.propose import propose
from fairlead.sim.world import SimWorld
from transitions.pool_worlds import POOL, edit, settled_world


def changed(world: SimWorld, **spec: Any) -> Any:
    document: Any = world.documents[POOL].pool
    return {**document, "spec": {**document["spec"], **spec}}


def shown_order(world: SimWorld, **spec: Any) -> tuple[str, ...]:
    plan = propose(world.world(), [changed(world, **spec)], world.clock.now).plans[0]
    assert not plan.removed
    return plan.machines


def taken_order(world: SimWorld) -> tuple[str, ...]:
    begin = world.writes
    world.settle()
    kinds = ("remove", "change")
    return tuple(name for kind, name in world.log[begin:] if kind in kinds)


@pytest.mark.parametrize(
    "management",
    [
        {},
        {"maxSurge": 0, "maxUnavailable": 1},
        {"maxSurge": 2, "maxUnavailable": 2},
        {"type": "InPlace"},
    ],
)
@pytest.mark.parametrize("accident", ["none", "boots", "lost", "failed"])
def test_machines_go_in_the_order_that_was_shown(management: dict[str, Any], accident: str) -> None:
    world = settled_world(management=management, timeouts={"join": "10h", "ready": "10h"})
    if accident == "boots":
        world.fates = ["silent"]
        edit(world, replicas=4)
        world.settle()
        world.fates = []
    youngest = sorted(world.living, key=lambda name: world.living[name].created_at)[-1]
    if accident == "lost":
        world.lose(youngest)
    if accident == "failed":
        world.fail(youngest, "its disk is gone")
    shown = shown_order(world, imageBase="202607.03", rollout={"haltAfter": 0})
    edit(world, imageBase="202607.03", rollout={"haltAfter": 0})

    taken = taken_order(world)

    # Changed in place, the budget is spent on the one that is dead, and the others wait.
    is_stuck = management.get("type") == "InPlace" and accident in ("boots", "failed")
    assert taken == (() if is_stuck else shown)
