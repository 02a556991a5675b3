"""A database that is not what was written is noticed: older, torn, or one letter of one row."""

import signal
import sqlite3
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from fairlead.controller.loop import Loop
from fairlead.embedded.state_directory import StateDirectory
from fairlead.embedded.store.database import Store
from fairlead.embedded.store.migrations import read_migrations
from fairlead.embedded.store.payloads import StoredPayloads
from fairlead.embedded.store.watermark import find_mark
from fairlead.errors import InputError, UnavailableError
from fairlead.rollout.secrets import hashed
from pool_documents import pool_document
from service.stored_plane import StoredPlane
from unit.embedded.open_world import open_store


@pytest.fixture
def state(tmp_path: Path) -> Path:
    """Two pools at rest, in a directory that nobody has open."""
    plane = StoredPlane(tmp_path / "state")
    for name in ("workers", "edge"):
        plane.world.pools.write_pool(pool_document(name))
    plane.settle()
    plane.close()
    return tmp_path / "state"


def by_hand(state: Path, sql: str, *parameters: object) -> None:
    """Write to a database behind the back of its control plane."""
    connection = sqlite3.connect(state / "fairlead.db")
    connection.execute(sql, parameters)
    connection.commit()
    connection.close()


def flip(state: Path, text: bytes) -> None:
    """Turn one bit of the first letter where this text is in the file."""
    content = bytearray((state / "fairlead.db").read_bytes())
    content[content.index(text)] ^= 1
    (state / "fairlead.db").write_bytes(content)


@contextmanager
def reopened(state: Path) -> Iterator[StoredPlane]:
    plane = StoredPlane(state)
    try:
        yield plane
    finally:
        plane.close()


def refusal_of(state: Path) -> str:
    with pytest.raises(InputError) as refused:
        Store(StateDirectory(state))
    assert "fairlead restore" in refused.value.hint
    return refused.value.problem


# However a row is written.


@pytest.mark.parametrize(
    "sql",
    [
        "REPLACE INTO queued_faults (number, pool, fault) VALUES (7, 'workers', 'other')",
        "REPLACE INTO statuses (pool, value) VALUES ('workers', '{}')",
        "INSERT INTO statuses (pool, value) VALUES ('workers', '{}') "
        "ON CONFLICT (pool) DO UPDATE SET value = excluded.value",
        "UPDATE queued_faults SET number = 9",
        "DELETE FROM queued_faults",
        "UPDATE machines SET boots = boots + 1",
    ],
)
def test_a_write_of_any_kind_leaves_every_row_sealed(state: Path, sql: str) -> None:
    first = "INSERT INTO queued_faults (number, pool, fault) VALUES (7, 'workers', 'none')"
    for statement in (first, sql):
        with reopened(state) as plane, plane.store.writing() as connection:
            connection.execute(statement)

    with reopened(state) as plane:
        assert plane.store.damage.rows == ()


def test_a_pool_that_is_forgotten_takes_its_seals_along(state: Path) -> None:
    with reopened(state) as plane:
        plane.world.pools.request_deletion("edge")
        plane.settle()
        assert plane.world.pools.list_pools() == ("workers",)

    with reopened(state) as plane:
        assert plane.store.damage.rows == ()


# The whole.


def test_a_database_that_lost_its_last_writes_is_refused(state: Path) -> None:
    older = (state / "fairlead.db").read_bytes()
    with reopened(state) as plane:
        plane.world.pools.write_pool(pool_document("db"))
        plane.world.pools.write_pool(pool_document("cache"))
        plane.store.tend()
        written = find_mark(state / "watermark")
    assert written is not None
    (state / "fairlead.db").write_bytes(older)

    assert refusal_of(state) == (
        f"the database {state}/fairlead.db is damaged: it ends with write {written.number - 2}, "
        f"and write {written.number} was made: the last 2 are lost"
    )
    assert find_mark(state / "watermark") == written


def test_a_database_that_is_gone_is_refused_and_none_is_made(state: Path) -> None:
    (state / "fairlead.db").unlink()

    assert "fairlead.db is gone" in refusal_of(state)
    assert not (state / "fairlead.db").exists()


def test_a_database_of_another_control_plane_is_refused(state: Path, tmp_path: Path) -> None:
    with open_store(tmp_path / "other") as other, other.writing() as connection:
        connection.execute("INSERT INTO pools (name, document) VALUES ('a', '{}')")
    (tmp_path / "other/watermark").replace(state / "watermark")

    assert "its watermark belongs to another database" in refusal_of(state)


def test_a_row_that_vanished_with_its_seal_is_noticed(state: Path) -> None:
    by_hand(state, "DELETE FROM seals WHERE place = 'machines' AND row = 1")
    by_hand(state, "DELETE FROM reports")
    by_hand(state, "DELETE FROM machines WHERE number = 1")

    assert "parts of it are older than others" in refusal_of(state)


def test_a_row_that_nobody_wrote_is_noticed(state: Path) -> None:
    by_hand(
        state, "INSERT INTO events (pool, key, at, machine, value) VALUES ('a', 'b', '', '', '')"
    )

    assert "0 rows of events are gone, and 1 are there that nobody wrote" in refusal_of(state)


def test_a_pool_that_is_not_counted_is_noticed(state: Path) -> None:
    by_hand(state, "DELETE FROM changes WHERE pool = 'edge'")

    assert "edge is in pools and not in changes" in refusal_of(state)


def test_a_damaged_structure_is_told_in_sqlites_words(state: Path) -> None:
    by_hand(state, "PRAGMA user_version")
    content = bytearray((state / "fairlead.db").read_bytes())
    content[4096:8192] = bytes(4096)
    (state / "fairlead.db").write_bytes(content)

    assert refusal_of(state).startswith(f"the database {state}/fairlead.db ")


def test_a_damaged_platform_concerns_every_pool(state: Path) -> None:
    with reopened(state) as plane:
        plane.world.pools.write_platform(plane.world.pools.read_platform())
    by_hand(state, "UPDATE platform SET document = replace(document, 'a', 'b')")

    assert "the platform's document is not what was written" in refusal_of(state)


def test_an_empty_database_can_be_reopened(tmp_path: Path) -> None:
    for _ in range(2):
        with open_store(tmp_path) as store:
            assert store.rows("SELECT number, total FROM ledger")[0][:] == (0, 0)


# Rows.


@pytest.mark.parametrize(
    ("sql", "called"),
    [
        ("UPDATE pools SET is_leaving = 1 WHERE name = 'workers'", "the document of pool workers"),
        ("UPDATE documents SET document = '' WHERE pool = 'workers'", "a kept document of pool"),
        ("UPDATE machines SET value = replace(value, ':', ' :') WHERE pool = 'workers'", "machine"),
        ("UPDATE machines SET powered_at = '2826' WHERE pool = 'workers'", "machine workers-"),
        ("UPDATE machines SET fault = 'n' WHERE pool = 'workers'", "machine workers-"),
        ("UPDATE machines SET boots = 7 WHERE pool = 'workers'", "machine workers-"),
        ("UPDATE tokens SET value = '{' WHERE pool = 'workers'", "the token "),
        ("UPDATE records SET value = x'ff' || value WHERE pool = 'workers'", "what is remembered"),
        ("UPDATE templates SET observed_generation = 9 WHERE pool = 'workers'", "the template of"),
    ],
)
def test_a_row_that_changed_by_itself_blocks_its_own_pool_and_names_it(
    state: Path, sql: str, called: str
) -> None:
    by_hand(state, sql)

    with reopened(state) as plane:
        loop = Loop(plane.world.world(), plane.chance(), plane.world.pools.markers)
        loop.run_due(plane.now(), 10)

        assert sorted(loop.failures) == ["workers"]
        said = loop.failures["workers"].says
        assert said.startswith(f"damaged in {state}/fairlead.db: ")
        assert called in said
        assert "fairlead restore FILE --over" in said
        assert {stored.machine.pool for stored in plane.world.machines.list_moving()} <= {"edge"}
        assert len(plane.names("edge")) == 3


def test_a_damaged_row_stays_damaged_over_a_start_and_a_migration(state: Path) -> None:
    by_hand(state, "UPDATE machines SET boots = 7 WHERE name LIKE 'workers-%'")
    with reopened(state) as plane:
        plane.world.pools.write_pool(pool_document("other"))

    with reopened(state) as plane:
        assert sorted(plane.store.damage.pools) == ["workers"]


def test_every_machine_is_still_known_where_one_is_damaged(state: Path) -> None:
    flip(state, b'"heading_for"')

    with reopened(state) as plane:
        assert len(plane.world.machines.list_names()) == 6
        assert len(plane.world.machines.list_stored()) == 5


def test_nothing_is_served_from_a_pool_of_which_something_is_damaged(state: Path) -> None:
    by_hand(state, "UPDATE tokens SET value = value || ' ' WHERE pool = 'workers'")

    with reopened(state) as plane:
        payloads = StoredPayloads(plane.world, plane.wake)
        tokens = {
            pool: plane.world.secrets.list_tokens(pool)[0].token for pool in ("workers", "edge")
        }

        assert payloads.find_bearer(hashed(tokens["edge"]), "edge-2") is not None
        with pytest.raises(UnavailableError, match="something of workers is damaged"):
            payloads.find_bearer(hashed(tokens["workers"]), "workers-6")


# The release before.


def test_a_database_of_the_release_before_is_sealed_as_it_is(tmp_path: Path) -> None:
    directory = StateDirectory(tmp_path)
    directory.make()
    connection = sqlite3.connect(directory.database)
    connection.executescript(read_migrations()[0].sql + "PRAGMA user_version = 1;")
    connection.execute("INSERT INTO pools (name, document) VALUES ('workers', '{}')")
    connection.commit()
    connection.close()

    for _ in range(2):
        with open_store(tmp_path) as store:
            assert [row["name"] for row in store.rows("SELECT name FROM pools")] == ["workers"]
            assert store.damage.rows == ()
            assert store.rows("SELECT count(*) FROM seals WHERE place = 'pools'")[0][0] == 1
    by_hand(tmp_path, "UPDATE pools SET is_leaving = 1")
    with open_store(tmp_path) as store:
        assert store.damage.pools == {"workers": ("the document of pool workers",)}


# Kills.

# Ends at one of the steps of a write, after three that are whole.
DIE_AT = """\
import os, signal, sys
from pathlib import Path
from fairlead.embedded.state_directory import StateDirectory
from fairlead.embedded.store.database import Store
store = Store(StateDirectory(Path(sys.argv[1])))
def die(*_):
    os.kill(os.getpid(), signal.SIGKILL)
def write():
    with store.writing() as connection:
        name = (os.urandom(4).hex(),)
        connection.execute("INSERT INTO pools (name, document) VALUES (?, '{}')", name)
        if sys.argv[2] == "inside" and store.rows("SELECT count(*) FROM pools")[0][0] == 4:
            die()
for _ in range(3):
    write()
if sys.argv[2] == "before":
    store.before_write = die
if sys.argv[2] == "between":
    store._watermark.rise = die
if sys.argv[2] == "tend":
    write()
    store._watermark.sync = die
    store.tend()
write()
die()
"""


@pytest.mark.parametrize(
    ("step", "pools", "number"),
    [("before", 3, 3), ("inside", 3, 3), ("between", 4, 3), ("tend", 4, 4), ("after", 4, 4)],
)
def test_a_kill_at_any_step_of_a_write_is_never_taken_for_loss(
    tmp_path: Path, step: str, pools: int, number: int
) -> None:
    ran = subprocess.run([sys.executable, "-c", DIE_AT, str(tmp_path), step], check=False)
    assert ran.returncode == -signal.SIGKILL
    mark = find_mark(tmp_path / "watermark")
    assert mark is not None
    assert mark.number == number

    with open_store(tmp_path) as store:
        assert store.rows("SELECT count(*) FROM pools")[0][0] == pools
        assert store.damage.rows == ()


def test_a_write_that_writes_nothing_or_is_undone_is_not_counted(tmp_path: Path) -> None:
    with open_store(tmp_path) as store:
        with pytest.raises(ZeroDivisionError):
            write_and_fail(store)
        with store.writing():
            pass

        assert store.rows("SELECT number, total FROM ledger")[0][:] == (0, 0)


def write_and_fail(store: Store) -> None:
    with store.writing() as connection:
        connection.execute("INSERT INTO pools (name, document) VALUES ('a', '{}')")
        raise ZeroDivisionError


def test_a_schema_that_is_no_text_any_more_is_refused_in_words(state: Path) -> None:
    content = bytearray((state / "fairlead.db").read_bytes())
    at = content.index(b"CREATE TABLE pools")
    content[at + 13] = 0xA0
    (state / "fairlead.db").write_bytes(content)

    assert refusal_of(state).startswith(f"the database {state}/fairlead.db cannot be used: ")
