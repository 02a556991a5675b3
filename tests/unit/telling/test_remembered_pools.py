"""Pools that nothing happened to are told again, not thought about again."""

from datetime import UTC, datetime, timedelta

from fairlead.answers.pool import PoolAnswer
from fairlead.answers.words import PoolState
from fairlead.telling.told_pools import ToldPools
from unit.telling.answers import make_pool

NOW = datetime(2026, 11, 16, 19, tzinfo=UTC)


class Teller:
    def __init__(self, state: PoolState = PoolState.SETTLED) -> None:
        self.asked: list[str] = []
        self.state = state

    def __call__(self, pool: str) -> PoolAnswer:
        self.asked.append(pool)
        return make_pool(name=pool, state=self.state, waits=())


def test_a_pool_is_thought_about_again_when_its_marker_moved() -> None:
    told, teller = ToldPools(), Teller()

    first = told.all([("a", "1"), ("b", "1")], NOW, teller)
    second = told.all([("a", "1"), ("b", "2")], NOW, teller)

    assert [pool.name for pool in first] == [pool.name for pool in second] == ["a", "b"]
    assert teller.asked == ["a", "b", "b"]


def test_a_pool_at_rest_is_told_for_a_minute_and_another_for_five_seconds() -> None:
    for state, kept_s in ((PoolState.SETTLED, 60), (PoolState.DRIFTED, 5)):
        told, teller = ToldPools(), Teller(state)
        told.all([("a", "1")], NOW, teller)

        told.all([("a", "1")], NOW + timedelta(seconds=kept_s - 1), teller)
        assert teller.asked == ["a"]
        told.all([("a", "1")], NOW + timedelta(seconds=kept_s), teller)
        assert teller.asked == ["a", "a"]


def test_a_pool_that_is_gone_is_forgotten() -> None:
    told, teller = ToldPools(), Teller()
    told.all([("a", "1")], NOW, teller)

    assert told.all([], NOW, teller) == ()
    told.all([("a", "1")], NOW, teller)
    assert teller.asked == ["a", "a"]
