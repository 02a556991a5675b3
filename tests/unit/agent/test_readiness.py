"""Ours runs early; what others wrote waits for network and name, for a while."""

import pytest

from builders import AKS, NBC_PATH, aks_files, exit_with
from fairlead.agent.boot import run_boot
from fairlead.agent.boot_stages import BOOT_STAGES
from fairlead.agent.layout import Layout
from fairlead.agent.report.record import parse_record
from fairlead.agent.run import Run
from fairlead.agent.stages.stage import Boot, find_inputs
from fairlead.contract.boot_report import StageReport
from unit.agent.steps.machine import Machine, make_config, run_all

NETWORK = ["systemctl", "start", "network-online.target"]
BASIC = ["systemctl", "start", "--job-mode=ignore-requirements", "basic.target"]


def aks_machine(files: dict[str, bytes] | None = None) -> Machine:
    """A machine that systemd runs, with the scripts of an AKS image and its own host name."""
    machine = Machine.fresh()
    for path, content in {**aks_files(), **(files or {})}.items():
        machine.put(path, content, 0o600)
    machine.put("/etc/hostname", b"Node-1\n")
    machine.programs["/bin/bash"] = exit_with(0)
    return machine


def boot(machine: Machine, foreign_agent: str = "") -> dict[str, StageReport]:
    """Boot the machine and return its stages; it must end provisioned."""
    run = Run(machine, Layout("aks", {}), "0011223344556677")
    inputs = find_inputs(run)
    assert inputs is not None
    booting = Boot(run, inputs)
    booting.foreign_agent = foreign_agent
    assert run_boot(booting, BOOT_STAGES, "202611.16.0") == 0
    (report,) = parse_record(machine.read_file(run.layout.record))
    return {stage.name: stage for stage in report.stages}


def started(machine: Machine) -> list[list[str]]:
    """What was started, without what the verdict asks systemd."""
    return [command for command in machine.started if command[:2] != ["systemctl", "show"]]


@pytest.mark.parametrize("files", [{}, {NBC_PATH: b"true\n"}])
def test_scripts_run_after_network_and_basic_system(files: dict[str, bytes]) -> None:
    machine = aks_machine(files)
    machine.targets_take_s = 1.5

    stages = boot(machine)

    assert started(machine)[:2] == [NETWORK, BASIC]
    assert "/bin/bash" in [command[0] for command in started(machine)[2:]]
    assert stages["wait-for-machine"].outcome == "done"
    assert stages["wait-for-machine"].cause == "host name Node-1"
    assert 3000 <= stages["wait-for-machine"].took_ms < 3100
    assert stages["provision"].start_ms >= 3000
    assert stages["choose-agent"].start_ms < 100


def test_another_agent_waits_too() -> None:
    machine = aks_machine()
    machine.programs[f"{AKS}/other"] = exit_with(0)

    boot(machine, foreign_agent=f"{AKS}/other")

    assert started(machine)[:2] == [NETWORK, BASIC]


def test_a_network_that_never_comes_is_told_and_scripts_run_after_a_minute() -> None:
    machine = aks_machine()
    machine.targets_take_s = 1000.0

    stages = boot(machine)

    assert stages["wait-for-machine"].outcome == "skipped"
    assert stages["wait-for-machine"].cause == (
        "network-online.target was not reached: "
        "`systemctl start network-online.target` was not done after 60 s"
    )
    assert ["/bin/bash", "-c"] in [command[:2] for command in machine.started]


@pytest.mark.parametrize("group", ["cloud-init.service", "cloud-init-main.service"])
def test_an_agent_that_a_hook_runs_does_not_wait_for_what_waits_for_the_hook(group: str) -> None:
    machine = aks_machine({"/proc/self/cgroup": f"0::/system.slice/{group}\n".encode()})
    machine.targets_take_s = 1000.0

    stage = boot(machine)["wait-for-machine"]

    assert stage.cause == "network-online.target waits for cloud-init, and that for this process"
    assert stage.took_ms < 100


def test_a_hook_that_runs_after_the_network_came_waits_as_all_do() -> None:
    group = b"0::/system.slice/cloud-init-main.service\n"
    machine = aks_machine({"/proc/self/cgroup": group})
    machine.active.add("network-online.target")

    assert boot(machine)["wait-for-machine"].outcome == "done"


@pytest.mark.parametrize("named_after_s", [0.0, 2.0])
def test_scripts_wait_until_the_machine_has_the_name_in_its_file(named_after_s: float) -> None:
    machine = aks_machine()
    machine.put("/proc/sys/kernel/hostname", b"image\n")
    machine.named_after_s = named_after_s

    stage = boot(machine)["wait-for-machine"]

    assert (stage.outcome, stage.cause) == ("done", "host name Node-1")
    assert stage.took_ms >= named_after_s * 1000


def test_a_name_that_stays_another_one_is_told_after_five_seconds() -> None:
    machine = aks_machine()
    machine.put("/proc/sys/kernel/hostname", b"from-dhcp\n")

    stage = boot(machine)["wait-for-machine"]

    assert stage.outcome == "skipped"
    assert stage.cause == ("the host name is 'from-dhcp' and /etc/hostname says 'Node-1' after 5 s")
    assert 5000 <= stage.took_ms < 5200


def test_the_kubelet_is_started_after_the_network_and_containerd_before() -> None:
    machine = Machine.fresh()

    run_all(machine, make_config())

    lines = [" ".join(command) for command in machine.started]
    order = [
        lines.index(f"systemctl start {unit}")
        for unit in ("containerd.service", "network-online.target", "kubelet.service")
    ]
    assert order == sorted(order)


def test_a_kubelet_is_started_without_a_network_that_never_comes() -> None:
    machine = Machine.fresh()
    machine.targets_take_s = 1000.0

    result = run_all(machine, make_config())

    words = {run.name: run.word for run in result.runs}
    assert (words["wait-for-machine"], words["start-kubelet"]) == ("skipped", "done")
