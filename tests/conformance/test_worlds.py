"""One suite for every world: what the seams promise, whoever keeps what is behind them."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta

import pytest

from conformance.stored_world import restart
from fairlead.answers.event import Event
from fairlead.answers.pool import PoolStatus
from fairlead.answers.words import ChangeClass, EventKind, Phase, PoolState
from fairlead.errors import ConflictError, InvariantError
from fairlead.inputs.platform_inputs import Stub
from fairlead.rollout.approval import Approval
from fairlead.rollout.machines import NodeSettings, Template
from fairlead.rollout.record import PoolRecord
from fairlead.rollout.secrets import TokenSecret, UserData
from fairlead.sim.clock import START
from fairlead.sim.world import SimWorld
from pool_documents import make_revision, pool_document
from transitions.pool_worlds import POOL

FIRST, SECOND = "aaaaaaaaaaaaaaaa", "bbbbbbbbbbbbbbbb"
STUB = Stub(endpoint="https://payload.example.test/v1/config", ca="CA")


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
    plan = Approval(
        pool=POOL,
        change=ChangeClass.REPLACE,
        intent_hash="1",
        platform_hash="2",
        because="imageBase",
        machines=("workers-b", "workers-a"),
        estimate_s=180.0,
        revision=make_revision(),
    )

    world.write_record(first)
    world.write_record(record)
    world.write_status(POOL, status.but(updated=2))
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


def test_a_stuck_drain_ends_with_its_limit_or_when_its_owner_does_not_wait(
    world: SimWorld,
) -> None:
    with_machine(world)
    world.create_machine(POOL, "workers-b", FIRST)
    world.run_machines()
    world.stuck = {"workers-a", "workers-b"}
    world.remove_machine("workers-a", "too many machines")
    world.remove_machine("workers-b", "too many machines")
    told_at = world.clock.now
    world.apply_settings("workers-a", NodeSettings(drain_timeout=timedelta(minutes=5)))
    world.apply_settings("workers-b", NodeSettings())

    world.clock.advance(timedelta(minutes=4))
    world.run_machines()
    assert [machine.since for machine in world.list_machines(POOL)] == [told_at, told_at]
    world.clock.advance(timedelta(minutes=1))
    world.run_machines()
    assert [machine.name for machine in world.list_machines(POOL)] == ["workers-b"]

    world.delete("workers-b", skips_drain=True)
    restart(world)
    (leaving,) = world.list_machines(POOL)
    assert (leaving.reason, leaving.since, leaving.skips_drain) == (
        "too many machines", told_at, True,
    )  # fmt: skip
    world.run_machines()

    assert world.list_machines(POOL) == ()


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
        drain_timeout=timedelta(seconds=90),
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
