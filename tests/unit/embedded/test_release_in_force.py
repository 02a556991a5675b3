"""
A database of release 202611.16.0 under this code: nothing of it is replaced.

Its pools hold what that release stored in forms of its own: files without a mode and with a mode
in decimals, kernel settings given as true or 10.0, names with an interface's dot in them, the
default stream written out, a version that is none, and durations beyond any calendar.
tests/golden/database-202611.16.0.sql.gz was made by that release's own code.
"""

import gzip
import sqlite3
from collections.abc import Iterator
from dataclasses import replace
from datetime import timedelta
from pathlib import Path

import pytest

from fairlead.controller.observe import Code
from fairlead.controller.reconcile import Chance, preview, reconcile
from fairlead.controller.replay import prove_replay
from fairlead.decision.decision import HoldPlatformChange, Keep, ReplaceMachines
from fairlead.embedded.state_directory import StateDirectory
from fairlead.embedded.store.world import EmbeddedWorld
from fairlead.inputs.defaults import DEFAULTS
from fairlead.inputs.platform_inputs import CODE_DEFAULTS
from fairlead.sim.clock import START, Clock
from shared_cases import REPOSITORY
from unit.embedded.open_world import open_world

DATABASE = REPOSITORY / "tests/golden/database-202611.16.0.sql.gz"
LATER = START + timedelta(days=1)

SETTLED = (
    "decimal", "files", "flag", "kubelet", "moded", "odd-version", "plain", "stream", "vlan",
    "windows",
)  # fmt: skip


@pytest.fixture
def world(tmp_path: Path) -> Iterator[EmbeddedWorld]:
    directory = StateDirectory(tmp_path)
    directory.make()
    connection = sqlite3.connect(directory.database)
    connection.executescript(gzip.decompress(DATABASE.read_bytes()).decode())
    connection.close()
    clock = Clock()
    clock.now = LATER
    with open_world(tmp_path, clock) as world:
        yield world


def chance() -> Chance:
    drawn = iter(range(1000))
    return Chance(
        draw_token=lambda: f"token-{next(drawn)}", draw_name=lambda pool: f"{pool}-{next(drawn)}"
    )


def state_of(world: EmbeddedWorld, pool: str) -> object:
    machines = [(found.name, found.phase) for found in world.machines.list_machines(pool)]
    return world.machines.find_template(pool), machines


@pytest.mark.parametrize("pool", SETTLED)
def test_a_pool_of_the_release_in_force_goes_on_without_a_rollout(
    world: EmbeddedWorld, pool: str
) -> None:
    before = state_of(world, pool)
    record = world.pools.find_record(pool)
    assert record is not None
    assert record.target is not None

    for _ in range(3):
        reconcile(pool, world.world(), chance(), LATER)

    assert state_of(world, pool) == before
    after = world.pools.find_record(pool)
    assert after is not None
    assert after.target is not None
    assert after.target.id == record.target.id
    assert [held.leaf for held in after.held] == ["platform.code.renderer"]
    assert isinstance(preview(pool, world.world(), LATER).decision, HoldPlatformChange)


def test_every_pool_of_the_release_in_force_proves_its_replay(world: EmbeddedWorld) -> None:
    proof = prove_replay(world.world(), LATER)

    assert proof.compared == len(SETTLED) + 1, "the one that rolls too"
    assert proof.broken == ()


def test_a_later_default_is_held_for_files_that_were_stored_with_the_first(
    world: EmbeddedWorld,
) -> None:
    code = Code(defaults={**CODE_DEFAULTS, "fileMode": "0600"})
    seen = replace(world.world(), code=code)

    reconcile("files", seen, chance(), LATER)

    decision = preview("files", seen, LATER).decision
    assert isinstance(decision, HoldPlatformChange)
    assert [held.leaf for held in decision.held] == [
        "platform.code.fileMode", "platform.code.renderer",
    ]  # fmt: skip


def test_a_later_default_stream_leaves_the_one_that_was_written_out(
    world: EmbeddedWorld, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(DEFAULTS, "osStream", [[[0, 0], "ubuntu-26.04"]])

    assert isinstance(preview("stream", world.world(), LATER).decision, HoldPlatformChange)


def test_a_rollout_of_the_release_in_force_keeps_its_target_and_its_reason(
    world: EmbeddedWorld,
) -> None:
    record = world.pools.find_record("rolling")
    assert record is not None
    assert record.target is not None

    reconcile("rolling", world.world(), chance(), LATER)

    after = world.pools.find_record("rolling")
    assert after is not None
    assert after.target is not None
    assert (after.target.id, after.reason) == (record.target.id, record.reason)
    assert after.plan == record.plan
    assert isinstance(preview("rolling", world.world(), LATER).decision, HoldPlatformChange)


def test_what_an_owner_changes_in_such_a_pool_still_rolls(world: EmbeddedWorld) -> None:
    for pool, mode in (("files", "0600"), ("moded", "0644")):
        document = world.pools.read_documents(pool).pool
        assert isinstance(document, dict)
        document["spec"]["config"][0]["files"][0]["mode"] = mode
        world.pools.write_pool(document)

        decision = preview(pool, world.world(), LATER).decision

        assert isinstance(decision, ReplaceMachines), pool
        assert str(decision.because.changes[0]) == "config.files./etc/chrony.conf"  # type: ignore[union-attr]


def test_a_default_that_an_owner_writes_out_rolls_nothing(world: EmbeddedWorld) -> None:
    document = world.pools.read_documents("files").pool
    assert isinstance(document, dict)
    document["spec"]["config"][0]["files"][0]["mode"] = "0644"
    world.pools.write_pool(document)

    assert isinstance(preview("files", world.world(), LATER).decision, HoldPlatformChange | Keep)


def test_a_pool_that_no_pass_of_the_release_in_force_survived_gets_its_machine(
    world: EmbeddedWorld,
) -> None:
    assert world.machines.list_machines("long-times") == ()

    reconcile("long-times", world.world(), chance(), LATER)

    assert len(world.machines.list_machines("long-times")) == 1
