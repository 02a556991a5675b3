"""Whole passes end in the same state in every world, also if they are cut off before any write."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from contextlib import suppress
from datetime import timedelta
from typing import Any

import pytest

from conformance.stored_world import restart
from fairlead.answers.words import Phase
from fairlead.rollout.secrets import is_valid
from fairlead.sim.world import ControllerKilledError, SimWorld
from transitions.pool_worlds import (
    POOL,
    condition,
    drift,
    edit,
    event_kinds,
    names,
    pairs,
    state,
    template,
    template_writes,
)

MakeWorld = Callable[[], SimWorld]


def reasons(world: SimWorld) -> set[str]:
    """Why machines were let go; where their edge replaces them it says nothing of that."""
    found = {machine.reason for machine in world.gone.values()}
    assert ("" in found) == world.makes_by_itself
    return found - {""}


def test_a_pool_is_adopted_and_a_second_pass_writes_nothing(world: SimWorld) -> None:
    world.settle()
    restart(world)

    assert len(names(world)) == 3
    assert state(world) == "Settled"
    assert template_writes(world) == 1
    assert event_kinds(world) == [
        "PoolAdopted", "MachineCreated", "MachineCreated", "MachineCreated", "RolloutCompleted",
    ]  # fmt: skip
    assert world.one_pass() == 0


def test_a_platform_change_is_held(settled: SimWorld) -> None:
    before = template(settled), pairs(settled)

    drift(settled)
    settled.settle()

    assert (template(settled), pairs(settled)) == before
    assert condition(settled) == ("True", "ManagementConfigDrift")
    assert [held.leaf for held in settled.records[POOL].held] == ["platform.controlPlaneImage"]


def test_an_intent_change_rolls_with_what_was_held(settled: SimWorld) -> None:
    drift(settled)
    settled.settle()

    before = names(settled)

    edit(settled, imageBase="202607.03")
    settled.settle()

    assert len(names(settled)) == 3
    assert sorted(settled.gone) == before
    assert template_writes(settled) == 2
    assert reasons(settled) <= {"the pool's owner changed imageBase"}
    applied = settled.records[POOL].applied
    assert applied is not None
    assert applied.leaves["platform.controlPlaneImage"] == "cp@sha256:bb"


def test_an_intent_change_during_a_rollout_retargets_it(settled: SimWorld) -> None:
    edit(settled, imageBase="202607.03")
    for _ in range(3):
        settled.one_pass()
        settled.run_machines()
    middle = template(settled).revision

    edit(settled, imageBase="202607.04")
    settled.one_pass()
    restart(settled)
    assert state(settled) == "Superseding"
    settled.settle()

    assert middle not in {machine.revision for machine in settled.living.values()}
    assert event_kinds(settled).count("RolloutCompleted") == 2, "the first boot, and the newest"


def test_scaling_creates_and_removes_without_a_rollout(settled: SimWorld) -> None:
    edit(settled, replicas=5)
    settled.settle()
    assert len(names(settled)) == 5

    edit(settled, replicas=1)
    settled.settle()

    assert len(names(settled)) == 1
    assert len(settled.gone) == 4
    assert template_writes(settled) == 1


def test_a_paused_pool_scales_and_replaces_nothing(settled: SimWorld) -> None:
    edit(settled, paused=True, imageBase="202607.03", replicas=4)
    settled.settle()

    assert len(names(settled)) == 4
    assert template_writes(settled) == 1
    assert state(settled) == "Held"

    edit(settled, paused=None)
    settled.settle()
    assert template_writes(settled) == 2


def test_a_force_replaces_every_machine_once(settled: SimWorld) -> None:
    first = names(settled)

    edit(settled, force="v1")
    settled.settle()
    second = names(settled)
    restart(settled)
    settled.settle()

    assert not set(first) & set(second)
    assert names(settled) == second
    assert settled.records[POOL].honoured == ("v1",)


def test_reverting_within_the_grace_brings_the_first_pair_back_to_life(settled: SimWorld) -> None:
    first = template(settled).revision
    edit(settled, imageBase="202607.03")
    settled.settle()
    assert settled.tokens[POOL, first].expires_at is not None
    token = settled.tokens[POOL, first].token

    edit(settled, imageBase="202607.02")
    settled.settle()

    assert template(settled).revision == first
    assert settled.tokens[POOL, first].expires_at is None
    assert settled.tokens[POOL, first].token == token


@pytest.mark.parametrize("lost", ["token", "user data", "both"])
def test_a_pinned_secret_that_was_deleted_comes_back_under_its_name(
    settled: SimWorld, lost: str
) -> None:
    before = template(settled)
    if lost != "user data":
        del settled.tokens[POOL, before.revision]
    if lost != "token":
        del settled.user_data[POOL, before.revision]

    settled.settle()

    token = settled.tokens[POOL, before.revision]
    user_data = settled.user_data[POOL, before.revision]
    assert is_valid(token, user_data.token, settled.clock.now)
    assert template(settled) == before
    assert len(names(settled)) == 3


def test_a_token_is_rotated_and_the_template_untouched(settled: SimWorld) -> None:
    before = template(settled)
    (secret,) = settled.list_tokens(POOL)

    settled.clock.advance(timedelta(hours=5, minutes=30))
    settled.settle()

    (rotated,) = settled.list_tokens(POOL)
    assert rotated.previous == secret.token
    assert rotated.token not in ("", secret.token)
    assert settled.list_user_data(POOL)[0].token == rotated.token
    assert template(settled) == before


@pytest.mark.parametrize("fate", ["fail", "silent"])
def test_machines_that_do_not_come_halt_a_rollout(settled: SimWorld, fate: str) -> None:
    edit(settled, imageBase="202607.03", rollout={"haltAfter": 1}, timeouts={"join": "10m"})
    settled.fates = [fate]

    for _ in range(20):
        settled.one_pass()
        settled.run_machines()
        settled.clock.advance(timedelta(minutes=1))

    assert settled.records[POOL].halted
    assert state(settled) == "Blocked"
    old = [machine for machine in settled.living.values() if machine.phase is Phase.READY]
    assert len(old) == 3


def end_pool(world: SimWorld) -> None:
    world.delete_pool()
    for _ in range(10):
        if POOL in world.documents:
            world.one_pass()
            world.run_machines()
            world.clock.advance(timedelta(hours=1))


def test_a_deleted_pool_lets_its_machines_go_and_leaves_nothing(settled: SimWorld) -> None:
    end_pool(settled)

    assert settled.list_pools() == ()
    assert names(settled) == []
    assert pairs(settled) == []
    assert reasons(settled) <= {"the pool was deleted"}


def test_the_story_of_a_deleted_pool_stays(maker: SimWorld) -> None:
    maker.settle()

    end_pool(maker)

    assert event_kinds(maker)[-1] == "PoolDeleted"


# A crash before any write.

# Told by the pass that took the step: one that is cut off in between tells nobody.
TOLD_BY_THE_STEP = {"SecretRecreated"}

CHANGES: dict[str, Callable[[SimWorld], object]] = {
    "an intent change": lambda world: edit(world, imageBase="202607.03"),
    "a platform change": drift,
    "more machines": lambda world: edit(world, replicas=5),
    "fewer machines": lambda world: edit(world, replicas=1),
    "settings": lambda world: edit(world, labels={"team": "b"}),
    "a force": lambda world: edit(world, force="v1"),
    "an old token": lambda world: world.clock.advance(timedelta(hours=6)),
    "a lost token": lambda world: world.tokens.pop((POOL, template(world).revision)),
    "lost user data": lambda world: world.user_data.pop((POOL, template(world).revision)),
    "a failed machine": lambda world: world.fail(names(world)[0], "disk is gone"),
    "its end": lambda world: world.delete_pool(),
}


def prepared(make_world: MakeWorld, change: str) -> SimWorld:
    world = make_world()
    world.settle()
    CHANGES[change](world)
    return world


def outcome(world: SimWorld) -> dict[str, Any]:
    """Everything that matters, without names that were drawn and moments."""
    record, status = world.find_record(POOL), world.find_status(POOL)
    found = world.find_template(POOL)
    return {
        "template": found and (found.revision, found.replicas, found.generation, found.settings),
        "machines": Counter(
            (machine.revision, machine.phase, machine.reason, str(machine.settings))
            for machine in world.living.values()
        ),
        "tokens": {key: secret.expires_at is None for key, secret in world.tokens.items()},
        "user data": sorted(world.user_data),
        "pointers": record
        and (record.applied, record.target, record.honoured, record.held, record.failed),
        "status": status and (status.state, status.sentence, status.updated, status.desired),
        "events": Counter(kind for kind in event_kinds(world) if kind not in TOLD_BY_THE_STEP),
    }


@pytest.mark.parametrize("change", CHANGES)
def test_a_crash_before_any_write_then_a_pass_ends_in_the_same_state(
    make_world: MakeWorld, change: str
) -> None:
    whole = prepared(make_world, change)
    writes = whole.one_pass()
    assert writes

    for number in range(writes):
        world = prepared(make_world, change)
        world.crash_at = world.writes + number
        with pytest.raises(ControllerKilledError):
            world.one_pass()
        restart(world)
        world.one_pass()

        assert outcome(world) == outcome(whole), f"killed before {whole.log[-writes + number]}"
        assert world.one_pass() == 0


def test_a_crash_in_the_first_pass_of_a_pool_ends_in_the_same_pool(make_world: MakeWorld) -> None:
    whole = make_world()
    writes = whole.one_pass()
    whole.settle()

    for number in range(writes):
        world = make_world()
        world.crash_at = number
        with pytest.raises(ControllerKilledError):
            world.one_pass()
        restart(world)
        world.settle()

        # Its story may begin with a record that was seeded from the template and its secret.
        assert {**outcome(world), "events": None} == {**outcome(whole), "events": None}
        assert len(names(world)) == 3
        assert template_writes(world) == 1


def test_a_crash_in_every_pass_of_a_rollout_only_delays_it(settled: SimWorld) -> None:
    edit(settled, imageBase="202607.03")

    for number in range(60):
        settled.crash_at = settled.writes + number % 4
        with suppress(ControllerKilledError):
            settled.one_pass()
        settled.crash_at = None
        restart(settled)
        settled.run_machines()
        settled.clock.advance(timedelta(minutes=1))
    settled.settle()

    assert state(settled) == "Settled"
    assert len(names(settled)) == 3
    assert len(settled.gone) >= 3
    assert template_writes(settled) == 2
    assert {machine.revision for machine in settled.living.values()} == {template(settled).revision}
