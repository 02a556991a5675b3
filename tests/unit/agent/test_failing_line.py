"""What failed says why itself, wherever somebody looks, and without secrets."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from builders import (
    BUILT_IN_CONFIG,
    RECORD_PATH,
    STATUS_PATH,
    aks_files,
    exit_with,
    make_boot,
    make_disk,
    make_sim_host,
)
from fairlead.agent.boot import run_boot
from fairlead.agent.boot_stages import BOOT_STAGES
from fairlead.agent.layout import Layout
from fairlead.agent.process import Finished
from fairlead.agent.report.last_lines import last_lines
from fairlead.agent.report.record import parse_record
from fairlead.agent.report.redact import Redactor
from fairlead.agent.report.waterfall import render_waterfall
from fairlead.agent.run import Run
from fairlead.agent.stages.stage import Boot, find_inputs
from fairlead.boots.failure import failure_text
from fairlead.contract.boot_report import BootReport, StageReport, compact_fields
from fairlead.contract.json_text import encode_json
from fairlead.sim.host import SimHost
from unit.agent.steps.machine import Machine

TOKEN = "abcdef.0123456789abcdef"  # noqa: S105 - made up for these tests

PLAIN_STATUS = "/var/log/fairlead/provision.json"
PLAIN_RECORD = "/var/log/fairlead/record.jsonl"


def boot_plain(machine: Machine) -> tuple[int, BootReport, dict[str, Any]]:
    """Boot a machine without scripts; return its exit code, its record and its status."""
    machine.put("/etc/fairlead/node-config.json", json.dumps(BUILT_IN_CONFIG).encode(), 0o600)
    run = Run(machine, Layout("fairlead", {}), "0011223344556677")
    inputs = find_inputs(run)
    assert inputs is not None
    code = run_boot(Boot(run, inputs), BOOT_STAGES, "202611.16.0")
    (report,) = parse_record(machine.read_file(PLAIN_RECORD))
    return code, report, json.loads(machine.read_file(PLAIN_STATUS))


def stages_that_stopped(report: BootReport) -> dict[str, str]:
    return {stage.name: stage.cause for stage in report.stages if stage.outcome == "stopped"}


def test_a_kubelet_that_dies_is_noticed_at_once_and_its_last_line_is_told_everywhere() -> None:
    machine = Machine.fresh()
    machine.health = 500
    machine.dying["kubelet.service"] = 0.3
    machine.journal["kubelet.service"] = b"Flag --x has been deprecated\nfailed: cgroup driver\n"

    code, report, status = boot_plain(machine)

    told = (
        "kubelet.service died; systemd says activating (auto-restart), exit-code 1: "
        "Flag --x has been deprecated | failed: cgroup driver"
    )
    assert code == 241
    assert stages_that_stopped(report) == {
        "provision/start-kubelet": told,
        "provision": f"step start-kubelet: {told}",
    }
    assert status["Error"] == f"step start-kubelet: {told}"
    assert "failed: cgroup driver" in str(status["fairlead"])
    assert failure_text(report) == f"stage provision/start-kubelet: {told}"
    assert report.took_ms < 2000


def test_a_kubelet_that_is_dead_before_the_first_look_is_noticed_too() -> None:
    machine = Machine.fresh()
    machine.health = 500
    machine.deaths["kubelet.service"] = 2
    machine.journal["kubelet.service"] = b"unknown flag\n"
    activate = machine._activate
    machine._activate = lambda unit: Finished(0, b"") if "kubelet" in unit else activate(unit)  # type: ignore[method-assign]

    _, report, _ = boot_plain(machine)

    assert stages_that_stopped(report)["provision/start-kubelet"] == (
        "kubelet.service died; systemd says activating (auto-restart), exit-code 2: unknown flag"
    )
    assert report.took_ms < 1000


def test_a_service_that_systemd_cannot_start_is_told_by_its_own_last_line() -> None:
    machine = Machine.fresh()
    systemctl = machine.programs["systemctl"]
    complaint = Finished(1, b"Job for containerd.service failed.\n")
    machine.programs["systemctl"] = lambda host, command, environment: (
        complaint if command[1] == "start" else systemctl(host, command, environment)
    )
    machine.journal["containerd.service"] = b'level=fatal msg="toml: line 3"\n'

    _, report, _ = boot_plain(machine)

    assert stages_that_stopped(report)["provision/start-containerd"] == (
        "`systemctl start containerd.service` ended with 1: Job for containerd.service failed.: "
        'level=fatal msg="toml: line 3"'
    )


def test_a_journal_that_cannot_be_read_leaves_the_cause_as_it_was() -> None:
    machine = Machine.fresh()
    machine.health = 500
    machine.dying["kubelet.service"] = 0.3
    del machine.programs["journalctl"]

    _, report, _ = boot_plain(machine)

    assert stages_that_stopped(report)["provision/start-kubelet"] == (
        "kubelet.service died; systemd says activating (auto-restart), exit-code 1"
    )


def test_a_script_that_fails_is_told_by_its_last_lines() -> None:
    disk = make_disk(aks_files())
    host = make_sim_host(disk)
    host.programs["/bin/bash"] = exit_with(7, b"one\ntwo\nthree\n\ncannot reach mirror\n")

    assert run_boot(make_boot(host), BOOT_STAGES, "202611.16.0") == 7

    (report,) = parse_record(disk.read(RECORD_PATH).content)
    status = json.loads(disk.read(STATUS_PATH).content)
    told = "exit status 7: two | three | cannot reach mirror"
    assert stages_that_stopped(report) == {"provision": told}
    assert told in str(status["fairlead"]["stages"])
    assert failure_text(report) == f"stage provision: {told}"


def test_a_script_that_prints_to_its_own_log_is_told_by_the_status_it_left() -> None:
    disk = make_disk(aks_files())
    host = make_sim_host(disk)

    def script(host: SimHost, _command: list[str], _environment: dict[str, str]) -> Finished:
        host.make_directory("/var/log/azure/aks")
        text = b'{"ExitCode": "50", "Output": "curl: (28) timed out\\n"}'
        host.write_file(STATUS_PATH, text, 0o600, sync=True)
        return Finished(50, b"")

    host.programs["/bin/bash"] = script

    run_boot(make_boot(host), BOOT_STAGES, "202611.16.0")

    (report,) = parse_record(disk.read(RECORD_PATH).content)
    assert stages_that_stopped(report) == {"provision": "exit status 50: curl: (28) timed out"}


def test_a_secret_in_the_last_line_is_masked_everywhere() -> None:
    machine = Machine.fresh()
    machine.health = 500
    machine.dying["kubelet.service"] = 0.3
    machine.journal["kubelet.service"] = f"{'x' * 330} token {TOKEN} is not known\n".encode()

    boot_plain(machine)

    written = [inode.content for inode in machine.disk.names.values()]
    told = [text for text in written if b"is not known" in text]
    assert len(told) >= 3
    assert not [text for text in told if b"0123456789abcdef" in text]


@given(st.integers(0, 500), st.sampled_from(["x", "y z ", "line\n"]))
def test_no_cut_leaves_a_part_of_a_secret(behind: int, filling: str) -> None:
    redactor = Redactor()
    redactor.learn(["SECRET" * 20])

    told = last_lines(redactor, filling * 200 + "SECRET" * 20 + (filling * 500)[:behind])

    assert "SECRET" not in told
    assert len(told) <= 363
    assert "\n" not in told


@pytest.mark.parametrize("steps", [0, 16, 40])
def test_the_line_of_what_failed_stays_in_a_report_that_is_shortened(steps: int) -> None:
    report = BootReport("run-1", agent="202611.16.0", layout="fairlead", started="now")
    report.stages = [
        StageReport(f"provision/step-{n}", 1.0, 1.0, "done", "c" * 300) for n in range(steps)
    ]
    cause = f"kubelet.service died: {'y' * 360} the last word"
    report.stages += [
        StageReport(name, 1.0, 1.0, "stopped", cause) for name in ("provision/x", "provision")
    ]
    report.facts = {"large": "y" * 1500}

    fields = compact_fields(report)

    assert [row[4] for row in fields["stages"] if row[3] == "stopped"] == [cause, cause]
    assert len(encode_json(fields)) <= 3000


def test_the_waterfall_begins_with_the_whole_line_of_what_failed() -> None:
    report = BootReport("run-1", agent="202611.16.0", layout="fairlead", started="now")
    cause = f"kubelet.service died: {'y' * 200} the last word"
    report.stages = [
        StageReport("provision/start-kubelet", 1.0, 1.0, "stopped", cause),
        StageReport("provision", 1.0, 1.0, "stopped", f"step start-kubelet: {cause}"),
    ]
    report.exit_code = 241

    lines = render_waterfall(report).splitlines()

    assert lines[2] == f"because provision/start-kubelet: {cause}"
    assert len([line for line in lines if line.startswith("because")]) == 1


def test_a_node_that_nobody_could_confirm_is_told_apart_in_the_status() -> None:
    code, report, status = boot_plain(Machine.fresh())

    doubt = "https://api.example.test:443 did not answer within 5 s"
    assert (code, status["ExitCode"]) == (0, "0")
    assert report.facts["unconfirmed"] == doubt
    assert status["fairlead"]["facts"]["unconfirmed"] == doubt


def test_a_directory_is_provisioned_at_once_and_says_that_no_kubelet_runs() -> None:
    machine = Machine.fresh()
    machine.is_directory = True

    code, report, _ = boot_plain(machine)

    assert code == 0
    assert report.facts["unconfirmed"] == "no kubelet was started: files only"
    assert report.took_ms < 1000
