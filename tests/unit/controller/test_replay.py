"""Code with another hash scheme proves itself on every pool before it acts."""

from datetime import UTC, datetime

from fairlead.controller.observe import Code
from fairlead.controller.replay import prove_replay
from fairlead.revision.hashing import Scheme
from fairlead.revision.rebase import ReplayProof
from transitions.pool_worlds import drift, edit, fresh_world, settled_world

NOW = datetime(2026, 11, 16, 12, tzinfo=UTC)
NOTHING = ReplayProof(compared=0, broken=())
ONE = ReplayProof(compared=1, broken=())


def test_pools_recorded_under_the_same_scheme_need_no_proof() -> None:
    assert prove_replay(settled_world().world(), NOW) == NOTHING
    assert prove_replay(fresh_world().world(), NOW) == NOTHING


def test_a_pool_recorded_under_another_scheme_is_compared_with_what_it_wants() -> None:
    world = settled_world()
    world.code = Code(scheme=Scheme(2))
    assert prove_replay(world.world(), NOW) == ONE

    drift(world)
    edit(world, imageBase="202609.01")

    assert prove_replay(world.world(), NOW) == ONE
    assert world.writes == settled_world().writes


def test_a_pool_whose_documents_cannot_be_used_is_left_out() -> None:
    world = settled_world()
    world.code = Code(scheme=Scheme(2))
    edit(world, release=None)

    assert prove_replay(world.world(), NOW) == NOTHING
