"""A database of the release before machines had tokens of their own: whoever boots goes on."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import timedelta
from pathlib import Path

import pytest

from fairlead.answers.words import Phase
from fairlead.embedded.store.migrations import apply_migrations, read_migrations
from fairlead.embedded.store.payloads import StoredPayloads
from fairlead.embedded.store.world import EmbeddedWorld
from fairlead.kept_text import render_value
from fairlead.payload.bearer import Bearer, Standing, issued
from fairlead.rollout.machines import Machine
from fairlead.rollout.secrets import UserData, hashed
from fairlead.sim.clock import START
from unit.embedded.open_world import OWN_STUB, PAIR, POOL, TOKEN, make_token, open_world

# Of powered_at and reported_at, as the release wrote them.
MINUTE_AGO = (START - timedelta(minutes=1, microseconds=250)).isoformat()
JUST_NOW = START.isoformat()


@contextmanager
def old_database(path: Path) -> Iterator[sqlite3.Connection]:
    """A database as the first release made it: one pool and its pair."""
    connection = sqlite3.connect(path / "fairlead.db", isolation_level=None)
    apply_migrations(connection, read_migrations()[:1])
    connection.execute("INSERT INTO pools (name, document) VALUES (?, '{}')", (POOL,))
    for pair, token in ((PAIR, TOKEN), ("r2", "token-2")):
        secret = make_token(pair, token)
        connection.execute(
            "INSERT INTO tokens (pool, id, token_hash, value) VALUES (?, ?, ?, ?)",
            (POOL, pair, hashed(token), render_value(secret)),
        )
        data = UserData(pool=POOL, id=pair, token=token, stub=OWN_STUB)
        connection.execute(
            "INSERT INTO user_data (pool, id, value) VALUES (?, ?, ?)",
            (POOL, pair, render_value(data)),
        )
    try:
        yield connection
    finally:
        connection.close()


def put_machine(
    connection: sqlite3.Connection,
    phase: Phase,
    powered_at: str | None = MINUTE_AGO,
    reported_at: str | None = None,
    heading_for: str = "",
) -> None:
    machine = Machine(
        name="workers-1",
        pool=POOL,
        revision=PAIR,
        phase=phase,
        created_at=START,
        booted=PAIR,
        heading_for=heading_for,
    )
    connection.execute(
        "INSERT INTO machines (name, pool, phase, kind, fault, boots, powered_at, value) "
        "VALUES ('workers-1', ?, ?, 'directory', 'none', 1, ?, ?)",
        (POOL, phase.value, powered_at, render_value(machine)),
    )
    if reported_at:
        connection.execute("INSERT INTO reports VALUES ('workers-1', ?, x'7b7d')", (reported_at,))


def shown(world: EmbeddedWorld, token: str = TOKEN, name: str = "workers-1") -> Bearer:
    found = StoredPayloads(world, lambda: None).find_bearer(hashed(token), name)
    assert found is not None
    return found


def test_a_machine_that_boots_with_the_token_of_its_pair_goes_on_until_it_has_reported(
    tmp_path: Path,
) -> None:
    with old_database(tmp_path) as connection:
        put_machine(connection, Phase.BOOTING)

    with open_world(tmp_path) as world:
        assert shown(world).standing is Standing.EXPECTED
        assert shown(world, name="workers-2").standing is Standing.UNKNOWN
        assert shown(world, "token-2").standing is Standing.UNKNOWN
        kept = world.machine_tokens.find_unnamed("workers-1")
        assert kept is not None
        assert kept.expires_at - kept.issued_at == pytest.approx(
            timedelta(hours=11), abs=timedelta(milliseconds=1)
        )

        StoredPayloads(world, lambda: None).record_report(POOL, "workers-1", b"report")

        assert shown(world).standing is Standing.OVER
        assert shown(world).said == (
            "845e91831319e89c4d656bdb80c278ac09a7230d61e5dfd2e1b1fbb436ac8917"
        )


def test_a_machine_that_changes_with_the_token_of_its_pair_goes_on(tmp_path: Path) -> None:
    with old_database(tmp_path) as connection:
        put_machine(connection, Phase.READY, heading_for="r2")

    with open_world(tmp_path) as world:
        assert shown(world, "token-2").standing is Standing.EXPECTED
        assert shown(world).standing is Standing.UNKNOWN
        stored = world.machines.find_machine("workers-1")
        assert stored is not None
        assert stored.powered_for == "r2"


def test_given_power_again_it_has_a_token_of_its_own_and_the_pairs_admits_it_no_longer(
    tmp_path: Path,
) -> None:
    with old_database(tmp_path) as connection:
        put_machine(connection, Phase.BOOTING)

    with open_world(tmp_path) as world:
        world.machine_tokens.write(issued("workers-1", PAIR, "b3du", START))

        assert shown(world).standing is Standing.UNKNOWN
        assert shown(world, "b3du").standing is Standing.EXPECTED


@pytest.mark.parametrize(
    ("phase", "powered_at", "reported_at", "heading_for"),
    [
        (Phase.READY, MINUTE_AGO, JUST_NOW, ""),
        (Phase.NOT_READY, MINUTE_AGO, None, ""),
        (Phase.FAILED, MINUTE_AGO, JUST_NOW, ""),
        (Phase.LEAVING, MINUTE_AGO, None, ""),
        (Phase.BOOTING, None, None, ""),
        (Phase.BOOTING, MINUTE_AGO, JUST_NOW, ""),
        # Told to change, and not given power for it yet: its report is of the boot before.
        (Phase.READY, MINUTE_AGO, JUST_NOW, "r2"),
    ],
)
def test_the_token_of_a_pair_admits_none_but_those_that_were_booting_with_it(
    tmp_path: Path,
    phase: Phase,
    powered_at: str | None,
    reported_at: str | None,
    heading_for: str,
) -> None:
    with old_database(tmp_path) as connection:
        put_machine(connection, phase, powered_at, reported_at, heading_for)

    with open_world(tmp_path) as world:
        assert shown(world).standing is Standing.UNKNOWN
        assert shown(world, "token-2").standing is Standing.UNKNOWN
