"""Operators that are killed at any call to the API server, alone and two at a time."""

import random
import time
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from functools import partial

import pytest

from fairlead.kube.operator import Operator, Settings
from kube.dying import DyingClient
from kube.fleet import NAMESPACE, STUB, Fleet, wait_until
from kube.invariants import Budgets, missing_pairs, objects_of, objects_of_one_revision

# Threads of an operator that is killed end with what killed it.
pytestmark = [
    pytest.mark.slow,
    pytest.mark.filterwarnings("ignore::pytest.PytestUnhandledThreadExceptionWarning"),
]

SEED = 20261118
KILLS_ALONE, KILLS_OF_TWO = 70, 30
POOLS = [f"mortal-{number}" for number in range(5)]
LATER = timedelta(hours=3)  # longer than superseded pairs live

# The last call of a pass at which an operator dies, counted from its start: five pools that roll
# make about seventy, so that a rollout sees several of them die.
LAST_CALL = 12


class Mortals:
    """Operators that die, one after the other or two at a time."""

    def __init__(self, fleet: Fleet) -> None:
        self.fleet = fleet
        self.random = random.Random(SEED)
        self.rollouts = 0
        self.died_at: list[str] = []
        self._alive: list[tuple[Operator, DyingClient]] = []

    def start(self, identity: str) -> DyingClient:
        """Start one that may be told to die."""
        client = DyingClient(self.fleet.cluster.admin)
        settings = Settings(namespace=NAMESPACE, identity=identity, stub=STUB)
        operator = Operator(client, settings, self.fleet.said.append)
        operator.start()
        self._alive.append((operator, client))
        return client

    def condemn(self, client: DyingClient) -> None:
        """Let one die at a call that is drawn."""
        client.die_at(self.random.randint(1, LAST_CALL), is_sent=self.random.random() < 0.5)

    def bury_one(self, *clients: DyingClient) -> None:
        """Wait for the end of one of them; nothing of it runs afterwards."""
        end = time.monotonic() + 120
        while not any(one.is_dead.is_set() for one in clients):
            assert time.monotonic() < end, ("they live on", self.fleet.said[-5:])
            self.roll()
            time.sleep(0.05)
        client = next(one for one in clients if one.is_dead.is_set())
        operator = next(one for one, other in self._alive if other is client)
        self._alive.remove((operator, client))
        operator.stop()
        client.close()
        self.died_at.append(client.died_at)

    def roll(self) -> None:
        """Declare another version of all pools, if all are settled."""
        if all(is_settled(self.fleet, name) for name in POOLS):
            self.rollouts += 1
            declare_all(self.fleet, self.rollouts)

    def end(self) -> None:
        """Stop all that live."""
        while self._alive:
            operator, client = self._alive.pop()
            operator.stop()
            client.close()


def is_settled(fleet: Fleet, name: str) -> bool:
    pool = fleet.pool(name)
    status = pool.get("status") or {}
    is_told = status.get("observedGeneration") == pool["metadata"]["generation"]
    return is_told and status.get("state") == "Settled"


def declare_all(fleet: Fleet, number: int) -> None:
    for name in POOLS:
        fleet.declare(name, replicas=1, imageBase=f"202607.{number % 28 + 1:02}")


@pytest.fixture
def budgets(unmanned: Fleet) -> Iterator[Budgets]:
    following = Budgets(unmanned.cluster)
    for name in POOLS:
        following.expect(name, fewest=1, most=2)
    following.start()
    yield following
    following.stop()


@pytest.fixture
def mortals(unmanned: Fleet) -> Iterator[Mortals]:
    all_of_them = Mortals(unmanned)
    yield all_of_them
    all_of_them.end()


def has_only(fleet: Fleet, name: str, expected: dict[str, list[str]]) -> bool:
    return objects_of(fleet.admin, name) == expected


def kill_one_after_another(fleet: Fleet, mortals: Mortals) -> None:
    for _ in range(KILLS_ALONE):
        client = mortals.start("alone")  # as one that starts again under its own name
        mortals.condemn(client)
        mortals.bury_one(client)
        assert missing_pairs(fleet.admin, POOLS) == []


def kill_one_of_two(fleet: Fleet, mortals: Mortals) -> None:
    """The lease is handed over while one acts: for some seconds both believe to lead."""
    both: list[DyingClient] = []
    for number in range(KILLS_OF_TWO):
        while len(both) < 2:
            both.append(mortals.start(f"{number}-{len(both)}"))
            mortals.condemn(both[-1])
        fleet.hand_over()
        mortals.bury_one(*both)
        assert missing_pairs(fleet.admin, POOLS) == []
        both = [one for one in both if not one.is_dead.is_set()]
    mortals.end()


def test_an_operator_killed_at_any_call_leaves_nothing_that_the_next_one_cannot_end(
    unmanned: Fleet,
    mortals: Mortals,
    budgets: Budgets,
) -> None:
    fleet = unmanned
    declare_all(fleet, 0)
    kill_one_after_another(fleet, mortals)
    kill_one_of_two(fleet, mortals)
    assert len(mortals.died_at) == KILLS_ALONE + KILLS_OF_TWO
    # Not all at one kind of call, and both before and after they were sent.
    assert {one.partition(" ")[0] for one in mortals.died_at} >= {"GET", "POST", "PUT", "PATCH"}
    assert {one.rpartition(" ")[2] for one in mortals.died_at} == {"sent", "unsent"}

    # Whoever comes next ends all of it, and what nothing needs is gone after its grace.
    fleet.start_operator("last")
    fleet.hand_over()
    for name in POOLS:
        fleet.settle(name)
        assert fleet.deployment(name)["metadata"]["generation"] == mortals.rollouts + 1
        assert len(fleet.machines(name)) == 1
    assert missing_pairs(fleet.admin, POOLS) == []
    fleet.stop_operators()
    later = datetime.now(UTC).replace(microsecond=0) + LATER
    fleet.now = lambda: later
    fleet.start_operator("later")
    for name in POOLS:
        expected = objects_of_one_revision(fleet.admin, name)
        wait_until(partial(has_only, fleet, name, expected), partial(objects_of, fleet.admin, name))
    assert budgets.violations == []
