"""A control plane whose database is torn goes on from a backup, and its machines run on."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from e2e.running_plane import RunningPlane


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
