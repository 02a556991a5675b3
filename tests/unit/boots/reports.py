"""Boot reports with the landmarks of real boots; a test changes the one thing it is about."""

import copy
from pathlib import Path
from typing import Any

from fairlead.boots.boot import BootTimeline, boot_timeline_of, parse_boots
from fairlead.contract.json_text import encode_json
from shared_cases import REPOSITORY

EXAMPLES = REPOSITORY / "examples" / "boots"

# A boothook on cloud-init 22.4: the agent begins 800 ms after PID 1.
BOOKWORM: dict[str, Any] = {
    "format": 1,
    "run": "49367305a828b5f7",
    "agent": "202611.16.0",
    "layout": "fairlead",
    "started": "2026-11-16T05:25:56.592Z",
    "took_ms": 1100.0,
    "exit": 0,
    "stages": [
        ["read-features", 0.5, 0.1, "skipped", "no feature file"],
        ["provision/start-kubelet", 300.0, 250.0, "done", ""],
        ["provision/wait-for-node", 550.0, 450.0, "done", ""],
        ["provision", 1.0, 1000.0, "done", ""],
    ],
    "facts": {
        "clock": {"monotonic_us": 3_000_800_000, "boot": "be93cf4a65a8428a"},
        "boot": {
            "pid1_us": 3_000_000_000,
            "systemd": {
                "generators": [22.0, 98.0],
                "load-units": [98.0, 148.0],
                "startup": [0.0, 2500.0],
            },
            "units": {
                "cloud-init-local": [200.0, 649.0],
                "cloud-init": [660.0, 1203.0],
                "cloud-config": [1210.0, 1811.0],
                "cloud-final": [1820.0, 2472.0],
                "fairlead-node": [780.0, 1910.0],
                "kubelet": [1150.0, 1150.0],
                "network-online.target": [1204.0, 1204.0],
                "cloud-init.target": [2472.5, 2472.5],
            },
            "cloud-init": {"init-local": [480.0, 600.0]},
        },
    },
}


def make_fields() -> dict[str, Any]:
    """The fields of a report that a test may change."""
    return copy.deepcopy(BOOKWORM)


def make_trixie() -> dict[str, Any]:
    """The same node on cloud-init 25.1, where one process runs every stage."""
    fields = make_fields()
    fields["run"] = "98ab0b70c7c68729"
    fields["facts"]["boot"]["units"] = {
        "cloud-init-main": [190.0, 540.0],
        "cloud-init-local": [547.0, 872.0],
        "cloud-init-network": [880.0, 1059.0],
        "cloud-config": [1070.0, 1206.0],
        "cloud-final": [1210.0, 1280.0],
        "network-online.target": [1060.0, 1060.0],
        "cloud-init.target": [1281.0, 1281.0],
    }
    return fields


def timeline_of(fields: dict[str, Any]) -> BootTimeline:
    (report,) = parse_boots(encode_json(fields).encode())
    return boot_timeline_of(report)


def example(suite: str) -> Path:
    return EXAMPLES / f"{suite}.json"
