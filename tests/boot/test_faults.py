"""
What a machine's bad day does to its boot: it ends provisioned, or it says why.

In every case somebody who waits for the verdict gets one, and the flight record can be read.
"""

import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from boot.boot_case import STATE
from boot.faults import (
    FAULT_TOOLS,
    Machine,
    a_machine,
    disk_image,
    end_of,
    fill,
    limit_memory,
    mounted_upper,
    use_up_inodes,
)
from boot.node import missing_tools, stop_node

pytestmark = [pytest.mark.root, pytest.mark.slow]

AKS = "/opt/azure/containers"
CONFIG = f"{AKS}/aks-node-controller-config.json"
SENTINEL = f"{AKS}/provision.complete"
STARTED = f"{STATE}/started"

Verdict = tuple[int, str, list[str], int]

PROVISIONED: Verdict = (0, "0", [], 1)
BOTH_UNITS = ["fairlead-node-check.service", "fairlead-node.service"]
CHECK_ONLY = ["fairlead-node-check.service"]

RUN = f"echo run >>{STATE}/runs\n"
MARK = f"mkdir -p {STATE}\necho started >>{STARTED}\n"
# True in the first run of a script that has marked its start.
FIRST = f'[ "$(wc -l <{STARTED})" = 1 ]'
AGENT = "$(systemctl show --value --property=MainPID fairlead-node.service)"
# Not for long: a child that escapes systemd's signal holds up the next start.
DIE = f"kill -9 {AGENT}; sleep 5"


@pytest.fixture(autouse=True)
def _tools() -> None:
    missing = missing_tools(*FAULT_TOOLS)
    if missing:
        pytest.skip(f"NOT RUN: needs {', '.join(missing)}")


def copy_of(image: Path, name: str) -> Path:
    """What a disk holds if the power goes now."""
    return Path(shutil.copy(image, image.with_name(name)))


def test_an_agent_that_is_killed_is_started_again_and_provisions_once(tmp_path: Path) -> None:
    with a_machine(tmp_path, MARK + f"{FIRST} && sleep 60\n" + RUN) as machine:
        machine.start()
        machine.node.wait_for(STARTED)

        machine.node.enter("systemctl", "kill", "-s", "KILL", "fairlead-node.service")

        end = end_of(machine)
        assert end.verdict() == PROVISIONED
        assert [run.exit_code for run in end.records] == [None, 0]


def test_an_agent_that_is_killed_twice_after_the_end_of_the_boot_raises_no_false_alarm(
    tmp_path: Path,
) -> None:
    # The first death lets fairlead-node-check.service begin, the second is one that it waits for.
    late = "until systemctl -q is-active cloud-init.target; do sleep 0.1; done; sleep 0.3"
    script = MARK + f"if [ $(wc -l <{STARTED}) -le 2 ]; then {late}; {DIE}; fi\n"
    with a_machine(tmp_path, script + RUN) as machine:
        machine.start()

        end = end_of(machine)
        assert end.verdict() == PROVISIONED
        assert [run.exit_code for run in end.records] == [None, None, 0]


def test_an_agent_that_dies_in_every_try_is_given_up_and_the_waiter_hears_of_it(
    tmp_path: Path,
) -> None:
    with a_machine(tmp_path, f"{DIE}\n") as machine:
        machine.start()

        end = end_of(machine)
        assert end.verdict() == (1, "240", BOTH_UNITS, 0)
        assert end.error.startswith(
            "every run of the agent ended without a verdict: the boot is in stage provision"
        )
        assert {run.exit_code for run in end.records[:-1]} == {None}
        assert [stage.name for stage in end.records[-1].stages] == ["conclude"]


def test_an_agent_that_hangs_is_ended_by_its_deadline_and_the_next_one_provisions(
    tmp_path: Path,
) -> None:
    with a_machine(tmp_path, MARK + f"{FIRST} && sleep 600\n" + RUN) as machine:
        # Longer than the wait for the network, which a try has to get through first.
        machine.drop_in("[Service]\nTimeoutStartSec=10\n")
        machine.start()

        end = end_of(machine)
        assert end.verdict() == PROVISIONED
        assert [run.exit_code for run in end.records] == [None, 0]


def test_an_agent_that_hangs_in_every_try_is_given_up_and_the_waiter_hears_of_it(
    tmp_path: Path,
) -> None:
    with a_machine(tmp_path, "sleep 600\n") as machine:
        machine.drop_in("[Unit]\nStartLimitBurst=3\n[Service]\nTimeoutStartSec=10\n")
        machine.start()

        end = end_of(machine)
        assert end.verdict() == (1, "240", BOTH_UNITS, 0)
        assert "ended without a verdict: the boot is in stage provision" in end.error


@pytest.mark.parametrize("moment", [CONFIG, STARTED, SENTINEL])
def test_a_power_cut_is_made_good_by_the_next_boot(moment: str, tmp_path: Path) -> None:
    with a_machine(tmp_path, MARK + f"{FIRST} && sleep 0.5\n" + RUN) as machine:
        machine.start()
        machine.node.wait_for(moment)
        stop_node(machine.node)
        (machine.node.root / f"{STATE}/runs".lstrip("/")).unlink(missing_ok=True)

        machine.start()

        end = end_of(machine)
        assert end.verdict() == PROVISIONED
        assert end.records[-1].exit_code == 0


def test_what_a_waiter_was_told_survives_a_power_cut_that_loses_unsynced_data(
    tmp_path: Path,
) -> None:
    with a_machine(tmp_path, MARK + "sleep 0.5\n" + RUN) as machine, disk_image(machine) as image:
        machine.start()
        machine.node.wait_for(STARTED)
        in_mid_run = copy_of(image, "in-mid-run.img")
        machine.node.wait_for(SENTINEL)
        at_the_end = copy_of(image, "at-the-end.img")
        told = machine.node.enter("fairlead-node", "provision-wait").stdout
        stop_node(machine.node)

        with mounted_upper(machine, at_the_end):
            kept = machine.node.read("/var/log/azure/aks/provision.json")
            assert (kept, bool(machine.node.read(SENTINEL))) == (told, True)
        with mounted_upper(machine, in_mid_run):
            (machine.node.root / f"{STATE}/runs".lstrip("/")).unlink(missing_ok=True)
            machine.start()

            end = end_of(machine)
            assert end.verdict() == PROVISIONED
            assert end.records[-1].exit_code == 0


def fill_disk(machine: Machine, path: str) -> None:
    fill(machine.bind(path, "size=32m"))


def fill_inodes(machine: Machine, path: str) -> None:
    use_up_inodes(machine.bind(path, "nr_inodes=4k"))


def write_protect(machine: Machine, path: str) -> None:
    machine.bind(path, "size=32m", read_only=True)


DISK_FAULTS = (fill_disk, fill_inodes, write_protect)


@pytest.mark.parametrize("fault", DISK_FAULTS)
def test_a_node_whose_log_disk_refuses_writes_is_provisioned_and_says_so(
    fault: Callable[[Machine, str], None], tmp_path: Path
) -> None:
    with a_machine(tmp_path) as machine:
        fault(machine, "/var/log/azure")
        machine.start()

        end = end_of(machine)
        assert end.verdict() == PROVISIONED
        assert machine.inside.joinpath("run/fairlead/provision.json").is_file()


@pytest.mark.parametrize("fault", DISK_FAULTS)
def test_a_node_whose_config_disk_refuses_the_verdict_is_provisioned_and_says_so(
    fault: Callable[[Machine, str], None], tmp_path: Path
) -> None:
    with a_machine(tmp_path) as machine:
        machine.write(CONFIG, machine.case.node_config().decode())
        fault(machine, AKS)
        machine.start()

        end = end_of(machine)
        assert end.verdict() == PROVISIONED
        assert machine.inside.joinpath("run/fairlead/provision.complete").is_file()
        assert [run.exit_code for run in end.records] == [0]


@pytest.mark.parametrize(
    ("fault", "cause"),
    [
        (fill_disk, "No space left on device"),
        (fill_inodes, "No space left on device"),
        (write_protect, "Read-only file system"),
    ],
)
@pytest.mark.parametrize(("image", "path"), [("aks", AKS), ("plain", "/etc/fairlead")])
def test_a_node_whose_config_cannot_be_written_says_why(
    fault: Callable[[Machine, str], None], cause: str, image: str, path: str, tmp_path: Path
) -> None:
    with a_machine(tmp_path, image=image) as machine:
        fault(machine, path)
        machine.start()

        end = end_of(machine)
        assert end.verdict() == (1, "240", CHECK_ONLY, 0)
        assert end.error.startswith("what this machine boots from could not be put in place")
        assert cause in end.error
        assert cause in end.complaint


@pytest.mark.parametrize("fault", [fill_disk, fill_inodes])
def test_a_node_whose_var_is_full_is_provisioned_and_says_so(
    fault: Callable[[Machine, str], None], tmp_path: Path
) -> None:
    with a_machine(tmp_path, "exit 0\n") as machine:
        fault(machine, "/var")
        machine.start()

        end = end_of(machine)
        assert end.verdict() == (0, "0", [], 0)
        assert end.status["fairlead"]["exit"] == 0


def test_a_node_whose_whole_disk_is_full_says_why(tmp_path: Path) -> None:
    with a_machine(tmp_path) as machine:
        size = shutil.disk_usage(machine.node.directory).used
        remount = ["mount", "-o", f"remount,size={size}", str(machine.node.directory)]
        subprocess.run(remount, check=True)
        machine.start()

        end = end_of(machine)
        assert end.verdict() == (1, "240", CHECK_ONLY, 0)
        assert "No space left on device" in end.error


def test_an_agent_that_the_kernel_kills_for_want_of_memory_is_started_again(
    tmp_path: Path,
) -> None:
    # The kernel prefers what has the highest score, and that is the agent here.
    hog = "/usr/bin/python3 -c 'bytearray(400 << 20)'"
    script = MARK + f"if {FIRST}; then echo 1000 >/proc/{AGENT}/oom_score_adj; {hog}; sleep 5; fi\n"
    with a_machine(tmp_path, script + RUN) as machine:
        machine.start()
        limit_memory(machine, 128)

        end = end_of(machine)
        assert end.verdict() == PROVISIONED
        assert [run.exit_code for run in end.records] == [None, 0]


def test_a_node_whose_script_runs_out_of_memory_says_so(tmp_path: Path) -> None:
    script = "exec /usr/bin/python3 -c 'bytearray(400 << 20)'\n"
    with a_machine(tmp_path, script) as machine:
        machine.start()
        limit_memory(machine, 128)

        end = end_of(machine)
        assert end.verdict() == (1, "137", BOTH_UNITS, 0)
        assert end.error == "exit status 137"
        assert [run.exit_code for run in end.records] == [137]
