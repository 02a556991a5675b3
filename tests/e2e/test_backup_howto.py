"""The page about backups works from the first line to the last, and machines live through it."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from e2e.running_plane import RunningPlane
from shared_cases import REPOSITORY

HOWTO = REPOSITORY / "docs/howto/backup-and-restore.md"


@pytest.mark.slow
def test_the_page_about_backups_works_as_written(tmp_path: Path) -> None:
    script = "\n".join(re.findall(r"```sh\n(.*?)```", HOWTO.read_text(), re.DOTALL))
    function = f'fairlead() {{ echo "$*" >> ran; "{sys.executable}" -m fairlead "$@"; }}\n'
    plane = RunningPlane(tmp_path / "state")
    try:
        plane.run("up", "--detach")
        before = plane.machine_names()

        subprocess.run(
            ["bash", "-eu", "-c", function + script],
            cwd=tmp_path,
            env={**os.environ, "FAIRLEAD_STATE": str(plane.directory.path)},
            check=True,
            capture_output=True,
            timeout=120,
        )

        assert plane.machine_names() == before
        assert plane.settled()["total"] == 3
    finally:
        plane.run("down", "--purge", "--yes")
    ran = (tmp_path / "ran").read_text().splitlines()
    assert len(ran) == script.count("\nfairlead ") + script.startswith("fairlead ")
    assert ran[0] == "backup fairlead.backup"


@pytest.mark.slow
def test_a_real_control_plane_with_a_torn_database_goes_on_from_a_backup(tmp_path: Path) -> None:
    with RunningPlane(tmp_path / "state") as plane:
        plane.settled()
        before = {path.name for path in plane.directory.machines.iterdir()}
        plane.run("backup", str(tmp_path / "kept"))
        plane.kill()
        plane.directory.database.write_bytes(plane.directory.database.read_bytes()[:8192])

        done = subprocess.run(
            plane.command("up", "--no-view"), capture_output=True, text=True, check=False
        )

        assert done.returncode == 2
        assert "machines run on untouched" in done.stderr
        assert {path.name for path in plane.directory.machines.iterdir()} == before
        plane.run("restore", str(tmp_path / "kept"), "--over")
        plane.start()
        assert {machine["name"] for machine in plane.settled()["machines"]} == before
