"""`fairlead up` and `fairlead down` at their edges: a script, a mistake, a second thought."""

from __future__ import annotations

import json
import os
import re
import signal
import sqlite3
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from e2e.running_plane import RunningPlane
from pool_documents import pool_document


@pytest.fixture
def away(tmp_path: Path) -> Iterator[RunningPlane]:
    """A state directory in which nothing runs yet."""
    plane = RunningPlane(tmp_path / "state")
    yield plane
    command = plane.command("down", "--purge", "--yes")
    subprocess.run(command, check=False, capture_output=True)


def fail(plane: RunningPlane, code: int, *words: str) -> str:
    done = subprocess.run(
        plane.command(*words), capture_output=True, text=True, check=False, timeout=60
    )
    assert done.returncode == code, done.stdout + done.stderr
    return done.stderr


def test_a_script_starts_a_control_plane_and_reads_what_it_started(away: RunningPlane) -> None:
    started = json.loads(away.run("up", "--detach", "--json"))

    assert [pool["name"] for pool in started["pools"]] == ["workers"]
    assert [machine["phase"] for machine in started["machines"]] == ["ready"] * 3
    assert started["control_plane"]["machines"] == "directory"
    again = json.loads(away.run("up", "--detach", "--json"))
    assert again["control_plane"]["pid"] == started["control_plane"]["pid"]
    assert json.loads(away.run("down", "--json")) == {"stopped": True, "removed": ""}
    assert json.loads(away.run("down", "--json")) == {"stopped": False, "removed": ""}


def test_down_leaves_the_machines_and_purge_removes_them(away: RunningPlane) -> None:
    away.run("up", "--detach")
    away.run("down")
    assert len(list(away.directory.machines.iterdir())) == 3

    away.run("down", "--purge", "--yes")

    assert not away.directory.path.exists()


def test_nothing_is_purged_without_a_word_of_consent(away: RunningPlane) -> None:
    away.run("up", "--detach")

    said = fail(away, 2, "down", "--purge")

    assert "needs an answer, and there is no terminal (use --yes)" in said
    assert away.settled()["total"] == 3


def test_a_directory_that_is_no_control_plane_is_not_removed(tmp_path: Path) -> None:
    home = tmp_path / "precious"
    home.mkdir()
    (home / "thesis.txt").write_text("years of work")

    said = fail(RunningPlane(home), 2, "down", "--purge", "--yes")

    assert "holds no control plane" in said
    assert (home / "thesis.txt").read_text() == "years of work"


def test_a_mistake_in_a_file_is_shown_where_it_stands_and_nothing_starts(
    away: RunningPlane, tmp_path: Path
) -> None:
    file = tmp_path / "pool.yaml"
    text = json.dumps(pool_document(pullSecret=None), indent=1)
    file.write_text(text.replace('"replicas": 3', '"replicas": "many"'))

    said = fail(away, 2, "up", "--no-view", "-f", str(file))

    assert f"{file}:8:15: spec.replicas: found the text 'many', expected" in said
    away.run("up", "--detach", "--empty")
    assert away.ask("/v1/pools") == {"pools": []}


def test_own_documents_take_the_place_of_the_first_pool(away: RunningPlane, tmp_path: Path) -> None:
    file = tmp_path / "pool.yaml"
    file.write_text(json.dumps(pool_document("edge", pullSecret=None, replicas=1)))

    away.run("up", "--detach", "-f", str(file))

    assert [pool["name"] for pool in away.ask("/v1/pools")["pools"]] == ["edge"]


def test_a_control_plane_that_cannot_start_says_why(away: RunningPlane) -> None:
    away.directory.make()
    away.directory.database.write_bytes(b"this is no database, and long enough to be one" * 100)

    said = fail(away, 4, "up", "--detach")

    assert "the control plane did not start; its last words: fairlead: " in said
    assert "database" in said
    for line in away.directory.log.read_text().splitlines():
        assert re.match(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ fairlead: ", line)
    away.run("down", "--purge", "--yes")  # what cannot be used can be removed
    assert not away.directory.path.exists()


@pytest.mark.parametrize(
    ("words", "problem"),
    [
        (["--machines", "nspawn"], "nspawn needs"),
        (["--file", "no-such-file.yaml"], "no such file"),
    ],
)
def test_what_is_missing_is_named(away: RunningPlane, words: list[str], problem: str) -> None:
    assert problem in fail(away, 2, "up", "--no-view", *words)


def test_a_command_without_a_control_plane_says_how_to_start_one(away: RunningPlane) -> None:
    said = fail(away, 4, "pool", "list")

    assert "no control plane runs in" in said
    assert "fairlead up" in said


def test_a_control_plane_whose_socket_is_deleted_says_so_and_ends(tmp_path: Path) -> None:
    with RunningPlane(tmp_path / "state") as plane:
        before = {machine["name"] for machine in plane.settled()["machines"]}
        plane.directory.socket.unlink()

        assert plane.wait(10) == 4

        assert f"{plane.directory.socket} is gone or another one" in plane.log()
        plane.start()
        assert {machine["name"] for machine in plane.settled()["machines"]} == before


@pytest.mark.slow
def test_a_control_plane_whose_directory_is_deleted_says_so_and_ends(tmp_path: Path) -> None:
    with RunningPlane(tmp_path / "state") as plane:
        plane.settled()
        plane.directory.path.rename(tmp_path / "elsewhere")

        assert plane.wait(10) == 4

        assert f"{plane.directory.path} is gone or another one" in plane.log()
        (tmp_path / "elsewhere").rename(plane.directory.path)
        plane.run("up", "--detach")
        assert plane.settled()["total"] == 3


def test_down_finds_a_control_plane_without_a_socket_by_its_lock(tmp_path: Path) -> None:
    with RunningPlane(tmp_path / "state") as plane:
        plane.settled()
        process = int(plane.directory.lock.read_text())
        os.kill(process, signal.SIGSTOP)  # it would notice by itself
        plane.directory.socket.unlink()
        with subprocess.Popen(plane.command("down", "--json"), stdout=subprocess.PIPE) as down:
            plane.until(lambda: is_pending(process, signal.SIGTERM))
            os.kill(process, signal.SIGCONT)
            assert down.stdout is not None
            assert json.loads(down.stdout.read()) == {"stopped": True, "removed": ""}

        plane.wait(10)
        assert json.loads(plane.run("down", "--json")) == {"stopped": False, "removed": ""}


def is_pending(process: int, number: int) -> bool:
    status = Path(f"/proc/{process}/status").read_text()
    pending = next(line for line in status.splitlines() if line.startswith("ShdPnd:"))
    return bool(int(pending.split()[1], 16) & 1 << number - 1)


def test_no_control_plane_is_started_in_somebodys_folder(tmp_path: Path) -> None:
    project = tmp_path / "project"
    project.mkdir(mode=0o755)
    (project / "thesis.txt").write_text("years of work")
    environment = {**os.environ, "FAIRLEAD_STATE": "."}

    for words in (["up", "--detach"], ["up", "--no-view"], ["down", "--purge", "--yes"]):
        done = subprocess.run(
            [sys.executable, "-m", "fairlead", *words],
            cwd=project,
            env=environment,
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == 2, done.stderr

    assert [path.name for path in project.iterdir()] == ["thesis.txt"]


def test_up_does_not_show_what_runs_where_others_may_write(away: RunningPlane) -> None:
    away.run("up", "--detach", "--empty")
    away.directory.path.chmod(0o777)

    said = fail(away, 2, "up", "--detach")

    assert f"others may write to {away.directory.path}: its mode is 0777" in said
    away.directory.path.chmod(0o700)
    away.run("up", "--detach")


def test_no_first_pool_is_made_beside_machines_that_were_forgotten(away: RunningPlane) -> None:
    away.run("up", "--detach")
    away.run("down")
    machines = {path.name for path in away.directory.machines.iterdir()}
    # As the release before would have found it: nothing says how far the database went.
    for name in ("fairlead.db", "watermark"):
        (away.directory.path / name).unlink()
    away.directory.database.touch(0o600)

    said = fail(away, 2, "up", "--no-view")

    assert "the database knows of no pool, so no first pool is made beside them" in said
    assert {path.name for path in away.directory.machines.iterdir()} == machines


@pytest.mark.slow
def test_a_control_plane_whose_pools_were_all_deleted_makes_no_first_one(
    away: RunningPlane,
) -> None:
    away.run("up", "--detach")
    away.run("pool", "delete", "workers", "--yes")
    away.until(lambda: away.ask("/v1/pools") == {"pools": []})
    away.run("down")

    away.run("up", "--detach")

    assert away.ask("/v1/pools") == {"pools": []}


def test_a_damaged_row_blocks_its_pool_and_names_it_while_others_go_on(
    away: RunningPlane, tmp_path: Path
) -> None:
    file = tmp_path / "pool.yaml"
    file.write_text(json.dumps(pool_document("edge", pullSecret=None, replicas=1)))
    away.run("up", "--detach")
    away.run("apply", "-f", str(file), "--yes")
    before = away.machine_names() | away.machine_names("edge")
    away.run("down")
    connection = sqlite3.connect(away.directory.database)
    connection.execute(
        "UPDATE machines SET value = replace(value, 'ready', 'reader') WHERE pool = 'workers'"
    )
    connection.commit()
    connection.close()

    said = fail(away, 4, "up", "--detach")

    assert "damaged in" in said
    assert "machine workers-" in said
    assert "fairlead restore FILE --over" in said
    pools = {pool["name"]: pool for pool in away.ask("/v1/pools")["pools"]}
    assert pools["workers"]["state"] == "Blocked"
    assert pools["edge"]["state"] == "Settled"
    away.run("platform", "set", "proxy.image=haproxy@sha256:bb")
    away.run("pool", "scale", "edge", "2")
    assert away.settled("edge")["total"] == 2
    assert "damaged in" in fail(away, 2, "pool", "show", "workers")
    assert before <= {path.name for path in away.directory.machines.iterdir()}


def test_a_bit_that_flips_on_the_disk_is_told_while_the_control_plane_runs(
    away: RunningPlane,
) -> None:
    away.run("up", "--detach")
    away.until(lambda: away.ask("/v1/pools")["pools"][0]["state"] == "Settled")
    assert away.ask("/v1/health")["damage"] == []
    time.sleep(2)  # until all that was written is in the one file
    content = away.directory.database.read_bytes()
    at = content.index(b'"heading_for"')
    with away.directory.database.open("r+b") as file:
        file.seek(at)
        file.write(b"#")

    away.until(lambda: away.ask("/v1/health")["damage"] != [])

    (damage,) = away.ask("/v1/health")["damage"]
    assert damage.endswith("(pool workers)")
    (pool,) = away.ask("/v1/pools")["pools"]
    assert pool["state"] == "Blocked"
    assert "fairlead restore FILE --over" in away.directory.log.read_text()
    assert "damaged in" in fail(away, 4, "up", "--detach")


def test_a_blocked_pool_is_told_of_as_soon_as_it_is_known(
    away: RunningPlane, tmp_path: Path
) -> None:
    file = tmp_path / "pool.yaml"
    file.write_text(json.dumps(pool_document("edge", replicas=1)))
    begun = time.monotonic()

    said = fail(away, 4, "up", "--detach", "-f", str(file))

    assert time.monotonic() - begun < 30, "a minute is waited for what can become ready"
    assert "edge waits: " in said
    assert "the pull secret registry-login cannot be read" in said


STOPPED_WORDS = [
    ["up", "--detach"],
    ["down"],
    ["pool", "list"],
    ["machine", "list"],
    ["explain", "workers"],
    ["platform", "list"],
    ["rollout", "status"],
]


@pytest.mark.slow
def test_every_command_says_within_two_seconds_that_the_control_plane_is_stopped(
    away: RunningPlane,
) -> None:
    away.run("up", "--detach", "--empty")
    process = away.ask("/v1/health")["pid"]
    begun = time.monotonic()
    fail(RunningPlane(away.directory.path / "nothing"), 4, "pool", "list")
    start_s = time.monotonic() - begun
    os.kill(process, signal.SIGSTOP)
    try:
        for words in STOPPED_WORDS:
            begun = time.monotonic()
            said = fail(away, 4, *words)
            assert time.monotonic() - begun < 2 + start_s, words
            assert f"is stopped (process {process}); let it go on: kill -CONT {process}" in said
    finally:
        os.kill(process, signal.SIGCONT)
    assert away.ask("/v1/pools") == {"pools": []}
