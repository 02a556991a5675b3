"""A whole pool at once: every node is provisioned exactly once and says so."""

import os
import statistics

import pytest

from boot.control_plane import CONTROL_PLANE_TOOLS
from boot.fleet import INOTIFY_LIMIT, booted_fleet
from boot.node import PREFIX, SCRATCH, missing_tools
from fairlead.boots.boot import PID_1, boot_timeline_of
from fairlead.contract.boot_report import parse_report

pytestmark = [pytest.mark.root, pytest.mark.slow]

SIZE = int(os.environ.get("FAIRLEAD_FLEET_SIZE", "30"))
SUITE = "trixie"


def test_every_node_of_a_fleet_is_provisioned_exactly_once_and_reports_it(
    capsys: pytest.CaptureFixture[str],
) -> None:
    missing = missing_tools(*CONTROL_PLANE_TOOLS)
    if missing:
        pytest.skip(f"NOT RUN: needs {', '.join(missing)}")
    inotify_before = INOTIFY_LIMIT.read_text()

    with booted_fleet(SIZE, SUITE) as fleet:
        names = [node.name for node in fleet.nodes]
        once = dict.fromkeys(names, 1)
        reports = fleet.reports()
        told = {name: [parse_report(text) for text in texts] for name, texts in reports.items()}

        assert len(names) == SIZE
        assert fleet.runs() == once
        assert fleet.requests("GET /v1/node-config") == once
        assert {name: len(texts) for name, texts in reports.items()} == once
        assert {name: run.exit_code for name, (run,) in told.items()} == dict.fromkeys(names, 0)
        assert len({run.run_id for (run,) in told.values()}) == SIZE
        timelines = [boot_timeline_of(run) for (run,) in told.values()]
        assert {timeline.zero for timeline in timelines} == {PID_1}
        reached = [{mark.name for mark in timeline.marks} for timeline in timelines]
        assert [marks for marks in reached if "cloud-init.target" not in marks] == []
        shown = (
            f"\n{SIZE} of {SIZE} provisioned once and reported: "
            f"wall {fleet.reported_s()[-1]:.1f} s, "
            f"CPU {statistics.mean(fleet.cpu_s()):.2f} s per node\n"
        )
        with capsys.disabled():
            os.write(1, shown.encode())

    assert INOTIFY_LIMIT.read_text() == inotify_before
    assert list(SCRATCH.glob(f"{PREFIX}-{os.getpid()}-*")) == []
