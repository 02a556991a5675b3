"""One suite for every world: what the seams promise, whoever keeps what is behind them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest

from conformance.stored_world import StoredWorld
from fairlead.controller.observe import PoolState, PoolStatus
from fairlead.errors import ConflictError, InvariantError
from fairlead.inputs.platform_inputs import Stub
from fairlead.rollout.machines import NodeSettings, Phase, Template
from fairlead.rollout.record import ChangeClass, PoolRecord, RolloutPlan
from fairlead.rollout.secrets import TokenSecret, UserData, is_valid
from fairlead.sim.clock import START
from fairlead.sim.world import ControllerKilledError, SimWorld
from fairlead.timeline.event import Event, EventKind
from pool_documents import make_revision, platform_document, pool_document
from transitions.pool_worlds import (
    POOL,
    condition,
    declare,
    drift,
    edit,
    event_kinds,
    names,
    pairs,
    state,
    template,
    template_writes,
)

FIRST, SECOND = "aaaaaaaaaaaaaaaa", "bbbbbbbbbbbbbbbb"
STUB = Stub(endpoint="https://payload.example.test/v1/config", ca="CA")

MakeWorld = Callable[[], SimWorld]


@pytest.fixture(params=["sim", "embedded"])
def make_world(request: pytest.FixtureRequest) -> Iterator[MakeWorld]:
    """Makes worlds of one kind in which a pool of three is declared and nothing has run."""
    made: list[StoredWorld] = []

    def make() -> SimWorld:
        world: SimWorld = SimWorld()
        if request.param == "embedded":
            world = StoredWorld()
            made.append(world)
        declare(world, pool_document(), platform_document())
        return world

    yield make
    for world in made:
        world.close()


@pytest.fixture
def world(make_world: MakeWorld) -> SimWorld:
    return make_world()


@pytest.fixture
def settled(world: SimWorld) -> SimWorld:
    """A world whose three machines run."""
    world.settle()
    return world


def restart(world: SimWorld) -> None:
    """Let the control plane end and start again, where it has anything to lose."""
    if isinstance(world, StoredWorld):
        world.restart()


def make_token(pair: str = FIRST, pool: str = POOL) -> TokenSecret:
    revision = make_revision()
    return TokenSecret(
        pool=pool, id=pair, revision=revision, served=revision, token="t", issued_at=START
    )


def make_user_data(pair: str = FIRST, pool: str = POOL) -> UserData:
    return UserData(pool=pool, id=pair, token="t", stub=STUB)


def make_template(revision: str = FIRST, generation: int = 1) -> Template:
    return Template(
        revision=revision,
        version="1.34.2",
        machine_template={"vmSize": "m5.large"},
        replicas=3,
        settings=NodeSettings(labels={"team": "a"}, drain_timeout=timedelta(minutes=5)),
        generation=generation,
        observed_generation=generation - 1,
    )


def write_pair(world: SimWorld, pair: str = FIRST, pool: str = POOL) -> None:
    world.write_token(make_token(pair, pool))
    world.write_user_data(make_user_data(pair, pool))


def with_machine(world: SimWorld) -> None:
    """A template and one machine from it."""
    write_pair(world)
    world.point_template(POOL, make_template())
    world.create_machine(POOL, "workers-a", FIRST)


def make_event(number: int, pool: str = POOL, says: str = "So it is.") -> Event:
    at = START + timedelta(seconds=number)
    return Event(kind=EventKind.SEEDED, pool=pool, at=at, key=f"key-{number}", says=says)


# Pools.


def test_records_status_and_plans_are_none_until_they_are_written_and_come_back_equal(
    world: SimWorld,
) -> None:
    assert world.find_record(POOL) is None
    assert world.find_status(POOL) is None
    assert world.find_plan(POOL) is None
    revision = make_revision()
    first = PoolRecord(pool=POOL, serial=1, target=revision, started_at=START)
    record = replace(first, serial=2, applied=revision, honoured=("v1",))
    status = PoolStatus(
        state=PoolState.SETTLED,
        sentence="Every machine has what its owner wrote.",
        version="1.34.2",
        updated=3,
        available=3,
        total=3,
        desired=3,
        conditions=(),
    )
    plan = RolloutPlan(
        pool=POOL,
        change=ChangeClass.REPLACE,
        intent_hash="1",
        platform_hash="2",
        because="imageBase",
        machines=("workers-b", "workers-a"),
        estimate=timedelta(minutes=3),
    )

    world.write_record(first)
    world.write_record(record)
    world.write_status(POOL, replace(status, updated=2))
    world.write_status(POOL, status)
    world.plans[POOL] = plan
    restart(world)

    assert world.find_record(POOL) == record
    assert world.find_status(POOL) == status
    assert world.find_plan(POOL) == plan


def test_pools_are_listed_by_name_and_read_as_they_were_declared(world: SimWorld) -> None:
    world.documents["builders"] = replace(
        world.documents[POOL], pool=pool_document("builders", replicas=7)
    )

    assert world.list_pools() == ("builders", POOL)
    assert world.read_documents("builders").pool == pool_document("builders", replicas=7)
    assert world.read_documents(POOL).pool == pool_document()
    assert not world.read_documents(POOL).is_leaving


def test_a_pool_is_forgotten_once_nothing_of_it_is_left(world: SimWorld) -> None:
    with_machine(world)
    world.append([make_event(1)])
    with pytest.raises(InvariantError):
        world.forget_pool(POOL)
    world.remove_machine("workers-a", "the pool was deleted")
    world.run_machines()
    with pytest.raises(InvariantError):
        world.forget_pool(POOL)
    world.delete_user_data(POOL, FIRST)
    with pytest.raises(InvariantError):
        world.forget_pool(POOL)
    world.delete_token(POOL, FIRST)

    world.forget_pool(POOL)
    world.forget_pool(POOL)

    assert world.list_pools() == ()
    assert world.find_template(POOL) is None
    assert world.read_events(POOL) == (make_event(1),)


# Templates.


def test_a_template_comes_back_equal_and_is_observed_when_its_edge_has_seen_it(
    world: SimWorld,
) -> None:
    assert world.find_template(POOL) is None
    write_pair(world)

    world.point_template(POOL, make_template())
    assert world.find_template(POOL) == make_template()
    world.run_machines()
    restart(world)

    assert world.find_template(POOL) == replace(make_template(), observed_generation=1)


def test_a_template_names_only_a_pair_that_exists(world: SimWorld) -> None:
    with pytest.raises(InvariantError, match="is named and does not exist"):
        world.point_template(POOL, make_template())
    world.write_token(make_token())
    with pytest.raises(InvariantError, match="is named and does not exist"):
        world.point_template(POOL, make_template())

    assert world.find_template(POOL) is None


def test_another_revision_has_another_generation(world: SimWorld) -> None:
    write_pair(world)
    write_pair(world, SECOND)
    world.point_template(POOL, make_template())
    world.point_template(POOL, make_template())

    with pytest.raises(InvariantError, match="the generation did not go up"):
        world.point_template(POOL, make_template(SECOND))
    world.point_template(POOL, make_template(SECOND, generation=2))

    assert world.find_template(POOL) == make_template(SECOND, generation=2)


def test_replicas_and_settings_are_applied_in_place_and_nothing_else(world: SimWorld) -> None:
    with pytest.raises((InvariantError, KeyError)):
        world.apply_template(POOL, make_template())
    with_machine(world)
    write_pair(world, SECOND)
    changed = replace(make_template(), replicas=9, settings=NodeSettings(labels={"team": "b"}))

    world.apply_template(POOL, changed)
    with pytest.raises(InvariantError, match="another revision may not be applied in place"):
        world.apply_template(POOL, replace(changed, revision=SECOND))
    with pytest.raises(InvariantError, match="another revision may not be applied in place"):
        world.apply_template(POOL, replace(changed, version="1.35.0"))

    assert world.find_template(POOL) == changed
    assert world.list_machines(POOL)[0].settings.labels == {"team": "a"}


# Machines.


def test_a_machine_boots_from_the_templates_pair_with_its_settings(world: SimWorld) -> None:
    with_machine(world)
    world.create_machine(POOL, "workers-0", FIRST)

    first, second = world.list_machines(POOL)

    assert (first.name, first.pool, first.revision) == ("workers-a", POOL, FIRST)
    assert (first.phase, first.created_at) == (Phase.BOOTING, START)
    assert first.settings == make_template().settings
    assert (first.booted, first.heading_for, first.problem, first.reason) == ("", "", "", "")
    assert second.name == "workers-0"
    assert world.list_machines("others") == ()


def test_a_name_is_never_used_twice(world: SimWorld) -> None:
    with_machine(world)

    with pytest.raises(ConflictError, match="the name workers-a was used before"):
        world.create_machine(POOL, "workers-a", FIRST)
    world.remove_machine("workers-a", "a reason")
    world.run_machines()
    restart(world)
    assert world.list_machines(POOL) == ()
    with pytest.raises(ConflictError, match="the name workers-a was used before"):
        world.create_machine(POOL, "workers-a", FIRST)

    assert world.list_machines(POOL) == ()


def test_a_machine_is_made_only_from_what_the_template_names(world: SimWorld) -> None:
    with_machine(world)
    write_pair(world, SECOND)

    with pytest.raises(InvariantError, match="which the template does not name"):
        world.create_machine(POOL, "workers-b", SECOND)
    world.delete_token(POOL, FIRST)
    with pytest.raises(InvariantError, match="is named and does not exist"):
        world.create_machine(POOL, "workers-b", FIRST)

    assert [machine.name for machine in world.list_machines(POOL)] == ["workers-a"]


def test_a_machine_that_was_told_to_leave_keeps_its_first_reason_for_ever(world: SimWorld) -> None:
    with_machine(world)
    with pytest.raises(InvariantError, match="without a reason"):
        world.remove_machine("workers-a", "")

    world.remove_machine("workers-a", "imageBase changed")
    world.remove_machine("workers-a", "too many machines")
    (leaving,) = world.list_machines(POOL)
    assert (leaving.phase, leaving.reason) == (Phase.LEAVING, "imageBase changed")
    world.run_machines()
    world.remove_machine("workers-a", "too late")
    restart(world)

    assert world.list_machines(POOL) == ()
    assert world.gone["workers-a"].reason == "imageBase changed"


def test_a_machine_heads_for_a_revision_whose_pair_exists(world: SimWorld) -> None:
    with_machine(world)
    world.run_machines()

    with pytest.raises(InvariantError, match="is named and does not exist"):
        world.change_machine("workers-a", SECOND)
    write_pair(world, SECOND)
    world.change_machine("workers-a", SECOND)
    (machine,) = world.list_machines(POOL)
    assert (machine.revision, machine.heading_for) == (FIRST, SECOND)
    assert not machine.is_available
    world.run_machines()

    (machine,) = world.list_machines(POOL)
    assert (machine.revision, machine.heading_for, machine.phase) == (SECOND, "", Phase.READY)


def test_settings_reach_a_running_machine_and_no_other(world: SimWorld) -> None:
    with_machine(world)
    world.create_machine(POOL, "workers-b", FIRST)
    world.run_machines()
    settings = NodeSettings(
        labels={"team": "b"},
        taints=({"key": "gpu", "effect": "NoSchedule"},),
        detach_timeout=timedelta(seconds=90),
    )

    world.apply_settings("workers-a", settings)
    world.apply_settings("workers-a", settings)
    restart(world)

    first, second = world.list_machines(POOL)
    assert first.settings == settings
    assert first.phase is Phase.READY
    assert second.settings == make_template().settings


# Secrets.


def test_secrets_are_replaced_by_name_and_listed_by_pool(world: SimWorld) -> None:
    world.documents["others"] = replace(world.documents[POOL], pool=pool_document("others"))
    write_pair(world)
    write_pair(world, SECOND)
    write_pair(world, FIRST, "others")
    rotated = replace(
        make_token(), token="u", previous="t", previous_until=START + timedelta(hours=5)
    )

    world.write_token(rotated)
    world.write_user_data(replace(make_user_data(), token="u"))
    restart(world)

    by_name = {secret.id: secret for secret in world.list_tokens(POOL)}
    assert by_name == {FIRST: rotated, SECOND: make_token(SECOND)}
    data = {secret.id: secret for secret in world.list_user_data(POOL)}
    assert data == {FIRST: replace(make_user_data(), token="u"), SECOND: make_user_data(SECOND)}
    assert world.list_tokens("others") == (make_token(FIRST, "others"),)


def test_deleting_what_is_not_there_is_no_error_and_no_write(world: SimWorld) -> None:
    write_pair(world)
    before = world.writes

    world.delete_token(POOL, SECOND)
    world.delete_user_data("nobody", FIRST)
    assert world.writes == before
    world.delete_token(POOL, FIRST)
    world.delete_token(POOL, FIRST)

    assert world.writes == before + 1
    assert world.list_tokens(POOL) == ()
    assert world.list_user_data(POOL) == (make_user_data(),)


# The journal.


def test_an_event_is_appended_once_and_stays_as_it_was(world: SimWorld) -> None:
    world.append([make_event(2), make_event(1)])
    before = world.writes

    world.append([make_event(1, says="Something else.")])
    world.append([])
    assert world.writes == before
    world.append([make_event(1, says="Something else."), make_event(3)])
    world.append([make_event(1, "others")])
    restart(world)

    assert world.read_events(POOL) == (make_event(2), make_event(1), make_event(3))
    assert world.read_events("others") == (make_event(1, "others"),)


# Whole passes.


def test_a_pool_is_adopted_and_a_second_pass_writes_nothing(world: SimWorld) -> None:
    world.settle()
    restart(world)

    assert names(world) == ["workers-2", "workers-3", "workers-4"]
    assert state(world) == "Settled"
    assert template_writes(world) == 1
    assert event_kinds(world) == ["PoolAdopted", "MachinesCreated", "RolloutCompleted"]
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

    edit(settled, imageBase="202607.03")
    settled.settle()

    assert names(settled) == ["workers-6", "workers-7", "workers-8"]
    assert template_writes(settled) == 2
    assert {machine.reason for machine in settled.gone.values()} == {
        "the pool's owner changed imageBase"
    }
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


def test_a_deleted_pool_lets_its_machines_go_and_leaves_only_its_story(settled: SimWorld) -> None:
    settled.delete_pool()
    for _ in range(10):
        if POOL in settled.documents:
            settled.one_pass()
            settled.run_machines()
            settled.clock.advance(timedelta(hours=1))

    assert settled.list_pools() == ()
    assert names(settled) == []
    assert pairs(settled) == []
    assert {machine.reason for machine in settled.gone.values()} == {"the pool was deleted"}
    assert event_kinds(settled)[-1] == "PoolDeleted"


# A crash before any write.

# Told by the pass that took the step: one that is cut off in between tells nobody.
TOLD_BY_THE_STEP = {"MachinesCreated", "SecretRecreated"}

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
