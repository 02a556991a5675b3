"""A marker shows every write about a pool, by whichever way it was made, and nothing else."""

from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from fairlead.answers.words import Fault
from fairlead.embedded.store.world import EmbeddedWorld
from fairlead.rollout.record import PoolRecord
from pool_documents import platform_document, pool_document
from unit.embedded.open_world import (
    EVENT,
    OWN_STUB,
    PAIR,
    PLAN,
    POOL,
    STATUS,
    make_template,
    make_token,
    open_world,
    with_template,
)


@pytest.fixture
def world(tmp_path: Path) -> Iterator[EmbeddedWorld]:
    with open_world(tmp_path) as opened:
        yield opened


def marker(world: EmbeddedWorld, pool: str = POOL) -> str:
    return dict(world.pools.markers())[pool]


WRITES: dict[str, Callable[[EmbeddedWorld], object]] = {
    "the pool": lambda world: world.pools.write_pool(pool_document(replicas=4)),
    "the platform": lambda world: world.pools.write_platform(platform_document(noProxy=["a"])),
    "its end": lambda world: world.pools.request_deletion(POOL),
    "a record": lambda world: world.pools.write_record(PoolRecord(pool=POOL, serial=1)),
    "a status": lambda world: world.pools.write_status(POOL, STATUS),
    "a plan": lambda world: world.pools.write_plan(PLAN),
    "the template": lambda world: world.machines.apply_template(POOL, make_template()),
    "what was observed": lambda world: world.machines.observe_templates(),
    "a token": lambda world: world.secrets.write_token(make_token()),
    "a problem": lambda world: world.secrets.write_problem(POOL, PAIR, "unusable"),
    "user data": lambda world: world.secrets.delete_user_data(POOL, PAIR),
    "no token": lambda world: world.secrets.delete_token(POOL, PAIR),
    "a machine": lambda world: world.machines.create_machine(POOL, "workers-2", PAIR),
    "its end by hand": lambda world: world.machines.delete_machine("workers-1"),
    "power": lambda world: world.machines.note_power("workers-1"),
    "a report": lambda world: world.machines.write_report("workers-1", b"{}"),
    "a fault": lambda world: world.machines.write_fault("workers-1", Fault.BREAK),
    "later faults": lambda world: world.machines.queue_faults(POOL, (Fault.BREAK,)),
    "an event": lambda world: world.journal.append([EVENT]),
}


@pytest.mark.parametrize("what", WRITES)
def test_a_marker_changes_with_every_write(world: EmbeddedWorld, what: str) -> None:
    with_template(world)
    world.machines.create_machine(POOL, "workers-1", PAIR)
    world.pools.write_pool(pool_document("others"))
    before = dict(world.pools.markers())

    WRITES[what](world)

    assert marker(world) != before[POOL]
    if what != "the platform":
        assert marker(world, "others") == before["others"]


def test_every_marker_changes_with_what_machines_are_told_of_their_control_plane(
    world: EmbeddedWorld,
) -> None:
    world.pools.write_pool(pool_document())
    world.pools.write_pool(pool_document("others"))
    before = dict(world.pools.markers())

    world.pools.change_stub(OWN_STUB)
    assert dict(world.pools.markers()) == before
    world.pools.change_stub(replace(OWN_STUB, ca="BOTH OF OUR CAS"))

    after = dict(world.pools.markers())
    assert after.keys() == before.keys()
    assert all(after[pool] != before[pool] for pool in before)


@pytest.mark.parametrize(
    ("table", "column"),
    [
        ("records", "pool"),
        ("statuses", "pool"),
        ("plans", "pool"),
        ("templates", "pool"),
        ("tokens", "pool"),
        ("user_data", "pool"),
        ("queued_faults", "pool"),
        ("reports", "machine"),
    ],
)
def test_a_marker_changes_also_if_a_table_was_written_by_hand(
    world: EmbeddedWorld, table: str, column: str
) -> None:
    with_template(world)
    world.machines.create_machine(POOL, "workers-1", PAIR)
    for what in ("a record", "a status", "a plan", "later faults", "a report"):
        WRITES[what](world)
    markers = [marker(world)]

    with world.store.writing() as connection:
        connection.execute(f"CREATE TEMP TABLE kept AS SELECT * FROM {table}")  # noqa: S608
    for statement in (
        f"UPDATE {table} SET {column} = {column}",  # noqa: S608 - names from here
        f"DELETE FROM {table}",  # noqa: S608
        f"INSERT INTO {table} SELECT * FROM kept",  # noqa: S608
    ):
        with world.store.writing() as connection:
            connection.execute(statement)
        markers.append(marker(world))

    assert len(set(markers)) == 4


def test_the_platform_changes_the_marker_of_every_pool(world: EmbeddedWorld) -> None:
    world.pools.write_pools([pool_document("one"), pool_document("two")])
    before = dict(world.pools.markers())

    world.pools.write_platform(platform_document())

    assert all(text != before[pool] for pool, text in world.pools.markers())


def test_what_is_equal_to_what_is_there_changes_no_marker(world: EmbeddedWorld) -> None:
    with_template(world)
    world.machines.create_machine(POOL, "workers-1", PAIR)
    world.pools.write_platform(platform_document())
    world.machines.observe_templates()
    world.journal.append([EVENT])
    world.secrets.write_problem(POOL, PAIR, "unusable")
    before = world.pools.markers()

    world.pools.write_pool(pool_document())
    world.pools.write_platform(platform_document())
    world.machines.observe_templates()
    world.machines.write_machine(world.machines.list_all()[0])
    world.journal.append([EVENT])
    world.secrets.write_problem(POOL, PAIR, "unusable")
    world.secrets.delete_token(POOL, "another")
    world.pools.forget_plan(POOL)

    assert world.pools.markers() == before


def test_a_pool_that_is_declared_again_has_a_marker_that_was_never_there(
    world: EmbeddedWorld,
) -> None:
    world.pools.write_pool(pool_document())
    before = marker(world)
    world.pools.forget_pool(POOL)

    world.pools.write_pool(pool_document())

    assert marker(world) != before
