"""One suite for every world: what the seams promise, whoever keeps what is behind them."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta

import pytest

from conformance.conftest import STUB
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
TOKEN, ROTATED = "dA==", "dQ=="  # noqa: S105 - base64, as machines take it


def make_token(pair: str = FIRST, pool: str = POOL) -> TokenSecret:
    revision = make_revision()
    return TokenSecret(
        pool=pool, id=pair, revision=revision, served=revision, token=TOKEN, issued_at=START
    )


def make_user_data(pair: str = FIRST, pool: str = POOL) -> UserData:
    return UserData(pool=pool, id=pair, token=TOKEN, stub=Stub(**STUB))


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
    world.create_token(make_token(pair, pool))
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


def test_a_pool_is_forgotten_once_nothing_of_it_is_left(maker: SimWorld) -> None:
    with_machine(maker)
    maker.append([make_event(1)])
    with pytest.raises(InvariantError):
        maker.forget_pool(POOL)
    maker.remove_machine("workers-a", "the pool was deleted")
    maker.run_machines()
    with pytest.raises(InvariantError):
        maker.forget_pool(POOL)
    maker.delete_user_data(POOL, FIRST)
    with pytest.raises(InvariantError):
        maker.forget_pool(POOL)
    maker.delete_token(POOL, FIRST)

    maker.forget_pool(POOL)
    maker.forget_pool(POOL)

    assert maker.list_pools() == ()
    assert maker.find_template(POOL) is None
    assert [event.key for event in maker.read_events(POOL)] == [
        make_event(1).key, "MachineGone:workers-a",
    ]  # fmt: skip


def test_a_machine_that_is_gone_is_told_by_name_with_why_and_who_asked(maker: SimWorld) -> None:
    with_machine(maker)
    maker.remove_machine("workers-a", "the pool was scaled down", "alice")
    maker.run_machines()

    told = maker.read_events(POOL)[-1]

    assert (told.kind.value, told.machine) == ("MachineGone", "workers-a")
    assert told.says == "workers-a is gone: the pool was scaled down."
    assert (told.actor, told.asked_by) == ("the control plane", "alice")


# Templates.


def test_a_template_comes_back_equal_and_is_observed_when_its_edge_has_seen_it(
    maker: SimWorld,
) -> None:
    assert maker.find_template(POOL) is None
    write_pair(maker)

    maker.point_template(POOL, make_template())
    assert maker.find_template(POOL) == make_template()
    maker.run_machines()
    restart(maker)

    assert maker.find_template(POOL) == replace(make_template(), observed_generation=1)


def test_a_template_names_only_a_pair_that_exists(maker: SimWorld) -> None:
    with pytest.raises(InvariantError, match="is named and does not exist"):
        maker.point_template(POOL, make_template())
    maker.write_token(make_token())
    with pytest.raises(InvariantError, match="is named and does not exist"):
        maker.point_template(POOL, make_template())

    assert maker.find_template(POOL) is None


def test_another_revision_has_another_generation(maker: SimWorld) -> None:
    write_pair(maker)
    write_pair(maker, SECOND)
    maker.point_template(POOL, make_template())
    maker.point_template(POOL, make_template())

    with pytest.raises(InvariantError, match="the generation did not go up"):
        maker.point_template(POOL, make_template(SECOND))
    maker.point_template(POOL, make_template(SECOND, generation=2))

    assert maker.find_template(POOL) == make_template(SECOND, generation=2)


def test_replicas_and_settings_are_applied_in_place_and_nothing_else(maker: SimWorld) -> None:
    with pytest.raises((InvariantError, KeyError)):
        maker.apply_template(POOL, make_template())
    with_machine(maker)
    write_pair(maker, SECOND)
    changed = replace(make_template(), replicas=9, settings=NodeSettings(labels={"team": "b"}))

    maker.apply_template(POOL, changed)
    with pytest.raises(InvariantError, match="another revision may not be applied in place"):
        maker.apply_template(POOL, replace(changed, revision=SECOND))
    with pytest.raises(InvariantError, match="another revision may not be applied in place"):
        maker.apply_template(POOL, replace(changed, version="1.35.0"))

    assert maker.find_template(POOL) == changed
    assert maker.list_machines(POOL)[0].settings.labels == {"team": "a"}


# Machines.


def test_a_machine_boots_from_the_templates_pair_with_its_settings(maker: SimWorld) -> None:
    with_machine(maker)
    maker.create_machine(POOL, "workers-0", FIRST)

    first, second = maker.list_machines(POOL)

    assert (first.name, first.pool, first.revision) == ("workers-a", POOL, FIRST)
    assert (first.phase, first.created_at) == (Phase.BOOTING, START)
    assert first.settings == make_template().settings
    assert (first.booted, first.heading_for, first.problem, first.reason) == ("", "", "", "")
    assert second.name == "workers-0"
    assert maker.list_machines("others") == ()


def test_a_name_is_never_used_twice(maker: SimWorld) -> None:
    with_machine(maker)

    with pytest.raises(ConflictError, match="the name workers-a was used before"):
        maker.create_machine(POOL, "workers-a", FIRST)
    maker.remove_machine("workers-a", "a reason")
    maker.run_machines()
    restart(maker)
    assert maker.list_machines(POOL) == ()
    with pytest.raises(ConflictError, match="the name workers-a was used before"):
        maker.create_machine(POOL, "workers-a", FIRST)

    assert maker.list_machines(POOL) == ()


def test_a_machine_is_made_only_from_what_the_template_names(maker: SimWorld) -> None:
    with_machine(maker)
    write_pair(maker, SECOND)

    with pytest.raises(InvariantError, match="which the template does not name"):
        maker.create_machine(POOL, "workers-b", SECOND)
    maker.delete_token(POOL, FIRST)
    with pytest.raises(InvariantError, match="is named and does not exist"):
        maker.create_machine(POOL, "workers-b", FIRST)

    assert [machine.name for machine in maker.list_machines(POOL)] == ["workers-a"]


def test_a_machine_that_was_told_to_leave_keeps_its_first_reason_for_ever(maker: SimWorld) -> None:
    with_machine(maker)
    with pytest.raises(InvariantError, match="without a reason"):
        maker.remove_machine("workers-a", "")

    maker.remove_machine("workers-a", "imageBase changed")
    maker.remove_machine("workers-a", "too many machines")
    (leaving,) = maker.list_machines(POOL)
    assert (leaving.phase, leaving.reason) == (Phase.LEAVING, "imageBase changed")
    maker.run_machines()
    maker.remove_machine("workers-a", "too late")
    restart(maker)

    assert maker.list_machines(POOL) == ()
    assert maker.gone["workers-a"].reason == "imageBase changed"


def test_a_stuck_drain_ends_with_its_limit_or_when_its_owner_does_not_wait(
    maker: SimWorld,
) -> None:
    with_machine(maker)
    maker.create_machine(POOL, "workers-b", FIRST)
    maker.run_machines()
    maker.stuck = {"workers-a", "workers-b"}
    maker.remove_machine("workers-a", "too many machines")
    maker.remove_machine("workers-b", "too many machines")
    told_at = maker.clock.now
    maker.apply_settings("workers-a", NodeSettings(drain_timeout=timedelta(minutes=5)))
    maker.apply_settings("workers-b", NodeSettings())

    maker.clock.advance(timedelta(minutes=4))
    maker.run_machines()
    assert [machine.since for machine in maker.list_machines(POOL)] == [told_at, told_at]
    maker.clock.advance(timedelta(minutes=1))
    maker.run_machines()
    assert [machine.name for machine in maker.list_machines(POOL)] == ["workers-b"]

    maker.delete("workers-b", skips_drain=True)
    restart(maker)
    (leaving,) = maker.list_machines(POOL)
    assert (leaving.reason, leaving.since, leaving.skips_drain) == (
        "too many machines", told_at, True,
    )  # fmt: skip
    maker.run_machines()

    assert maker.list_machines(POOL) == ()


def test_a_machine_heads_for_a_revision_whose_pair_exists(maker: SimWorld) -> None:
    with_machine(maker)
    maker.run_machines()

    with pytest.raises(InvariantError, match="is named and does not exist"):
        maker.change_machine("workers-a", SECOND)
    write_pair(maker, SECOND)
    maker.change_machine("workers-a", SECOND)
    (machine,) = maker.list_machines(POOL)
    assert (machine.revision, machine.heading_for) == (FIRST, SECOND)
    assert not machine.is_available
    maker.run_machines()

    (machine,) = maker.list_machines(POOL)
    assert (machine.revision, machine.heading_for, machine.phase) == (SECOND, "", Phase.READY)


def test_settings_reach_a_running_machine_and_no_other(maker: SimWorld) -> None:
    with_machine(maker)
    maker.create_machine(POOL, "workers-b", FIRST)
    maker.run_machines()
    settings = NodeSettings(
        labels={"team": "b"},
        taints=({"key": "gpu", "effect": "NoSchedule"},),
        drain_timeout=timedelta(seconds=90),
        detach_timeout=timedelta(seconds=45),
    )

    maker.apply_settings("workers-a", settings)
    maker.apply_settings("workers-a", settings)
    restart(maker)

    first, second = maker.list_machines(POOL)
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
        make_token(), token=ROTATED, previous=TOKEN, previous_until=START + timedelta(hours=5)
    )

    world.write_token(rotated)
    world.write_user_data(replace(make_user_data(), token=ROTATED))
    restart(world)

    by_name = {secret.id: secret for secret in world.list_tokens(POOL)}
    assert by_name == {FIRST: rotated, SECOND: make_token(SECOND)}
    data = {secret.id: secret for secret in world.list_user_data(POOL)}
    assert data == {FIRST: replace(make_user_data(), token=ROTATED), SECOND: make_user_data(SECOND)}
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


def test_an_event_is_appended_once_and_stays_as_it_was(world: SimWorld) -> None:
    world.documents["others"] = replace(world.documents[POOL], pool=pool_document("others"))
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
