"""What is too much is refused with the field, what was found and what is allowed."""

import tracemalloc
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from fairlead.agent.https_fetch import LARGEST_BODY
from fairlead.controller.reconcile import preview
from fairlead.inputs.bounds import LARGEST_CONFIG, LARGEST_PLATFORM
from fairlead.proposal.judge import judge
from fairlead.rollout.window import utc_only
from pool_documents import platform_document, pool_document
from transitions.pool_worlds import POOL, declare, settled_world

NOON = datetime(2026, 11, 16, 12, tzinfo=UTC)

# spec, field, what is said
EXCESSIVE: list[tuple[dict[str, Any], str, str]] = [
    ({"rollout": {"soak": "9999999d"}}, "spec.rollout.soak",
     "found 9999999d, expected at most 366d"),
    ({"rollout": {"estimate": "9999999d"}}, "spec.rollout.estimate",
     "found 9999999d, expected at most 366d"),
    ({"platformChanges": {"maximumAge": {"security": "9999999d"}}},
     "spec.platformChanges.maximumAge.security", "found 9999999d, expected at most 366d"),
    ({"timeouts": {"join": "9999999d"}}, "spec.timeouts.join",
     "found 9999999d, expected at most 366d"),
    ({"timeouts": {"drain": "366d1s"}}, "spec.timeouts.drain",
     "found 31622401s, expected at most 366d"),
    ({"rollout": {"windows": [{"start": "22:00", "duration": "999999d"}]}},
     "spec.rollout.windows[0].duration", "found 999999d, expected at most 7d"),
    ({"paused": "9999-12-31T23:59:59-12:00"}, "spec.paused",
     "found 9999-12-31T23:59:59-12:00, expected a moment before 9998-12-31"),
    ({"paused": {"until": "9999-01-01T00:00:00+14:00"}}, "spec.paused",
     "found 9999-01-01T00:00:00+14:00, expected a moment before 9998-12-31"),
    ({"replicas": 20_000_000}, "spec.replicas",
     "found 20000000, expected at most 20000 machines in one pool"),
    ({"replicas": None, "autoscaling": {"min": 1, "max": 20_001}}, "spec.autoscaling.max",
     "found 20001, expected at most 20000 machines in one pool"),
    ({"management": {"maxSurge": 20_001}}, "spec.management.maxSurge",
     "found 20001, expected at most 20000"),
    ({"rollout": {"canary": [1, 2_000_000]}}, "spec.rollout.canary[1]",
     "found 2000000, expected at most 20000"),
    ({"config": [{"kind": "Files", "files": [{"path": "/a", "content": "x" * (4 << 20)}]}]},
     "spec.config", "found 5.3 MiB in all, expected at most 3 MiB"),
    ({"labels": {f"label-{number}": "x" * 60 for number in range(5_000)}},
     "spec", "found 370 KiB beside config, expected at most 256 KiB"),
    ({"rollout": {"canary": [1] * 200_000}},
     "spec", "found 390 KiB beside config, expected at most 256 KiB"),
    ({"description": "x" * 300_000},
     "spec", "found 293 KiB beside config, expected at most 256 KiB"),
]  # fmt: skip


@pytest.mark.parametrize(("spec", "field", "says"), EXCESSIVE)
def test_what_is_too_much_is_refused_with_what_is_allowed(
    spec: dict[str, Any], field: str, says: str
) -> None:
    [complaint] = judge(pool_document(**spec), utc_only)

    assert (complaint.field, complaint.problem) == (field, says)


def test_a_platform_that_leaves_no_room_for_the_rest_is_refused() -> None:
    [complaint] = judge(platform_document(cloudConfig="x" * (600 << 10)), utc_only)

    assert (complaint.field, complaint.problem) == (
        "spec", "found 600 KiB in all, expected at most 512 KiB",
    )  # fmt: skip


def test_as_much_as_is_allowed_is_taken() -> None:
    most = pool_document(
        replicas=20_000,
        rollout={"soak": "366d", "windows": [{"start": "22:00", "duration": "7d"}]},
        paused="9998-12-30T00:00:00Z",
    )

    assert judge(most, utc_only) == ()


def test_a_duration_of_thousands_of_digits_is_no_duration() -> None:
    [complaint] = judge(pool_document(rollout={"soak": "9" * 5_000 + "d"}), utc_only)

    assert (complaint.field, complaint.problem[:30]) == (
        "spec.rollout.soak", "found text of 5001 characters,",
    )  # fmt: skip


# Megabytes in force are read in every pass: seconds.
IN_FORCE = [
    pytest.param(spec, marks=[pytest.mark.slow] if "config" in spec else [])
    for spec, _, _ in EXCESSIVE
    if "replicas" not in spec
]


@pytest.mark.parametrize("spec", IN_FORCE)
def test_a_pool_that_has_too_much_in_force_goes_on_and_can_be_scaled(spec: dict[str, Any]) -> None:
    document = pool_document(**spec)
    world = settled_world()

    declare(world, document)
    preview(POOL, world.world(), NOON)
    world.settle()

    assert len(world.living) >= 3
    scaled = {**document, "spec": {**document["spec"], "replicas": 4}}
    assert judge(scaled, utc_only, live=document) == ()
    assert judge(scaled, utc_only) != ()


def test_a_version_of_thousands_of_digits_that_is_in_force_goes_on() -> None:
    world = settled_world(release={"version": "1." + "9" * 5_000 + ".0"})

    assert len(world.living) == 3


def test_a_pool_of_a_billion_blocks_itself_and_takes_no_memory() -> None:
    world = settled_world()
    declare(world, pool_document(replicas=10**9))

    tracemalloc.start()
    thought = preview(POOL, world.world(), NOON)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()

    assert thought.steps == ()
    assert peak < 10 << 20
    assert "at most 20000 machines" in str(thought.status)


def test_a_plan_of_the_largest_pool_is_bounded() -> None:
    world = settled_world()
    declare(world, pool_document(replicas=20_000))

    tracemalloc.start()
    thought = preview(POOL, world.world(), NOON + timedelta(minutes=1))
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()

    assert len(thought.steps) == 20_000 - 3 + 1, "and the number in the template"
    assert peak < 100 << 20


def test_what_an_owner_may_configure_leaves_room_for_what_is_served_with_it() -> None:
    assert LARGEST_CONFIG + LARGEST_PLATFORM + (512 << 10) <= LARGEST_BODY
