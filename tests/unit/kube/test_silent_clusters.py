"""A cluster that does not answer is told in the pool's status, left alone, and holds nothing up."""

from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from fairlead.errors import UnavailableError
from fairlead.kube.cluster_api.workload import UnreachedError, Workloads
from fairlead.kube.front.plane import SeenEdge
from fairlead.kube.front.scope import Scope
from fairlead.kube.front.seen import SeenCluster
from fairlead.kube.queue import WorkQueue
from fairlead.kube.resource import MACHINES, NODES
from unit.kube.object_server import ObjectServer
from unit.kube.one_operator import POOL, OneOperator, one_operator
from unit.kube.small_server import SmallServer, small_server

SAYS = (
    "the cluster c cannot be asked: {}. Labels and taints of its nodes wait until its API server "
    "answers by the kubeconfig in the Secret c-kubeconfig of a."
)
MISSING = SAYS.format("there is no Secret c-kubeconfig in a yet")
SETTINGS = "fairlead.dev/settings"


@pytest.fixture
def joined() -> Iterator[OneOperator]:
    """A pool whose two nodes are to have a label."""
    with one_operator() as one:
        one.declare(labels={"team": "blue"})
        one.machine("first")
        one.machine("second")
        yield one


@contextmanager
def workload_cluster(one: OneOperator, server: SmallServer) -> Iterator[None]:
    """The cluster that the nodes are in, with a kubeconfig that leads there."""
    with small_server(server) as address:
        one.join(address)
        yield
        one.operator.world.workloads.close()


def has_settings(one: OneOperator, name: str) -> bool:
    found = one.server.get(MACHINES, name)
    assert found is not None
    return SETTINGS in found["metadata"]["annotations"]


def test_a_cluster_without_a_kubeconfig_is_told_once_and_the_pass_goes_on(
    joined: OneOperator,
) -> None:
    joined.passes(2)

    told = joined.condition("ReachedWorkloadCluster")
    assert (told["status"], told["reason"], told["message"]) == ("False", "NoAnswer", MISSING)
    assert told["observedGeneration"] == 1
    assert joined.condition("ReconciliationActive")["status"] == "True"
    assert (joined.operator.counted.failures, joined.said) == (0, [])
    assert joined.passes(2) == []


def test_a_command_says_what_a_pool_waits_for(joined: OneOperator) -> None:
    joined.passes(2)

    edge = SeenEdge(
        SeenCluster(joined.client, Scope(namespace="a", home="home"), lambda: joined.now)
    )

    assert [wait.says for wait in edge.waits_beside("workers")] == [MISSING]


def test_a_cluster_that_does_not_answer_is_asked_once_by_all_machines_and_passes(
    joined: OneOperator,
) -> None:
    silent = SmallServer()
    silent.reply = lambda *_: (503, {"message": "it is down"}, False)
    with workload_cluster(joined, silent):
        joined.passes(4)

    assert len(silent.asked) == 1
    assert "it is down" in joined.condition("ReachedWorkloadCluster")["message"]
    assert not has_settings(joined, "first")


def test_a_pool_is_looked_at_again_when_its_cluster_is_asked_again(joined: OneOperator) -> None:
    clock = [0.0]
    joined.operator.queue = WorkQueue(lambda: clock[0])
    joined.operator.world.copies.look()
    assert joined.operator.queue.take() == POOL
    joined.operator.make_pass(POOL)
    joined.operator.queue.done(POOL)
    assert joined.operator.queue.depth == 0

    clock[0] = 16

    assert joined.operator.queue.depth == 1


def test_a_cluster_that_answers_again_gets_what_waited(joined: OneOperator) -> None:
    joined.passes(2)
    answering = ObjectServer()
    answering.put(NODES, "first", spec={})
    answering.put(NODES, "second", spec={})
    later = OneOperator(joined.server, joined.client)
    with workload_cluster(later, answering):
        later.passes(2)

    first = answering.get(NODES, "first")
    assert first is not None
    assert first["metadata"]["labels"] == {"team": "blue"}
    assert has_settings(joined, "first")
    assert has_settings(joined, "second")
    assert "ReachedWorkloadCluster" not in {one["type"] for one in joined.status()["conditions"]}


def test_a_node_that_is_missing_is_told_and_its_cluster_is_asked_for_others(
    joined: OneOperator,
) -> None:
    answering = ObjectServer()
    answering.put(NODES, "second", spec={})
    with workload_cluster(joined, answering):
        joined.passes(2)

    assert joined.condition("ReachedWorkloadCluster")["message"] == "there is no Node first yet"
    assert (has_settings(joined, "first"), has_settings(joined, "second")) == (False, True)


def test_a_node_that_takes_no_such_label_is_told_and_the_pass_goes_on(joined: OneOperator) -> None:
    picky = ObjectServer()
    picky.put(NODES, "first", spec={})
    picky.put(NODES, "second", spec={})
    picky.reply = lambda method, path, _: (
        (422, {"message": "a valid label must"}, False)
        if (method, path.partition("?")[0]) == ("PUT", "/api/v1/nodes/first")
        else (200, {}, False)
    )
    with workload_cluster(joined, picky):
        joined.passes(3)

        told = joined.condition("ReachedWorkloadCluster")
        assert (told["status"], told["reason"]) == ("False", "Refused")
        assert told["message"] == (
            "the cluster c refuses labels or taints: /api/v1/nodes/first: a valid label must "
            "(status 422)"
        )
        assert (has_settings(joined, "first"), has_settings(joined, "second")) == (False, True)
        assert (joined.operator.counted.failures, joined.said) == (0, [])
        assert joined.passes(2) == []


def test_a_cluster_is_left_alone_for_longer_each_time_it_does_not_answer() -> None:
    with one_operator() as one:
        clock = [0.0]
        workloads = Workloads(one.client, lambda: clock[0])
        left_alone = []
        for _ in range(5):
            with pytest.raises(UnreachedError) as refused, workloads.asking("a", "c"):
                pass
            left_alone.append(refused.value.seconds)
            clock[0] += refused.value.seconds

    assert left_alone == [15, 30, 60, 120, 120]


def test_one_alone_asks_a_cluster_whose_time_has_come() -> None:
    with one_operator() as one:
        clock = [0.0]
        workloads = Workloads(one.client, lambda: clock[0])
        with pytest.raises(UnreachedError), workloads.asking("a", "c"):
            pass
        clock[0] = 15
        one.join("http://127.0.0.1:9")

        with workloads.asking("a", "c"):
            with pytest.raises(UnreachedError) as refused, workloads.asking("a", "c"):
                pass
            assert refused.value.seconds == 15
        with workloads.asking("a", "c") as workload:
            assert workload.server == "http://127.0.0.1:9"
        workloads.close()


def test_a_server_of_our_own_that_is_gone_is_blamed_on_no_cluster() -> None:
    with one_operator() as one:
        workloads = Workloads(one.client)
        one.server.reply = lambda *_: (503, {"message": "it is down"}, False)
        for _ in range(2):
            with (
                pytest.raises(UnavailableError, match="it is down") as found,
                workloads.asking("a", "c"),
            ):
                pass
            assert not isinstance(found.value, UnreachedError)
