"""Idle pools cost nothing; changed ones and those whose time has come are looked at."""

from datetime import UTC, datetime, timedelta

from fairlead.controller.attention import Attention, LastPass

NOON = datetime(2026, 11, 16, 12, tzinfo=UTC)


def test_a_pool_is_due_until_it_was_looked_at() -> None:
    attention = Attention()

    assert attention.due([("a", "1"), ("b", "1")], NOON) == [("a", "1"), ("b", "1")]

    attention.passed("a", LastPass("1", None))
    assert attention.due([("a", "1"), ("b", "1")], NOON) == [("b", "1")]


def test_a_pool_that_changed_or_whose_time_has_come_is_due() -> None:
    attention = Attention()
    attention.passed("a", LastPass("1", NOON + timedelta(hours=1)))

    assert attention.due([("a", "1")], NOON) == []
    assert attention.due([("a", "2")], NOON) == [("a", "2")]
    assert attention.due([("a", "1")], NOON + timedelta(hours=1)) == [("a", "1")]


def test_a_pool_that_is_gone_is_forgotten() -> None:
    attention = Attention()
    attention.passed("a", LastPass("1", None))

    attention.forget("a")

    assert attention.due([("a", "1")], NOON) == [("a", "1")]
