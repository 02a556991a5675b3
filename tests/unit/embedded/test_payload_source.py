"""A machine's word counts for that machine, of that pool, while it boots or changes."""

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from fairlead.answers.words import Phase
from fairlead.embedded.store.payloads import StoredPayloads
from fairlead.embedded.store.world import EmbeddedWorld
from fairlead.rollout.machines import Machine, NodeSettings
from fairlead.rollout.secrets import hashed
from fairlead.sim.clock import START
from pool_documents import make_revision, pool_document
from unit.embedded.open_world import PAIR, POOL, TOKEN, make_template, open_world, with_template

WEB = NodeSettings(labels={"tier": "web"})


class Source:
    """What is asked, the world behind it, and how often a pass was asked for."""

    def __init__(self, world: EmbeddedWorld) -> None:
        self.world = world
        self.woken = 0
        self.payloads = StoredPayloads(world, self.wake)

    def wake(self) -> None:
        self.woken += 1

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


def test_a_machine_boots_with_its_own_settings_and_a_stranger_with_the_template_s(
    source: Source,
) -> None:
    source.world.machines.apply_settings("workers-1", WEB)
    assert source.payloads.find_settings(POOL, "workers-1") == WEB
    assert source.payloads.find_settings(POOL, "unheard-of") == NodeSettings()

    template = replace(make_template(), settings=WEB)
    source.world.machines.apply_template(POOL, template)

    assert source.payloads.find_settings(POOL, "unheard-of") == WEB
    assert source.payloads.find_settings("others", "unheard-of") == NodeSettings()


def test_secrets_are_read_anew_for_every_machine_and_kept_nowhere(
    source: Source, tmp_path: Path
) -> None:
    (tmp_path / "secrets" / "company-ca").write_text("PEM of the company")
    revision = make_revision(pool_document(trustBundle={"name": "company-ca"}))
    first = source.payloads.find_secrets(revision)
    (tmp_path / "secrets" / "registry-login").write_text("renewed-pass-word")

    second = source.payloads.find_secrets(revision)

    assert (first.pull_secret, first.trust_bundle) == (b"user:password", b"PEM of the company")
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

    assert source.payloads.find_secrets(make_revision()).problem == (
        "the pull secret registry-login cannot be read (No such file or directory); "
        f"write it to {tmp_path}/secrets/registry-login"
    )
    without = source.payloads.find_secrets(make_revision(pool_document(pullSecret=None)))
    assert (without.pull_secret, without.trust_bundle, without.problem) == (None, None, "")


def test_a_pair_is_found_by_the_hash_of_its_token_and_a_problem_of_it_is_kept(
    source: Source,
) -> None:
    assert source.payloads.find_pair(TOKEN) is None
    found = source.payloads.find_pair(hashed(TOKEN))
    assert found is not None
    assert found.id == PAIR

    source.payloads.record_problem(POOL, PAIR, "too large")

    [token] = source.world.secrets.list_tokens(POOL)
    assert token.problem == "too large"
    assert source.woken == 1
