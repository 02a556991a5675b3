"""Two operators at once, leases that change hands, and how often a NodePool is written."""

import json
import threading
import time
from datetime import UTC, datetime

import pytest

from fairlead.controller.reconcile import Chance, reconcile
from fairlead.errors import ConflictError
from fairlead.kube.operator import LEASE, Operator, chance
from fairlead.kube.resource import LEASES
from kube.cluster import TestCluster
from kube.fleet import NAMESPACE, Fleet, wait_until
from kube.invariants import Budgets

pytestmark = pytest.mark.slow

POOL = f"{NAMESPACE}/contested"


def writes_of(cluster: TestCluster, name: str) -> list[str]:
    """The writes of operators to a NodePool that took effect, as the server saw them."""
    found = []
    for line in cluster.audit_log.read_text().splitlines():
        entry = json.loads(line)
        about = entry.get("objectRef", {})
        is_write = entry["verb"] in ("create", "update", "patch")
        is_ours = "fieldManager=fairlead" in entry["requestURI"]
        named = (about.get("resource"), about.get("name")) == ("nodepools", name)
        if named and is_write and is_ours and entry["responseStatus"]["code"] < 300:
            found.append(f"{entry['verb']} {about.get('subresource', '')}".strip())
    return found


class Slow:
    """A pass of one operator that stops before its first write until it is told to go on."""

    def __init__(self, operator: Operator) -> None:
        self._operator = operator
        self._is_drawing, self._may_go_on = threading.Event(), threading.Event()
        self._raised: list[Exception] = []
        self._thread = threading.Thread(target=self._act)

    def begin(self) -> None:
        self._thread.start()
        assert self._is_drawing.wait(30)

    def end(self) -> list[Exception]:
        self._may_go_on.set()
        self._thread.join(60)
        return self._raised

    def _act(self) -> None:
        slow = Chance(draw_token=self._draw, draw_name=lambda pool: pool)
        try:
            with self._operator.world.copies.one_look():
                reconcile(POOL, self._operator.world.world(), slow, datetime.now(UTC))
        except ConflictError as error:
            self._raised.append(error)

    def _draw(self) -> str:
        self._is_drawing.set()
        self._may_go_on.wait(60)
        return chance().draw_token()


def test_a_deposed_leader_rolls_nothing(unmanned: Fleet) -> None:
    fleet = unmanned
    deposed = fleet.make_operator("deposed")
    fleet.start_operator("leading")
    fleet.declare("contested")
    fleet.settle("contested")
    fleet.stop_but(deposed)
    fleet.declare("contested", release={"version": "1.34.3"})
    deposed.world.copies.start()

    # It decides to roll; before it writes, another one leads and the owner wants something else.
    slow = Slow(deposed)
    slow.begin()
    leading = fleet.start_operator("leading")
    fleet.declare("contested", release={"version": "1.34.4"})
    fleet.settle("contested")
    machines, template = fleet.machines("contested"), fleet.deployment("contested")
    raised = slow.end()

    assert len(raised) == 1
    assert fleet.deployment("contested")["spec"] == template["spec"]
    wait_until(lambda: leading.queue.is_idle)
    fleet.settle("contested")
    assert fleet.machines("contested") == machines
    assert fleet.pool("contested")["status"]["version"] == "1.34.4"


def test_two_that_both_believe_to_lead_end_where_one_would(unmanned: Fleet) -> None:
    fleet = unmanned
    fleet.start_operator("one")
    # With a lease of its own, each leads: as with clocks that run wrong.
    fleet.start_operator("two", namespace="kube-public")
    fleet.declare("doubled")
    fleet.settle("doubled")
    before = fleet.machines("doubled")

    fleet.declare("doubled", release={"version": "1.34.3"})
    fleet.settle("doubled")

    after = fleet.machines("doubled")
    assert len(after) == 2
    assert not set(before) & set(after)
    assert len([one for one in fleet.secrets("doubled") if one.startswith("token-")]) == 2
    assert fleet.deployment("doubled")["metadata"]["generation"] == 2


def transitions_of(fleet: Fleet) -> int:
    lease = fleet.admin.find(LEASES, LEASE, NAMESPACE)
    return int(lease["spec"]["leaseTransitions"]) if lease else 0


def test_operators_whose_clocks_run_wrong_roll_nothing_twice(unmanned: Fleet) -> None:
    fleet = unmanned
    budgets = Budgets(fleet.cluster)
    budgets.expect("skewed", fewest=2, most=3)
    budgets.start()
    # By the slow one's clock a renewal counts for 200 s. By the hasty one's a lease ends after
    # 1.9 s, and its own right to act after 1.25 s: both before the next renewal, 2 s later, and
    # the second long after a busy server has answered one.
    fleet.start_operator("slow", clock=lambda: time.monotonic() / 20)
    fleet.start_operator("hasty", clock=lambda: time.monotonic() * 8)
    wait_until(lambda: fleet.admin.find(LEASES, LEASE, NAMESPACE) is not None)
    for version in ("1.34.2", "1.34.3", "1.34.4"):
        before = transitions_of(fleet)
        fleet.declare("skewed", release={"version": version})
        fleet.hand_over()
        fleet.settle("skewed", 120)
        # A new pool settles in a second, by whoever still believes to lead; the lease is looked
        # at every two.
        wait_until(lambda: transitions_of(fleet) > before)  # noqa: B023
    budgets.stop()

    assert fleet.deployment("skewed")["metadata"]["generation"] == 3
    assert len(fleet.machines("skewed")) == 2
    assert len([one for one in fleet.secrets("skewed") if one.startswith("token-")]) == 3
    assert budgets.violations == []


def test_a_lease_that_is_given_back_is_taken_over_at_once(unmanned: Fleet) -> None:
    fleet = unmanned
    first = fleet.start_operator("first")
    wait_until(lambda: first.elector.is_leader)
    second = fleet.start_operator("second")
    time.sleep(3)
    assert not second.elector.is_leader

    begun = time.monotonic()
    fleet.stop_but(second)
    wait_until(lambda: second.elector.is_leader)

    assert time.monotonic() - begun < 5  # a lease that nobody gives back lasts 15 s
    lease = fleet.admin.find(LEASES, LEASE, NAMESPACE)
    assert lease is not None
    assert lease["spec"]["holderIdentity"] == "second"


def test_a_pool_is_written_twice_to_begin_with_and_once_for_each_change(fleet: Fleet) -> None:
    fleet.declare("counted", replicas=0)
    fleet.settle("counted")
    time.sleep(1)
    assert writes_of(fleet.cluster, "counted") == ["update", "patch status"]

    fleet.declare("counted", replicas=0, release={"version": "1.34.3"})
    fleet.settle("counted")
    time.sleep(1)
    assert writes_of(fleet.cluster, "counted")[2:] == ["patch status"]


def test_a_quiet_pool_is_written_by_nobody(fleet: Fleet) -> None:
    fleet.declare("silent")
    fleet.settle("silent")
    time.sleep(2)
    before = writes_of(fleet.cluster, "silent")
    fleet.cluster.kubectl("label", "np/silent", "team=a")
    fleet.cluster.kubectl("annotate", "md/silent", "somebody=else")
    time.sleep(3)

    assert writes_of(fleet.cluster, "silent") == before
