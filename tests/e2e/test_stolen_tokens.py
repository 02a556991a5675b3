"""What a thief can do with what lies on the disk of one machine, against a real control plane."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from e2e.running_plane import RunningPlane
from fairlead.agent.https_fetch import Request, fetch
from fairlead.contract.boot_document import BootDocument, parse_boot_document

REPORT = json.dumps(
    {"run": "1", "agent": "a", "layout": "fairlead", "started": "2026-07-01", "exit": 0}
).encode()


@pytest.fixture
def plane(tmp_path: Path) -> Iterator[RunningPlane]:
    with RunningPlane(tmp_path / "state") as running:
        running.settled()
        yield running


def stolen(plane: RunningPlane, machine: str) -> BootDocument:
    disk = plane.directory.machines / machine / "root"
    return parse_boot_document((disk / "etc/fairlead/boot-document.json").read_bytes())


def fetch_as(found: BootDocument, machine: str) -> tuple[int, bytes]:
    return fetch(Request(found.endpoint, found.ca, found.token, machine), 10.0)


def report_as(found: BootDocument, machine: str) -> int:
    return fetch(Request(found.report, found.ca, found.token, machine, REPORT), 10.0)[0]


def waiting(plane: RunningPlane) -> dict[str, dict[str, Any]]:
    found = plane.ask("/v1/machines?pool=workers")["machines"]
    return {machine["name"]: machine for machine in found if machine["phase"] == "booting"}


def test_a_token_from_a_disk_makes_no_machine_ready_that_never_had_power(
    plane: RunningPlane,
) -> None:
    found = stolen(plane, min(plane.machine_names()))
    faults = {"faults": ["never-join", "never-join", "never-join"]}
    plane.client.request("POST", "/v1/pools/workers/faults", faults)
    plane.client.request("PATCH", "/v1/pools/workers", {"spec": {"replicas": 6}})
    plane.until(lambda: len(waiting(plane)) == 3)

    answers = [(fetch_as(found, name)[0], report_as(found, name)) for name in waiting(plane)]

    time.sleep(0.5)  # ten looks of the driver
    assert answers == [(403, 403), (403, 403), (403, 403)]
    assert {machine["booted"] for machine in waiting(plane).values()} == {""}
    assert len(waiting(plane)) == 3


def test_a_token_from_a_disk_is_given_no_bootstrap_token(plane: RunningPlane) -> None:
    name, other = sorted(plane.machine_names())[:2]
    found = stolen(plane, name)

    answers = [fetch_as(found, name), fetch_as(found, other)]

    assert [status for status, _ in answers] == [410, 403]
    assert not any(b"tls_bootstrapping_token" in body for _, body in answers)
    assert report_as(found, name) == 410


def test_no_two_machines_are_given_one_token_of_either_kind(plane: RunningPlane) -> None:
    names = plane.machine_names()
    given = {stolen(plane, name).token for name in names}
    joins = {
        json.loads(
            (plane.directory.machines / name / "root/etc/fairlead/node-config.json").read_text()
        )["bootstrapping_config"]["tls_bootstrapping_token"]
        for name in names
    }

    assert (len(given), len(joins)) == (3, 3)
    assert not (plane.directory.path / "bootstrap-token").exists()
