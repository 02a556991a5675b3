"""A backup is whole, private and good, or there is none; a restore says what it does."""

from __future__ import annotations

import os
import random
import shutil
import signal
import sqlite3
import stat
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from fairlead.cli.main import run_command
from fairlead.embedded.state_directory import StateDirectory
from fairlead.embedded.store.backup import copy_database, pack, read_backup
from fairlead.embedded.store.database import Store
from fairlead.embedded.store.restore import restore, take_as_it_is
from fairlead.errors import ConflictError, InputError
from pool_documents import pool_document
from properties.faulted_store import PlacedPlane, dump, places_of
from service.cli_plane import Commands, command_plane
from shared_cases import REPOSITORY


@pytest.fixture
def workers(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> Iterator[Commands]:
    with command_plane(tmp_path / "state", capsys) as commands:
        for name in ("platform", "pool"):
            path = str(REPOSITORY / f"examples/{name}.yaml")
            assert commands.run("apply", "-f", path).code == 0
        yield commands


@pytest.fixture
def state(tmp_path: Path) -> StateDirectory:
    """A control plane at rest with two pools, keys and a port."""
    plane = PlacedPlane(tmp_path / "state")
    for name in ("workers", "edge"):
        plane.world.pools.write_pool(pool_document(name, pullSecret=None))
    plane.settle()
    plane.close()
    directory = StateDirectory(tmp_path / "state")
    directory.port.write_text("4711\n")
    (directory.certificates / "authority.pem").write_text("a key")
    return directory


def make_backup(directory: StateDirectory, file: Path) -> Path:
    store = Store(directory)
    try:
        copy = copy_database(store, directory)
        pack(copy, directory, file)
        copy.unlink()
    finally:
        store.close()
    return file


def dump_of(directory: StateDirectory) -> dict[str, list[str]]:
    store = Store(directory)
    try:
        return dump(store)
    finally:
        store.close()


# Made.


def test_a_backup_of_a_running_control_plane_is_all_that_it_knows(
    workers: Commands, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "kept"
    said = workers.json("backup", str(file))

    assert list(said["machines"]) == ["workers"]
    assert said["machines"]["workers"] == sorted(workers.machines())
    assert said["files"] == ["secrets/registry-login"]
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    known = workers.app.call(lambda: dump(workers.plane.store))
    other = StateDirectory(tmp_path / "other")
    assert run_command(["restore", str(file), "--state", str(other.path)]) == 0
    assert (other.secrets / "registry-login").read_text() == (
        '{"auths": {"r.example": {"auth": "hunter2"}}}'
    )
    capsys.readouterr()
    assert dump_of(other) == known


def test_a_backup_leaves_nothing_but_itself(workers: Commands, tmp_path: Path) -> None:
    before = sorted(path.name for path in (tmp_path / "state").iterdir())

    workers.run("backup", str(tmp_path / "kept"))

    assert sorted(path.name for path in (tmp_path / "state").iterdir()) == before
    assert sorted(path.name for path in tmp_path.iterdir()) == ["kept", "state"]


def test_a_control_plane_that_does_not_run_is_backed_up_as_well(
    state: StateDirectory, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    words = ["backup", str(tmp_path / "kept"), "--state", str(state.path)]

    assert run_command(words) == 0
    assert run_command(words) == 0  # a backup is replaced

    said = capsys.readouterr().err
    assert "pools edge (3 machines), workers (3 machines); port, certificates/authority.pem" in said
    assert "not in it: disks of machines, the log" in said


@pytest.mark.parametrize("target", ["missing/kept", "thesis.txt"])
def test_a_backup_that_cannot_be_written_leaves_what_is_there(
    workers: Commands, tmp_path: Path, target: str
) -> None:
    (tmp_path / "thesis.txt").write_text("years of work")

    said = workers.run("backup", str(tmp_path / target))

    assert said.code in (2, 4)
    assert target in said.err
    assert "Errno" not in said.err
    assert (tmp_path / "thesis.txt").read_text() == "years of work"
    assert sorted(path.name for path in tmp_path.iterdir()) == ["state", "thesis.txt"]


def test_no_backup_is_made_of_a_damaged_database(
    state: StateDirectory, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    damage(state, "UPDATE machines SET boots = 7 WHERE pool = 'edge'")

    assert run_command(["backup", str(tmp_path / "kept"), "--state", str(state.path)]) == 2

    assert "machine edge-" in capsys.readouterr().err
    assert not (tmp_path / "kept").exists()


def test_a_directory_without_a_control_plane_has_no_backup(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    words = ["backup", str(tmp_path / "kept"), "--state", str(tmp_path / "nothing")]

    assert run_command(words) == 2

    assert "nothing holds no control plane" in capsys.readouterr().err
    assert not (tmp_path / "nothing").exists()


# Checked.


def test_no_flipped_bit_of_a_backup_is_restored(state: StateDirectory, tmp_path: Path) -> None:
    file = make_backup(state, tmp_path / "kept")
    content, truth = file.read_bytes(), dump_of(state)
    chance = random.Random(5)
    refused = 0
    for number in range(80):
        bit = chance.randrange(len(content) * 8)
        flipped = bytearray(content)
        flipped[bit // 8] ^= 1 << bit % 8
        file.write_bytes(flipped)
        other = StateDirectory(tmp_path / f"other-{number}")
        try:
            restore(file, other, over=False)
        except InputError:
            refused += 1
            assert not other.path.exists()
        else:
            assert dump_of(other) == truth
            assert other.port.read_text() == "4711\n"
            assert (other.certificates / "authority.pem").read_text() == "a key"
    assert refused > 5


@pytest.mark.parametrize("content", [b"", b"my diary" * 1000, b"SQLite format 3\0" + bytes(5000)])
def test_what_is_no_backup_is_refused(
    state: StateDirectory, tmp_path: Path, content: bytes
) -> None:
    file = tmp_path / "kept"
    file.write_bytes(content)

    with pytest.raises(InputError, match=r"kept (is no backup|cannot be used)"):
        restore(file, state, over=True)

    assert len(dump_of(state)["pools"]) == 2


def test_a_database_is_no_backup(state: StateDirectory) -> None:
    with pytest.raises(InputError, match="is a database and no backup"):
        read_backup(state.database)


def test_a_backup_cannot_put_a_file_anywhere_else(state: StateDirectory, tmp_path: Path) -> None:
    from hashlib import sha256

    file = make_backup(state, tmp_path / "kept")
    connection = sqlite3.connect(file)
    digest = sha256(b"files/secrets/../../escaped\0x").hexdigest()
    row = ("files/secrets/../../escaped", b"x", digest)
    connection.execute("INSERT INTO backup VALUES (?, ?, ?)", row)
    connection.commit()
    connection.close()

    with pytest.raises(InputError, match="which no control plane has"):
        restore(file, StateDirectory(tmp_path / "other/state"), over=False)

    assert not (tmp_path / "other/escaped").exists()


# Restored.


def test_nothing_is_restored_over_a_control_plane_unless_that_is_said(
    state: StateDirectory, tmp_path: Path
) -> None:
    file = make_backup(state, tmp_path / "kept")

    with pytest.raises(ConflictError, match="--over puts the backup in its place"):
        restore(file, state, over=False)

    store = Store(state)
    with pytest.raises(ConflictError, match="a control plane already has"):
        restore(file, state, over=True)
    store.close()


def test_nothing_is_restored_into_somebodys_folder(state: StateDirectory, tmp_path: Path) -> None:
    file = make_backup(state, tmp_path / "kept")
    other = tmp_path / "project"
    other.mkdir(mode=0o700)
    (other / "thesis.txt").touch()

    with pytest.raises(InputError, match=r"not empty: it has thesis.txt"):
        restore(file, StateDirectory(other), over=True)


def test_machines_that_a_backup_does_not_know_are_shown_and_left_alone(
    state: StateDirectory, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = make_backup(state, tmp_path / "kept")
    plane = PlacedPlane(state.path)
    plane.world.pools.write_pool(pool_document("edge", pullSecret=None, replicas=4))
    plane.settle()
    plane.close()
    before = places_of(state.path)
    shutil.rmtree(state.machines / "workers-7")

    assert run_command(["restore", str(file), "--over", "--state", str(state.path)]) == 0

    said = capsys.readouterr().err
    (new,) = before - {name for names in read_backup(file).machines.values() for name in names}
    assert f"machines/{new} is not known to the backup: it is left alone" in said
    assert "workers-7 is in the backup and not here: it counts as failed" in said
    assert places_of(state.path) == before - {"workers-7"}
    assert state.replaced_database.exists()


def test_a_control_plane_that_lost_its_database_goes_on_from_a_backup(
    state: StateDirectory, tmp_path: Path
) -> None:
    file, truth = make_backup(state, tmp_path / "kept"), dump_of(state)
    state.database.unlink()
    with pytest.raises(InputError, match=r"fairlead.db is gone"):
        Store(state)

    restore(file, state, over=True)

    assert dump_of(state) == truth


# Every step of a restore that another process could see.
KILL_AT = """\
import os, signal, sys
from pathlib import Path
from fairlead.embedded.state_directory import StateDirectory
from fairlead.embedded.store.restore import restore
left = int(sys.argv[3])
def hook(event, arguments):
    global left
    if event in ("open", "os.rename", "os.remove", "os.mkdir", "sqlite3.connect"):
        left -= 1
        if left == 0:
            os.kill(os.getpid(), signal.SIGKILL)
sys.addaudithook(hook)
restore(Path(sys.argv[1]), StateDirectory(Path(sys.argv[2])), over=True)
"""


@pytest.mark.slow
@pytest.mark.parametrize("is_empty", [True, False])
def test_a_restore_that_is_killed_at_any_step_can_be_done_again(
    state: StateDirectory, tmp_path: Path, is_empty: bool
) -> None:
    file, truth = make_backup(state, tmp_path / "kept"), dump_of(state)
    by_hand = PlacedPlane(state.path)
    by_hand.world.pools.write_pool(pool_document("db", pullSecret=None))
    by_hand.close()
    later = dump_of(state)
    for step in range(1, 200):
        target = StateDirectory(tmp_path / "target")
        shutil.rmtree(target.path, ignore_errors=True)
        if not is_empty:
            shutil.copytree(state.path, target.path)
        words = [sys.executable, "-c", KILL_AT, str(file), str(target.path), str(step)]
        ended = subprocess.run(words, check=False, capture_output=True).returncode
        assert ended in (0, -signal.SIGKILL)
        try:
            found = dump_of(target) if target.database.exists() else None
        except InputError:
            found = None
        assert found in (None, truth, later)
        restore(file, target, over=True)
        assert dump_of(target) == truth
        if ended == 0:
            break
    assert step > 20


# Taken as it is.


def damage(state: StateDirectory, sql: str) -> None:
    connection = sqlite3.connect(state.database)
    connection.execute(sql)
    connection.commit()
    connection.close()


def test_a_damaged_row_can_be_taken_as_it_is(state: StateDirectory) -> None:
    damage(state, "UPDATE machines SET boots = 7 WHERE name = 'edge-3'")
    store = Store(state)
    assert list(store.damage.pools) == ["edge"]
    store.close()

    taken = take_as_it_is(state)

    assert taken.rows == ("machine edge-3 of pool edge",)
    assert taken.unreadable == ()
    plane = PlacedPlane(state.path)
    assert plane.store.damage.rows == ()
    plane.settle()
    assert "edge-3" in plane.names("edge")
    plane.close()


def test_a_row_that_says_nothing_any_more_is_not_taken(
    state: StateDirectory, capsys: pytest.CaptureFixture[str]
) -> None:
    damage(state, "UPDATE machines SET value = '{}' WHERE name = 'edge-3'")

    assert run_command(["restore", "--as-it-is", "--state", str(state.path)]) == 0

    said = capsys.readouterr().err
    assert "cannot be taken, it says nothing any more: machine edge-3 of pool edge" in said
    store = Store(state)
    assert list(store.damage.pools) == ["edge"]
    store.close()


def test_an_older_database_can_be_taken_as_it_is(state: StateDirectory) -> None:
    older = state.database.read_bytes()
    plane = PlacedPlane(state.path)
    plane.world.pools.write_pool(pool_document("db", pullSecret=None))
    plane.close()
    state.database.write_bytes(older)

    assert take_as_it_is(state).lost == 1

    store = Store(state)
    assert [row["name"] for row in store.rows("SELECT name FROM pools ORDER BY name")] == [
        "edge",
        "workers",
    ]
    store.close()


def test_a_watermark_that_is_damaged_or_gone_can_be_made_again(state: StateDirectory) -> None:
    truth = dump_of(state)
    state.watermark.write_bytes(os.urandom(1024))
    with pytest.raises(InputError, match="watermark cannot be read"):
        Store(state)

    take_as_it_is(state)

    assert dump_of(state)["machines"] == truth["machines"]


def test_a_damaged_structure_is_not_taken(state: StateDirectory) -> None:
    content = bytearray(state.database.read_bytes())
    content[4096:8192] = bytes(4096)
    state.database.write_bytes(content)

    with pytest.raises(InputError, match=r"damaged|cannot be used") as refused:
        take_as_it_is(state)

    assert refused.value.hint == "only a backup can help: fairlead restore FILE --over"


@pytest.mark.parametrize("words", [[], ["kept", "--as-it-is"]])
def test_a_restore_needs_one_thing_to_go_by(
    words: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    assert run_command(["restore", *words]) == 2

    assert "name a backup, or say --as-it-is" in capsys.readouterr().err
