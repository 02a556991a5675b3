"""After the verdict the report of the run goes to whom the boot document names, or it does not."""

from __future__ import annotations

import json
import re

import pytest

from builders import (
    AKS,
    AKS_IMAGE,
    RECORD_PATH,
    SENTINEL_PATH,
    STATUS_PATH,
    make_boot,
    make_disk,
    make_sim_host,
)
from fairlead.agent.boot import report_back, run_boot
from fairlead.agent.boot_stages import BOOT_STAGES
from fairlead.agent.control_plane import find_machine_name
from fairlead.agent.https_fetch import Request
from fairlead.agent.report.conclude import conclude
from fairlead.agent.report.record import parse_record
from fairlead.contract.boot_document import BootDocument, render_boot_document
from fairlead.contract.boot_report import parse_report
from fairlead.errors import InputError
from fairlead.sim.host import HostStoppedError, SimHost

ENDPOINT = "https://api.example.test/v1/node-config"
REPORT = "https://api.example.test/v1/boot-report?key=hidden"
TOKEN = "dG9rZW4tb2YtdGhlLW1hY2hpbmU="  # noqa: S105 - of a server that does not exist
CA = "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n"
SECRET = "abcdef.0123456789abcdef"  # noqa: S105
CONFIG = {"version": "v1", "bootstrapping_config": {"tls_bootstrapping_token": SECRET}}
STUB_PATH = f"{AKS}/fairlead-boot-document.json"

Answer = int | Exception


class Plane:
    """Takes requests; answers reports as given, the last answer for ever."""

    def __init__(self, *given: Answer) -> None:
        self.left = list(given) or [204]
        self.fetches: list[Request] = []
        self.reports: list[Request] = []
        self.sentinels: list[bool] = []

    def serve_config(self, _host: SimHost, request: Request) -> tuple[int, bytes]:
        self.fetches.append(request)
        return 200, json.dumps(CONFIG).encode()

    def take_report(self, host: SimHost, request: Request) -> tuple[int, bytes]:
        self.reports.append(request)
        self.sentinels.append(SENTINEL_PATH in host.disk.names)
        found = self.left.pop(0) if len(self.left) > 1 else self.left[0]
        if isinstance(found, int):
            return found, b""
        raise found


def machine(plane: Plane, *, report: str = REPORT, stops_at: int | None = None) -> SimHost:
    stub = render_boot_document(BootDocument(ENDPOINT, CA, TOKEN, 60, report))
    files = {**AKS_IMAGE, STUB_PATH: stub, "/etc/hostname": b"node-7.example\nx\n"}
    host = make_sim_host(make_disk(files), stops_at=stops_at)
    host.servers[ENDPOINT] = plane.serve_config
    host.servers[REPORT] = plane.take_report
    return host


def boot_and_report(host: SimHost) -> int:
    boot = make_boot(host)
    code = run_boot(boot, BOOT_STAGES, "202611.16.0")
    report_back(boot.run)
    return code


def log_of(host: SimHost) -> list[dict[str, str]]:
    return [json.loads(line) for line in host.said.decode().splitlines()]


def test_the_whole_report_of_the_run_arrives_with_the_name_of_the_machine() -> None:
    plane = Plane()
    host = machine(plane)

    assert boot_and_report(host) == 0

    (sent,) = plane.reports
    assert (sent.machine, sent.token, sent.ca) == ("node-7.example", TOKEN, CA)
    assert plane.fetches[0].machine == "node-7.example"
    assert plane.fetches[0].body is None
    found = parse_report(sent.body or b"")
    (recorded,) = parse_record(host.read_file(RECORD_PATH))
    assert (found.run_id, found.exit_code) == ("run-1", 0)
    assert [stage.name for stage in found.stages] == [stage.name for stage in recorded.stages]
    assert found.facts == recorded.facts
    assert found.took_ms == recorded.took_ms
    assert plane.sentinels == [True]
    assert log_of(host)[-1]["msg"] == "boot report sent"


def test_sending_is_no_part_of_the_report() -> None:
    host = machine(Plane(500, 204))

    boot_and_report(host)

    (recorded,) = parse_record(host.read_file(RECORD_PATH))
    assert "report" not in " ".join(stage.name for stage in recorded.stages)
    assert b"send-report" not in host.read_file(RECORD_PATH)


@pytest.mark.parametrize(
    "trouble", [500, 503, 511, ConnectionRefusedError(111, "refused"), TimeoutError("slow")]
)
def test_trouble_that_may_pass_is_tried_again_after_the_verdict(trouble: Answer) -> None:
    plane = Plane(trouble, trouble, 204)
    host = machine(plane)

    assert boot_and_report(host) == 0

    assert len(plane.reports) == 3
    assert plane.sentinels == [True, True, True]
    assert b"boot report not sent, trying again" in host.said
    assert "(tries: 3)" in log_of(host)[-1]["how"]


@pytest.mark.parametrize("status", [301, 400, 401, 403, 404, 413, 429])
def test_a_refusal_is_final_and_changes_nothing(status: int) -> None:
    plane = Plane(status, 204)
    host = machine(plane)

    assert boot_and_report(host) == 0

    assert len(plane.reports) == 1
    assert json.loads(host.read_file(STATUS_PATH))["ExitCode"] == "0"
    assert log_of(host)[-1]["cause"].startswith(
        f"the boot report did not get to https://api.example.test/v1/boot-report: status {status}"
    )
    assert b"hidden" not in host.said


def test_nobody_there_ends_after_two_minutes() -> None:
    plane = Plane(ConnectionRefusedError(111, "refused"))
    host = machine(plane)
    boot = make_boot(host)
    code = run_boot(boot, BOOT_STAGES, "202611.16.0")
    start_ns = host.monotonic_ns()

    report_back(boot.run)

    assert code == 0
    assert 90e9 < host.monotonic_ns() - start_ns < 121e9
    assert re.search(r"in 120.0 s \(tries: \d+\): .*refused", log_of(host)[-1]["cause"])


def test_whoever_cannot_prove_itself_gets_no_second_try() -> None:
    unproven = OSError("certificate verify failed")
    unproven.verify_code = 20  # type: ignore[attr-defined]
    plane = Plane(unproven)
    host = machine(plane)

    assert boot_and_report(host) == 0

    assert len(plane.reports) == 1
    assert "did not prove itself" in log_of(host)[-1]["cause"]


def test_a_ca_that_is_none_or_a_defect_is_a_log_line() -> None:
    for failure in (InputError("holds no usable certificate", field="ca"), RuntimeError("odd")):
        host = machine(Plane(failure))
        assert boot_and_report(host) == 0
        assert log_of(host)[-1]["msg"] == "boot report not sent"


def test_a_boot_that_failed_tells_why() -> None:
    plane = Plane()
    host = machine(plane)
    host.servers[ENDPOINT] = lambda *_: (404, b"")

    assert boot_and_report(host) == 1

    found = parse_report(plane.reports[0].body or b"")
    assert found.exit_code == 1
    assert "status 404" in found.stages[-1].cause


def test_a_boot_without_a_report_address_sends_nothing() -> None:
    plane = Plane()
    host = machine(plane, report="")

    assert boot_and_report(host) == 0

    assert plane.reports == []
    assert b"boot report" not in host.said


def test_a_boot_without_a_boot_document_looks_once_and_says_nothing() -> None:
    host = make_sim_host(make_disk({}))
    run = make_boot(host).run
    before = host.operations

    report_back(run)

    assert host.operations == before + 1
    assert host.said == b""


def test_a_second_boot_with_its_config_on_disk_reports_too_and_hides_the_token() -> None:
    plane = Plane(204, OSError(5, f"odd: Bearer {TOKEN}"), 204)
    host = machine(plane)
    boot_and_report(host)

    assert boot_and_report(host) == 0

    assert len(plane.reports) == 3
    assert len(plane.fetches) == 1
    written = b"".join(
        inode.content
        for path in host.disk.names
        if path != STUB_PATH and (inode := host.disk.find(path)) is not None
    )
    assert b"odd: Bearer [secret]" in written
    assert TOKEN.encode() not in written + host.said + host.console


def test_a_report_carries_no_secret_and_stays_below_what_is_taken() -> None:
    plane = Plane()
    host = machine(plane)
    boot = make_boot(host)
    code = run_boot(boot, BOOT_STAGES, "202611.16.0")
    boot.run.record.report.facts["odd"] = f"join with {SECRET}"
    report_back(boot.run)
    boot.run.record.report.facts["large"] = "x" * 70_000
    report_back(boot.run)

    whole, cut = [request.body or b"" for request in plane.reports]
    assert code == 0
    assert parse_report(whole).facts["odd"] == "join with [secret]"
    assert SECRET.encode() not in whole + cut
    assert len(cut) <= 3000
    assert parse_report(cut).run_id == "run-1"
    assert json.loads(cut)["shortened"] is True


def test_a_conclusion_is_reported_by_whoever_left_it() -> None:
    plane = Plane()
    host = machine(plane)
    run = make_boot(host).run

    assert conclude(run, "202611.16.0") == 1
    report_back(run)

    found = parse_report(plane.reports[0].body or b"")
    assert (found.exit_code, [stage.name for stage in found.stages]) == (1, ["conclude"])


def test_a_kill_at_any_operation_of_sending_leaves_a_run_that_ended() -> None:
    whole = machine(Plane(500, 204))
    boot = make_boot(whole)
    run_boot(boot, BOOT_STAGES, "202611.16.0")
    ended_at = whole.operations
    report_back(boot.run)
    assert whole.operations > ended_at + 3

    for stops_at in range(ended_at + 1, whole.operations + 1):
        host = machine(Plane(500, 204), stops_at=stops_at)
        with pytest.raises(HostStoppedError):
            boot_and_report(host)
        host.cut_power(seed=stops_at)

        after = SimHost(host.disk)
        assert json.loads(after.read_file(STATUS_PATH))["ExitCode"] == "0"
        assert after.file_mode(SENTINEL_PATH) is not None
        assert parse_record(after.read_file(RECORD_PATH))[-1].exit_code == 0


@pytest.mark.parametrize(
    ("files", "name"),
    [
        ({"/etc/hostname": b"node-1\n"}, "node-1"),
        ({"/etc/hostname": b"  Node.One.example  \nother\n"}, "Node.One.example"),
        ({"/etc/hostname": b"\n", "/proc/sys/kernel/hostname": b"from-dhcp\n"}, "from-dhcp"),
        ({"/proc/sys/kernel/hostname": b"from-dhcp\n"}, "from-dhcp"),
        ({"/etc/hostname": b"a\rX-Evil: b\n"}, ""),
        ({"/etc/hostname": b"a b\n"}, ""),
        ({"/etc/hostname": b"caf\xc3\xa9\n"}, ""),
        ({"/etc/hostname": b"a_b\n"}, ""),
        ({"/etc/hostname": b"a" * 253}, "a" * 253),
        ({"/etc/hostname": b"a" * 254}, ""),
        ({"/etc/hostname/x": b"a directory"}, ""),
        ({}, ""),
    ],
)
def test_a_name_that_no_header_can_carry_is_not_sent(files: dict[str, bytes], name: str) -> None:
    assert find_machine_name(SimHost(make_disk(files))) == name
