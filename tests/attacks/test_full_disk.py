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


def fill(place: Path) -> Path:
    """Take every byte that is left."""
    filler = place / "filler"
    for size in (1 << 20, 4096, 1):
        with filler.open("ab", buffering=0) as file, suppress(OSError):
            while True:
                file.write(b"x" * size)
    return filler


def scale(plane: RunningPlane, replicas: int) -> str:
    words = plane.command("pool", "scale", "workers", str(replicas), "--yes")
    return subprocess.run(words, capture_output=True, text=True, check=False).stderr


def test_a_full_disk_ends_no_control_plane_and_it_goes_on_when_there_is_room(
    small_disk: Path,
) -> None:
    plane = RunningPlane(small_disk / "state")
    plane.run("up", "--detach")  # its log is on the same disk
    try:
        process = plane.ask("/v1/health")["pid"]
        filler = fill(small_disk)
        # The database may have some room left in its own files; each try takes of it.
        told = [scale(plane, replicas) for replicas in (4, 5, 6, 4, 5, 6, 4, 5, 6)]
        assert any("full" in said for said in told), told
        time.sleep(3)
        os.kill(process, 0)
        assert plane.ask("/v1/health")["pid"] == process

        filler.unlink()

        plane.run("pool", "scale", "workers", "4", "--yes")
        assert plane.settled()["total"] == 4
        assert plane.ask("/v1/health")["pid"] == process
    finally:
        subprocess.run(plane.command("down", "--purge", "--yes"), check=False, capture_output=True)
