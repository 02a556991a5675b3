"""A certificate authority is replaced before its time, under machines that boot."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from e2e.running_plane import RunningPlane

pytestmark = pytest.mark.slow


@pytest.fixture
def plane(tmp_path: Path) -> Iterator[RunningPlane]:
    with RunningPlane(tmp_path / "state") as plane:
        plane.settled("workers")
        yield plane


def authorities(plane: RunningPlane) -> dict[str, Any]:
    return plane.ask("/v1/certificates")


def test_machines_boot_before_during_and_after_a_rotation_and_none_is_replaced(
    plane: RunningPlane,
) -> None:
    first = plane.machine_names()
    before = authorities(plane)

    said = json.loads(plane.run("certificates", "rotate", "--now", "--json"))
    assert said["next"] is not None
    plane.run("pool", "scale", "workers", "4")
    assert plane.settled("workers")["total"] == 4
    during = plane.machine_names() - first

    plane.until(lambda: authorities(plane)["next"] is None, deadline_s=120)
    after = authorities(plane)
    assert after["authority"] == said["next"]
    assert after["authority"] != before["authority"]
    plane.run("pool", "scale", "workers", "5")
    assert plane.settled("workers")["total"] == 5

    names = plane.machine_names()
    assert first | during < names, "nobody was replaced"
    events = plane.ask("/v1/events")["events"]
    assert [event["kind"] for event in events].count("AuthorityRotationAsked") == 1
    (asked,) = (event for event in events if event["kind"] == "AuthorityRotationAsked")
    assert asked["actor"] != ""


def test_a_rotation_goes_on_after_a_kill(plane: RunningPlane) -> None:
    plane.run("certificates", "rotate", "--now")
    plane.kill()
    plane.start()

    plane.until(lambda: authorities(plane)["next"] is None, deadline_s=120)
    plane.run("pool", "scale", "workers", "4")
    assert plane.settled("workers")["total"] == 4
