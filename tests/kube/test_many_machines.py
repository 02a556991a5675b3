"""A hundred machines in ten pools through a change of version, their nodes played by KWOK."""

from pathlib import Path

import pytest

from fairlead.kube.resource import NODES
from kube.fleet import Fleet
from kube.kwok_fleet import roll_all, running_kwok_fleet

pytestmark = pytest.mark.slow

POOLS = [f"many-{number}" for number in range(10)]
REPLICAS = 10
DEADLINE_S = 600.0  # of each of the two halves; other tests run beside it


def test_a_hundred_machines_roll_within_their_budgets_and_every_step_is_told(
    tmp_path: Path,
) -> None:
    with running_kwok_fleet(tmp_path / "many") as fleet:
        rolled = roll_all(fleet, POOLS, REPLICAS, DEADLINE_S)

        versions = versions_of_nodes(fleet)
        generations = {fleet.deployment(name)["metadata"]["generation"] for name in POOLS}
    assert rolled.unsettled == []
    assert rolled.violations == []
    assert rolled.wrong == []
    assert rolled.looks > 2 * len(POOLS) * REPLICAS  # each came, and each went
    # Each pool told of its rollout on the way, and not only when it was over.
    assert {name for name, steps in rolled.steps.items() if len(steps) > 2} == set(POOLS)
    assert versions == ["v1.34.3"] * 100
    assert generations == {2}


def versions_of_nodes(fleet: Fleet) -> list[str]:
    """The kubelets' versions of nodes that KWOK made ready."""
    return [
        one["status"]["nodeInfo"]["kubeletVersion"]
        for one in fleet.admin.list_all(NODES)[0]
        for condition in one["status"]["conditions"]
        if (condition["type"], condition["status"]) == ("Ready", "True")
    ]
