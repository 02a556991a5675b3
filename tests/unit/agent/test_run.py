"""What a run says: to the log, the guest agent, the record and the console."""

import json

import pytest

from builders import EVENTS_PATH, make_disk, make_run
from fairlead.agent.report.record import parse_record
from fairlead.agent.report.redact import RedactedLines, Redactor
from fairlead.contract.boot_report import (
    LARGEST_REPORT_BYTES,
    BootReport,
    StageReport,
    compact_fields,
    parse_report,
)
from fairlead.contract.json_text import encode_json
from fairlead.errors import InputError
from fairlead.sim.host import SimHost

LOG_PATH = "/var/log/azure/aks-node-controller.log"


class FullDiskHost(SimHost):
    """A host on which nothing can be written any more."""

    def append_file(self, path: str, content: bytes, mode: int, *, sync: bool) -> None:
        raise OSError(28, "No space left on device", path)

    def write_file(self, path: str, content: bytes, mode: int, *, sync: bool) -> None:
        raise OSError(28, "No space left on device", path)


def test_a_secret_is_masked_wherever_a_run_speaks() -> None:
    disk = make_disk({})
    host = SimHost(disk)
    run = make_run(host)
    run.redactor.learn(["hunter2-hunter2"])

    run.log("INFO", "leak", fact="x hunter2-hunter2 y")
    run.event("Provision", "hunter2-hunter2", "Error", 0)
    run.record.begin("run-1", "202611.16.0", "aks")
    run.record.end_stage("provision", 0.0, "stopped", "hunter2-hunter2")
    run.record.note("fact", {"deep": ["hunter2-hunter2"]})

    written = [inode.content for inode in disk.names.values()] + [host.said, host.console]
    assert not [text for text in written if b"hunter2" in text]
    assert b'"fact":"x [secret] y"' in disk.read(LOG_PATH).content


def test_a_full_disk_silences_the_log_and_nothing_else() -> None:
    host = FullDiskHost(make_disk({}))
    run = make_run(host)

    run.log("INFO", "still here")
    run.event("Provision", "Starting", "Informational", 0)
    run.record.begin("run-1", "202611.16.0", "aks")
    run.record.end(0)

    assert b'"msg":"still here"' in host.said


def test_an_event_is_one_file_named_by_nanoseconds_and_readable_by_all() -> None:
    disk = make_disk({})
    run = make_run(SimHost(disk))

    run.event("ProvisionWait", "Completed", "Informational", 0)

    (path,) = [path for path in disk.names if path.startswith(EVENTS_PATH + "/")]
    event = json.loads(disk.read(path).content)
    assert disk.read(path).mode & 0o777 == 0o644
    assert path.rpartition("/")[2].removesuffix(".json").isdigit()
    assert event["Timestamp"] == "2027-01-15 08:00:00.000"
    assert event["TaskName"] == "AKS.AKSNodeController.ProvisionWait"


def test_stages_are_mirrored_to_the_console_one_line_each() -> None:
    host = SimHost(make_disk({}))
    run = make_run(host)
    run.record.begin("run-1", "202611.16.0", "aks")

    run.record.end_stage("read-features", run.record.begin_stage("read-features"), "done")
    run.record.end_stage("provision", 0.0, "stopped", "no kubelet")

    lines = host.console.decode().splitlines()
    assert lines[0] == "fairlead: read-features: done, 0 ms"
    assert lines[1] == "fairlead: provision: stopped, 0 ms: no kubelet"


def test_a_stage_that_never_ended_is_reported_as_unfinished() -> None:
    disk = make_disk({})
    run = make_run(SimHost(disk))
    run.record.begin("run-1", "202611.16.0", "aks")
    run.record.begin_stage("provision")

    (report,) = parse_record(disk.read(run.layout.record).content)

    assert [(stage.name, stage.outcome) for stage in report.stages] == [("provision", "unfinished")]
    assert report.exit_code is None


def test_a_record_that_grew_too_large_makes_room() -> None:
    disk = make_disk({"/var/log/azure/aks-node-controller-record.jsonl": b"x" * 300_000})
    run = make_run(SimHost(disk))

    run.record.begin("run-1", "202611.16.0", "aks")

    assert len(disk.read(run.layout.record).content) < 200
    assert len(disk.read(run.layout.record + ".1").content) == 300_000


def test_a_record_that_is_too_large_to_read_makes_room_too() -> None:
    disk = make_disk({"/var/log/azure/aks-node-controller-record.jsonl": b"x" * (17 << 20)})
    run = make_run(SimHost(disk))

    run.record.begin("run-1", "202611.16.0", "aks")

    assert len(disk.read(run.layout.record).content) < 200


def make_report(stages: int, cause: str) -> BootReport:
    report = BootReport("run-1", agent="202611.16.0", layout="aks", started="now")
    report.stages = [
        StageReport(f"provision/step-{number}", float(number), 1.5, "done", cause)
        for number in range(stages)
    ]
    report.facts = {"receipt": {"understood": {"count": 9}}, "large": "y" * 900}
    return report


def test_a_report_always_fits_the_clouds_status_channel() -> None:
    for stages in (0, 5, 20, 60, 500):
        for cause in ("", "short", "é" * 300, "x" * 5000):
            fields = compact_fields(make_report(stages, cause))

            assert len(encode_json(fields)) <= LARGEST_REPORT_BYTES == 3000
            assert fields["run"] == "run-1"


def test_a_report_that_fits_is_not_shortened_and_reads_back() -> None:
    report = make_report(3, "because")

    read = parse_report(encode_json(compact_fields(report)).encode())

    assert [stage.cause for stage in read.stages] == ["because"] * 3
    assert (read.run_id, read.facts["large"]) == ("run-1", "y" * 900)


@pytest.mark.parametrize(
    ("text", "field"),
    [
        ('{"run": "r", "agent": "a", "layout": "l", "started": "s", "stages": 1}', "stages"),
        ('{"run": "r", "agent": "a", "layout": "l", "started": "s", "took_ms": 1e999}', "took_ms"),
        ('{"run": "r", "agent": "a", "layout": "l", "started": "s", "exit": 1e99}', "exit"),
        ('{"run": 1}', "run"),
    ],
)
def test_a_report_that_is_none_is_refused_by_field(text: str, field: str) -> None:
    with pytest.raises(InputError) as refused:
        parse_report(text.encode())

    assert refused.value.field == field


def test_a_secret_that_arrives_in_two_reads_is_still_masked() -> None:
    redactor = Redactor()
    redactor.learn(["hunter2-hunter2"])
    written: list[str] = []
    lines = RedactedLines(redactor, written.append)

    for part in (b"a hunter2-", b"hunter2 b\nlast hunter2-", b"hunter2"):
        lines.feed(part)
    lines.close()

    assert "".join(written) == "a [secret] b\nlast [secret]\n"
