"""One machine's disk stops nothing: not the control plane, not its next start, no other machine."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

import pytest

from e2e.running_plane import RunningPlane
from fairlead.answers.words import Phase
from fairlead.embedded.store.database import Store
from fairlead.embedded.store.world import EmbeddedWorld
from fairlead.inputs.platform_inputs import Stub

RECORD = "root/var/log/fairlead/record.jsonl"


def give_power(plane: RunningPlane, machine: str) -> None:
    """Let a machine boot again, as if the control plane had been killed in the middle of it."""
    store = Store(plane.directory)
    try:
        world = EmbeddedWorld(store, plane.directory, Stub(), lambda: datetime.now(UTC))
        stored = world.machines.find_machine(machine)
        assert stored is not None
        with store.writing():
            world.machines.note_power(machine)
            booting = replace(stored.machine, phase=Phase.BOOTING, ready_at=None)
            world.machines.write_machine(booting)
    finally:
        store.close()


@pytest.mark.slow
def test_a_record_that_became_a_directory_stops_no_start_and_no_other_machine(
    tmp_path: Path,
) -> None:
    with RunningPlane(tmp_path / "state") as plane:
        plane.settled()
        victim = min(plane.machine_names())
        plane.kill()
        give_power(plane, victim)
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
