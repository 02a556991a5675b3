"""Settings to a policy: rounding, windows, pauses, and what is refused."""

from datetime import UTC, datetime, timedelta
from typing import Any
from zoneinfo import ZoneInfo

import pytest

from fairlead.answers.words import Severity, Strategy
from fairlead.errors import InputError
from fairlead.inputs.leaf import Unusable
from fairlead.inputs.parse import parse_node_pool
from fairlead.rollout.policy import Policy, policy_of
from fairlead.rollout.window import fits, last_start, next_start
from fairlead.zones import find_zone
from pool_documents import pool_document

HOUR = timedelta(hours=1)


def policy(**spec: Any) -> Policy:
    settings = parse_node_pool(pool_document(**spec)).settings
    assert not isinstance(settings, Unusable), settings
    return policy_of(settings, find_zone)


def windowed(*windows: dict[str, Any]) -> Policy:
    return policy(rollout={"windows": list(windows), "estimate": "1h"})


def test_nothing_said_means_one_more_none_fewer_and_no_limits() -> None:
    plain = policy()

    assert (plain.surge(3), plain.unavailable(3)) == (1, 0)
    assert plain.strategy is Strategy.ROLLING
    assert plain.windows == ()
    assert plain.halt_after == 2
    assert plain.join_timeout == timedelta(minutes=20)


@pytest.mark.parametrize(
    ("surge", "unavailable", "desired", "expected"),
    [
        (1, 0, 3, (1, 0)),
        ("25%", "25%", 4, (1, 1)),
        ("25%", "25%", 3, (1, 0)),
        ("10%", "0%", 5, (1, 0)),
        (0, "10%", 5, (0, 1)),
        (0, "50%", 5, (0, 2)),
        ("100%", 0, 7, (7, 0)),
    ],
)
def test_surge_rounds_up_and_unavailable_down_and_never_both_to_nothing(
    surge: object, unavailable: object, desired: int, expected: tuple[int, int]
) -> None:
    rolling = policy(management={"maxSurge": surge, "maxUnavailable": unavailable})

    assert (rolling.surge(desired), rolling.unavailable(desired)) == expected


@pytest.mark.parametrize(("value", "expected"), [(None, 1), (1, 1), (2, 2), ("75%", 3), ("10%", 1)])
def test_in_place_at_least_one_machine_of_four_may_be_changed(value: object, expected: int) -> None:
    management = {"type": "InPlace"} | ({"maxUnavailable": value} if value else {})

    assert policy(management=management).unavailable(4) == expected


@pytest.mark.parametrize(("current", "expected"), [(0, 2), (2, 2), (4, 4), (9, 6)])
def test_the_autoscaler_owns_the_number_within_its_range(current: int, expected: int) -> None:
    scaled = policy(replicas=None, autoscaling={"min": 2, "max": 6})

    assert scaled.replicas_from(current) == expected


@pytest.mark.parametrize(
    ("spec", "problem"),
    [
        ({"management": {"maxSurge": 0, "maxUnavailable": 0}},
         "spec.management: maxSurge and maxUnavailable are both 0"),
        ({"management": {"type": "InPlace", "maxSurge": 1}},
         "spec.management.maxSurge: has no meaning for InPlace"),
        ({"autoscaling": {"min": 1, "max": 2}},
         "spec.replicas: found 3, expected 1 to 2, the bounds of autoscaling"),
        ({"replicas": None, "autoscaling": {"min": 3, "max": 2}},
         "spec.autoscaling.max: found 2, expected at least 3"),
        ({"rollout": {"windows": [{"start": "22:00", "duration": "5m"}]}},
         "spec.rollout.windows[0].duration: is shorter than replacing one machine takes (0:10:00)"),
        ({"rollout": {"windows": [{"start": "22:00", "duration": "1h", "zone": "Mars/Base"}]}},
         "spec.rollout.windows[0].zone: 'Mars/Base' is no time zone"),
    ],
)  # fmt: skip
def test_a_policy_that_cannot_work_is_refused(spec: dict[str, Any], problem: str) -> None:
    with pytest.raises(InputError) as refused:
        policy(**spec)

    assert str(refused.value) == problem


def test_maximum_ages_are_per_severity() -> None:
    aged = policy(platformChanges={"maximumAge": {"connectivity": "24h", "security": "7d"}})

    assert aged.maximum_age == {
        Severity.CONNECTIVITY: timedelta(hours=24),
        Severity.SECURITY: timedelta(days=7),
    }


def test_a_pause_until_a_moment_is_over_at_that_moment() -> None:
    paused = policy(paused="2026-11-16T14:00:00+02:00")

    assert paused.active_pause(datetime(2026, 11, 16, 11, 59, tzinfo=UTC)) is not None
    assert paused.active_pause(datetime(2026, 11, 16, 12, 0, tzinfo=UTC)) is None


def test_a_window_starts_nothing_that_it_cannot_finish() -> None:
    windows = windowed({"days": ["Mon"], "start": "22:00", "duration": "4h"}).windows
    monday = datetime(2026, 11, 16, tzinfo=UTC)

    assert not fits(windows, monday.replace(hour=21, minute=59), HOUR)
    assert fits(windows, monday.replace(hour=22), HOUR)
    assert fits(windows, monday + timedelta(days=1, hours=1), HOUR)
    assert not fits(windows, monday + timedelta(days=1, hours=1, minutes=1), HOUR)
    assert next_start(windows, monday + timedelta(days=1)) == datetime(2026, 11, 23, 22, tzinfo=UTC)


def test_a_window_is_in_its_own_time_zone() -> None:
    windows = windowed({"start": "22:00", "duration": "2h", "zone": "America/New_York"}).windows

    assert next_start(windows, datetime(2026, 7, 1, 12, tzinfo=UTC)) == datetime(
        2026, 7, 2, 2, tzinfo=UTC
    )
    assert next_start(windows, datetime(2026, 12, 1, 12, tzinfo=UTC)) == datetime(
        2026, 12, 2, 3, tzinfo=UTC
    )


def test_a_window_is_as_long_on_the_night_the_clocks_change() -> None:
    berlin = ZoneInfo("Europe/Berlin")
    windows = windowed({"start": "01:00", "duration": "3h", "zone": "Europe/Berlin"}).windows
    # On 25 October 2026 the clock goes from 03:00 back to 02:00: three hours end at 03:00.
    opens = datetime(2026, 10, 25, 1, tzinfo=berlin)

    assert fits(windows, opens, 3 * HOUR)
    assert fits(windows, datetime(2026, 10, 25, 1, 0, tzinfo=UTC), HOUR)
    assert not fits(windows, datetime(2026, 10, 25, 1, 30, tzinfo=UTC), HOUR)


def test_the_last_moment_at_which_something_may_start_is_known() -> None:
    windows = windowed(
        {"start": "12:00", "duration": "2h"}, {"start": "12:30", "duration": "3h"}
    ).windows

    assert last_start(windows, datetime(2026, 11, 16, 12, 30, tzinfo=UTC), HOUR) == datetime(
        2026, 11, 16, 14, 30, tzinfo=UTC
    )
    assert last_start(windows, datetime(2026, 11, 16, 14, 31, tzinfo=UTC), HOUR) is None
    assert last_start((), datetime(2026, 11, 16, tzinfo=UTC), HOUR) is None


def test_a_request_to_go_on_is_read() -> None:
    assert policy(**{"rollout.resume": "one"}).resume == "one"
    assert policy().resume == ""


def test_no_windows_means_always() -> None:
    assert fits((), datetime(2026, 1, 1, tzinfo=UTC), HOUR)
    assert next_start((), datetime(2026, 1, 1, tzinfo=UTC)) is None
