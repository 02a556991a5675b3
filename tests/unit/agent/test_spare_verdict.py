"""A verdict that its disk refuses, and a boot that is over without one."""

import json

import pytest

from builders import (
    CONFIG_PATH,
    SENTINEL_PATH,
    STATUS_PATH,
    aks_files,
    exit_with,
    make_boot,
    make_disk,
    make_run,
    make_sim_host,
)
from fairlead.agent.boot import run_boot
from fairlead.agent.boot_stages import BOOT_STAGES
from fairlead.agent.layout import Layout
from fairlead.agent.report.conclude import conclude
from fairlead.agent.report.record import parse_record
from fairlead.agent.report.status import has_verdict, read_status
from fairlead.agent.wait import judge_status, wait_for_sentinel
from fairlead.errors import InputError, UnavailableError
from fairlead.sim.disk import Disk
from fairlead.sim.host import SimHost

SPARE_SENTINEL = "/run/fairlead/provision.complete"
SPARE_STATUS = "/run/fairlead/provision.json"
RECORD = "/var/log/azure/aks-node-controller-record.jsonl"
LAYOUT = Layout("aks", {})


class RefusingHost(SimHost):
    """A machine with directories in which nothing can be written, changed or removed."""

    def __init__(self, disk: Disk, *directories: str) -> None:
        super().__init__(disk)
        self.directories = directories
        self.programs["/bin/bash"] = exit_with(0)

    def write_file(self, path: str, content: bytes, mode: int, *, sync: bool) -> None:
        self._refuse(path)
        super().write_file(path, content, mode, sync=sync)

    def append_file(self, path: str, content: bytes, mode: int, *, sync: bool) -> None:
        self._refuse(path)
        super().append_file(path, content, mode, sync=sync)

    def make_directory(self, path: str) -> None:
        if self.disk.find(path) is None:
            self._refuse(path)
        super().make_directory(path)

    def remove(self, path: str) -> None:
        self._refuse(path)
        super().remove(path)

    def _refuse(self, path: str) -> None:
        if path.startswith(self.directories):
            raise OSError(30, "Read-only file system", path)


def boot_on(host: SimHost, run_id: str = "run-1") -> int:
    return run_boot(make_boot(host, run_id=run_id), BOOT_STAGES, "202611.16.0")


@pytest.mark.parametrize(
    ("directory", "spare"),
    [("/var/log", [SPARE_STATUS]), ("/opt", [SPARE_SENTINEL]), ("", [])],
)
def test_each_file_of_a_verdict_goes_to_its_spare_place_only_if_its_disk_refuses(
    directory: str, spare: list[str]
) -> None:
    host = RefusingHost(make_disk(aks_files()), directory or "/nowhere")

    exit_code = boot_on(host)

    found = [path for path in (SPARE_SENTINEL, SPARE_STATUS) if host.disk.find(path)]
    assert (exit_code, found) == (0, spare)
    assert has_verdict(host, LAYOUT)
    assert read_status(host, LAYOUT)["ExitCode"] == "0"
    judge_status(host, LAYOUT)


def test_a_waiter_on_a_disk_that_refuses_its_folder_waits_for_the_spare_verdict() -> None:
    host = RefusingHost(make_disk({}), "/opt")
    with pytest.raises(UnavailableError, match="no boot of this agent has started here"):
        wait_for_sentinel(host, LAYOUT, 0.0)

    conclude(make_run(host), "202611.16.0")

    wait_for_sentinel(host, LAYOUT, 0.0)


def test_the_scripts_own_status_stays_the_verdict_on_a_disk_that_fills_up() -> None:
    theirs = {STATUS_PATH: b'{"ExitCode": "0", "Output": "theirs"}', SENTINEL_PATH: b""}
    host = RefusingHost(make_disk({**aks_files(), **theirs}), "/var/log")
    host.programs["/bin/bash"] = exit_with(7)

    boot_on(host)

    assert host.disk.find(SPARE_STATUS) is None
    assert read_status(host, LAYOUT)["Output"] == "theirs"


def test_a_verdict_that_cannot_be_removed_gives_way_to_the_one_of_this_run() -> None:
    disk = make_disk(aks_files())
    failing = make_sim_host(disk)
    failing.programs["/bin/bash"] = exit_with(9)
    boot_on(failing)

    boot_on(RefusingHost(disk, "/var/log"), run_id="run-2")

    status = read_status(SimHost(disk), LAYOUT)
    assert (status["ExitCode"], status["fairlead"]["run"]) == ("0", "run-2")


def test_a_spare_verdict_is_gone_when_the_next_run_has_a_disk_again() -> None:
    disk = make_disk(aks_files())
    boot_on(RefusingHost(disk, "/opt", "/var"), run_id="run-1")
    assert read_status(SimHost(disk), LAYOUT)["fairlead"]["run"] == "run-1"

    boot_on(make_sim_host(disk), run_id="run-2")

    assert [path for path in (SPARE_SENTINEL, SPARE_STATUS) if disk.find(path)] == []
    assert json.loads(disk.read(STATUS_PATH).content)["fairlead"]["run"] == "run-2"


def test_a_boot_that_nothing_came_to_is_concluded_for_this_boot_only() -> None:
    host = make_sim_host(make_disk({}))

    exit_code = conclude(make_run(host), "202611.16.0")

    assert exit_code == 1
    assert read_status(host, LAYOUT)["ExitCode"] == "240"
    with pytest.raises(InputError, match="no node config, NBC command or boot document came"):
        judge_status(host, LAYOUT)
    assert [path for path in (SENTINEL_PATH, STATUS_PATH) if host.disk.find(path)] == []
    (run,) = parse_record(host.disk.read(RECORD).content)
    assert [(stage.name, stage.outcome) for stage in run.stages] == [("conclude", "stopped")]


def test_a_boot_whose_agent_died_is_concluded_with_the_stage_it_died_in() -> None:
    host = make_sim_host(make_disk(aks_files()))
    dead = make_run(host, run_id="dead")
    dead.record.begin("dead", "202611.16.0", "aks")
    dead.record.begin_stage("provision")

    conclude(make_run(host, run_id="run-2"), "202611.16.0")

    error = read_status(host, LAYOUT)["Error"]
    assert error.startswith("every run of the agent ended without a verdict: ")
    assert "is in stage provision" in error


def test_a_boot_that_has_its_verdict_is_not_concluded_again() -> None:
    host = make_sim_host(make_disk(aks_files()))
    boot_on(host)
    before = host.disk.read(STATUS_PATH).content

    exit_code = conclude(make_run(host, run_id="run-2"), "202611.16.0")

    assert exit_code == 0
    assert host.disk.find(SPARE_STATUS) is None
    assert host.disk.read(STATUS_PATH).content == before


def test_a_config_that_cannot_be_put_in_place_is_named_as_the_reason() -> None:
    seed = {"/var/lib/cloud/seed/nocloud/user-data": b'{"version": "v1"}'}
    host = RefusingHost(make_disk({**seed, "/opt/azure/containers/x": b""}), "/opt")

    conclude(make_run(host), "202611.16.0")

    error = read_status(host, LAYOUT)["Error"]
    assert error.startswith("what this machine boots from could not be put in place: ")
    assert "Read-only file system" in error
    assert host.disk.find(CONFIG_PATH) is None
