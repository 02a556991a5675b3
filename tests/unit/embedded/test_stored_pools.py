"""What is declared comes back; markers show every write; names point to files beside the store."""

from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from fairlead.controller.observe import PoolState, PoolStatus, Resolved
from fairlead.embedded.kind import Fault
from fairlead.embedded.machines import LIVING
from fairlead.embedded.world import EmbeddedWorld
from fairlead.errors import ConflictError, InputError, InvariantError
from fairlead.inputs.parse import parse_platform_config
from fairlead.inputs.platform_inputs import Stub
from fairlead.rollout.record import ChangeClass, PoolRecord, RolloutPlan
from fairlead.rollout.secrets import hashed
from fairlead.sim.clock import START
from fairlead.timeline.event import Event, EventKind
from pool_documents import platform_document, pool_document
from unit.embedded.open_world import (
    OWN_STUB,
    PAIR,
    POOL,
    make_template,
    make_token,
    open_world,
    with_template,
    write_pair,
)

STATUS = PoolStatus(
    state=PoolState.NEW,
    sentence="Nothing yet.",
    version="",
    updated=0,
    available=0,
    total=0,
    desired=3,
    conditions=(),
)
PLAN = RolloutPlan(
    pool=POOL, change=ChangeClass.REPLACE, intent_hash="1", platform_hash="2", because="imageBase"
)
EVENT = Event(kind=EventKind.SEEDED, pool=POOL, at=START, key="Seeded:1", says="Seeded.")


@pytest.fixture
def world(tmp_path: Path) -> Iterator[EmbeddedWorld]:
    with open_world(tmp_path) as opened:
        yield opened


def marker(world: EmbeddedWorld, pool: str = POOL) -> str:
    return dict(world.pools.markers())[pool]


# Markers.

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


# Documents.


def test_a_document_comes_back_as_it_was_written(world: EmbeddedWorld) -> None:
    world.pools.write_pool(pool_document(labels={"team": "ä\u2028\ud800"}))

    found: Any = world.pools.read_documents(POOL).pool

    assert found == pool_document(labels={"team": "ä\u2028\ud800"})


@pytest.mark.parametrize(
    ("document", "problem"),
    [
        ({"kind": "Pod"}, "apiVersion: found nothing, expected fairlead.dev/v1alpha1"),
        (pool_document("No Name"), "metadata.name: found the text 'No Name', expected a name"),
        (pool_document(description=b"\0"), "found b'\\x00', which JSON has no form for"),
    ],
)
def test_what_is_no_pool_is_refused(
    world: EmbeddedWorld, document: dict[str, Any], problem: str
) -> None:
    with pytest.raises(InputError) as refused:
        world.pools.write_pools([pool_document(), document])

    assert str(refused.value).startswith(problem)
    assert world.pools.list_pools() == ()


def test_an_intent_that_cannot_be_used_is_kept_for_the_pass_to_tell(world: EmbeddedWorld) -> None:
    world.pools.write_pool(pool_document(config=[{"kind": "Nonsense"}]))

    assert world.pools.list_pools() == (POOL,)


def test_a_platform_that_cannot_be_used_is_refused_by_field(world: EmbeddedWorld) -> None:
    with pytest.raises(InputError) as refused:
        world.pools.write_platform(platform_document(loadBalancerAddress=7))

    assert refused.value.field == "spec.loadBalancerAddress"
    assert world.pools.read_platform() == {
        "apiVersion": "fairlead.dev/v1alpha1",
        "kind": "PlatformConfig",
        "metadata": {"name": "platform"},
        "spec": {},
    }


def test_an_unknown_pool_is_named(world: EmbeddedWorld) -> None:
    with pytest.raises(InputError, match="there is no pool 'workers'"):
        world.pools.read_documents(POOL)
    with pytest.raises(InputError, match="there is no pool 'workers'"):
        world.pools.request_deletion(POOL)


# The stub.


def stub_read(world: EmbeddedWorld) -> Stub:
    return parse_platform_config(world.pools.read_documents(POOL).platform).stub


def test_machines_are_told_this_control_plane_unless_the_platform_names_another(
    world: EmbeddedWorld,
) -> None:
    world.pools.write_pool(pool_document())
    assert stub_read(world) == OWN_STUB

    world.pools.write_platform(platform_document(stub={"proxy": "http://proxy:3128", "ca": ""}))
    assert stub_read(world) == Stub(
        endpoint="https://127.0.0.1:7443/v1/node-config",
        ca="OUR CA",
        proxy="http://proxy:3128",
        report="https://127.0.0.1:7443/v1/boot-report",
    )

    world.pools.write_platform(platform_document(stub={"endpoint": "https://b/", "ca": "B"}))
    assert stub_read(world) == Stub(
        endpoint="https://b/", ca="B", report="https://127.0.0.1:7443/v1/boot-report"
    )


def test_the_platforms_document_itself_stays_as_it_was_written(world: EmbeddedWorld) -> None:
    world.pools.write_platform(platform_document(stub=None))

    assert world.pools.read_platform() == platform_document(stub=None)


# Files that pools name.


def resolved(world: EmbeddedWorld, **spec: Any) -> Resolved:
    world.pools.write_pool(pool_document(**spec))
    return world.pools.read_documents(POOL).resolved


def test_the_content_of_named_secrets_is_a_digest(world: EmbeddedWorld, tmp_path: Path) -> None:
    (tmp_path / "secrets" / "company-ca").write_text("PEM")

    assert resolved(world, trustBundle={"name": "company-ca"}) == Resolved(
        pull_secret="sha256:c91b1d6acd383c44c4ec20c9723e758c31182a1f4f0231d63d91259a2ea14b9d",
        trust_bundle="sha256:384fb9a44fabe158be2757b9b8d8f67029f2280fcc1776ab2a53103e6f0c582d",
    )


def test_a_secret_that_is_not_there_says_which_file_to_write(
    world: EmbeddedWorld, tmp_path: Path
) -> None:
    (tmp_path / "secrets" / "registry-login").unlink()

    assert resolved(world).problem == (
        "the pull secret registry-login cannot be read (No such file or directory); "
        f"write it to {tmp_path}/secrets/registry-login"
    )


def test_a_pool_that_names_no_secret_needs_no_file(world: EmbeddedWorld, tmp_path: Path) -> None:
    (tmp_path / "secrets" / "registry-login").unlink()

    assert resolved(world, pullSecret=None) == Resolved()


@pytest.mark.parametrize("name", ["../fairlead.db", "/etc/hostname", "..", ".", "a/b", "a\0"])
def test_a_name_never_leads_out_of_the_directory(world: EmbeddedWorld, name: str) -> None:
    assert resolved(world, pullSecret={"name": name}) == Resolved(
        problem=f"{name!r} names no pull secret: it must be a file's name"
    )


@pytest.mark.parametrize("wrong", ["text", {"name": 7}, ["a"]])
def test_a_field_that_is_wrong_names_nothing(world: EmbeddedWorld, wrong: Any) -> None:
    assert resolved(world, pullSecret=wrong) == Resolved()


# The end of a pool.


def test_a_pool_that_leaves_cannot_be_declared_again_until_it_is_gone(
    world: EmbeddedWorld,
) -> None:
    world.pools.write_pool(pool_document())
    world.pools.request_deletion(POOL)
    assert world.pools.read_documents(POOL).is_leaving

    with pytest.raises(ConflictError, match="workers is being deleted"):
        world.pools.write_pool(pool_document(replicas=5))

    world.pools.forget_pool(POOL)
    world.pools.write_pool(pool_document(replicas=5))
    assert not world.pools.read_documents(POOL).is_leaving


def test_a_forgotten_pool_leaves_its_events_and_its_machines_that_are_gone(
    world: EmbeddedWorld,
) -> None:
    with_template(world)
    world.pools.write_record(PoolRecord(pool=POOL, serial=1))
    world.pools.write_status(POOL, STATUS)
    world.pools.write_plan(PLAN)
    world.machines.queue_faults(POOL, (Fault.BREAK, Fault.BREAK))
    world.machines.create_machine(POOL, "workers-1", PAIR)
    world.machines.write_report("workers-1", b"{}")
    world.machines.delete_machine("workers-1")
    world.machines.mark_gone("workers-1")
    world.journal.append([EVENT])
    world.secrets.delete_token(POOL, PAIR)
    world.secrets.delete_user_data(POOL, PAIR)

    world.pools.forget_pool(POOL)
    world.pools.forget_pool(POOL)

    for table in ("pools", "records", "statuses", "plans", "templates", "changes"):
        assert world.store.rows(f"SELECT * FROM {table}") == []  # noqa: S608 - names from here
    assert world.store.rows("SELECT * FROM queued_faults") == []
    assert world.journal.read_events(POOL) == (EVENT,)
    gone = world.machines.find_machine("workers-1")
    assert gone is not None
    assert (gone.machine.reason, gone.report) == ("deleted by hand", b"{}")


@pytest.mark.parametrize("what", ["a machine", "a token", "user data"])
def test_a_pool_that_still_has_something_is_not_forgotten(world: EmbeddedWorld, what: str) -> None:
    with_template(world)
    if what == "a machine":
        world.machines.create_machine(POOL, "workers-1", PAIR)
    if what != "a token":
        world.secrets.delete_token(POOL, PAIR)
    if what != "user data":
        world.secrets.delete_user_data(POOL, PAIR)

    with pytest.raises(InvariantError, match="is to be forgotten and still has"):
        world.pools.forget_pool(POOL)

    assert world.pools.list_pools() == (POOL,)


# Tokens.


def test_a_pair_is_found_by_the_hash_of_its_present_token_and_of_the_one_before(
    world: EmbeddedWorld,
) -> None:
    world.pools.write_pool(pool_document())
    write_pair(world, "aaaa", "token-a")
    write_pair(world, "bbbb", "token-b")
    world.secrets.write_token(replace(make_token("bbbb", "token-c"), previous="token-b"))

    found = {
        token: secret.id if (secret := world.secrets.find_by_token_hash(hashed(token))) else None
        for token in ("token-a", "token-b", "token-c", "token-d", "")
    }
    assert found == {
        "token-a": "aaaa",
        "token-b": "bbbb",
        "token-c": "bbbb",
        "token-d": None,
        "": None,
    }
    world.secrets.write_token(replace(make_token("bbbb", "token-d"), previous="token-c"))
    assert world.secrets.find_by_token_hash(hashed("token-b")) is None


@pytest.mark.parametrize(
    ("query", "index"),
    [
        ("SELECT 1 FROM tokens WHERE token_hash = ? OR previous_hash = ?", "tokens_by_hash"),
        (
            "SELECT 1 FROM tokens WHERE token_hash = ? OR previous_hash = ?",
            "tokens_by_previous_hash",
        ),
        (f"{LIVING} AND pool = ? ORDER BY number", "machines_living (pool=?)"),
        (f"{LIVING} ORDER BY number", "machines_living"),
        (
            "SELECT value FROM events WHERE machine = ? AND machine <> '' ORDER BY number",
            "events_by_machine",
        ),
        (
            "SELECT 1 FROM templates WHERE observed_generation < generation",
            "templates_unobserved",
        ),
    ],
)
def test_a_lookup_uses_its_index(world: EmbeddedWorld, query: str, index: str) -> None:
    plan = world.store.rows(f"EXPLAIN QUERY PLAN {query}", *([""] * query.count("?")))

    assert index in " ".join(row["detail"] for row in plan)
