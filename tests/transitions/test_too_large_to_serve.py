"""
Pools that hold more than a machine can be served: refused, and where they slip through, told, with
a way out that is followed to rest.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from fairlead.answers.pool import PoolAnswer, PoolDetail
from fairlead.answers.words import Phase
from fairlead.controller.observe import observe
from fairlead.controller.think import think
from fairlead.errors import InputError
from fairlead.proposal.propose import propose
from fairlead.rollout.machines import NodeSettings
from fairlead.rollout.served.config import served_bytes
from fairlead.rollout.served.pool_secrets import Added
from fairlead.sim.world import SimWorld
from fairlead.telling.machine import machine_answer, sentence_about
from fairlead.telling.pool import pool_detail
from pool_documents import make_revision, platform_document, pool_document
from transitions.pool_worlds import (
    POOL,
    condition,
    declare,
    edit,
    edit_platform,
    names,
    settled_world,
    state,
    template,
    template_writes,
)

MOST = 4_161_536


def config(count: int) -> list[dict[str, Any]]:
    """A file that takes so many bytes of what is served, and a few more."""
    return [{"kind": "Files", "files": [{"path": "/etc/big", "content": "x" * (count * 3 // 4)}]}]


# What secrets hold is a number here: most of what is served is theirs, which costs nothing.
LARGE, SMALL = config(290_000), config(200_000)
LARGE_POOL = pool_document(config=LARGE)


def login_up_to(count: int, pool: Any, platform: Any = None) -> Added:
    """A pull secret that makes so many bytes of what machines of these documents are served."""
    text = make_revision(pool, platform).node_config
    smallest = served_bytes(text, NodeSettings(), Added(pull_secret=2))
    return Added(pull_secret=count - smallest + 2)


def refusal(world: SimWorld, *documents: Any) -> InputError:
    with pytest.raises(InputError) as refused:
        propose(world.world(), documents, world.clock.now)
    return refused.value


def told(world: SimWorld) -> PoolDetail:
    seen = observe(POOL, world.world())
    machines = [machine_answer(machine) for machine in world.living.values()]
    return pool_detail(seen, think(seen, world.clock.now), world.clock.now, machines)


def waits(pool: PoolAnswer) -> list[str]:
    return [wait.wait_for.value for wait in pool.waits]


def test_a_document_may_ask_for_as_much_as_can_be_served_and_not_for_one_byte_more() -> None:
    world = settled_world()
    document = pool_document(config=config(1_500_000))
    most = login_up_to(MOST - 1_400_000, document)
    world.added = replace(most, trust_bundle=1_400_000 - 33)
    assert propose(world.world(), [document], world.clock.now).plans

    world.added = replace(most, trust_bundle=1_400_000 - 32)
    error = refusal(world, document)

    assert error.field == "spec.config.files./etc/big"
    assert error.problem == (
        "workers: the node config has 4161537 bytes, at most 4161536 can be served: "
        "config.files./etc/big has 1500025 bytes, the trust bundle 1399968, the pull secret 1260990"
    )
    assert error.hint == "put large files into the image, or have less of the parts that are named"


def test_a_new_pool_that_no_machine_could_be_served_is_refused() -> None:
    world = SimWorld()
    world.added = login_up_to(MOST + 1, LARGE_POOL)

    error = refusal(world, LARGE_POOL, platform_document())

    assert error.problem.startswith("workers: the node config has 4161537 bytes, at most 4161536 ")


def test_a_platform_that_would_push_a_pool_over_is_refused_with_the_pools_name() -> None:
    world = settled_world(config=LARGE)
    world.added = login_up_to(MOST - 1_000, LARGE_POOL)
    small = platform_document(cloudConfig="x" * 500)
    large = platform_document(cloudConfig="x" * 1_000)
    assert propose(world.world(), [small], world.clock.now).plans

    error = refusal(world, large)

    assert error.problem.startswith("workers: the node config has 41615")
    assert error.field == "spec"


def test_a_pool_that_is_too_large_already_goes_on_scales_and_may_shrink() -> None:
    world = settled_world(config=LARGE)
    world.added = login_up_to(MOST + 10_000, LARGE_POOL)

    for document in (
        pool_document(config=LARGE, replicas=4),
        pool_document(config=config(285_000)),
        platform_document(controlPlaneImage=None),
    ):
        assert propose(world.world(), [document], world.clock.now).plans
    larger = refusal(world, pool_document(config=config(295_000)))
    assert larger.field == "spec.pullSecret.name"
    assert refusal(world, platform_document(cloudConfig="x")).problem.startswith("workers: ")


def grown(**spec: Any) -> SimWorld:
    """A settled pool whose pull secret grew, so that no further machine could be served."""
    world = settled_world(config=LARGE, **spec)
    world.added = login_up_to(MOST + 1, LARGE_POOL)
    world.settle()
    return world


@pytest.mark.parametrize("content", ["Ignore", "Drift", "Roll"])
def test_a_secret_that_grew_replaces_nobody_and_is_named_with_the_way_out(content: str) -> None:
    world = settled_world(config=LARGE, secretContent=content)
    before = names(world)
    world.added = login_up_to(MOST + 1, LARGE_POOL)
    declare(world, pull_secret="sha256:grown")
    world.settle()

    pool = told(world)

    assert names(world) == before
    assert (pool.state.value, waits(pool)) == ("Blocked", ["PayloadUnavailable"])
    says = "the node config has 4161537 bytes, at most 4161536 can be served: the pull secret has"
    assert pool.summary.startswith(f"blocked: {says}")
    assert pool.verdict.needs.startswith(says)
    assert [way.command for way in pool.verdict.ways] == [
        "fairlead apply -f FILE",
        "fairlead platform set LEAF=VALUE",
        "fairlead explain workers",
    ]
    assert condition(world, "ValidGeneratedPayload") == ("False", "InvalidConfig")

    world.added = Added()
    world.settle()

    if content != "Roll":
        assert names(world) == before
        assert template_writes(world) == 1
    assert (state(world), waits(told(world))) == (
        "Drifted" if content == "Drift" else "Settled", [],
    )  # fmt: skip
    assert condition(world, "ValidGeneratedPayload") == ("True", "AsExpected")


def test_an_owner_who_declares_less_is_rolled_out_although_nothing_could_be_served() -> None:
    world = grown()

    assert propose(world.world(), [pool_document(config=SMALL)], world.clock.now).plans
    edit(world, config=SMALL)
    world.settle()

    assert (state(world), len(names(world))) == ("Settled", 3)
    assert told(world).verdict.is_complete


def proxied(count: int) -> dict[str, str]:
    """A platform's proxy whose template has so many characters."""
    return {"image": "haproxy@sha256:aa", "template": "x" * count}


def test_less_of_the_platform_is_served_to_new_machines_and_replaces_nobody() -> None:
    """As `platform set` on what an older release had let through."""
    world = settled_world(config=SMALL)
    edit_platform(world, proxy=proxied(40_000))
    edit(world, config=LARGE)
    world.settle()
    running, platform = template(world).revision, platform_document(proxy=proxied(40_000))
    world.added = login_up_to(MOST + 1, LARGE_POOL, platform)
    world.settle()
    assert (state(world), waits(told(world))) == ("Blocked", ["PayloadUnavailable"])

    edit_platform(world, proxy=proxied(10_000))
    edit(world, replicas=4)
    world.settle()

    assert (state(world), len(names(world))) == ("Drifted", 4)
    assert template(world).revision == running
    assert waits(told(world)) == []
    newest = world.living[names(world)[-1]]
    assert newest.booted != running, "it was served what is held"
    assert world.one_pass() == 0


def test_a_stored_platform_that_is_too_much_blocks_and_what_runs_goes_on() -> None:
    """The machines' own revision can be served: they are scaled and repaired with it."""
    world = settled_world(config=LARGE)
    world.added = login_up_to(MOST - 10, LARGE_POOL)
    edit_platform(world, proxy={"image": "haproxy@sha256:aa", "template": "v1" * 100})
    edit(world, replicas=4)
    world.settle()

    pool = told(world)

    assert (pool.state.value, waits(pool), len(names(world))) == ("Blocked", ["PayloadTooLarge"], 4)
    assert pool.summary.startswith("blocked: the node config has 41617")
    assert pool.verdict.needs.startswith("the node config has 41617")
    assert pool.verdict.command == "fairlead apply -f FILE"
    assert condition(world, "ValidGeneratedPayload") == ("True", "AsExpected")

    edit_platform(world, proxy={"image": "haproxy@sha256:aa", "template": "v1"})
    world.settle()

    assert told(world).verdict.is_complete


def test_a_new_pool_that_slipped_through_makes_no_machine_until_it_is_smaller() -> None:
    world = SimWorld()
    world.added = login_up_to(MOST + 1, LARGE_POOL)
    declare(world, LARGE_POOL)
    world.settle()
    assert (state(world), names(world), waits(told(world))) == ("Blocked", [], ["PayloadTooLarge"])

    edit(world, config=SMALL)
    world.settle()

    assert (state(world), len(names(world))) == ("Settled", 3)


def test_a_rollout_whose_machines_could_not_be_served_takes_no_more_machines() -> None:
    world = settled_world(config=SMALL, management={"maxUnavailable": 1, "maxSurge": 0})
    edit(world, config=LARGE)
    world.one_pass()
    taken = [machine.name for machine in world.living.values() if machine.is_leaving]
    assert len(taken) == 1

    world.added = login_up_to(MOST + 1, LARGE_POOL)
    world.fate = "silent"
    world.settle()

    pool = told(world)
    assert pool.state.value == "Blocked"
    assert "PayloadUnavailable" in waits(pool)
    assert pool.summary.startswith("blocked: 0 of 3 machines up to date, no machine will be repl")
    assert condition(world, "UpdatingConfig") == ("True", "PayloadUnavailable")
    assert sum(machine.is_available for machine in world.living.values()) == 2

    world.added = Added()
    world.fate = "ready"
    for machine in list(world.living.values()):
        if machine.phase is Phase.BOOTING:
            world.remove_machine(machine.name, "its owner deleted it", "alice")
    world.settle()

    assert (state(world), len(names(world))) == ("Settled", 3)


def test_less_of_the_platform_lets_a_rollout_go_on_that_could_not_be_served() -> None:
    world = settled_world(config=SMALL)
    edit_platform(world, proxy=proxied(40_000))
    edit(world, config=LARGE)
    world.one_pass()
    platform = platform_document(proxy=proxied(40_000))
    world.added = login_up_to(MOST + 1, LARGE_POOL, platform)
    world.settle()
    target = template(world).revision
    assert (state(world), "PayloadUnavailable" in waits(told(world))) == ("Blocked", True)

    edit_platform(world, proxy=proxied(10_000))
    world.settle()

    assert (state(world), len(names(world))) == ("Drifted", 3)
    assert {machine.revision for machine in world.living.values()} == {target}
    assert waits(told(world)) == []


def failed(world: SimWorld) -> str:
    """Let a machine die; return its name."""
    machine = world.living[names(world)[0]]
    world.living[machine.name] = replace(machine, phase=Phase.FAILED, problem="status 500")
    return machine.name


def said_of(world: SimWorld, name: str) -> str:
    seen = observe(POOL, world.world())
    now = world.clock.now
    return sentence_about(world.living[name], seen, think(seen, now), now)


def test_a_machine_that_died_of_it_names_it_and_is_replaced_once_it_is_smaller() -> None:
    world = grown(autoRepair=True)
    name = failed(world)
    world.settle()

    assert name in world.living, "another one would not come up"
    said = said_of(world, name)
    assert said.startswith(
        f"{name} failed: status 500; nothing replaces it for now. Another would not come up: "
        "the node config has 4161537 bytes, at most 4161536 can be served: the pull secret has"
    )
    assert said.endswith(f"fairlead machine delete {name} lets its pool make another.")

    world.added = Added()
    world.settle()

    assert name not in world.living
    assert told(world).verdict.is_complete


def test_a_machine_that_died_and_is_not_repaired_goes_when_its_owner_deletes_it() -> None:
    world = grown()
    name = failed(world)
    assert "nothing replaces it, and autoRepair is off. Another would not" in said_of(world, name)

    world.added = Added()
    world.settle()
    assert said_of(world, name).endswith(
        f"nothing replaces it, and autoRepair is off. fairlead machine delete {name} lets its "
        "pool make another."
    )
    world.remove_machine(name, "its owner deleted it", "alice")
    world.settle()

    assert told(world).verdict.is_complete


def test_what_the_service_noted_of_a_size_is_forgotten_once_it_fits() -> None:
    """Nobody asks again for what nobody boots, and an older release wrote other words."""
    world = grown()
    pair = (POOL, template(world).revision)
    noted = "the node config has 4999999 bytes, an agent reads at most 4194304"
    world.tokens[pair] = replace(world.tokens[pair], problem=noted)

    world.added = Added()
    world.settle()

    assert (state(world), waits(told(world))) == ("Settled", [])
    assert condition(world, "ValidGeneratedPayload") == ("True", "AsExpected")


def test_whoever_may_not_read_the_secrets_is_told_what_was_noted() -> None:
    world = settled_world(config=LARGE)
    pair = (POOL, template(world).revision)
    noted = "the node config has 4999999 bytes, at most 4161536 can be served: the pull secret has"
    world.tokens[pair] = replace(world.tokens[pair], unserved=noted)
    world.added = Added(is_known=False)

    pool = told(world)

    assert (pool.state.value, waits(pool)) == ("Blocked", ["PayloadUnavailable"])
    assert pool.summary == f"blocked: {noted}"


def test_no_hash_and_no_machine_changes_with_the_size_of_secrets() -> None:
    world = settled_world()
    before, machines = template(world).revision, names(world)
    known = make_revision()
    assert before == known.id == "61f3b1ba493e0294"

    world.added = Added(pull_secret=900_000, trust_bundle=900_000)
    world.settle()

    assert (template(world).revision, names(world), template_writes(world)) == (before, machines, 1)
