"""What is declared comes back, and names point to files beside the store."""

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from fairlead.answers.words import Fault
from fairlead.controller.observe import Resolved
from fairlead.embedded.store.machines import LIVING
from fairlead.embedded.store.world import EmbeddedWorld
from fairlead.errors import ConflictError, InputError, InvariantError
from fairlead.inputs.parse import parse_platform_config
from fairlead.inputs.platform_inputs import Stub
from fairlead.rollout.record import PoolRecord
from fairlead.rollout.secrets import hashed
from fairlead.rollout.served.pool_secrets import Added
from pool_documents import platform_document, pool_document
from unit.embedded.open_world import (
    EVENT,
    OWN_STUB,
    PAIR,
    PLAN,
    POOL,
    STATUS,
    make_token,
    open_world,
    with_template,
    write_pair,
)


@pytest.fixture
def world(tmp_path: Path) -> Iterator[EmbeddedWorld]:
    with open_world(tmp_path) as opened:
        yield opened


# Documents.


def test_a_document_comes_back_as_it_was_written(world: EmbeddedWorld) -> None:
    world.pools.write_pool(pool_document(labels={"team": "ä\u2028\ud800"}))

    found: Any = world.pools.read_documents(POOL).pool

    assert found == pool_document(labels={"team": "ä\u2028\ud800"})


@pytest.mark.parametrize("names_secret", [True, False])
def test_what_a_proposal_reads_is_what_a_pass_reads_once_it_is_in_force(
    world: EmbeddedWorld, *, names_secret: bool
) -> None:
    secret: dict[str, Any] = {"pullSecret": {"name": "nobody-wrote-it"}} if names_secret else {}
    pool, platform = pool_document(**secret), platform_document(noProxy=[".x"])
    proposed = world.pools.documents_with(pool, platform)
    assert world.pools.list_pools() == ()

    world.pools.write_platform(platform)
    world.pools.write_pool(pool)

    assert world.pools.read_documents(POOL) == proposed
    assert bool(proposed.resolved.problem) is names_secret


@pytest.mark.parametrize(
    ("document", "problem"),
    [
        ({"kind": "Pod"}, "apiVersion: found nothing, expected fairlead.dev/v1alpha1"),
        (pool_document("No Name"), "metadata.name: found the text 'No Name', expected a name"),
        (pool_document(description=b"\0"), "found b'\\x00', which JSON has no form for"),
    ],
)
def test_what_is_no_pool_is_refused(
    world: EmbeddedWorld, document: dict[str, Any], problem: str
) -> None:
    with pytest.raises(InputError) as refused:
        world.pools.write_pools([pool_document(), document])

    assert str(refused.value).startswith(problem)
    assert world.pools.list_pools() == ()


def test_an_intent_that_cannot_be_used_is_kept_for_the_pass_to_tell(world: EmbeddedWorld) -> None:
    world.pools.write_pool(pool_document(config=[{"kind": "Nonsense"}]))

    assert world.pools.list_pools() == (POOL,)


def test_a_platform_that_cannot_be_used_is_refused_by_field(world: EmbeddedWorld) -> None:
    with pytest.raises(InputError) as refused:
        world.pools.write_platform(platform_document(loadBalancerAddress=7))

    assert refused.value.field == "spec.loadBalancerAddress"
    assert world.pools.read_platform() == {
        "apiVersion": "fairlead.dev/v1alpha1",
        "kind": "PlatformConfig",
        "metadata": {"name": "platform"},
        "spec": {},
    }


def test_an_unknown_pool_is_named(world: EmbeddedWorld) -> None:
    with pytest.raises(InputError, match="there is no pool 'workers'"):
        world.pools.read_documents(POOL)
    with pytest.raises(InputError, match="there is no pool 'workers'"):
        world.pools.request_deletion(POOL)


# The stub.


def stub_read(world: EmbeddedWorld) -> Stub:
    return parse_platform_config(world.pools.read_documents(POOL).platform).stub


def test_machines_are_told_this_control_plane_unless_the_platform_names_another(
    world: EmbeddedWorld,
) -> None:
    world.pools.write_pool(pool_document())
    assert stub_read(world) == OWN_STUB

    world.pools.write_platform(platform_document(stub={"proxy": "http://proxy:3128", "ca": ""}))
    assert stub_read(world) == Stub(
        endpoint="https://127.0.0.1:7443/v1/node-config",
        ca="OUR CA",
        proxy="http://proxy:3128",
        report="https://127.0.0.1:7443/v1/boot-report",
    )

    world.pools.write_platform(platform_document(stub={"endpoint": "https://b/", "ca": "B"}))
    assert stub_read(world) == Stub(
        endpoint="https://b/", ca="B", report="https://127.0.0.1:7443/v1/boot-report"
    )


def test_the_platforms_document_itself_stays_as_it_was_written(world: EmbeddedWorld) -> None:
    world.pools.write_platform(platform_document(stub=None))

    assert world.pools.read_platform() == platform_document(stub=None)


# Files that pools name.

CERTIFICATE = "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n"


def resolved(world: EmbeddedWorld, **spec: Any) -> Resolved:
    world.pools.write_pool(pool_document(**spec))
    return world.pools.read_documents(POOL).resolved


def test_the_content_of_named_secrets_is_a_digest(world: EmbeddedWorld, tmp_path: Path) -> None:
    (tmp_path / "secrets" / "company-ca").write_text(CERTIFICATE)

    assert resolved(world, trustBundle={"name": "company-ca"}) == Resolved(
        pull_secret="sha256:6ebbb5f958771f113c4318cdb79b52f6dcc0d01d4695fc04473a56f68f294440",
        trust_bundle="sha256:7cc358aa45100f42d57b76e9b235253bfc6fc830b3e45858d2bc473657aae3f7",
        added=Added(pull_secret=25, trust_bundle=82),
    )


def test_a_secret_that_is_not_there_says_which_file_to_write(
    world: EmbeddedWorld, tmp_path: Path
) -> None:
    (tmp_path / "secrets" / "registry-login").unlink()

    assert resolved(world).problem == (
        "the pull secret registry-login cannot be read (No such file or directory); "
        f"write it to {tmp_path}/secrets/registry-login"
    )


@pytest.mark.parametrize(
    ("field", "content", "why"),
    [
        (
            "pullSecret",
            "user:password",
            "the pull secret other is no JSON (expected a Docker config file, "
            '{"auths": {REGISTRY: {"auth": ...}}})',
        ),
        (
            "trustBundle",
            '{"auths": {}}',
            "the trust bundle other holds no certificate (expected PEM: -----BEGIN "
            "CERTIFICATE----- ...)",
        ),
        ("trustBundle", CERTIFICATE[:-30], "the trust bundle other ends within a certificate"),
    ],
)
def test_a_secret_that_no_machine_could_use_says_which_file_and_what_is_expected(
    world: EmbeddedWorld, tmp_path: Path, field: str, content: str, why: str
) -> None:
    (tmp_path / "secrets" / "other").write_text(content)

    assert resolved(world, **{field: {"name": "other"}}) == Resolved(
        problem=f"{why}; write another to {tmp_path}/secrets/other",
        field=f"spec.{field}.name",
    )


def test_a_pool_that_names_no_secret_needs_no_file(world: EmbeddedWorld, tmp_path: Path) -> None:
    (tmp_path / "secrets" / "registry-login").unlink()

    assert resolved(world, pullSecret=None) == Resolved()


@pytest.mark.parametrize("name", ["../fairlead.db", "/etc/hostname", "..", ".", "a/b", "a\0"])
def test_a_name_never_leads_out_of_the_directory(world: EmbeddedWorld, name: str) -> None:
    assert resolved(world, pullSecret={"name": name}) == Resolved(
        problem=f"{name!r} names no pull secret: it must be a file's name",
        field="spec.pullSecret.name",
    )


@pytest.mark.parametrize("wrong", ["text", {"name": 7}, ["a"]])
def test_a_field_that_is_wrong_names_nothing(world: EmbeddedWorld, wrong: Any) -> None:
    assert resolved(world, pullSecret=wrong) == Resolved()


# The end of a pool.


def test_a_pool_that_leaves_cannot_be_declared_again_until_it_is_gone(
    world: EmbeddedWorld,
) -> None:
    world.pools.write_pool(pool_document())
    world.pools.request_deletion(POOL)
    assert world.pools.read_documents(POOL).is_leaving

    with pytest.raises(ConflictError, match="workers is being deleted"):
        world.pools.write_pool(pool_document(replicas=5))

    world.pools.forget_pool(POOL)
    world.pools.write_pool(pool_document(replicas=5))
    assert not world.pools.read_documents(POOL).is_leaving


def test_a_forgotten_pool_leaves_its_events_and_its_machines_that_are_gone(
    world: EmbeddedWorld,
) -> None:
    with_template(world)
    world.pools.write_record(PoolRecord(pool=POOL, serial=1))
    world.pools.write_status(POOL, STATUS)
    world.pools.write_plan(PLAN)
    world.machines.queue_faults(POOL, (Fault.BREAK, Fault.BREAK))
    world.machines.create_machine(POOL, "workers-1", PAIR)
    world.machines.write_report("workers-1", b"{}")
    world.machines.delete_machine("workers-1")
    world.machines.mark_gone("workers-1")
    world.journal.append([EVENT])
    world.secrets.delete_token(POOL, PAIR)
    world.secrets.delete_user_data(POOL, PAIR)

    world.pools.forget_pool(POOL)
    world.pools.forget_pool(POOL)

    for table in ("pools", "records", "statuses", "plans", "templates", "changes"):
        assert world.store.rows(f"SELECT * FROM {table}") == []  # noqa: S608 - names from here
    assert world.store.rows("SELECT * FROM queued_faults") == []
    assert world.journal.read_events(POOL) == (EVENT,)
    gone = world.machines.find_machine("workers-1")
    assert gone is not None
    assert (gone.machine.reason, gone.report) == ("deleted by hand", b"{}")


@pytest.mark.parametrize("what", ["a machine", "a token", "user data"])
def test_a_pool_that_still_has_something_is_not_forgotten(world: EmbeddedWorld, what: str) -> None:
    with_template(world)
    if what == "a machine":
        world.machines.create_machine(POOL, "workers-1", PAIR)
    if what != "a token":
        world.secrets.delete_token(POOL, PAIR)
    if what != "user data":
        world.secrets.delete_user_data(POOL, PAIR)

    with pytest.raises(InvariantError, match="is to be forgotten and still has"):
        world.pools.forget_pool(POOL)

    assert world.pools.list_pools() == (POOL,)


# Tokens.


def test_a_pair_is_found_by_the_hash_of_its_present_token_and_of_the_one_before(
    world: EmbeddedWorld,
) -> None:
    world.pools.write_pool(pool_document())
    write_pair(world, "aaaa", "token-a")
    write_pair(world, "bbbb", "token-b")
    world.secrets.write_token(replace(make_token("bbbb", "token-c"), previous="token-b"))

    found = {
        token: secret.id if (secret := world.secrets.find_by_token_hash(hashed(token))) else None
        for token in ("token-a", "token-b", "token-c", "token-d", "")
    }
    assert found == {
        "token-a": "aaaa",
        "token-b": "bbbb",
        "token-c": "bbbb",
        "token-d": None,
        "": None,
    }
    world.secrets.write_token(replace(make_token("bbbb", "token-d"), previous="token-c"))
    assert world.secrets.find_by_token_hash(hashed("token-b")) is None


@pytest.mark.parametrize(
    ("query", "index"),
    [
        ("SELECT 1 FROM tokens WHERE token_hash = ? OR previous_hash = ?", "tokens_by_hash"),
        (
            "SELECT 1 FROM tokens WHERE token_hash = ? OR previous_hash = ?",
            "tokens_by_previous_hash",
        ),
        (f"{LIVING} AND pool = ? ORDER BY number", "machines_living (pool=?)"),
        (f"{LIVING} ORDER BY number", "machines_living"),
        (
            "SELECT value FROM events WHERE machine = ? AND machine <> '' ORDER BY number",
            "events_by_machine",
        ),
        (
            "SELECT 1 FROM templates WHERE observed_generation < generation",
            "templates_unobserved",
        ),
    ],
)
def test_a_lookup_uses_its_index(world: EmbeddedWorld, query: str, index: str) -> None:
    plan = world.store.rows(f"EXPLAIN QUERY PLAN {query}", *([""] * query.count("?")))

    assert index in " ".join(row["detail"] for row in plan)
