"""Worlds of every kind, for the suites that hold on all of them."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import pytest

from conformance.stored_world import StoredWorld
from fairlead.sim.world import SimWorld
from pool_documents import platform_document, pool_document
from transitions.pool_worlds import declare

MakeWorld = Callable[[], SimWorld]


@pytest.fixture(params=["sim", "embedded"])
def make_world(request: pytest.FixtureRequest) -> Iterator[MakeWorld]:
    """Makes worlds of one kind in which a pool of three is declared and nothing has run."""
    made: list[StoredWorld] = []

    def make() -> SimWorld:
        world: SimWorld = SimWorld()
        if request.param == "embedded":
            world = StoredWorld()
            made.append(world)
        declare(world, pool_document(), platform_document())
        return world

    yield make
    for world in made:
        world.close()


@pytest.fixture
def world(make_world: MakeWorld) -> SimWorld:
    return make_world()


@pytest.fixture
def settled(world: SimWorld) -> SimWorld:
    """A world whose three machines run."""
    world.settle()
    return world
