"""A disk that is full under the database, the log and every machine ends nothing, and is told."""

from __future__ import annotations

import os
import subprocess
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import pytest

from e2e.running_plane import RunningPlane

pytestmark = pytest.mark.root

SIZE = "24m"


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    place = tmp_path / "disk"
    place.mkdir()
    subprocess.run(["mount", "-t", "tmpfs", "-o", f"size={SIZE}", "tmpfs", str(place)], check=True)
    yield place
    subprocess.run(["umount", "--lazy", str(place)], check=True)


MOST_TRIES = 20
# More than the room that the database may have in its own files.
LONG = "x" * 100_000


def fill(place: Path) -> Path:
    """Take every byte that is left."""
    filler = place / "filler"
    for size in (1 << 20, 4096, 1):
        with filler.open("ab", buffering=0) as file, suppress(OSError):
            while True:
                file.write(b"x" * size)
    return filler


def describe(plane: RunningPlane, text: str) -> str:
    words = plane.command("platform", "set", f"description={text}")
    return subprocess.run(words, capture_output=True, text=True, check=False).stderr


def test_a_full_disk_ends_no_control_plane_and_it_goes_on_when_there_is_room(
    small_disk: Path,
) -> None:
    plane = RunningPlane(small_disk / "state")
    plane.run("up", "--detach")  # its log is on the same disk
    try:
        process = plane.ask("/v1/health")["pid"]
        filler = fill(small_disk)
        # The database has room in its own files, and gives some back when it tidies up; that is
        # taken as well, until a write finds none.
        told = ""
        for number in range(MOST_TRIES):
            told = describe(plane, f"{number} {LONG}")
            if "full" in told:
                break
            fill(small_disk)
        assert "full" in told, told
        time.sleep(3)
        os.kill(process, 0)
        assert plane.ask("/v1/health")["pid"] == process

        filler.unlink()

        plane.run("pool", "scale", "workers", "4", "--yes")
        assert plane.settled()["total"] == 4
        assert plane.ask("/v1/health")["pid"] == process
    finally:
        subprocess.run(plane.command("down", "--purge", "--yes"), check=False, capture_output=True)
