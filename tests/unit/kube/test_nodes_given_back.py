"""A changed node is given back once its kubelet said, after the change, that it is ready."""

from collections.abc import Iterator
from datetime import UTC, datetime
from typing import Any

import pytest

from fairlead.kube.cluster_api.change_job import job_name
from fairlead.kube.cluster_api.updater import Reach, Updater
from fairlead.kube.resource import JOBS, LEASES, MACHINES, NODES
from unit.kube.object_server import ObjectServer
from unit.kube.one_operator import OneOperator, one_operator
from unit.kube.small_server import small_server

ENDED = "2026-11-18T02:00:10Z"
CHANGE = '{"to":"new","stage":"apply","since":"2026-11-18T02:00:00Z","problem":""}'
HEADING_FOR = "fairlead.dev/heading-for"


class Changed:
    """A machine whose Job is complete, and the cluster that its node is in."""

    def __init__(self, one: OneOperator, workload: ObjectServer) -> None:
        self.one, self.workload = one, workload
        self.said: list[str] = []
        world = one.operator.world
        self._copies = world.copies
        one.machine(
            "first",
            **{HEADING_FOR: "new", "fairlead.dev/revision": "", "fairlead.dev/change": CHANGE},
        )
        found = one.server.get(MACHINES, "first")
        assert found is not None
        complete = {"type": "Complete", "status": "True", "lastTransitionTime": ENDED}
        workload.put(
            JOBS,
            job_name(found["metadata"]["uid"], "new"),
            metadata={"namespace": "kube-system"},
            status={"conditions": [complete], "completionTime": ENDED},
        )
        reach = Reach(world.copies, world.workloads, world.secrets)
        self._updater = Updater(reach, "image:1", self.said.append, lambda: one.now)

    def node(self, heartbeat: str, status: str = "True") -> None:
        """What the kubelet said last."""
        ready = {"type": "Ready", "status": status, "lastHeartbeatTime": heartbeat}
        self.workload.put(
            NODES,
            "first",
            metadata={"annotations": {"fairlead.dev/cordoned-for": "new"}},
            spec={"unschedulable": True},
            status={"conditions": [ready]},
        )

    def lease(self, renewed: str) -> None:
        """When the kubelet renewed its lease last."""
        metadata = {"namespace": "kube-node-lease"}
        self.workload.put(LEASES, "first", metadata=metadata, spec={"renewTime": renewed})

    def is_given_back(self) -> bool:
        """Let the updater look; say whether it gave the node back and said so."""
        self._copies.look()
        self._updater.tick()
        node, machine = self.workload.get(NODES, "first"), self.one.server.get(MACHINES, "first")
        assert node is not None
        assert machine is not None
        is_open = not node["spec"]["unschedulable"]
        assert is_open == (HEADING_FOR not in machine["metadata"]["annotations"])
        return is_open

    def told(self) -> str:
        """What is told at the machine."""
        found: Any = self.one.server.get(MACHINES, "first")
        return str(found["metadata"]["annotations"]["fairlead.dev/change"])


@pytest.fixture
def changed() -> Iterator[Changed]:
    workload = ObjectServer()
    with one_operator() as one, small_server(workload) as address:
        one.join(address)
        yield Changed(one, workload)
        one.operator.world.workloads.close()


def test_what_a_kubelet_said_before_its_change_ended_gives_no_node_back(changed: Changed) -> None:
    for heartbeat in ("2026-11-18T02:00:05Z", ENDED):
        changed.node(heartbeat)
        assert not changed.is_given_back()


def test_a_kubelet_that_says_afterwards_that_it_is_ready_has_its_node_back(
    changed: Changed,
) -> None:
    changed.node("2026-11-18T02:00:11Z")

    assert changed.is_given_back()


def test_a_kubelet_that_says_afterwards_that_it_is_not_ready_has_it_not(changed: Changed) -> None:
    changed.node("2026-11-18T02:00:11Z", status="False")
    changed.lease("2026-11-18T02:10:00.000000Z")

    assert not changed.is_given_back()


def test_a_kubelet_that_had_nothing_new_to_say_is_known_by_its_lease(changed: Changed) -> None:
    changed.node("2026-11-18T02:00:05Z")
    for renewed in ("2026-11-18T02:00:09.000000Z", "2026-11-18T02:00:29.000000Z"):
        changed.lease(renewed)
        assert not changed.is_given_back()

    changed.lease("2026-11-18T02:00:31.000000Z")

    assert changed.is_given_back()


def test_who_may_not_read_leases_waits_for_the_kubelet_itself(changed: Changed) -> None:
    changed.node("2026-11-18T02:00:05Z")
    changed.lease("2026-11-18T02:10:00.000000Z")
    changed.workload.reply = lambda _method, path, _headers: (
        403 if "leases" in path else 200,
        {},
        False,
    )
    assert not changed.is_given_back()
    assert changed.told() == CHANGE, "nothing is wrong yet"

    changed.node("2026-11-18T02:05:00Z")

    assert changed.is_given_back()


def test_a_kubelet_that_its_change_killed_is_told_after_a_minute(changed: Changed) -> None:
    changed.node("2026-11-18T02:00:05Z")
    changed.one.now = datetime(2026, 11, 18, 2, 1, 9, tzinfo=UTC)
    assert not changed.is_given_back()
    assert "kubelet" not in changed.told()

    changed.one.now = datetime(2026, 11, 18, 2, 1, 10, tzinfo=UTC)

    assert not changed.is_given_back()
    assert "its kubelet has not been ready since its change ended" in changed.told()
