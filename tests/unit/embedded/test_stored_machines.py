"""What the edge saw of machines is kept, and never undoes what the controller asked for."""

from collections.abc import Callable, Iterator
from dataclasses import replace
from datetime import timedelta
from pathlib import Path

import pytest

from fairlead.answers.event import Event
from fairlead.answers.words import EventKind, Fault, Phase
from fairlead.embedded.store.machines import StoredMachine
from fairlead.embedded.store.world import EmbeddedWorld
from fairlead.errors import ConflictError, InputError, InvariantError
from fairlead.rollout.machines import Machine, NodeSettings
from fairlead.sim.clock import START, Clock
from pool_documents import pool_document
from unit.embedded.open_world import PAIR, POOL, open_world, with_template

MACHINE = Machine(name="workers-1", pool=POOL, revision=PAIR, phase=Phase.BOOTING, created_at=START)


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def world(tmp_path: Path, clock: Clock) -> Iterator[EmbeddedWorld]:
    """A world with one machine that boots."""
    with open_world(tmp_path, clock) as opened:
        with_template(opened)
        opened.machines.create_machine(POOL, "workers-1", PAIR)
        yield opened


def found(world: EmbeddedWorld, name: str = "workers-1") -> StoredMachine:
    stored = world.machines.find_machine(name)
    assert stored is not None
    return stored


def test_a_machine_boots_and_has_had_no_power(world: EmbeddedWorld) -> None:
    assert found(world) == StoredMachine(
        machine=MACHINE,
        kind="directory",
        fault=Fault.NONE,
        gone_at=None,
        report=b"",
        reported_at=None,
        boots=0,
        powered_at=None,
    )
    assert world.machines.list_stored() == (found(world),)
    assert world.machines.list_all() == (MACHINE,)


def test_power_and_reports_are_noted_with_their_moment(world: EmbeddedWorld, clock: Clock) -> None:
    world.machines.note_power("workers-1")
    clock.advance(timedelta(seconds=2))
    world.machines.note_power("workers-1")
    clock.advance(timedelta(seconds=3))
    world.machines.write_report("workers-1", b"first")
    world.machines.write_report("workers-1", b"\x00second")

    stored = found(world)

    assert (stored.boots, stored.powered_at) == (2, START + timedelta(seconds=2))
    assert (stored.report, stored.reported_at) == (b"\x00second", START + timedelta(seconds=5))


def test_a_machine_that_is_gone_keeps_its_row_and_its_reason(
    world: EmbeddedWorld, clock: Clock
) -> None:
    world.machines.remove_machine("workers-1", "imageBase changed")
    clock.advance(timedelta(minutes=1))
    world.machines.mark_gone("workers-1")
    clock.advance(timedelta(minutes=1))
    world.machines.mark_gone("workers-1")

    assert found(world).gone_at == START + timedelta(minutes=1)
    assert found(world).machine.reason == "imageBase changed"
    assert world.machines.list_all() == ()
    assert world.machines.list_stored(POOL) == ()
    assert world.machines.list_stored(POOL, with_gone=True) == (found(world),)
    assert world.machines.list_stored("others", with_gone=True) == ()


def test_a_machine_that_nobody_told_to_leave_is_not_gone(world: EmbeddedWorld) -> None:
    with pytest.raises(InvariantError, match="nobody told it to leave"):
        world.machines.mark_gone("workers-1")

    assert found(world).gone_at is None


def test_what_was_seen_too_early_does_not_undo_that_a_machine_leaves(world: EmbeddedWorld) -> None:
    seen = replace(MACHINE, phase=Phase.READY, booted=PAIR, ready_at=START, problem="it drains")
    world.machines.delete_machine("workers-1")

    world.machines.write_machine(seen)

    machine = found(world).machine
    assert machine.phase is Phase.LEAVING
    assert (machine.reason, machine.ready_at) == ("deleted by hand", None)
    assert (machine.booted, machine.problem) == (PAIR, "it drains")


def test_what_was_seen_too_early_does_not_undo_settings(world: EmbeddedWorld) -> None:
    settings = NodeSettings(labels={"team": "a"}, drain_timeout=timedelta(minutes=5))
    world.machines.apply_settings("workers-1", settings)

    world.machines.write_machine(replace(MACHINE, problem="pulls its image"))

    assert found(world).machine == replace(MACHINE, settings=settings, problem="pulls its image")


def test_a_machine_is_not_ready_before_it_booted(world: EmbeddedWorld) -> None:
    with pytest.raises(InvariantError, match="is ready and never booted"):
        world.machines.write_machine(replace(MACHINE, phase=Phase.READY))


def test_machines_take_the_queued_faults_in_order(world: EmbeddedWorld) -> None:
    world.machines.queue_faults(POOL, (Fault.FAIL_BOOT,))
    world.machines.queue_faults(POOL, (Fault.NEVER_JOIN, Fault.NONE, Fault.STUCK_DRAIN))
    world.pools.write_pool(pool_document("others"))
    world.machines.queue_faults("others", (Fault.BREAK,))

    for number in range(2, 7):
        world.machines.create_machine(POOL, f"workers-{number}", PAIR)

    assert [stored.fault for stored in world.machines.list_stored()] == [
        Fault.NONE,
        Fault.FAIL_BOOT,
        Fault.NEVER_JOIN,
        Fault.NONE,
        Fault.STUCK_DRAIN,
        Fault.NONE,
    ]


def test_a_machine_that_is_refused_takes_no_fault(world: EmbeddedWorld) -> None:
    world.machines.queue_faults(POOL, (Fault.FAIL_BOOT,))

    with pytest.raises(ConflictError):
        world.machines.create_machine(POOL, "workers-1", PAIR)

    world.machines.create_machine(POOL, "workers-2", PAIR)
    assert found(world, "workers-2").fault is Fault.FAIL_BOOT


def test_a_machine_does_wrong_what_it_is_told_to(world: EmbeddedWorld) -> None:
    world.machines.write_fault("workers-1", Fault.BREAK)

    assert found(world).fault is Fault.BREAK


def test_a_template_is_observed_once(world: EmbeddedWorld) -> None:
    template = world.machines.find_template(POOL)
    assert template is not None
    assert not template.is_observed

    assert world.machines.observe_templates() == 1
    assert world.machines.observe_templates() == 0

    template = world.machines.find_template(POOL)
    assert template is not None
    assert template.is_observed


@pytest.mark.parametrize("name", ["nobody", "workers-1"])
def test_only_a_machine_that_is_here_can_be_deleted_by_hand(
    world: EmbeddedWorld, name: str
) -> None:
    world.machines.delete_machine("workers-1")
    world.machines.mark_gone("workers-1")

    with pytest.raises(InputError, match=f"there is no machine '{name}'"):
        world.machines.delete_machine(name)


def test_a_machine_that_is_gone_changes_no_more(world: EmbeddedWorld) -> None:
    world.machines.delete_machine("workers-1")
    world.machines.mark_gone("workers-1")

    with pytest.raises(ConflictError, match="workers-1 is gone since"):
        world.machines.write_machine(MACHINE)
    with pytest.raises(ConflictError, match="workers-1 is gone since"):
        world.machines.apply_settings("workers-1", NodeSettings())
    with pytest.raises(ConflictError, match="workers-1 is gone since"):
        world.machines.change_machine("workers-1", PAIR)


def test_nothing_is_noted_of_a_machine_that_never_was(world: EmbeddedWorld) -> None:
    writes: list[Callable[[], None]] = [
        lambda: world.machines.write_machine(replace(MACHINE, name="nobody")),
        lambda: world.machines.write_report("nobody", b"{}"),
        lambda: world.machines.note_power("nobody"),
        lambda: world.machines.write_fault("nobody", Fault.BREAK),
        lambda: world.machines.mark_gone("nobody"),
        lambda: world.machines.remove_machine("nobody", "a reason"),
    ]
    for write in writes:
        with pytest.raises(ConflictError, match="there is no machine 'nobody'"):
            write()


# Events of machines and of everything.


def event(number: int, machine: str = "", pool: str = POOL) -> Event:
    return Event(
        kind=EventKind.MACHINE_LEAVES,
        pool=pool,
        at=START + timedelta(seconds=number),
        key=f"key-{number}",
        says=f"Number {number}.",
        machine=machine,
    )


def test_events_are_read_by_machine_and_latest_last(world: EmbeddedWorld) -> None:
    events = [event(1, "workers-1"), event(2), event(3, "workers-2"), event(4, "workers-1")]
    world.journal.append(events)
    world.journal.append([event(1, pool="others")])

    assert world.journal.read_machine_events("workers-1") == (events[0], events[3])
    assert world.journal.read_machine_events("") == ()
    assert world.journal.read_all(2) == (events[3], event(1, pool="others"))
    assert world.journal.read_all(99) == (*events, event(1, pool="others"))
