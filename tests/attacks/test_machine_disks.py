"""One machine's disk stops nothing: not the control plane, not its next start, no other machine."""

from __future__ import annotations

import sqlite3
from pathlib import Path

import pytest

from e2e.running_plane import RunningPlane

RECORD = "root/var/log/fairlead/record.jsonl"


def forget_report(plane: RunningPlane, machine: str) -> None:
    """Let a machine boot still, as if its report had been lost with the control plane."""
    with sqlite3.connect(plane.directory.database) as connection:
        connection.execute(
            "UPDATE machines SET phase = 'booting', "
            "value = json_set(value, '$.phase', 'booting', '$.ready_at', NULL) WHERE name = ?",
            (machine,),
        )
        connection.execute("DELETE FROM reports WHERE machine = ?", (machine,))
    connection.close()


@pytest.mark.slow
def test_a_record_that_became_a_directory_stops_no_start_and_no_other_machine(
    tmp_path: Path,
) -> None:
    with RunningPlane(tmp_path / "state") as plane:
        plane.settled()
        victim = min(plane.machine_names())
        plane.kill()
        forget_report(plane, victim)
        place = plane.directory.machines / victim
        (place / RECORD).unlink()
        (place / RECORD).mkdir()

        plane.start()

        def problem() -> str:
            return str(plane.client.request("GET", f"/v1/machines/{victim}")["problem"])

        assert plane.until(problem) == (
            "its flight record /var/log/fairlead/record.jsonl is a directory, not a file"
        )
        plane.run("pool", "scale", "workers", "4")
        assert plane.settled()["total"] == 4, "the machine itself boots again, too"
        assert plane.pid > 0
        assert "Traceback" not in plane.log()
