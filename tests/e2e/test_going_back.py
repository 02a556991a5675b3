"""Pages about backups and upgrades work from first to last line, and machines live through it."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from e2e.running_plane import RunningPlane
from pages import run_page, script_of
from shared_cases import REPOSITORY


@pytest.mark.slow
@pytest.mark.parametrize("page", ["backup-and-restore.md", "upgrade.md"])
def test_the_pages_about_going_back_work_as_written(page: str, tmp_path: Path) -> None:
    howto = REPOSITORY / "docs/howto" / page
    plane = RunningPlane(tmp_path / "state")
    try:
        plane.run("up", "--detach")
        before = plane.machine_names()

        ran = run_page(howto, tmp_path, plane.directory)

        assert plane.machine_names() == before
        assert plane.settled()["total"] == 3
    finally:
        plane.run("down", "--purge", "--yes")
    script = script_of(howto)
    assert {code for code, _ in ran} == {0}, ran
    assert len(ran) == script.count("\nfairlead ") + script.startswith("fairlead ")
    assert ran[0][1].startswith("backup ")


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
