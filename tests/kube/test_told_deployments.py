"""What owners say of limits and repair, as Cluster API is told it, and what it does."""

import time
from typing import Any

import pytest

from fairlead.kube.answer import Object
from fairlead.kube.resource import MACHINE_DEPLOYMENTS, MACHINE_HEALTH_CHECKS, MACHINES
from kube.fleet import NAMESPACE, Fleet, wait_until

pytestmark = pytest.mark.slow


def machine_specs(fleet: Fleet, name: str) -> list[Object]:
    found, _ = fleet.admin.list_all(MACHINES, NAMESPACE, f"fairlead.dev/pool={name}")
    return [dict(one["spec"]) for one in found]


def limits_of(spec: Any) -> tuple[object, object, object]:
    deletion = spec.get("deletion") or {}
    return (
        deletion.get("nodeDrainTimeoutSeconds"),
        deletion.get("nodeVolumeDetachTimeoutSeconds"),
        spec.get("minReadySeconds"),
    )


def test_limits_reach_machines_that_run_and_none_is_replaced(fleet: Fleet) -> None:
    fleet.declare("limits")
    fleet.settle("limits")
    before = fleet.machines("limits")
    assert [limits_of(one)[:2] for one in machine_specs(fleet, "limits")] == [(None, None)] * 2

    timeouts = {"drain": "10m", "detach": "5m"}
    fleet.declare("limits", timeouts=timeouts, rollout={"soak": "2s"})
    told = (600, 300, 2)
    wait_until(
        lambda: [limits_of(one) for one in machine_specs(fleet, "limits")] == [told, told],
        lambda: machine_specs(fleet, "limits"),
    )
    assert limits_of(fleet.deployment("limits")["spec"]["template"]["spec"]) == told
    fleet.settle("limits")
    assert fleet.machines("limits") == before

    begun = time.monotonic()
    fleet.declare("limits", timeouts=timeouts, rollout={"soak": "2s"}, imageBase="202607.02")
    wait_until(lambda: fleet.state("limits") == "RollingOut")
    fleet.settle("limits")
    # Two machines, one after the other, and each must hold for two seconds.
    assert time.monotonic() - begun >= 4


def test_a_health_check_is_there_for_as_long_as_its_owner_wants_repairs(fleet: Fleet) -> None:
    fleet.declare("repaired", autoRepair=True, maxUnhealthy="40%", timeouts={"ready": "5m"})
    fleet.settle("repaired")

    check = fleet.admin.find(MACHINE_HEALTH_CHECKS, "repaired", NAMESPACE)
    assert check is not None
    assert check["spec"]["selector"] == {"matchLabels": {"fairlead.dev/pool": "repaired"}}
    assert check["spec"]["checks"] == {
        "nodeStartupTimeoutSeconds": 1200,
        "unhealthyNodeConditions": [
            {"type": "Ready", "status": "False", "timeoutSeconds": 300},
            {"type": "Ready", "status": "Unknown", "timeoutSeconds": 300},
        ],
    }
    assert check["spec"]["remediation"] == {"triggerIf": {"unhealthyLessThanOrEqualTo": "40%"}}

    def observed() -> int:
        found = fleet.admin.find(MACHINE_HEALTH_CHECKS, "repaired", NAMESPACE) or {}
        return int((found.get("status") or {}).get("currentHealthy", 0))

    wait_until(lambda: observed() == 2)

    fleet.declare("repaired", autoRepair=False)
    wait_until(lambda: fleet.admin.find(MACHINE_HEALTH_CHECKS, "repaired", NAMESPACE) is None)
    found = fleet.admin.find(MACHINE_DEPLOYMENTS, "repaired", NAMESPACE)
    assert found is not None
    assert found["metadata"]["generation"] == 1


def test_a_pool_that_waits_for_deletions_replaces_what_its_owner_deletes(fleet: Fleet) -> None:
    management = {"strategy": "OnDelete"}
    fleet.declare("deleted", management=management)
    fleet.settle("deleted")
    first = fleet.machines("deleted")

    fleet.declare("deleted", management=management, release={"version": "1.34.3"})
    wait_until(lambda: fleet.state("deleted") == "RollingOut")
    for gone in first:
        left = set(fleet.machines("deleted"))
        fleet.admin.delete(MACHINES, gone, NAMESPACE)
        wait_until(
            lambda left=left, gone=gone: is_replaced(fleet, left, gone),  # type: ignore[misc]
            lambda: (fleet.machines("deleted"), fleet.pool("deleted")["status"]["sentence"]),
        )

    fleet.settle("deleted")
    assert fleet.pool("deleted")["status"]["version"] == "1.34.3"


def is_replaced(fleet: Fleet, before: set[str], gone: str) -> bool:
    """Say whether another machine is there for this one, and all the others still are."""
    there = set(fleet.machines("deleted"))
    return gone not in there and before - {gone} < there and len(there) == len(before)
