"""
Whatever a kill or a power cut leaves behind parses, and the next boot succeeds.

The host stops at operation N, for every N a boot has: all file operations, program starts and
stage boundaries are operations.
"""

import json

import pytest

from builders import (
    AKS,
    BUILT_IN_CONFIG,
    CONFIG_PATH,
    FEATURES_PATH,
    POINTER_PATH,
    RECORD_PATH,
    SENTINEL_PATH,
    STATUS_PATH,
    aks_files,
    exit_with,
    make_boot,
    make_disk,
    make_sim_host,
)
from fairlead.agent.boot import run_boot
from fairlead.agent.boot_stages import BOOT_STAGES
from fairlead.agent.report.record import parse_record
from fairlead.agent.wait import judge_status
from fairlead.sim.disk import Disk
from fairlead.sim.host import HostStoppedError, SimHost

# Which node boots: its layout, and the files on its disk before the boot.
NODES = {
    "scripts": ("aks", aks_files()),
    "scripts-with-hotfix": (
        "aks",
        {
            **aks_files({"version": "v1", "hotfixes": {"202001.01": "202001.01.3"}}),
            FEATURES_PATH: b"ENABLE_PROVISIONING_HOTFIX=true\n",
            POINTER_PATH: b'{"hotfixes": {"202001.01": "202001.01.9"}}',
        },
    ),
    "built-in-steps": (
        "fairlead",
        {"/etc/fairlead/node-config.json": json.dumps(BUILT_IN_CONFIG).encode()},
    ),
}
SEEDS = 4


def boot_once(host: SimHost, layout: str, run_id: str) -> int:
    return run_boot(make_boot(host, layout=layout, run_id=run_id), BOOT_STAGES, "202611.16.0")


def operations_of_a_boot(layout: str, files: dict[str, bytes]) -> int:
    host = make_sim_host(make_disk(files))
    assert boot_once(host, layout, "run-1") == 0
    return host.operations


def paths(layout: str) -> tuple[str, str, str]:
    if layout == "aks":
        return RECORD_PATH, STATUS_PATH, SENTINEL_PATH
    log = "/var/log/fairlead"
    return f"{log}/record.jsonl", f"{log}/provision.json", "/var/lib/fairlead/provision.complete"


def assert_nothing_is_torn(disk: Disk, layout: str) -> None:
    """The record gives runs with known outcomes; a status, if there is one, is whole."""
    record, status, sentinel = paths(layout)
    if (found := disk.find(record)) is not None:
        for run in parse_record(found.content):
            assert run.run_id in ("run-1", "run-2")
    if (found := disk.find(status)) is not None:
        assert json.loads(found.content)["ExitCode"] == "0"
    if (found := disk.find(sentinel)) is not None:
        assert json.loads(found.content)["fairlead"]["run"] in ("run-1", "run-2")
        assert disk.find(status) is not None, "a sentinel without its status"


def assert_the_next_boot_succeeds(disk: Disk, layout: str) -> None:
    host = make_sim_host(disk)
    assert boot_once(host, layout, "run-2") == 0
    assert_nothing_is_torn(disk, layout)
    run = make_boot(host, layout=layout).run
    judge_status(host, run.layout)
    last = parse_record(host.read_file(run.layout.record))[-1]
    assert (last.run_id, last.exit_code) == ("run-2", 0)


@pytest.mark.parametrize("node", NODES)
def test_a_kill_at_any_operation_leaves_whole_files_and_the_next_boot_succeeds(node: str) -> None:
    layout, files = NODES[node]

    for stops_at in range(1, operations_of_a_boot(layout, files) + 1):
        disk = make_disk(files)
        with pytest.raises(HostStoppedError):
            boot_once(make_sim_host(disk, stops_at=stops_at), layout, "run-1")
        assert_nothing_is_torn(disk, layout)

        assert_the_next_boot_succeeds(disk, layout)


@pytest.mark.parametrize("node", NODES)
def test_a_power_cut_at_any_operation_leaves_whole_files_and_the_next_boot_succeeds(
    node: str,
) -> None:
    layout, files = NODES[node]

    for stops_at in range(1, operations_of_a_boot(layout, files) + 1):
        for seed in range(SEEDS):
            disk = make_disk(files)
            with pytest.raises(HostStoppedError):
                boot_once(make_sim_host(disk, stops_at=stops_at), layout, "run-1")
            make_sim_host(disk).cut_power(seed)
            assert_nothing_is_torn(disk, layout)

            assert_the_next_boot_succeeds(disk, layout)


def test_a_retry_after_a_failure_replaces_our_own_verdict() -> None:
    disk = make_disk(aks_files())
    failing = make_sim_host(disk)
    failing.programs["/bin/bash"] = exit_with(7, b"out of luck")
    assert boot_once(failing, "aks", "run-1") == 7
    assert json.loads(disk.read(STATUS_PATH).content)["ExitCode"] == "7"

    assert boot_once(make_sim_host(disk), "aks", "run-2") == 0

    status = json.loads(disk.read(STATUS_PATH).content)
    assert (status["ExitCode"], status["fairlead"]["run"]) == ("0", "run-2")
    assert json.loads(disk.read(SENTINEL_PATH).content) == {"fairlead": {"run": "run-2"}}


def test_what_scripts_wrote_is_never_overwritten() -> None:
    theirs = {STATUS_PATH: b'{"ExitCode": "51", "Error": "theirs"}', SENTINEL_PATH: b""}
    disk = make_disk({**aks_files(), **theirs})
    host = make_sim_host(disk)
    host.programs["/bin/bash"] = exit_with(51)

    assert boot_once(host, "aks", "run-1") == 51

    assert disk.read(STATUS_PATH).content == theirs[STATUS_PATH]
    assert disk.read(SENTINEL_PATH).content == b""


def test_a_crash_of_a_stage_itself_still_leaves_a_verdict() -> None:
    disk = make_disk({**aks_files(), f"{AKS}/keep": b""})
    host = make_sim_host(disk)
    del host.programs["/bin/bash"]

    assert boot_once(host, "aks", "run-1") == 1

    status = json.loads(disk.read(STATUS_PATH).content)
    assert status["ExitCode"] == "240"
    assert "/bin/bash" in status["Error"]
    assert disk.find(CONFIG_PATH) is not None
