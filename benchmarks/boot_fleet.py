"""
How long a pool takes to boot at once, and what a node costs.

    make bench-fleet

Real boots (see tests/boot/fleet.py): user data from a metadata service, node configs from a
control plane over TLS, boot reports back. Two cores boot about one node per second, so what counts
is the processor time per node; the wall time shows that nothing waits for anything else.
"""

import argparse
import os
import statistics
import sys
import time
from pathlib import Path

REPOSITORY = Path(__file__).resolve().parent.parent
sys.path[:0] = [str(REPOSITORY / "tests"), str(REPOSITORY / "src")]

from boot.control_plane import CONTROL_PLANE_TOOLS  # noqa: E402 - after the path is set
from boot.fleet import FleetBoot, booted_fleet  # noqa: E402
from boot.node import missing_tools, sweep_leftovers  # noqa: E402
from boot.roots import SUITES, agent_layer  # noqa: E402
from fairlead.boots.boot import AGENT, boot_timeline_of  # noqa: E402
from fairlead.contract.boot_report import BootReport, parse_report  # noqa: E402

# trixie: 2.0 in a run of this benchmark; bookworm: 2.8 in the fleets of spec/boot.md, section 6.
# With room for a processor that others use too.
BARS_CPU_S = {"trixie": 3.0, "bookworm": 5.0}


def main() -> int:
    """Print the table; exit 1 if a node is missing or dear."""
    parser = argparse.ArgumentParser(description="Boot a fleet.")
    parser.add_argument("--nodes", type=int, default=30, help="nodes at once, default 30")
    parser.add_argument("--suite", choices=SUITES, default="trixie")
    arguments = parser.parse_args()
    missing = missing_tools(*CONTROL_PLANE_TOOLS)
    if missing:
        raise SystemExit(f"this benchmark boots real systems and needs {', '.join(missing)}")
    sweep_leftovers()
    agent_layer(arguments.suite)
    with booted_fleet(arguments.nodes, arguments.suite) as fleet:
        is_met = print_table(fleet, arguments.suite)
        began = time.monotonic()
    print(f"teardown                          {time.monotonic() - began:7.1f} s")
    print("bars met" if is_met else "MISSED")
    return 0 if is_met else 1


def print_table(fleet: FleetBoot, suite: str) -> bool:
    """Print what the fleet took; return whether all reported and none was dear."""
    reports = [parse_report(text) for texts in fleet.reports().values() for text in texts]
    provisioned = [report for report in reports if report.exit_code == 0]
    cpu_s = statistics.mean(fleet.cpu_s())
    size = len(fleet.nodes)
    print(f"{size} nodes at once on {suite}, {os.cpu_count()} processors")
    print(f"reported / provisioned            {len(reports)} / {len(provisioned)} of {size}")
    print(f"preparation                       {fleet.prepared_s:7.1f} s")
    if provisioned:
        last_s = max(provisioned_s(report, fleet.started_us) for report in provisioned)
        print(f"last node provisioned after       {last_s:7.1f} s")
        print(f"last report after                 {fleet.reported_s()[-1]:7.1f} s")
        print(f"agent start, fraction of target   {start_fraction(provisioned):7.2f}")
    bar = BARS_CPU_S[suite]
    print(f"processor time per node           {cpu_s:7.2f} s   (bar {bar:.1f})")
    return len(provisioned) == len(reports) == size and cpu_s <= bar


def provisioned_s(report: BootReport, started_us: int) -> float:
    """Return when the node was provisioned; it shares this machine's monotonic clock."""
    return (int(report.facts["clock"]["monotonic_us"]) - started_us) / 1e6 + report.took_ms / 1e3


def start_fraction(reports: list[BootReport]) -> float:
    """Return the median of the agent's start on the way to cloud-init.target."""
    fractions = []
    for timeline in map(boot_timeline_of, reports):
        (start,) = [span.start_ms for span in timeline.spans if span.path == (AGENT,)]
        (target,) = [mark.at_ms for mark in timeline.marks if mark.name == "cloud-init.target"]
        fractions.append(start / target)
    return statistics.median(fractions)


if __name__ == "__main__":
    sys.exit(main())
