"""What goes wrong with a machine is told once and tried again, and holds up no other."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from dataclasses import replace
from datetime import timedelta
from pathlib import Path

import pytest

from fairlead.agent.early.carried_files import files_in_user_data
from fairlead.answers.words import Fault, Phase
from fairlead.contract.boot_document import parse_boot_document
from fairlead.embedded.machines.drive import MOST_AT_ONCE, Driver
from fairlead.embedded.machines.kind import Life, Seed
from fairlead.embedded.store.world import EmbeddedWorld
from fairlead.errors import UnavailableError
from fairlead.rollout.machines import Machine
from fairlead.rollout.secrets import hashed
from fairlead.sim.clock import Clock
from unit.embedded.open_world import PAIR, POOL, open_world, with_template


class Garage:
    """Machines that do nothing but stand there, some of which take no power."""

    name = "garage"

    def __init__(self) -> None:
        self.powered: list[str] = []
        self.seeds: list[Seed | None] = []
        self.refused: list[str] = []
        self.broken: set[str] = set()
        self.lives: dict[str, Life] = {}
        self.unreadable: dict[str, Exception] = {}
        self.looks: list[str] = []

    def power_on(self, machine: str, seed: Seed | None, fault: Fault) -> None:
        if machine in self.broken:
            self.refused.append(machine)
            raise UnavailableError(f"{machine} takes no power")
        self.powered.append(machine)
        self.seeds.append(seed)

    def life_of(self, machine: str) -> Life:
        self.looks.append(machine)
        if machine in self.unreadable:
            raise self.unreadable[machine]
        return self.lives.get(machine, Life.BOOTING if machine in self.powered else Life.OFF)

    def last_words(self, machine: str) -> str:
        return ""

    def destroy(self, machine: str) -> None:
        if machine in self.broken:
            self.refused.append(machine)
            raise UnavailableError(f"{machine} cannot be removed")
        self.powered.remove(machine)

    def list_names(self) -> tuple[str, ...]:
        return tuple(sorted(self.powered))


class Yard:
    """A garage, the world it belongs to, and its driver."""

    def __init__(self, world: EmbeddedWorld, clock: Clock) -> None:
        self.world = world
        self.clock = clock
        self.garage = Garage()
        self.drawn: list[str] = []

    def draw_token(self) -> str:
        self.drawn.append(f"dG9rZW4{len(self.drawn)}")
        return self.drawn[-1]

    def make_machines(self, count: int) -> list[str]:
        names = [f"workers-{number}" for number in range(count)]
        for name in names:
            self.world.machines.create_machine(POOL, name, PAIR)
        return names

    def drive(self, driver: Driver | None = None, *, ticks: int) -> None:
        async def run() -> None:
            used = driver or self.driver()
            for _ in range(ticks):
                used.tick()
                await used.rest()

        asyncio.run(run())

    def driver(self) -> Driver:
        return Driver(self.world, self.garage, lambda: self.clock.now, self.draw_token)

    def machine(self, name: str) -> Machine:
        stored = self.world.machines.find_machine(name)
        assert stored is not None
        return stored.machine


@pytest.fixture
def yard(tmp_path: Path) -> Iterator[Yard]:
    clock = Clock()
    with open_world(tmp_path, clock) as world:
        with_template(world)
        # The stub of the other tests has no certificate, and this one is rendered.
        stub = world.secrets.list_user_data(POOL)[0]
        ca = "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n"
        world.secrets.write_user_data(replace(stub, stub=replace(stub.stub, ca=ca)))
        yield Yard(world, clock)


def test_every_machine_gets_power_once(yard: Yard) -> None:
    names = yard.make_machines(3)

    yard.drive(ticks=3)

    assert sorted(yard.garage.powered) == names
    assert {stored.boots for stored in yard.world.machines.list_stored()} == {1}


def test_more_than_a_few_take_turns(yard: Yard) -> None:
    names = yard.make_machines(MOST_AT_ONCE + 3)
    driver = yard.driver()

    yard.drive(driver, ticks=1)
    assert len(yard.garage.powered) == MOST_AT_ONCE

    yard.drive(driver, ticks=1)
    assert sorted(yard.garage.powered) == sorted(names)


def test_a_machine_that_takes_no_power_says_so_and_is_tried_again_after_a_while(
    yard: Yard,
) -> None:
    first, second = yard.make_machines(2)
    yard.garage.broken = {first}
    driver = yard.driver()

    yard.drive(driver, ticks=5)

    assert yard.garage.powered == [second]
    assert yard.garage.refused == [first]
    assert yard.machine(first).problem == "workers-0 takes no power"

    yard.clock.advance(timedelta(seconds=2))
    yard.garage.broken = set()
    yard.drive(driver, ticks=1)
    assert sorted(yard.garage.powered) == [first, second]


def test_a_machine_that_leaves_is_destroyed_and_then_gone(yard: Yard) -> None:
    [name] = yard.make_machines(1)
    yard.drive(ticks=1)
    yard.world.machines.remove_machine(name, "scaled down")

    yard.drive(ticks=1)

    assert yard.garage.powered == []
    stored = yard.world.machines.find_machine(name)
    assert stored is not None
    assert stored.gone_at == yard.clock.now


def test_a_machine_that_cannot_be_removed_says_so_and_is_tried_again_after_a_while(
    yard: Yard,
) -> None:
    [name] = yard.make_machines(1)
    driver = yard.driver()
    yard.drive(driver, ticks=1)
    yard.world.machines.remove_machine(name, "scaled down")
    yard.garage.broken = {name}

    yard.drive(driver, ticks=5)

    assert yard.garage.refused == [name]
    assert yard.machine(name).problem == "workers-0 cannot be removed"

    yard.clock.advance(timedelta(seconds=2))
    yard.garage.broken = set()
    yard.drive(driver, ticks=1)
    assert yard.garage.powered == []


def test_a_machine_without_user_data_waits_for_the_pass_that_makes_it(yard: Yard) -> None:
    [name] = yard.make_machines(1)
    yard.world.secrets.delete_user_data(POOL, PAIR)

    yard.drive(ticks=1)

    assert yard.garage.powered == []
    assert yard.machine(name).problem == (
        "its user data 0123456789abcdef is missing; a pass makes it again"
    )


def token_in(seed: Seed | None) -> str:
    assert seed is not None
    (carried,) = files_in_user_data(seed.user_data)
    return parse_boot_document(carried.content).token


def test_every_power_comes_with_a_token_that_no_other_machine_and_no_earlier_boot_has(
    yard: Yard,
) -> None:
    first, second = yard.make_machines(2)
    driver = yard.driver()
    yard.drive(driver, ticks=1)
    yard.garage.lives = {first: Life.OFF, second: Life.BOOTING}
    yard.clock.advance(timedelta(seconds=2))

    yard.drive(driver, ticks=1)

    assert yard.garage.powered == [first, second, first]
    given = [token_in(seed) for seed in yard.garage.seeds]
    assert given == ["dG9rZW40", "dG9rZW41", "dG9rZW42"]
    found = [yard.world.machine_tokens.find_by_hash(hashed(token)) for token in given]
    assert [known and known.machine for known in found] == [None, second, first]


def test_no_token_of_a_machine_is_in_the_database(yard: Yard, tmp_path: Path) -> None:
    yard.make_machines(1)

    yard.drive(ticks=1)

    stored = b"".join(path.read_bytes() for path in tmp_path.glob("fairlead.db*"))
    assert b"dG9rZW40" not in stored
    assert hashed("dG9rZW40").encode() in stored


def test_a_provisioned_machine_that_fell_boots_from_what_it_has_and_gets_no_token(
    yard: Yard,
) -> None:
    [name] = yard.make_machines(1)
    driver = yard.driver()
    yard.drive(driver, ticks=1)
    known = yard.machine(name)
    fallen = replace(known, phase=Phase.NOT_READY, booted=PAIR, since=known.created_at)
    yard.world.machines.write_machine(replace(fallen, problem="it fell"))
    yard.garage.lives = {name: Life.DOWN}

    yard.drive(driver, ticks=1)

    assert yard.garage.seeds[1] is None
    assert len(yard.drawn) == 1


def test_a_machine_that_is_gone_leaves_no_token(yard: Yard) -> None:
    [name] = yard.make_machines(1)
    driver = yard.driver()
    yard.drive(driver, ticks=1)
    assert yard.world.machine_tokens.find_by_hash(hashed("dG9rZW40")) is not None
    yard.world.machines.remove_machine(name, "scaled down")

    yard.drive(driver, ticks=1)

    assert yard.world.machine_tokens.find_by_hash(hashed("dG9rZW40")) is None


UNREADABLE = [
    (
        OSError(24, "Too many open files", "/m/root"),
        "/m/root: this process has too many open files (ulimit -n)",
    ),
    (IsADirectoryError(21, "Is a directory"), "is a directory, expected a file"),
    (UnavailableError("its disk hangs"), "its disk hangs"),
    (RecursionError("deep"), "a defect of the control plane: RecursionError: deep"),
    (MemoryError(), "a defect of the control plane: MemoryError: "),
]


@pytest.mark.parametrize(("error", "told"), UNREADABLE, ids=lambda one: type(one).__name__)
def test_a_machine_that_cannot_be_looked_at_says_so_and_holds_up_no_other(
    yard: Yard, error: Exception, told: str
) -> None:
    first, second = yard.make_machines(2)
    yard.garage.unreadable = {first: error}

    yard.drive(ticks=3)

    assert yard.garage.powered == [second]
    assert yard.machine(first).problem == told
    assert yard.garage.looks.count(first) == 1, "it is tried again after a while only"


def test_a_machine_that_stays_unreadable_is_tried_ever_more_rarely(yard: Yard) -> None:
    [name] = yard.make_machines(1)
    yard.garage.unreadable = {name: OSError(5, "Input/output error")}
    driver = yard.driver()
    tried = []

    for second in range(200):
        before = len(yard.garage.looks)
        yard.drive(driver, ticks=1)
        if len(yard.garage.looks) > before:
            tried.append(second)
        yard.clock.advance(timedelta(seconds=1))

    assert tried == [0, 2, 6, 14, 30, 62, 122, 182]


def make_ready(yard: Yard, name: str) -> None:
    yard.garage.lives[name] = Life.UP
    yard.world.machines.note_power(name)
    booted = replace(yard.machine(name), booted=PAIR, phase=Phase.READY, ready_at=yard.clock.now)
    yard.world.machines.write_machine(booted)


@pytest.mark.parametrize("is_restarted", [False, True])
def test_a_ready_machine_stays_ready_while_nobody_can_look_at_it(
    yard: Yard, is_restarted: bool
) -> None:
    [name] = yard.make_machines(1)
    make_ready(yard, name)
    driver = yard.driver()
    yard.garage.unreadable = {name: PermissionError(13, "Permission denied")}

    yard.clock.advance(timedelta(seconds=3))
    yard.drive(driver, ticks=1)
    assert yard.machine(name).phase is Phase.READY
    assert yard.machine(name).problem == (
        "permission is missing: its owner or mode keeps this user out"
    )

    yard.garage.unreadable = {}
    yard.clock.advance(timedelta(seconds=3))
    yard.drive(yard.driver() if is_restarted else driver, ticks=1)
    assert yard.machine(name).phase is Phase.READY
    assert yard.machine(name).problem == ""


def test_what_a_machine_failed_of_is_not_forgotten_when_nobody_can_look_at_it(yard: Yard) -> None:
    [name] = yard.make_machines(1)
    failed = replace(yard.machine(name), phase=Phase.FAILED, problem="stage provision: exit 1")
    yard.world.machines.write_machine(failed)
    yard.garage.unreadable = {name: OSError(24, "Too many open files")}

    yard.drive(ticks=1)

    assert yard.machine(name).problem == "stage provision: exit 1"
