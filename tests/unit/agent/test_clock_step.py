"""A clock that is set in the middle of a boot moves no duration."""

import json

import pytest

from builders import (
    EVENTS_PATH,
    STATUS_PATH,
    aks_files,
    make_boot,
    make_disk,
    make_sim_host,
)
from fairlead.agent.boot import run_boot
from fairlead.agent.boot_stages import BOOT_STAGES
from fairlead.agent.process import Finished
from fairlead.agent.report.clock_text import date_time
from fairlead.sim.host import SimHost

DAY_NS = 86_400 * 1_000_000_000


@pytest.mark.parametrize("step_days", [-3, 0, 3, 9000])
def test_a_wall_clock_that_is_set_during_the_script_changes_no_duration(step_days: int) -> None:
    disk = make_disk(aks_files())
    host = make_sim_host(disk)

    def script(host: SimHost, _command: list[str], _environment: dict[str, str]) -> Finished:
        host.sleep(5)
        host.clock_ns += step_days * DAY_NS
        return Finished(0, b"")

    host.programs["/bin/bash"] = script

    run_boot(make_boot(host), BOOT_STAGES, "202611.16.0")

    status = json.loads(disk.read(STATUS_PATH).content)
    events = [
        json.loads(disk.read(path).content)
        for path in disk.names
        if path.startswith(EVENTS_PATH + "/")
    ]
    completed = next(event for event in events if event["Message"].startswith("Completed"))
    assert status["ExecDuration"] == "5"
    assert completed["Message"].endswith("durationMs=5000")
    assert completed["Timestamp"] < completed["OperationId"]


def test_the_start_of_a_run_is_written_as_date_prints_it() -> None:
    disk = make_disk(aks_files())

    run_boot(make_boot(make_sim_host(disk)), BOOT_STAGES, "202611.16.0")

    status = json.loads(disk.read(STATUS_PATH).content)
    assert status["CSEStartTime"] == "Fri Jan 15 08:00:00 UTC 2027"
    assert status["BootDatapoints"]["CSEStartTime"] == "Fri Jan 15 08:00:00 UTC 2027"
    assert date_time(1_801_000_000 * 1_000_000_000) == "Tue Jan 26 21:46:40 UTC 2027"
    assert date_time(1_730_419_200 * 1_000_000_000) == "Fri Nov  1 00:00:00 UTC 2024"
