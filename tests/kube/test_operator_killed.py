"""Operators that are killed at any call to the API server, alone and two at a time."""

import random
import sys
import time
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from functools import partial
from pathlib import Path

import pytest

from kube.dying_operators import Fate, Nursery
from kube.fleet import Fleet, wait_until
from kube.invariants import Budgets, missing_pairs, objects_of, objects_of_one_revision

pytestmark = pytest.mark.slow

SEED = 20261118
KILLS_ALONE, KILLS_OF_TWO = 70, 30
POOLS = [f"mortal-{number}" for number in range(5)]
LATER = timedelta(hours=3)  # longer than superseded pairs live

# Whose calls count, and at which of them an operator dies at the latest, counted from its start.
# Passes of five pools that roll make about seventy, so that a rollout sees several operators die;
# a lease takes two and then two every other second; of all, the first twenty are lists.
LAST_CALL = {"worker": 12, "lease": 4, "": 40}
SHARES = (70, 15, 15)


class Mortals:
    """Operators that die, one after the other or two at a time."""

    def __init__(self, fleet: Fleet, nursery: Nursery) -> None:
        self.fleet = fleet
        self.nursery = nursery
        self.random = random.Random(SEED)
        self.rollouts = 0
        self.died_at: list[str] = []

    def start(self, identity: str) -> int:
        """Start one that dies at a call that is drawn."""
        (thread,) = self.random.choices([*LAST_CALL], SHARES)
        call = self.random.randint(1, LAST_CALL[thread])
        is_sent = self.random.random() < 0.5
        return self.nursery.start(identity, Fate(call=call, is_sent=is_sent, thread=thread))

    def bury_one(self, *processes: int) -> None:
        """Wait for the end of one of them."""
        end = time.monotonic() + 120
        while not (dead := [one for one in processes if one in self.nursery.died_at]):
            assert time.monotonic() < end, "they live on"
            self.roll()
            time.sleep(0.05)
        self.died_at.extend(self.nursery.died_at[one] for one in dead)

    def roll(self) -> None:
        """If all pools are settled, look whether they may be, and declare another version."""
        if all(is_settled(self.fleet, name) for name in POOLS):
            check_settled(self.fleet, self.rollouts)
            self.rollouts += 1
            declare_all(self.fleet, self.rollouts)


def is_settled(fleet: Fleet, name: str) -> bool:
    pool = fleet.pool(name)
    status = pool.get("status") or {}
    is_told = status.get("observedGeneration") == pool["metadata"]["generation"]
    return is_told and status.get("state") == "Settled"


def check_settled(fleet: Fleet, rollouts: int) -> None:
    """Every rollout was one write of a template, and left one machine and no Secret missing."""
    for name in POOLS:
        assert fleet.deployment(name)["metadata"]["generation"] == rollouts + 1
        assert len(fleet.machines(name)) == 1
    assert missing_pairs(fleet.admin, POOLS) == []


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
def mortals(unmanned: Fleet, tmp_path: Path) -> Iterator[Mortals]:
    nursery = Nursery(unmanned.cluster.admin, tmp_path / "nursery.log")
    yield Mortals(unmanned, nursery)
    nursery.close()


def has_only(fleet: Fleet, name: str, expected: dict[str, list[str]]) -> bool:
    return objects_of(fleet.admin, name) == expected


def kill_one_after_another(fleet: Fleet, mortals: Mortals) -> None:
    while len(mortals.died_at) < KILLS_ALONE:
        mortals.bury_one(mortals.start("alone"))  # as one that starts again under its own name
        assert missing_pairs(fleet.admin, POOLS) == []


def kill_one_of_two(fleet: Fleet, mortals: Mortals) -> None:
    """The lease is handed over while one acts: for some seconds both believe to lead."""
    both: list[int] = []
    while len(mortals.died_at) < KILLS_ALONE + KILLS_OF_TWO:
        while len(both) < 2:
            both.append(mortals.start(f"{len(mortals.died_at)}-{len(both)}"))
        fleet.hand_over()
        mortals.bury_one(*both)
        assert missing_pairs(fleet.admin, POOLS) == []
        both = [one for one in both if one not in mortals.nursery.died_at]


def test_an_operator_killed_at_any_call_leaves_nothing_that_the_next_one_cannot_end(
    unmanned: Fleet,
    mortals: Mortals,
    budgets: Budgets,
) -> None:
    fleet = unmanned
    declare_all(fleet, 0)
    kill_one_after_another(fleet, mortals)
    kill_one_of_two(fleet, mortals)
    mortals.nursery.close()
    ends = "\n".join(mortals.died_at)
    sys.stdout.write(f"seed {SEED}: {len(mortals.died_at)} processes killed at\n{ends}\n")
    assert len(mortals.died_at) >= KILLS_ALONE + KILLS_OF_TWO == 100
    assert mortals.rollouts >= 5
    # Not all at one kind of call or in one thread, and both before and after they were sent.
    assert {one.partition(" ")[0] for one in mortals.died_at} >= {"GET", "POST", "PUT", "PATCH"}
    assert {one.split(", ")[1] for one in mortals.died_at} >= {"worker", "lease"}
    assert {one.split(", ")[2] for one in mortals.died_at} == {"sent", "unsent"}

    # Whoever comes next ends all of it, and what nothing needs is gone after its grace.
    fleet.start_operator("last")
    fleet.hand_over()
    for name in POOLS:
        fleet.settle(name)
    check_settled(fleet, mortals.rollouts)
    fleet.stop_operators()
    later = datetime.now(UTC).replace(microsecond=0) + LATER
    fleet.now = lambda: later
    fleet.start_operator("later")
    for name in POOLS:
        expected = objects_of_one_revision(fleet.admin, name)
        wait_until(partial(has_only, fleet, name, expected), partial(objects_of, fleet.admin, name))
    assert budgets.violations == []
