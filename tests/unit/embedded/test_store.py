"""The database survives a kill, has one writer, and is never opened by code that is too old."""

import json
import os
import random
import signal
import sqlite3
import stat
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from fairlead.embedded.state_directory import StateDirectory
from fairlead.embedded.store.database import Store
from fairlead.embedded.store.migrations import (
    Migration,
    apply_migrations,
    read_migrations,
    version_of,
)
from fairlead.embedded.store.world import EmbeddedWorld
from fairlead.errors import ConflictError, InputError, UnavailableError
from pool_documents import pool_document
from unit.embedded.open_world import open_store, open_world

OPEN = """\
import os, signal, sys, time
from pathlib import Path
from fairlead.embedded.state_directory import StateDirectory
from fairlead.embedded.store.database import Store
store = Store(StateDirectory(Path(sys.argv[1])))
"""

HOLD = OPEN + "print('open', flush=True); time.sleep(60)"

DIE_INSIDE = """\
with store.writing() as connection:
    connection.execute("INSERT INTO pools (name, document) VALUES ('first', '{}')")
with store.writing() as connection:
    connection.execute("INSERT INTO pools (name, document) VALUES ('second', '{}')")
    connection.execute("UPDATE pools SET document = '1' WHERE name = 'first'")
    os.kill(os.getpid(), signal.SIGKILL)
"""

# Two rows that every transaction changes together; what is printed was committed before.
COUNT = """\
with store.writing() as connection:
    for name in ("one", "other"):
        connection.execute("INSERT INTO pools (name, document) VALUES (?, '0')", (name,))
for number in range(1, 1_000_000):
    with store.writing() as connection:
        connection.execute("UPDATE pools SET document = ? WHERE name = 'one'", (str(number),))
        connection.execute("UPDATE pools SET document = ? WHERE name = 'other'", (str(number),))
    print(number, flush=True)
"""


def start(script: str, path: Path) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-c", script, str(path)], stdout=subprocess.PIPE, text=True
    )


@pytest.fixture
def holder(tmp_path: Path) -> Iterator[subprocess.Popen[str]]:
    """Another process that has the database open."""
    with start(HOLD, tmp_path) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "open\n"
        yield process
        process.kill()


def write_and_fail(world: EmbeddedWorld, *names: str) -> None:
    with world.store.writing():
        for name in names:
            world.pools.write_pool(pool_document(name))
        raise ZeroDivisionError


def documents_in(path: Path) -> dict[str, str]:
    with open_store(path) as store:
        return {row["name"]: row["document"] for row in store.rows("SELECT * FROM pools")}


# One writer.


def test_a_second_process_is_refused_with_the_pid_of_the_first(
    tmp_path: Path, holder: subprocess.Popen[str]
) -> None:
    with pytest.raises(ConflictError) as refused:
        Store(StateDirectory(tmp_path))

    assert str(refused.value) == (f"a control plane already has {tmp_path}: process {holder.pid}")


def test_the_database_is_free_again_once_its_process_was_killed(
    tmp_path: Path, holder: subprocess.Popen[str]
) -> None:
    holder.kill()
    holder.wait()

    with open_store(tmp_path) as store:
        assert store.rows("SELECT * FROM pools") == []


def test_a_machine_that_outlives_the_control_plane_does_not_keep_its_database(
    tmp_path: Path,
) -> None:
    script = OPEN + (
        "import subprocess; machine = subprocess.Popen(['sleep', '60'], start_new_session=True,"
        " stdout=subprocess.DEVNULL); print(machine.pid, flush=True);"
        " os.kill(os.getpid(), signal.SIGKILL)"
    )
    with start(script, tmp_path) as process:
        assert process.stdout is not None
        machine = int(process.stdout.readline())
    try:
        with open_store(tmp_path) as store:
            assert store.rows("SELECT * FROM pools") == []
    finally:
        os.kill(machine, signal.SIGKILL)


def test_a_stranger_cannot_write_to_an_open_database(tmp_path: Path) -> None:
    with open_store(tmp_path):
        script = (
            "import sqlite3, sys; c = sqlite3.connect(sys.argv[1], timeout=0);"
            " c.execute('DELETE FROM pools')"
        )
        ran = subprocess.run(
            [sys.executable, "-c", script, str(tmp_path / "fairlead.db")],
            capture_output=True,
            text=True,
            check=False,
        )

    assert ran.stderr.splitlines()[-1] == "sqlite3.OperationalError: database is locked"


def test_nobody_else_may_read_the_database(tmp_path: Path) -> None:
    loose = tmp_path / "fairlead.db"
    loose.touch(0o644)

    with open_world(tmp_path) as world:
        world.pools.write_pool(pool_document())
        modes = {path.name: stat.S_IMODE(path.stat().st_mode) for path in tmp_path.glob("*")}

    assert modes == {
        "fairlead.db": 0o600,
        "fairlead.db-wal": 0o600,
        "lock": 0o600,
        "watermark": 0o600,
        "certificates": 0o700,
        "machines": 0o700,
        "secrets": 0o700,
    }


# Versions.


def test_a_database_of_a_later_version_is_refused_and_untouched(tmp_path: Path) -> None:
    with open_world(tmp_path) as world:
        world.pools.write_pool(pool_document())
    path = tmp_path / "fairlead.db"
    connection = sqlite3.connect(path)
    connection.execute("PRAGMA user_version = 99")
    connection.close()
    before = path.read_bytes()

    with pytest.raises(InputError) as refused:
        Store(StateDirectory(tmp_path))

    assert refused.value.problem == (
        f"the database has version 99, this Fairlead knows {len(read_migrations())}"
    )
    assert path.read_bytes() == before
    with pytest.raises(InputError):  # and the lock is not held by the one that was refused
        Store(StateDirectory(tmp_path))


def test_a_file_that_is_no_database_is_refused_and_untouched(tmp_path: Path) -> None:
    path = tmp_path / "fairlead.db"
    path.write_bytes(b"my diary " * 1000)

    with pytest.raises(InputError, match=r"fairlead.db cannot be used: file is not a database"):
        Store(StateDirectory(tmp_path))

    assert path.read_bytes() == b"my diary " * 1000


def test_text_that_is_not_utf_8_is_the_files_fault_and_not_the_moments(tmp_path: Path) -> None:
    with open_store(tmp_path) as store:
        with store.writing() as connection:
            connection.execute(
                "INSERT INTO pools (name, document) VALUES ('a', CAST(x'22ff22' AS TEXT))"
            )

        with pytest.raises(InputError, match=r"fairlead.db is damaged: Could not decode to UTF-8"):
            store.rows("SELECT document FROM pools")


def test_a_half_applied_migration_leaves_the_earlier_version() -> None:
    connection = sqlite3.connect(":memory:", isolation_level=None)
    first = Migration(1, "0001_one.sql", "CREATE TABLE kept (a); INSERT INTO kept VALUES (1);")
    broken = Migration(
        2,
        "0002_two.sql",
        "CREATE TABLE half (a); DELETE FROM kept; INSERT INTO nowhere VALUES (1);",
    )

    with pytest.raises(sqlite3.OperationalError, match="no such table: nowhere"):
        apply_migrations(connection, [first, broken])

    assert version_of(connection) == 1
    assert connection.execute("SELECT * FROM kept").fetchall() == [(1,)]
    assert connection.execute("SELECT name FROM sqlite_schema").fetchall() == [("kept",)]
    connection.close()


def test_a_migration_is_applied_once() -> None:
    connection = sqlite3.connect(":memory:", isolation_level=None)
    first = Migration(1, "0001_one.sql", "CREATE TABLE kept (a); INSERT INTO kept VALUES (1);")
    second = Migration(2, "0002_two.sql", "INSERT INTO kept VALUES (2);")

    apply_migrations(connection, [first])
    apply_migrations(connection, [first, second])
    apply_migrations(connection, [first, second])

    assert connection.execute("SELECT * FROM kept").fetchall() == [(1,), (2,)]
    assert version_of(connection) == 2
    connection.close()


def test_pools_of_the_first_release_begin_their_history_with_what_is_in_force(
    tmp_path: Path,
) -> None:
    directory = StateDirectory(tmp_path)
    directory.make()
    connection = sqlite3.connect(directory.database, isolation_level=None)
    apply_migrations(connection, read_migrations()[:1])
    text = json.dumps(pool_document())
    connection.execute("INSERT INTO pools (name, document) VALUES ('workers', ?)", (text,))
    connection.close()

    with open_world(tmp_path) as world:
        history = world.pools.read_history("workers")

    assert [(kept.number, kept.at, kept.actor) for kept in history] == [(1, None, "")]
    assert history[0].document == pool_document()


def test_migrations_are_numbered_from_one_without_a_gap() -> None:
    numbers = [migration.number for migration in read_migrations()]

    assert numbers == list(range(1, len(numbers) + 1))
    assert numbers


# Whole or not at all.


def test_a_writer_that_is_killed_in_a_transaction_leaves_the_last_whole_state(
    tmp_path: Path,
) -> None:
    with start(OPEN + DIE_INSIDE, tmp_path) as process:
        assert process.wait() == -signal.SIGKILL

    assert documents_in(tmp_path) == {"first": "{}"}


def test_a_writer_that_is_killed_at_any_moment_loses_nothing_that_it_committed(
    tmp_path: Path,
) -> None:
    chance = random.Random(7)
    for number in range(5):
        path = tmp_path / str(number)
        with start(OPEN + COUNT, path) as process:
            assert process.stdout is not None
            process.stdout.readline()
            time.sleep(chance.uniform(0, 0.05))
            process.kill()
            committed = [int(line) for line in process.stdout.read().split()]

        found = documents_in(path)

        assert found["one"] == found["other"]
        assert int(found["one"]) in (committed[-1], committed[-1] + 1) if committed else True


def test_a_write_that_fails_writes_nothing(tmp_path: Path) -> None:
    with open_world(tmp_path) as world:
        with pytest.raises(ZeroDivisionError):
            write_and_fail(world, "one", "two")

        assert world.pools.list_pools() == ()


def test_a_part_of_a_write_that_fails_takes_only_itself_back(tmp_path: Path) -> None:
    with open_world(tmp_path) as world:
        with world.store.writing():
            world.pools.write_pool(pool_document("one"))
            with pytest.raises(InputError):
                world.pools.write_pools([pool_document("two"), {"kind": "Pod"}])
            with pytest.raises(ZeroDivisionError):
                write_and_fail(world, "three")

        assert world.pools.list_pools() == ("one",)


def test_a_full_disk_is_told_as_unavailable_and_writes_nothing(tmp_path: Path) -> None:
    with open_world(tmp_path) as world:
        world.pools.write_pool(pool_document("one"))
        pages = world.store.rows("PRAGMA page_count")[0][0]
        world.store.rows(f"PRAGMA max_page_count = {pages}")

        with pytest.raises(UnavailableError, match="database or disk is full"):
            world.pools.write_pools(pool_document(f"pool-{n}") for n in range(200))

        assert world.pools.list_pools() == ("one",)
        world.store.rows("PRAGMA max_page_count = 1000000")
        world.pools.write_pool(pool_document("two"))
        assert world.pools.list_pools() == ("one", "two")


def test_what_belongs_to_a_pool_that_is_not_there_is_a_conflict(tmp_path: Path) -> None:
    with open_store(tmp_path) as store, pytest.raises(ConflictError), store.writing() as writing:
        writing.execute("INSERT INTO records (pool, value) VALUES ('nobody', '{}')")
