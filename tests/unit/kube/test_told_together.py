"""What changed at once and is told by several watches is one status, written once."""

from collections.abc import Callable, Iterator

import pytest

from fairlead.kube.operator import TOGETHER_S
from fairlead.kube.queue import WorkQueue
from fairlead.kube.resource import MACHINE_DEPLOYMENTS, MACHINE_SETS, MACHINES
from unit.kube.one_operator import POOL, OneOperator, one_operator

READY = {
    "phase": "Running",
    "nodeRef": {"name": "workers-0"},
    "conditions": [
        {"type": "NodeReady", "status": "True", "lastTransitionTime": "2026-11-18T01:30:00Z"}
    ],
}


class FirstMachine:
    """A pool that was just declared, and what Cluster API tells of its first machine."""

    def __init__(self, one: OneOperator) -> None:
        self.one = one
        self._seconds = 0.0
        self.queue = one.operator.queue = WorkQueue(lambda: self._seconds, TOGETHER_S)
        one.declare(replicas=1)
        one.passes(3)
        found = one.server.get(MACHINE_DEPLOYMENTS, "workers")
        assert found is not None
        self._deployment, self._told = found, found["spec"]["template"]
        self.told_of: dict[str, Callable[[], None]] = {
            "set": self._put_set,
            "deployment": self._put_deployment,
            "machine": self._put_machine,
        }
        self.work_after(60)

    def tell(self, what: str) -> None:
        """Let a watch bring one of them."""
        self.told_of[what]()
        self.one.operator.world.copies.look()

    def work_after(self, seconds: float) -> list[str]:
        """Make the passes that are due after this long; return what was written."""
        before = len(self.one.server.writes)
        self._seconds += seconds
        while self.queue.depth:
            pool = self.queue.take()
            assert pool == POOL
            self.one.operator.make_pass(pool)
            self.queue.done(pool)
        return [path.rpartition("/a/")[2] for _, path in self.one.server.writes[before:]]

    def _put_set(self) -> None:
        labels, status = self._told["metadata"]["labels"], {"replicas": 1}
        spec = {"replicas": 1, "clusterName": "c", "template": self._told}
        self.one.server.put(
            MACHINE_SETS, "workers-s", metadata={"labels": labels}, spec=spec, status=status
        )

    def _put_deployment(self) -> None:
        metadata, spec = self._deployment["metadata"], self._deployment["spec"]
        status = {"observedGeneration": metadata["generation"], "replicas": 1}
        self.one.server.put(
            MACHINE_DEPLOYMENTS, "workers", metadata=metadata, spec=spec, status=status
        )

    def _put_machine(self) -> None:
        labels, spec = self._told["metadata"]["labels"], self._told["spec"]
        self.one.server.put(
            MACHINES, "workers-0", metadata={"labels": labels}, spec=spec, status=READY
        )


@pytest.fixture
def first() -> Iterator[FirstMachine]:
    with one_operator() as one:
        yield FirstMachine(one)


@pytest.mark.parametrize("order", ["set deployment machine", "machine set deployment"])
def test_a_first_machine_is_one_status_in_whatever_order_it_is_told(
    first: FirstMachine, order: str
) -> None:
    written = []
    for what in order.split():
        first.tell(what)
        written += first.work_after(0.03)
    written += first.work_after(1)

    assert written == ["nodepools/workers/status"]
    assert first.one.status()["state"] == "Settled"
    assert first.work_after(60) == []


def test_a_machine_that_is_told_long_before_its_deployment_is_a_status_of_its_own(
    first: FirstMachine,
) -> None:
    first.tell("set")
    first.tell("machine")
    assert first.work_after(1) == ["nodepools/workers/status"]
    assert first.one.status()["state"] == "RollingOut"

    first.tell("deployment")
    assert first.work_after(1) == ["nodepools/workers/status"]
    assert first.one.status()["state"] == "Settled"
