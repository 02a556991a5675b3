"""A pool whose first pass is cut off is made as if it had not been."""

import pytest

from fairlead.answers.words import EventKind
from fairlead.controller.observe import PoolDocuments
from fairlead.sim.world import ControllerKilledError, SimWorld
from pool_documents import platform_document, pool_document

POOL = "workers"


def declared_world() -> SimWorld:
    world = SimWorld()
    world.documents[POOL] = PoolDocuments(pool=pool_document(), platform=platform_document())
    return world


def writes_of_a_first_pass() -> int:
    return declared_world().one_pass()


@pytest.mark.parametrize("write", range(writes_of_a_first_pass()))
def test_nobody_has_a_revision_before_a_machine_does(write: int) -> None:
    world = declared_world()
    world.crash_at = write
    with pytest.raises(ControllerKilledError):
        world.one_pass()
    had_machines = bool(world.living)

    world.one_pass()

    record = world.records[POOL]
    if not had_machines:
        assert record.applied is None
    world.settle()
    assert world.records[POOL].applied == world.records[POOL].target
    assert len(world.living) == 3
    assert world.gone == {}
    told = [event.kind for event in world.read_events(POOL)]
    assert told.count(EventKind.POOL_ADOPTED) == 1
    assert EventKind.SEEDED not in told
    assert EventKind.ROLLOUT_STARTED not in told
