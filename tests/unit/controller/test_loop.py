"""Every pool gets its turn: changed ones, those whose time has come, and never one for all."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING

import pytest

from fairlead.controller.loop import Loop
from fairlead.controller.observe import PoolDocuments
from fairlead.errors import UnavailableError
from fairlead.sim.clock import Clock
from fairlead.sim.world import SimWorld
from pool_documents import platform_document, pool_document

if TYPE_CHECKING:
    from collections.abc import Iterable

    from fairlead.answers.pool import PoolStatus

NOON = datetime(2026, 11, 16, 12, tzinfo=UTC)


class MarkedWorld(SimWorld):
    """
    Pools with a marker each, which goes up with every write that touches them.

    broken: what reading a pool raises. passed: pools in the order in which they were read.
    """

    def __init__(self, *pools: str) -> None:
        super().__init__(Clock(NOON))
        self.broken: dict[str, Exception] = {}
        self.passed: list[str] = []
        self.counters: dict[str, int] = {}
        self.edited_meanwhile: list[str] = []
        for pool in pools:
            self.declare(pool)
        self.told: list[tuple[str, str]] = []
        self.loop = Loop(self.world(), self.chance(), self.markers, self.tell)

    def declare(self, pool: str, replicas: int = 1) -> None:
        document = pool_document(pool, replicas=replicas)
        self.documents[pool] = PoolDocuments(pool=document, platform=platform_document())
        self.touch(pool)

    def touch(self, pool: str) -> None:
        self.counters[pool] = self.counters.get(pool, 0) + 1

    def markers(self) -> Iterable[tuple[str, str]]:
        return [(pool, str(self.counters[pool])) for pool in self.documents]

    def tell(self, pool: str, error: Exception) -> None:
        self.told.append((pool, str(error)))

    def read_documents(self, pool: str) -> PoolDocuments:
        self.passed.append(pool)
        if pool in self.broken:
            raise self.broken[pool]
        return super().read_documents(pool)

    def write_status(self, pool: str, status: PoolStatus) -> None:
        super().write_status(pool, status)
        self.touch(pool)
        if pool in self.edited_meanwhile:
            self.edited_meanwhile.remove(pool)
            self.declare(pool, replicas=2)

    def run(self, most: int = 100) -> list[str]:
        """Run once; return the pools that were passed over, in order."""
        self.passed.clear()
        assert self.loop.run_due(self.clock.now, most) == len(self.passed)
        return list(self.passed)

    def rest(self) -> None:
        """Run pools and machines until nothing moves. No time passes."""
        for _ in range(20):
            before = {name: machine.phase for name, machine in self.living.items()}
            self.run_machines()
            for machine in self.living.values():
                if before.get(machine.name) is not machine.phase:
                    self.touch(machine.pool)
            if not self.run():
                return
        pytest.fail("the pools do not come to rest")


def test_pools_at_rest_are_not_looked_at() -> None:
    world = MarkedWorld("a", "b")
    world.rest()

    assert world.run() == []


def test_a_pool_that_changed_is_passed_over_alone() -> None:
    world = MarkedWorld("a", "b", "c")
    world.rest()

    world.declare("b", replicas=2)

    assert world.run() == ["b"]
    assert len(world.list_machines("b")) == 2


def test_a_pool_that_changes_during_its_pass_is_passed_over_again() -> None:
    world = MarkedWorld("a")
    world.edited_meanwhile = ["a"]

    world.run()
    assert len(world.list_machines("a")) == 1

    assert world.run() == ["a"]
    assert len(world.list_machines("a")) == 2


def test_those_that_waited_longest_come_first_and_all_get_their_turn() -> None:
    world = MarkedWorld("a", "b", "c", "d")

    assert world.run(most=3) == ["a", "b", "c"]
    for pool in "abc":
        world.touch(pool)
    assert world.run(most=2) == ["d", "a"]
    world.touch("d")
    assert world.run(most=2) == ["b", "c"]


def test_a_failed_pass_backs_off_to_a_minute_and_the_others_go_on() -> None:
    world = MarkedWorld("a", "b")
    world.broken["a"] = UnavailableError("the lookup timed out")
    waits = []

    for _ in range(8):
        due = world.loop.failures["a"].retry_at if world.loop.failures else world.clock.now
        world.clock.advance(due - world.clock.now)
        assert "a" in world.run()
        waits.append((world.loop.failures["a"].retry_at - world.clock.now).total_seconds())
        world.touch("b")
        assert world.run() == ["b"], "the broken pool waits, the other does not"

    assert waits == [1, 2, 4, 8, 16, 32, 60, 60]
    assert world.loop.failures["a"].says == "the lookup timed out"
    assert world.loop.failures["a"].count == 8
    assert world.told[0] == ("a", "the lookup timed out")
    assert "b" not in world.loop.failures


def test_many_broken_pools_do_not_keep_one_from_its_turn() -> None:
    world = MarkedWorld(*"abcdefgh", "ok")
    world.broken = {pool: UnavailableError("no") for pool in "abcdefgh"}
    turns: list[str] = []

    for _ in range(20):
        turns += world.run(most=2)
        world.touch("ok")
        world.clock.advance(timedelta(seconds=2))

    # Nine pools in turn: nobody comes again before each of the others had a chance.
    assert all("ok" in turns[at : at + 9] for at in range(len(turns) - 8))
    assert world.list_machines("ok")


def test_a_pass_that_succeeds_ends_the_failure() -> None:
    world = MarkedWorld("a")
    world.broken["a"] = UnavailableError("no")
    world.run()
    del world.broken["a"]

    world.clock.advance(timedelta(seconds=1))
    world.rest()

    assert world.loop.failures == {}
    world.broken["a"] = UnavailableError("again")
    world.touch("a")
    world.run()
    assert world.loop.failures["a"].count == 1


def test_a_change_by_somebody_else_ends_the_wait_at_once() -> None:
    world = MarkedWorld("a")
    world.broken["a"] = UnavailableError("no")
    for _ in range(7):
        world.run()
        world.clock.advance(timedelta(minutes=1))
    world.run()
    world.touch("a")  # what the failed pass itself wrote
    assert world.run() == []

    del world.broken["a"]
    world.declare("a")

    assert world.run() == ["a"]
    assert world.loop.failures == {}


def test_a_defect_is_named_as_one_and_stops_nobody() -> None:
    world = MarkedWorld("a", "b")
    world.broken["a"] = ZeroDivisionError("division by zero")

    assert world.run() == ["a", "b"]

    assert world.loop.failures["a"].says == (
        "a defect of the controller: ZeroDivisionError: division by zero"
    )


def test_a_pool_that_is_gone_is_forgotten() -> None:
    world = MarkedWorld("a", "b")
    world.broken["b"] = UnavailableError("no")
    world.run()

    world.delete_pool("a")
    world.touch("a")
    world.rest()
    del world.documents["b"]

    assert "a" not in world.documents
    assert world.run() == []
    assert world.loop.failures == {}
    assert world.loop.next_due(world.clock.now) is None


def test_a_moment_that_a_pass_asked_for_is_honoured() -> None:
    world = MarkedWorld("a", "b")
    world.rest()

    due = world.loop.next_due(world.clock.now)

    assert due == NOON + timedelta(hours=5, minutes=30), "tokens are rotated at half their life"
    world.clock.advance(timedelta(hours=5, minutes=29))
    assert world.run() == []
    world.clock.advance(timedelta(minutes=1))
    assert world.run() == ["a", "b"]


def test_the_next_run_is_at_once_while_something_may_be_left_and_at_the_retry_after() -> None:
    world = MarkedWorld("a", "b")
    world.broken["a"] = UnavailableError("no")
    assert world.loop.next_due(NOON) == NOON, "nothing was looked at yet"

    world.run()
    assert world.loop.next_due(NOON) == NOON, "a pass may have changed its own pool"

    world.rest()
    assert world.loop.next_due(NOON) == NOON + timedelta(seconds=1)


def test_what_is_edited_while_its_pool_waits_for_a_retry_is_not_lost() -> None:
    world = MarkedWorld("a")
    world.rest()
    world.broken["a"] = UnavailableError("no")
    world.documents["a"] = replace(world.documents["a"], pool=pool_document("a", replicas=2))
    world.touch("a")
    world.run()
    del world.broken["a"]

    world.clock.advance(timedelta(seconds=1))
    world.run()

    assert len(world.list_machines("a")) == 2
