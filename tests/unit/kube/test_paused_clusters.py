"""A Cluster that somebody paused is the reason that is told for what does not happen."""

from typing import Any

from fairlead.kube.front.plane import SeenEdge
from fairlead.kube.front.scope import Scope
from fairlead.kube.front.seen import SeenCluster
from fairlead.kube.resource import MACHINE_DEPLOYMENTS
from unit.kube.one_operator import OneOperator, one_operator

SAYS = (
    "Cluster API makes, replaces and removes no machine of the pool: "
    "Cluster spec.paused is set to true"
)


def pause(one: OneOperator, status: str, says: str = "") -> None:
    """Let the MachineDeployment say whether it is paused, as Cluster API does."""
    found: dict[str, Any] = one.server.get(MACHINE_DEPLOYMENTS, "workers") or {}
    condition = {"type": "Paused", "status": status, "message": says}
    one.server.put(
        MACHINE_DEPLOYMENTS, "workers", **{**found, "status": {"conditions": [condition]}}
    )


def test_a_paused_cluster_is_told_until_it_goes_on() -> None:
    with one_operator() as one:
        one.declare()
        one.passes(3)
        pause(one, "False")
        assert one.passes() == []

        pause(one, "True", "Cluster spec.paused is set to true")
        one.passes()

        told = one.condition("ClusterAPIActive")
        assert (told["status"], told["reason"], told["message"]) == ("False", "Paused", SAYS)
        assert told["observedGeneration"] == 1
        edge = SeenEdge(SeenCluster(one.client, Scope(namespace="a", home="home"), lambda: one.now))
        assert [wait.says for wait in edge.waits_beside("workers")] == [SAYS]
        assert one.passes() == []

        pause(one, "False")
        one.passes()
        assert "ClusterAPIActive" not in {one["type"] for one in one.status()["conditions"]}
