"""
`fairlead up`, killed without a word at 200 random moments, with machines that really boot.

Four histories of 50 kills. Whatever the moment: no machine is lost, made twice or replaced without
cause, and whatever a template or a machine names is there.
"""

from __future__ import annotations

import copy
import random
import time
from pathlib import Path
from typing import Any

import pytest

from e2e.running_plane import RunningPlane

pytestmark = pytest.mark.slow

KILLS = 50

# Seconds after its start. A control plane answers after about half of this.
LATEST_KILL_S = 1.6

# Seconds after a change was accepted: about as long as a machine takes to come or to go.
LATEST_AFTER_CHANGE_S = 0.6

NAMED_BY_MACHINES = (
    "SELECT pool, json_extract(value, '$.revision') FROM machines WHERE gone_at IS NULL"
)
NAMED_BY_TEMPLATES = "SELECT pool, json_extract(value, '$.revision') FROM templates"


@pytest.fixture
def plane(tmp_path: Path) -> RunningPlane:
    return RunningPlane(tmp_path / "state")


def kill_often(plane: RunningPlane, chance: random.Random, times: int = KILLS) -> None:
    for _ in range(times):
        plane.start()
        time.sleep(chance.uniform(0.0, LATEST_KILL_S))
        plane.kill()
        assert_everything_named_exists(plane)


def assert_everything_named_exists(plane: RunningPlane) -> None:
    if not plane.directory.database.exists():
        return
    tables = {name for (name,) in plane.rows("SELECT name FROM sqlite_master WHERE type='table'")}
    if "machines" not in tables:
        return
    named = set(plane.rows(NAMED_BY_MACHINES)) | set(plane.rows(NAMED_BY_TEMPLATES))
    assert named <= set(plane.rows("SELECT pool, id FROM tokens"))
    assert named <= set(plane.rows("SELECT pool, id FROM user_data"))


def machine_directories(plane: RunningPlane) -> set[str]:
    return {path.name for path in plane.directory.machines.iterdir()}


def reasons(plane: RunningPlane) -> list[str]:
    gone = plane.ask("/v1/machines?pool=workers&gone=1")["machines"]
    return sorted(machine["reason"] for machine in gone if machine["gone_at"])


def change_and_kill(
    plane: RunningPlane, chance: random.Random, method: str, path: str, body: dict[str, Any]
) -> None:
    """Have one change accepted, and kill the control plane while it acts on it."""
    plane.start()
    plane.until(lambda: plane.client.request(method, path, body))
    time.sleep(chance.uniform(0.0, LATEST_AFTER_CHANGE_S))
    plane.kill()
    assert_everything_named_exists(plane)


def test_pools_that_are_made_between_kills_have_the_machines_they_want_and_no_more(
    plane: RunningPlane,
) -> None:
    chance = random.Random(1)
    kill_often(plane, chance, KILLS // 2)
    with plane:
        document = plane.settled()["document"]
        for number in range(KILLS // 2):
            plane.kill()
            another = copy.deepcopy(document)
            another["metadata"]["name"] = f"pool-{number}"
            another["spec"]["replicas"] = 1
            body = {"documents": [another], "plans": None}
            change_and_kill(plane, chance, "POST", "/v1/apply", body)

        plane.start()
        for number in range(KILLS // 2):
            assert plane.settled(f"pool-{number}")["total"] == 1
        assert plane.settled()["total"] == 3
        machines = plane.ask("/v1/machines?gone=1")["machines"]
        assert {machine["reason"] for machine in machines} == {""}
        assert machine_directories(plane) == {machine["name"] for machine in machines}
        assert len(machines) == KILLS // 2 + 3


def test_a_quiet_pool_and_one_with_a_held_change_keep_their_machines(plane: RunningPlane) -> None:
    with plane:
        plane.settled()
        before = plane.machine_names()
        plane.client.request("PATCH", "/v1/platform", {"spec": {"proxy": {"image": "other"}}})
        plane.kill()

        kill_often(plane, random.Random(2))

        plane.start()
        assert plane.settled()["state"] == "Drifted"
        assert plane.machine_names() == before
        assert machine_directories(plane) == before
        assert reasons(plane) == []


def test_a_rollout_that_is_killed_replaces_each_machine_once(plane: RunningPlane) -> None:
    with plane:
        plane.settled()
        before = plane.machine_names()
        plane.client.request(
            "PATCH", "/v1/pools/workers", {"spec": {"release": {"version": "1.34.9"}}}
        )
        plane.kill()

        kill_often(plane, random.Random(3))

        plane.start()
        pool = plane.settled()
        assert pool["version"] == "1.34.9"
        assert plane.machine_names().isdisjoint(before)
        assert machine_directories(plane) == plane.machine_names()
        assert reasons(plane) == ["the pool's owner changed release.version"] * 3


def test_fifty_versions_each_killed_on_the_way_end_with_the_last(plane: RunningPlane) -> None:
    chance = random.Random(4)
    with plane:
        plane.settled()
        for number in range(KILLS):
            plane.kill()
            replicas = chance.choice((2, 3, 4))
            spec = {"replicas": replicas, "release": {"version": f"1.35.{number}"}}
            change_and_kill(plane, chance, "PATCH", "/v1/pools/workers", {"spec": spec})

        plane.start()
        pool = plane.settled()
        assert pool["version"] == "1.35.49"
        assert len(plane.machine_names()) == replicas
        assert machine_directories(plane) == plane.machine_names()
        assert set(reasons(plane)) <= {
            "the pool's owner changed release.version",
            "the pool was scaled down",
            "its target was superseded, and the pool has machines enough",
        }
