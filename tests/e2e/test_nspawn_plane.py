"""The same control plane over containers: real systemd and cloud-init, the same rules."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from boot.node import missing_tools
from boot.node_image import node_image
from e2e.running_plane import RunningPlane

pytestmark = [pytest.mark.root, pytest.mark.slow]

# Real boots take seconds each, and ten times that beside other work.
DEADLINE_S = 240.0


@pytest.fixture
def plane(tmp_path: Path) -> Iterator[RunningPlane]:
    if missing := missing_tools("mmdebstrap"):
        pytest.skip(f"NOT RUN: {', '.join(missing)} missing")
    layers = [word for layer in node_image("bookworm") for word in ("--image", str(layer))]
    with RunningPlane(tmp_path / "state", "--machines", "nspawn", *layers) as running:
        yield running


def test_containers_boot_report_roll_and_go(plane: RunningPlane) -> None:
    plane.settled(deadline_s=DEADLINE_S)
    before = plane.machine_names()

    drawn = plane.run("timeline", min(before))

    assert "cloud-init" in drawn
    assert "fetch-config" in drawn
    spec = {"release": {"version": "1.34.9"}, "replicas": 2}
    plane.client.request("PATCH", "/v1/pools/workers", {"spec": spec})
    plane.until(lambda: plane.settled(deadline_s=DEADLINE_S)["version"] == "1.34.9", DEADLINE_S)
    assert plane.machine_names().isdisjoint(before)
    assert {path.name for path in plane.directory.machines.iterdir()} == plane.machine_names()


def test_containers_run_on_while_no_control_plane_does(plane: RunningPlane) -> None:
    plane.settled(deadline_s=DEADLINE_S)
    before = plane.machine_names()
    plane.kill()
    plane.start()

    plane.settled(deadline_s=DEADLINE_S)

    assert plane.machine_names() == before
    phases = {machine["phase"] for machine in plane.ask("/v1/machines")["machines"]}
    assert phases == {"ready"}


def test_containers_are_not_taken_for_directories(plane: RunningPlane) -> None:
    plane.settled(deadline_s=DEADLINE_S)
    plane.kill()

    plane.run("up", "--no-view", ok=(2,))
