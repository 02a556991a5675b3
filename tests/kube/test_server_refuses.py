"""An API server that answers 409 and 429 at any moment, and cuts every watch: through a proxy."""

import time
from collections.abc import Iterator

import pytest

from kube.fault_proxy import Faults, fault_proxy
from kube.fleet import Fleet, wait_until
from kube.invariants import Budgets, missing_pairs

pytestmark = pytest.mark.slow

POOLS = [f"refused-{number}" for number in range(3)]

# Requests a second of a fleet that is at rest: each of ten watches is taken up again every two
# seconds, the lease is read and written every two.
MOST_AT_REST = 15.0
# Requests of one operator for three pools from nothing through a rollout.
MOST_IN_ALL = 3000


@pytest.fixture
def faults() -> Faults:
    return Faults(conflicts=0.2, too_many=0.1, watches_last_s=2.0)


@pytest.fixture
def refused(unmanned: Fleet, faults: Faults) -> Iterator[Fleet]:
    with fault_proxy(unmanned.cluster, faults) as kubeconfig:
        unmanned.reached_by = kubeconfig
        yield unmanned
        unmanned.stop_operators()


@pytest.fixture
def budgets(unmanned: Fleet) -> Iterator[Budgets]:
    following = Budgets(unmanned.cluster)
    for name in POOLS:
        following.expect(name, fewest=1, most=2)
    following.start()
    yield following
    following.stop()


def test_conflicts_refusals_and_cut_watches_delay_a_rollout_and_change_nothing_else(
    refused: Fleet, faults: Faults, budgets: Budgets
) -> None:
    fleet = refused
    operator = fleet.start_operator("refused")
    for name in POOLS:
        fleet.declare(name, replicas=1)
    for name in POOLS:
        fleet.settle(name)
    for name in POOLS:
        fleet.declare(name, replicas=1, release={"version": "1.34.3"})
    for name in POOLS:
        fleet.settle(name, 120)

    for name in POOLS:
        assert fleet.deployment(name)["metadata"]["generation"] == 2
        assert len(fleet.machines(name)) == 1
        assert len([one for one in fleet.secrets(name) if one.startswith("token-")]) == 2
    assert missing_pairs(fleet.admin, POOLS) == []
    assert budgets.violations == []
    assert min(faults.answered.values()) > 5, faults.answered
    assert faults.early == []
    assert faults.asked < MOST_IN_ALL

    wait_until(lambda: operator.queue.is_idle)
    begun, before = time.monotonic(), faults.asked
    time.sleep(6)
    assert (faults.asked - before) / (time.monotonic() - begun) < MOST_AT_REST
