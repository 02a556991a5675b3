"""Pools that nothing happened to are told again, not thought about again."""

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from fairlead.answers.pool import PoolAnswer
from fairlead.answers.words import PoolState
from fairlead.controller.loop import Loop
from fairlead.controller.observe import PoolDocuments, observe
from fairlead.controller.think import think
from fairlead.errors import InvariantError
from fairlead.sim.world import SimWorld
from fairlead.telling.pool import pool_answer
from fairlead.telling.told_pools import Told, ToldPools
from pool_documents import platform_document, pool_document
from unit.telling.answers import make_held, make_pool, make_wait

NOW = datetime(2026, 11, 16, 19, tzinfo=UTC)
YEAR = timedelta(days=365)


class Teller:
    def __init__(self, wake: datetime | None = None, *, rests: bool = True, **changed: Any) -> None:
        self.asked: list[str] = []
        self.rests = rests
        self.wake = wake
        self.changed = changed

    def __call__(self, pool: str) -> Told:
        self.asked.append(pool)
        return Told(make_pool(name=pool, **self.changed), rests=self.rests, wake=self.wake)


def asked_again(teller: Teller, after: timedelta) -> bool:
    told = ToldPools()
    told.all([("a", "1")], NOW, teller)
    told.all([("a", "1")], NOW + after, teller)
    return teller.asked == ["a", "a"]


def test_a_pool_is_thought_about_again_when_its_marker_moved() -> None:
    told, teller = ToldPools(), Teller()

    first = told.all([("a", "1"), ("b", "1")], NOW, teller)
    second = told.all([("a", "1"), ("b", "2")], NOW, teller)

    assert [pool.name for pool in first] == [pool.name for pool in second] == ["a", "b"]
    assert teller.asked == ["a", "b", "b"]


def test_a_pool_at_rest_is_told_until_its_next_pass_is_due() -> None:
    due = NOW + timedelta(hours=7)

    assert not asked_again(Teller(due), timedelta(hours=7) - timedelta(seconds=1))
    assert asked_again(Teller(due), timedelta(hours=7))
    assert not asked_again(Teller(None), YEAR)


@pytest.mark.parametrize(
    "changed",
    [
        {"state": "RollingOut"},
        {"waits": [make_wait("BudgetSpent", "2 machines wait for their turn")]},
        {"is_paused": True},
        {"state": "Blocked"},
    ],
)
def test_a_pool_of_which_moments_are_told_is_told_for_five_seconds(
    changed: dict[str, Any],
) -> None:
    assert not asked_again(Teller(None, **changed), timedelta(seconds=4))
    assert asked_again(Teller(None, **changed), timedelta(seconds=5))


@pytest.mark.parametrize(
    ("age", "kept"),
    [
        (timedelta(seconds=12), timedelta(seconds=5)),
        (timedelta(hours=3), timedelta(minutes=3)),
        (timedelta(days=4), timedelta(minutes=96)),
    ],
)
def test_since_when_a_change_is_held_is_told_for_a_sixtieth_of_that_time(
    age: timedelta, kept: timedelta
) -> None:
    held: dict[str, Any] = {"state": "Drifted", "held": [make_held(since=(NOW - age).isoformat())]}

    assert not asked_again(Teller(None, **held), kept - timedelta(seconds=1))
    assert asked_again(Teller(None, **held), kept)
    assert asked_again(Teller(NOW + timedelta(seconds=7), **held), timedelta(minutes=200))


def test_a_pool_of_which_a_pass_has_something_to_write_is_told_for_five_seconds() -> None:
    assert asked_again(Teller(None, rests=False), timedelta(seconds=5))


def test_a_pool_that_is_gone_is_forgotten() -> None:
    told, teller = ToldPools(), Teller()
    told.all([("a", "1")], NOW, teller)

    assert told.all([], NOW, teller) == ()
    told.all([("a", "1")], NOW, teller)
    assert teller.asked == ["a", "a"]


class Passes:
    """A loop over one pool, which is told what its passes thought."""

    def __init__(self) -> None:
        self.world, self.told = SimWorld(), ToldPools()
        self.world.documents["workers"] = PoolDocuments(
            pool=pool_document(replicas=1), platform=platform_document()
        )
        self.number = 0
        self.loop = Loop(
            self.world.world(), self.world.chance(), self.markers, hear=self.told.keep_quiet
        )

    def markers(self) -> list[tuple[str, str]]:
        return [("workers", str(self.number))] if "workers" in self.world.documents else []

    def make_pass(self) -> None:
        self.number += 1
        assert self.loop.run_due(self.world.clock.now, 1) == 1
        assert not self.loop.failures

    def rest(self) -> None:
        for _ in range(6):
            self.make_pass()
            self.world.run_machines()

    def listed(self, tell: Teller | None = None) -> tuple[PoolAnswer, ...]:
        return self.told.all(self.markers(), self.world.clock.now, tell or nobody)


def nobody(pool: str) -> Told:
    raise InvariantError(f"{pool} is thought about again")


def test_what_a_pass_thought_that_wrote_nothing_is_told_as_it_is() -> None:
    passes = Passes()
    passes.rest()

    [found] = passes.listed()

    seen, now = observe("workers", passes.world.world()), passes.world.clock.now
    assert found == pool_answer(seen, think(seen, now), now)
    assert found.state is PoolState.SETTLED
    passes.number += 1
    with pytest.raises(InvariantError):
        passes.listed()


def test_what_a_pass_thought_before_it_wrote_is_not_told() -> None:
    passes = Passes()
    passes.make_pass()  # makes a machine, and writes record and status

    with pytest.raises(InvariantError):
        passes.listed()


def test_nothing_is_kept_of_a_pool_that_leaves_though_nobody_looks() -> None:
    passes = Passes()
    passes.rest()
    passes.world.delete_pool("workers")
    passes.make_pass()
    passes.number -= 1  # as it was when it rested

    with pytest.raises(InvariantError):
        passes.told.all([("workers", str(passes.number))], passes.world.clock.now, nobody)
