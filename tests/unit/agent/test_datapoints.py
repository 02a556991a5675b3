"""
What systemd and cloud-init said about a boot, as datapoints and as a fact of the flight record.

recorded_boots/ holds what `systemctl show` and cloud-init's status.json said on two real nodes.
"""

import json
from pathlib import Path
from typing import Any

import pytest

from builders import RECORD_PATH, STATUS_PATH, aks_files, make_boot, make_disk, make_run
from fairlead.agent.boot import run_boot
from fairlead.agent.boot_stages import BOOT_STAGES
from fairlead.agent.process import Finished
from fairlead.agent.report.datapoints import (
    UNITS,
    BootStamps,
    boot_fact_of,
    datapoints_of,
    read_boot_stamps,
    summary_of,
)
from fairlead.agent.report.record import parse_record
from fairlead.agent.report.status import DATAPOINTS, Outcome, publish
from fairlead.agent.report.waterfall import describe_runs
from fairlead.contract.boot_report import LARGEST_REPORT_BYTES
from fairlead.contract.json_text import encode_json
from fairlead.sim.host import BOOTED_NS, SimHost

RECORDED = Path(__file__).parent / "recorded_boots"
BOOT_ID = "/proc/sys/kernel/random/boot_id"
CLOUD_INIT_STATUS = "/run/cloud-init/status.json"

# Later than every stamp in recorded_boots.
UPTIME_S = 3700.0


class Systemctl:
    """Answers `systemctl show` with recorded text."""

    def __init__(self, manager: str, units: str, takes_s: float = 0.0) -> None:
        self.manager = manager
        self.units = units
        self.takes_s = takes_s

    def __call__(self, host: SimHost, command: list[str], _environment: dict[str, str]) -> Finished:
        host.sleep(self.takes_s)
        is_manager = len(command) == 3
        return Finished(0, (self.manager if is_manager else self.units).encode())


def recorded(suite: str, name: str) -> str:
    return (RECORDED / f"{suite}-{name}").read_text()


def make_machine(suite: str = "bookworm", status: bytes | None = None) -> SimHost:
    """A machine that systemd runs, an hour after its kernel started."""
    files = {
        "/run/systemd/system/marker": b"",
        BOOT_ID: b"94d4978b-0459-4720-9d3c-0f1f4d1c3b5a\n",
        **aks_files(),
    }
    if status is not None:
        files[CLOUD_INIT_STATUS] = status
    host = SimHost(make_disk(files))
    host.is_directory = False
    host.programs["/bin/bash"] = lambda *_: Finished(0, b"")
    host.programs["systemctl"] = Systemctl(
        recorded(suite, "manager.txt"), recorded(suite, "units.txt")
    )
    host.sleep(UPTIME_S)
    return host


def test_datapoints_are_the_starts_of_units_in_utc() -> None:
    points = datapoints_of(read_boot_stamps(make_machine()))

    # The kernel of the simulated machine started on 2027-01-15 at 08:00:00.
    assert points == {
        "KernelStartTime": "",
        "SystemdSummary": "Startup finished in 4.913s (userspace)",
        "CloudInitLocalStartTime": "Fri 2027-01-15 09:00:57 UTC",
        "CloudInitStartTime": "Fri 2027-01-15 09:00:58 UTC",
        "CloudFinalStartTime": "Fri 2027-01-15 09:01:01 UTC",
        "NetworkdStartTime": "",
        "GuestAgentStartTime": "",
        "ContainerdStartTime": "Fri 2027-01-15 09:01:00 UTC",
        "KubeletStartTime": "Fri 2027-01-15 09:01:00 UTC",
    }


def test_the_network_stage_is_found_under_the_name_of_cloud_init_25() -> None:
    points = datapoints_of(read_boot_stamps(make_machine("trixie")))

    assert points["CloudInitStartTime"] == "Fri 2027-01-15 09:01:06 UTC"


def test_the_boot_is_told_in_milliseconds_after_pid_1() -> None:
    fact = boot_fact_of(read_boot_stamps(make_machine()))

    assert fact == {
        "pid1_us": 3657058605,
        "systemd": {
            "generators": [21.8, 325.7],
            "load-units": [325.7, 428.1],
            "startup": [0.0, 4913.6],
        },
        "units": {
            "cloud-init-local": [505.6, 1610.9],
            "cloud-init": [1629.7, 3086.9],
            "cloud-final": [4049.5, 4893.7],
            "containerd": [3261.9, 3349.6],
            "kubelet": [3465.7, 3465.7],
            "cloud-config": [3103.3, 4046.4],
            "fairlead-node": [2349.8, 4372.2],
            "sysinit.target": [3088.6, 3088.6],
            "network-online.target": [3088.6, 3088.6],
            "multi-user.target": [3303.8, 3303.8],
            "cloud-init.target": [4894.3, 4894.3],
        },
    }


def test_cloud_inits_stages_count_from_the_kernel_or_from_1970() -> None:
    uptime = boot_fact_of(
        read_boot_stamps(make_machine("trixie", recorded("trixie", "status.json").encode()))
    )
    epoch_s = BOOTED_NS // 10**9
    wall = {"v1": {"init-local": {"start": epoch_s + 3665.0, "finished": epoch_s + 3665.5}}}
    epoch = boot_fact_of(read_boot_stamps(make_machine("trixie", json.dumps(wall).encode())))

    assert uptime["cloud-init"] == {
        "init-local": [1288.7, 1458.7],
        "init": [1548.7, 1928.7],
        "modules-config": [2058.7, 2208.7],
        "modules-final": [2698.7, 2768.7],
    }
    assert epoch["cloud-init"] == {"init-local": [368.7, 868.7]}


@pytest.mark.parametrize(
    "stage",
    [
        {"start": None, "finished": None},
        {"start": 12.0, "finished": 3665.5},  # before PID 1: the clock was set in between
        {"start": 9000.0, "finished": 9001.0},  # still to come
        {"start": 1e999, "finished": 1e999},
        {"start": "soon"},
        [],
    ],
)
def test_a_stage_that_lies_outside_the_boot_is_left_out(stage: Any) -> None:
    status = encode_json({"v1": {"init-local": stage}}).encode()

    fact = boot_fact_of(read_boot_stamps(make_machine("trixie", status)))

    assert "cloud-init" not in fact


def test_a_stage_with_errors_and_one_that_runs_are_told_as_such() -> None:
    status = {
        "v1": {
            "init": {"start": 3665.0, "finished": 3666.0, "errors": ["no seed"]},
            "modules-final": {"start": 3667.0, "finished": None, "errors": []},
        }
    }

    fact = boot_fact_of(read_boot_stamps(make_machine("trixie", json.dumps(status).encode())))

    assert fact["cloud-init"] == {"init": [368.7, 1368.7, "failed"], "modules-final": [2368.7]}


def test_a_failed_unit_ends_where_it_became_inactive() -> None:
    host = make_machine()
    units = """\
Id=cloud-config.service
ActiveState=failed
InactiveExitTimestampMonotonic=3657100000
ActiveEnterTimestampMonotonic=0
InactiveEnterTimestampMonotonic=3657200000

Id=kubelet.service
ActiveState=activating
InactiveExitTimestampMonotonic=3657300000
ActiveEnterTimestampMonotonic=0
InactiveEnterTimestampMonotonic=3657290000
"""
    host.programs["systemctl"] = Systemctl(recorded("bookworm", "manager.txt"), units)

    fact = boot_fact_of(read_boot_stamps(host))

    assert fact["units"] == {"cloud-config": [41.4, 141.4, "failed"], "kubelet": [241.4]}


VIRTUAL_MACHINE = {
    "KernelTimestamp": "Fri 2027-01-15 08:00:00 UTC",
    "FirmwareTimestampMonotonic": "4500000",
    "LoaderTimestampMonotonic": "1250000",
    "InitRDTimestampMonotonic": "900500",
    "UserspaceTimestampMonotonic": "2400000",
    "FinishTimestampMonotonic": "65400000",
}


def test_the_summary_is_the_sentence_of_systemd_analyze() -> None:
    assert summary_of(VIRTUAL_MACHINE) == (
        "Startup finished in 3.25s (firmware) + 1.25s (loader) + 900ms (kernel) "
        "+ 1.499s (initrd) + 1min 3s (userspace) = 1min 9.9s"
    )
    assert summary_of({**VIRTUAL_MACHINE, "FinishTimestampMonotonic": "0"}) == ""


def test_kernel_and_initrd_lie_before_pid_1() -> None:
    host = make_machine()
    shown = "".join(f"{name}={value}\n" for name, value in VIRTUAL_MACHINE.items())
    host.programs["systemctl"] = Systemctl(shown, "")

    stamps = read_boot_stamps(host)

    assert boot_fact_of(stamps)["systemd"] == {
        "kernel": [-2400.0, -1499.5],
        "initrd": [-1499.5, 0.0],
        "startup": [0.0, 63000.0],
    }
    assert datapoints_of(stamps)["KernelStartTime"] == "Fri 2027-01-15 08:00:00 UTC"


def test_a_directory_is_asked_nothing() -> None:
    host = make_machine()
    host.is_directory = True

    stamps = read_boot_stamps(host)

    assert host.started == []
    assert boot_fact_of(stamps) == {}
    assert set(datapoints_of(stamps).values()) == {""}


def test_a_systemd_that_hangs_is_given_up_after_one_question() -> None:
    host = make_machine()
    host.programs["systemctl"] = Systemctl("UserspaceTimestampMonotonic=1\n", "", takes_s=3.0)

    stamps = read_boot_stamps(host)

    assert [command[0] for command in host.started] == ["systemctl"]
    assert boot_fact_of(stamps) == {}


@pytest.mark.parametrize("status", [b"", b"[]", b"{", b'{"v1": 3}', b"\xff"])
def test_garbage_of_cloud_init_costs_only_its_stages(status: bytes) -> None:
    fact = boot_fact_of(read_boot_stamps(make_machine("trixie", status)))

    assert "cloud-init" not in fact
    assert fact["pid1_us"] == 3664631274


@pytest.mark.parametrize(
    ("manager", "units"),
    [
        ("", ""),
        ("no equals sign", "Id"),
        ("UserspaceTimestampMonotonic=soon\n", "Id=kubelet.service\n"),
        ("UserspaceTimestampMonotonic=²\n", "\n\n\n"),
        ("Failed to connect to bus: No such file or directory\n", ""),
    ],
)
def test_an_answer_that_makes_no_sense_gives_no_datapoints(manager: str, units: str) -> None:
    host = make_machine()
    host.programs["systemctl"] = Systemctl(manager, units)

    stamps = read_boot_stamps(host)

    assert set(datapoints_of(stamps).values()) == {""}
    assert boot_fact_of(stamps) == {}


def test_a_status_carries_datapoints_and_the_boot_so_far() -> None:
    host = make_machine("trixie", recorded("trixie", "status.json").encode())
    run = make_run(host)
    run.record.begin("run-1", "202611.16.0", "aks")

    publish(run, Outcome(0))

    status = json.loads(host.disk.read(STATUS_PATH).content)
    assert status["BootDatapoints"]["KubeletStartTime"] == "Fri 2027-01-15 09:01:07 UTC"
    assert status["CloudInitLocalStartTime"] == "Fri 2027-01-15 09:01:05 UTC"
    facts = status["fairlead"]["facts"]
    assert facts["boot"]["units"]["cloud-init.target"] == [2801.9, 2801.9]
    assert facts["clock"] == {"monotonic_us": 3700000003, "boot": "94d4978b04594720"}


def test_the_largest_boot_fits_the_status_channel() -> None:
    host = make_machine("trixie", recorded("trixie", "status.json").encode())
    everything = "\n".join(
        f"Id={unit}\nActiveState=failed\nInactiveExitTimestampMonotonic=3765846733\n"
        "ActiveEnterTimestampMonotonic=0\nInactiveEnterTimestampMonotonic=3768846733\n"
        for unit in UNITS
    )
    host.programs["systemctl"] = Systemctl(recorded("trixie", "manager.txt"), everything)

    run_boot(make_boot(host), BOOT_STAGES, "202611.16.0")

    report = json.loads(host.disk.read(STATUS_PATH).content)["fairlead"]
    assert len(encode_json(report)) <= LARGEST_REPORT_BYTES
    assert len(report["facts"]["boot"]["units"]) == len(UNITS)


def test_a_report_knows_what_happened_after_the_run() -> None:
    host = make_machine()
    run = make_run(host)
    run.record.begin("run-1", "202611.16.0", "aks")
    run.record.note("boot", {"pid1_us": 3657058605})
    run.record.end(0)

    report = json.loads(describe_runs(host, run.layout, as_json=True, all_runs=False))
    text = describe_runs(host, run.layout, as_json=False, all_runs=False)

    assert report["facts"]["boot"]["units"]["cloud-init.target"] == [4894.3, 4894.3]
    assert "boot: began 42.94 s after PID 1, network-online.target at 3.09 s" in text


def test_a_run_of_an_earlier_boot_keeps_its_own_stamps() -> None:
    host = make_machine()
    run = make_run(host)
    run.record.begin("run-1", "202611.16.0", "aks")
    run.record.note("boot", {"pid1_us": 5})
    run.record.end(0)
    host.write_file(BOOT_ID, b"00000000-1111-2222-3333-444444444444\n", 0o444, sync=True)

    report = json.loads(describe_runs(host, run.layout, as_json=True, all_runs=False))

    assert report["facts"]["boot"] == {"pid1_us": 5}
    (kept,) = parse_record(host.disk.read(RECORD_PATH).content)
    assert kept.facts["boot"] == {"pid1_us": 5}


def test_a_directory_has_every_datapoint_of_a_machine_and_knows_none() -> None:
    assert set(datapoints_of(BootStamps(0, 0))) == set(DATAPOINTS)
