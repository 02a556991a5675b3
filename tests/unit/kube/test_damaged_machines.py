"""A Machine whose annotations somebody damaged is named in the status of its pool."""

from datetime import UTC, datetime

import pytest

from fairlead.rollout.fixes import Fix, fixes_of
from unit.kube.one_operator import OneOperator, one_operator

FIX = "202607.02.1"
PUBLISHED = fixes_of([Fix(version=FIX, since=datetime(2026, 11, 1, tzinfo=UTC))])
AGENT, CHANGE = "fairlead.dev/agent", "fairlead.dev/change"
HEADING_FOR, SETTINGS = "fairlead.dev/heading-for", "fairlead.dev/settings"


def pool_with_damage(one: OneOperator, **annotations: str) -> None:
    """A pool that lacks a fix; one of its machines cannot be read."""
    one.operator.world.pools.read_fixes = lambda: PUBLISHED
    one.declare()
    one.machine("sound", **{AGENT: "202607.02.0"})
    one.machine("damaged", **annotations)


@pytest.mark.parametrize(
    "annotations",
    [{HEADING_FOR: "new", CHANGE: "{"}, {SETTINGS: "{"}, {SETTINGS: '{"labels": 7}'}],
    ids=["change", "settings", "labels"],
)
def test_a_damaged_machine_is_named_although_fixes_are_published(
    annotations: dict[str, str],
) -> None:
    with one_operator() as one:
        pool_with_damage(one, **annotations)

        one.passes(2)

        told = one.condition("ReconciliationActive")
        assert (told["status"], told["reason"]) == ("False", "Refused")
        assert told["message"].startswith("Machine damaged cannot be read: ")
        assert one.status()["state"] == "Blocked"
        (fix,) = one.status()["fixes"]
        assert fix.startswith("1 machine lacks the fix 202607.02.1, ")
        assert one.passes(2) == []


def test_a_damaged_change_says_the_way_out() -> None:
    with one_operator() as one:
        pool_with_damage(one, **{HEADING_FOR: "new", CHANGE: "{"})

        one.passes()

        assert "(remove it: the change begins again)" in one.status()["sentence"]
