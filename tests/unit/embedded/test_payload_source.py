"""A machine's word counts for that machine, of that pool, while it boots or changes."""

from collections.abc import Iterator
from dataclasses import replace
from hashlib import sha256
from pathlib import Path
from typing import Any

import pytest

from fairlead.answers.words import Phase
from fairlead.embedded.store.payloads import StoredPayloads
from fairlead.embedded.store.world import EmbeddedWorld
from fairlead.payload.bearer import Bearer, Standing, issued
from fairlead.rollout.machines import Machine, NodeSettings
from fairlead.rollout.secrets import hashed
from fairlead.sim.clock import START
from pool_documents import make_revision, pool_document
from unit.embedded.open_world import PAIR, POOL, TOKEN, open_world, with_template, write_pair

WEB = NodeSettings(labels={"tier": "web"})
OWN = "b3du"


class Source:
    """What is asked, the world behind it, and how often a pass was asked for."""

    def __init__(self, world: EmbeddedWorld) -> None:
        self.world = world
        self.woken = 0
        self.payloads = StoredPayloads(world, self.wake)

    def wake(self) -> None:
        self.woken += 1

    def give_power(self, pair: str = PAIR, token: str = OWN) -> None:
        with self.world.store.writing():
            self.world.machines.note_power("workers-1")
            self.world.machine_tokens.write(issued("workers-1", pair, token, START))

    def bearer(self, token: str = OWN) -> Bearer:
        found = self.payloads.find_bearer(hashed(token), "whoever")
        assert found is not None
        assert found.own is not None
        assert found.own.machine == "workers-1"
        return found

    def machine(self) -> Machine:
        stored = self.world.machines.find_machine("workers-1")
        assert stored is not None
        return stored.machine

    def report(self) -> bytes:
        stored = self.world.machines.find_machine("workers-1")
        assert stored is not None
        return stored.report


@pytest.fixture
def source(tmp_path: Path) -> Iterator[Source]:
    """A world with one machine that boots."""
    with open_world(tmp_path) as world:
        with_template(world)
        world.machines.create_machine(POOL, "workers-1", PAIR)
        yield Source(world)


def make_ready(source: Source, **fields: object) -> None:
    changed = replace(source.machine(), phase=Phase.READY, ready_at=START, booted=PAIR)
    source.world.machines.write_machine(replace(changed, **fields))  # type: ignore[arg-type]


def test_a_machine_that_boots_is_noted_with_what_it_fetched_and_said(source: Source) -> None:
    source.payloads.record_fetch(POOL, "workers-1", "r1")
    source.payloads.record_report(POOL, "workers-1", b"report")

    assert source.machine().booted == "r1"
    assert source.report() == b"report"
    assert source.woken == 1


@pytest.mark.parametrize(
    ("pool", "machine"), [("others", "workers-1"), (POOL, "workers-2"), (POOL, "")]
)
def test_a_token_of_another_pool_says_nothing_about_a_machine(
    source: Source, pool: str, machine: str
) -> None:
    source.payloads.record_fetch(pool, machine, "r1")
    source.payloads.record_report(pool, machine, b"report")

    assert source.machine().booted == ""
    assert source.report() == b""
    assert source.woken == 0


def test_a_machine_that_is_ready_is_not_talked_out_of_it(source: Source) -> None:
    make_ready(source)

    source.payloads.record_fetch(POOL, "workers-1", "other")
    source.payloads.record_report(POOL, "workers-1", b"report")

    assert source.machine().booted == PAIR
    assert source.report() == b""


def test_a_machine_that_changes_in_place_is_listened_to(source: Source) -> None:
    make_ready(source, heading_for="r2")

    source.payloads.record_fetch(POOL, "workers-1", "r2")
    source.payloads.record_report(POOL, "workers-1", b"report")

    assert source.machine().booted == "r2"
    assert source.report() == b"report"


def test_a_machine_that_is_gone_is_not(source: Source) -> None:
    source.world.machines.delete_machine("workers-1")
    source.world.machines.mark_gone("workers-1")

    source.payloads.record_fetch(POOL, "workers-1", "r1")

    assert source.machine().booted == ""


def test_a_machine_boots_with_its_own_settings(source: Source) -> None:
    source.world.machines.apply_settings("workers-1", WEB)
    source.give_power()

    assert source.bearer().settings == WEB


def test_a_machine_is_expected_until_its_report_is_kept(source: Source) -> None:
    source.give_power()
    assert source.bearer().standing is Standing.EXPECTED

    source.payloads.record_report(POOL, "workers-1", b"report")

    assert source.bearer().standing is Standing.OVER
    assert source.bearer().said == sha256(b"report").hexdigest()


@pytest.mark.parametrize("name", ["workers-1", "workers-2", ""])
def test_the_token_of_a_pair_admits_nobody(source: Source, name: str) -> None:
    source.give_power()

    found = source.payloads.find_bearer(hashed(TOKEN), name)

    assert found is not None
    assert (found.pair.id, found.own, found.standing) == (PAIR, None, Standing.UNKNOWN)


@pytest.mark.parametrize(
    "fields",
    [
        {"phase": Phase.READY, "ready_at": START, "booted": PAIR},
        {"phase": Phase.NOT_READY, "booted": PAIR},
        {"phase": Phase.FAILED},
        {"phase": Phase.FAILED, "heading_for": "r2"},
        {"phase": Phase.READY, "ready_at": START, "booted": PAIR, "heading_for": "r2"},
    ],
    ids=lambda fields: "-".join(str(value) for value in fields.values()),
)
def test_a_token_is_over_once_nobody_waits_for_its_boot(
    source: Source, fields: dict[str, Any]
) -> None:
    source.give_power()
    source.world.machines.write_machine(replace(source.machine(), **fields))

    assert source.bearer().standing is Standing.OVER


def test_a_change_in_place_is_a_boot_with_a_token_of_its_own(source: Source) -> None:
    source.give_power()
    source.payloads.record_report(POOL, "workers-1", b"report")
    write_pair(source.world, "r2", "token-2")
    make_ready(source, heading_for="r2")
    assert source.bearer().standing is Standing.OVER

    source.give_power("r2", "Y2hhbmdl")

    assert source.bearer("Y2hhbmdl").standing is Standing.EXPECTED
    assert source.bearer("Y2hhbmdl").pair.id == "r2"
    assert source.payloads.find_bearer(hashed(OWN), "workers-1") is None


def test_secrets_are_read_anew_for_every_machine_and_kept_nowhere(
    source: Source, tmp_path: Path
) -> None:
    (tmp_path / "secrets" / "company-ca").write_text("PEM of the company")
    revision = make_revision(pool_document(trustBundle={"name": "company-ca"}))
    first = source.payloads.find_secrets(POOL, revision)
    (tmp_path / "secrets" / "registry-login").write_text("renewed-pass-word")

    second = source.payloads.find_secrets(POOL, revision)

    assert (first.pull_secret, first.trust_bundle) == (b'{"auths": {}}', b"PEM of the company")
    assert second.pull_secret == b"renewed-pass-word"
    holders = [
        path.name
        for path in tmp_path.rglob("*")
        if path.is_file() and b"renewed-pass-word" in path.read_bytes()
    ]
    assert holders == ["registry-login"]


def test_a_secret_that_went_away_is_said_and_none_is_needed_without_a_name(
    source: Source, tmp_path: Path
) -> None:
    (tmp_path / "secrets" / "registry-login").unlink()

    assert source.payloads.find_secrets(POOL, make_revision()).problem == (
        "the pull secret registry-login cannot be read (No such file or directory); "
        f"write it to {tmp_path}/secrets/registry-login"
    )
    without = source.payloads.find_secrets(POOL, make_revision(pool_document(pullSecret=None)))
    assert (without.pull_secret, without.trust_bundle, without.problem) == (None, None, "")


def test_a_problem_of_a_pair_is_kept(source: Source) -> None:
    source.payloads.record_problem(POOL, PAIR, "too large")

    [token] = source.world.secrets.list_tokens(POOL)
    assert token.problem == "too large"
    assert source.woken == 1


def test_a_token_that_nobody_has_is_nobodys(source: Source) -> None:
    source.give_power()

    assert source.payloads.find_bearer(TOKEN, "workers-1") is None
    assert source.payloads.find_bearer(OWN, "workers-1") is None
    assert source.payloads.find_bearer("", "workers-1") is None
