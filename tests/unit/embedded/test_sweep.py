"""A database that changes on its disk while it is in use is noticed, within bounds of time."""

import random
import sqlite3
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from fairlead.embedded.store.payloads import StoredPayloads
from fairlead.embedded.store.sweep import SHARE
from fairlead.errors import InputError, UnavailableError
from fairlead.rollout.secrets import hashed
from pool_documents import platform_document, pool_document
from service.stored_plane import StoredPlane


@pytest.fixture
def plane(tmp_path: Path) -> Iterator[StoredPlane]:
    """Two pools at rest, open, and all of it in the one file."""
    plane = StoredPlane(tmp_path / "state")
    plane.world.pools.write_platform(platform_document())
    for name in ("workers", "edge"):
        plane.world.pools.write_pool(pool_document(name))
    plane.settle()
    plane.store.tend()
    yield plane
    plane.close()


def flip(plane: StoredPlane, text: bytes) -> None:
    """Turn one bit of the first letter of this text, wherever it is in the file."""
    content = plane.store.path.read_bytes()
    with plane.store.path.open("r+b") as file:
        file.seek(content.index(text))
        file.write(bytes([content[content.index(text)] ^ 1]))


def flip_machine(plane: StoredPlane) -> None:
    """Turn one bit of what is kept of a machine of workers."""
    row = plane.store.find_row("SELECT value FROM machines WHERE pool = 'workers'")
    assert row is not None
    flip(plane, row["value"].encode()[:200])


def sweep_round(plane: StoredPlane) -> list[str]:
    """Look at everything once; return what was said."""
    end = plane.store.rounds + 1
    said: list[str] = []
    at = 1e6 * (end + 1)
    while plane.store.rounds < end and not plane.store.damage.whole:
        said += plane.store.sweep(at).says()
        at += 1000
    return said


def test_a_database_that_is_what_was_written_is_found_so(plane: StoredPlane) -> None:
    assert sweep_round(plane) == []
    assert plane.store.damage.rows == ()


def test_writes_between_two_slices_are_no_damage(plane: StoredPlane) -> None:
    at = 0.0
    for number in range(60):
        spec = {"labels": {"number": str(number)}, "replicas": 1 + number % 3}
        plane.world.pools.write_pool(pool_document("workers", **spec))
        if number % 10 == 0:
            plane.settle()
        plane.store.tend()
        assert plane.store.sweep(at).says() == ()
        at += 1000

    assert plane.store.rounds > 0


def test_a_row_that_changes_on_the_disk_blocks_its_pool_and_no_other(plane: StoredPlane) -> None:
    before = dict(plane.world.pools.markers())
    flip_machine(plane)

    (said,) = sweep_round(plane)

    assert said.endswith("(pool workers)")
    with pytest.raises(InputError, match=r"damaged in .*fairlead\.db: machine workers-") as refused:
        plane.world.pools.read_documents("workers")
    assert "fairlead restore FILE --over" in refused.value.hint
    assert plane.world.pools.read_documents("edge").pool == pool_document("edge")
    assert dict(plane.world.pools.markers()) != before, "it is looked at again"
    assert {name.partition("-")[0] for name in plane.world.machines.list_running()} == {"edge"}


def test_what_was_found_is_said_once_and_stays(plane: StoredPlane) -> None:
    flip_machine(plane)
    assert len(sweep_round(plane)) == 1
    changes = plane.store.changes

    assert sweep_round(plane) == []
    assert plane.store.changes == changes
    assert plane.store.damage.says() != ()


def test_a_damaged_platform_stops_every_write(plane: StoredPlane) -> None:
    flip(plane, b"haproxy@sha256")

    (said,) = sweep_round(plane)

    assert said == "the platform's document is not what was written"
    for name in ("workers", "edge"):
        with pytest.raises(InputError, match="platform's document is not what was written"):
            plane.world.pools.read_documents(name)
    with pytest.raises(InputError, match="is damaged"):
        plane.world.pools.write_pool(pool_document("db"))
    assert plane.world.machines.list_running() == []


def test_nothing_is_served_from_a_pool_that_was_found_damaged(plane: StoredPlane) -> None:
    token = plane.world.secrets.list_tokens("workers")[0]
    flip_machine(plane)
    sweep_round(plane)

    with pytest.raises(UnavailableError):
        StoredPayloads(plane.world, lambda: None).find_bearer(hashed(token.token), "workers-1")


def test_a_structure_that_is_torn_is_told_in_sqlites_words(plane: StoredPlane) -> None:
    with plane.store.path.open("r+b") as file:
        file.seek(4096 * 3)
        file.write(b"\xff" * 4096)

    assert len(sweep_round(plane)) == 1
    assert plane.store.damage.whole != ""


def test_a_row_that_is_gone_together_with_its_seal_is_missed(
    plane: StoredPlane, tmp_path: Path
) -> None:
    copy = tmp_path / "copy.db"
    copy.write_bytes(plane.store.path.read_bytes())
    connection = sqlite3.connect(copy)
    connection.execute("DELETE FROM events WHERE number = 1")
    connection.execute("DELETE FROM seals WHERE place = 'events' AND row = 1")
    connection.commit()
    connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    connection.close()
    with plane.store.path.open("r+b") as file:
        file.write(copy.read_bytes())

    assert sweep_round(plane) == ["parts of it are older than others"]


def test_what_is_still_in_the_log_is_not_looked_at(plane: StoredPlane) -> None:
    flip_machine(plane)
    plane.world.pools.write_pool(pool_document("edge", labels={"a": "b"}))

    for at in range(0, 100_000, 1000):
        assert plane.store.sweep(float(at)).says() == ()


def test_a_slice_waits_for_its_share_of_the_processor(plane: StoredPlane) -> None:
    """300 seconds, asked every tenth of one."""
    begun = time.thread_time()
    asked = [number / 10 for number in range(3_000)]
    for at in asked:
        plane.store.sweep(at)
    spent = time.thread_time() - begun
    begun = time.thread_time()
    for _ in asked:
        plane.store.sweep(-1.0)
    asking = time.thread_time() - begun

    assert plane.store.rounds > 3
    assert spent - asking < 300 * SHARE * 2


def test_a_slice_lets_no_other_process_in(plane: StoredPlane) -> None:
    sweep_round(plane)

    code = "import sqlite3, sys; sqlite3.connect(sys.argv[1], 0).execute('SELECT * FROM pools')"
    other = subprocess.run(
        [sys.executable, "-c", code, str(plane.store.path)],
        capture_output=True,
        text=True,
        check=False,
    )

    assert "database is locked" in other.stderr


@pytest.mark.parametrize("seed", range(4))
def test_no_flipped_bit_that_says_anything_else_is_unnoticed(tmp_path: Path, seed: int) -> None:
    chance = random.Random(seed)  # noqa: S311 - which bit
    plane = StoredPlane(tmp_path / "state")
    plane.world.pools.write_pool(pool_document("workers"))
    plane.settle()
    plane.store.tend()
    good = plane.store.path.read_bytes()
    told = said_by(plane.store.path)
    unnoticed = []
    for _ in range(15):
        at, bit = chance.randrange(100, len(good)), 1 << chance.randrange(8)
        plane.store.path.write_bytes(good[:at] + bytes([good[at] ^ bit]) + good[at + 1 :])
        plane.store.damage = type(plane.store.damage)()
        sweep_round(plane)
        sweep_round(plane)
        if not plane.store.damage.is_any and said_by(plane.store.path) != told:
            unnoticed.append((at, bit))
    plane.store.path.write_bytes(good)
    plane.store.damage = type(plane.store.damage)()
    plane.close()

    assert unnoticed == []


def said_by(file: Path) -> object:
    """All that a database says, read past its log and its locks."""
    connection = sqlite3.connect(f"{file.as_uri()}?immutable=1", uri=True)
    try:
        names = connection.execute("SELECT name FROM sqlite_schema WHERE type = 'table'").fetchall()
        return [connection.execute(f"SELECT * FROM {name}").fetchall() for (name,) in names]  # noqa: S608
    except sqlite3.Error as error:
        return str(error)
    finally:
        connection.close()
