"""What an edge keeps comes back as it was, across versions."""

import json
from typing import Any

import pytest

from fairlead.controller.observe import PoolStatus
from fairlead.controller.stored import restored, stored
from fairlead.errors import InputError
from fairlead.rollout.machines import Machine, Template
from fairlead.rollout.record import PoolRecord, RolloutPlan
from fairlead.rollout.secrets import TokenSecret, UserData
from fairlead.sim.world import SimWorld
from fairlead.timeline.event import Event
from transitions.pool_worlds import POOL, drift, edit, settled_world


def busy_world() -> SimWorld:
    """A pool that is drifted and in the middle of a rollout."""
    world = settled_world(labels={"team": "a"}, timeouts={"drain": "5m"})
    drift(world)
    world.settle()
    edit(world, imageBase="202607.03", taints=[{"key": "a", "effect": "NoSchedule"}])
    world.one_pass()
    world.run_machines()
    drift(world, "cp@sha256:cc")
    world.one_pass()
    return world


def there_and_back(value: Any) -> Any:
    return restored(type(value), json.loads(json.dumps(stored(value))))


def test_everything_that_a_pass_writes_comes_back_as_it_was() -> None:
    world = busy_world()
    machines = [*world.living.values(), *world.gone.values()]
    secrets = [*world.tokens.values(), *world.user_data.values()]
    values: list[object] = [
        world.records[POOL], world.records[POOL].plan, world.statuses[POOL],
        world.templates[POOL], *machines, *secrets, *world.read_events(POOL),
    ]  # fmt: skip

    assert {type(value) for value in values} == {
        PoolRecord, RolloutPlan, PoolStatus, Template, Machine, TokenSecret, UserData, Event,
    }  # fmt: skip
    for value in values:
        assert there_and_back(value) == value


def test_a_field_of_a_later_version_is_dropped_and_a_missing_one_has_its_default() -> None:
    record: Any = stored(busy_world().records[POOL])
    record["flux"] = 1
    del record["failed"]

    assert restored(PoolRecord, record).failed == ()


def test_user_data_of_an_earlier_version_reports_nowhere() -> None:
    data: Any = stored(next(iter(busy_world().user_data.values())))
    del data["stub"]["report"]

    assert restored(UserData, data).stub.report == ""


@pytest.mark.parametrize(
    ("value", "problem"),
    [
        ([], "found [], expected a PoolRecord"),
        ({"pool": 1}, "pool: found 1, expected str"),
        ({}, "a PoolRecord lacks a field: "),
        ({"pool": "a", "started_at": "soon"}, "started_at: 'soon' is no datetime"),
        ({"pool": "a", "seeded": "Flux"}, "seeded: 'Flux' is no Evidence"),
        ({"pool": "a", "honoured": "v1"}, "honoured: found 'v1', expected a list"),
    ],
)
def test_what_cannot_be_read_is_named(value: object, problem: str) -> None:
    with pytest.raises(InputError) as refused:
        restored(PoolRecord, value)

    assert str(refused.value).startswith(problem)
