"""An edge says how many machines of one pool it holds, and more is refused with the reason."""

from __future__ import annotations

from typing import Any

import pytest

from fairlead.embedded.capacity import capacity_of
from fairlead.errors import InputError
from fairlead.proposal.propose import propose
from fairlead.rollout.machines import Capacity
from fairlead.sim.world import SimWorld
from pool_documents import pool_document
from transitions.pool_worlds import settled_world


class SmallWorld(SimWorld):
    capacity = Capacity(4, "there is one rack")


def refusal(world: SimWorld, **spec: Any) -> InputError:
    with pytest.raises(InputError) as refused:
        propose(world.world(), [pool_document(**spec)], world.clock.now)
    return refused.value


def test_more_machines_than_an_edge_holds_are_refused_with_the_reason() -> None:
    error = refusal(settled_world(SmallWorld), replicas=5)

    assert error.field == "spec.replicas"
    assert (
        error.problem == "found 5, expected at most 4 machines in one pool here: there is one rack"
    )


def test_the_most_that_an_autoscaler_may_ask_for_is_held_to_it_too() -> None:
    error = refusal(settled_world(SmallWorld), replicas=None, autoscaling={"min": 1, "max": 9})

    assert error.field == "spec.autoscaling.max"


def test_what_an_edge_holds_is_taken() -> None:
    world = settled_world(SmallWorld)

    assert propose(world.world(), [pool_document(replicas=4)], world.clock.now).plans


def test_what_is_in_force_goes_on_and_may_shrink() -> None:
    world = settled_world(SmallWorld, replicas=9)

    for replicas in (9, 8):
        assert propose(world.world(), [pool_document(replicas=replicas)], world.clock.now).plans
    assert refusal(world, replicas=10).field == "spec.replicas"


@pytest.mark.parametrize(
    ("kind", "memory", "machines"),
    [
        ("directory", 1 << 30, 20_000),
        ("nspawn", 4 << 30, 32),
        ("nspawn", 1, 1),
        ("nspawn", 1 << 50, 20_000),
    ],
)
def test_this_computer_holds_containers_by_its_memory(
    kind: str, memory: int, machines: int
) -> None:
    found = capacity_of(kind, memory)

    assert found.machines == machines
    assert found.why
