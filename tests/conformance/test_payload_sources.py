"""One suite for every edge that machines prove themselves to, whatever tokens it gives them."""

from __future__ import annotations

import json
from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path
from typing import Protocol

import pytest

from asgi_call import ask
from fairlead.embedded.store.payloads import StoredPayloads
from fairlead.embedded.store.world import EmbeddedWorld
from fairlead.inputs.platform_inputs import Stub
from fairlead.payload.app import PayloadSource, make_app
from fairlead.payload.bearer import issued
from fairlead.rollout.secrets import UserData
from fairlead.sim.clock import Clock
from fairlead.sim.payloads import SimCluster, SimPayloads
from fairlead.sim.world import SimWorld
from kube.payload_edge import running_edge
from unit.embedded.open_world import (
    PAIR,
    POOL,
    make_template,
    make_token,
    open_world,
    with_template,
)

REPORT = json.dumps({"run": "1", "agent": "a", "layout": "aks", "started": "n", "exit": 0}).encode()
OTHER_REPORT = REPORT.replace(b'"1"', b'"2"')
FIRST, SECOND = "workers-1", "workers-2"
PAIR_TOKEN = "cGFpcg=="


class Edge(Protocol):
    """Two machines that boot from one pair, and what they were given."""

    clock: Clock

    def source(self) -> PayloadSource: ...

    def token_of(self, machine: str) -> str: ...

    def let_go(self, machine: str) -> None: ...

    def report_of(self, machine: str) -> bytes: ...


class ClusterEdge:
    """One Secret for many machines, as Cluster API has it."""

    def __init__(self) -> None:
        self.clock = Clock()
        self.world = SimWorld(self.clock)
        self.world.write_token(make_token(PAIR, PAIR_TOKEN))
        self.payloads = SimPayloads(self.world)
        self.world.templates[POOL] = make_template()
        self.world.user_data[POOL, PAIR] = make_user_data()
        for name in (FIRST, SECOND):
            self.world.start_machine(POOL, name, PAIR)

    def source(self) -> PayloadSource:
        return self.payloads

    def token_of(self, _machine: str) -> str:
        return PAIR_TOKEN

    def let_go(self, machine: str) -> None:
        self.world.release_machine(self.world.living[machine], "deleted by hand")

    def report_of(self, machine: str) -> bytes:
        return self.payloads.reports.get(machine, b"")


class EmbeddedEdge:
    """A token for every machine, made when it is given power."""

    def __init__(self, world: EmbeddedWorld, clock: Clock) -> None:
        self.clock = clock
        self.world = world
        with_template(world)
        world.secrets.write_token(make_token(PAIR, PAIR_TOKEN))
        for name in (FIRST, SECOND):
            world.machines.create_machine(POOL, name, PAIR)
            give_power(world, clock, name, self.token_of(name))

    def source(self) -> PayloadSource:
        return StoredPayloads(self.world, lambda: None)

    def token_of(self, machine: str) -> str:
        return {FIRST: "Zmlyc3Q=", SECOND: "c2Vjb25k"}[machine]

    def let_go(self, machine: str) -> None:
        self.world.machines.delete_machine(machine)

    def report_of(self, machine: str) -> bytes:
        stored = self.world.machines.find_machine(machine)
        assert stored is not None
        return stored.report


def make_user_data() -> UserData:
    return UserData(pool=POOL, id=PAIR, token=PAIR_TOKEN, stub=Stub())


def give_power(world: EmbeddedWorld, clock: Clock, machine: str, token: str) -> None:
    with world.store.writing():
        world.machines.note_power(machine)
        world.machine_tokens.write(issued(machine, PAIR, token, clock.now))


class Door:
    """The payload service of an edge, and requests of its machines."""

    def __init__(self, edge: Edge) -> None:
        self.edge = edge
        self.cluster = SimCluster(edge.clock)
        self.app = make_app(edge.source(), lambda: edge.clock.now, self.cluster)

    def fetch(self, token: str, machine: str) -> int:
        return self._ask("GET", "/v1/node-config", token, machine)[0]

    def join_token(self, machine: str) -> str:
        status, body = self._ask("GET", "/v1/node-config", self.edge.token_of(machine), machine)
        assert status == 200
        return str(json.loads(body)["bootstrapping_config"]["tls_bootstrapping_token"])

    def report(self, token: str, machine: str, body: bytes = REPORT) -> int:
        return self._ask("POST", "/v1/boot-report", token, machine, body)[0]

    def _ask(
        self, method: str, path: str, token: str, machine: str, body: bytes = b""
    ) -> tuple[int, bytes]:
        headers = {"Authorization": f"Bearer {token}", "Fairlead-Machine": machine}
        return ask(self.app, method, path, headers, body)


@pytest.fixture(
    params=[
        "cluster",
        "embedded",
        pytest.param("kube", marks=[pytest.mark.slow, pytest.mark.kube]),
    ],
)
def edge(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Edge]:
    if request.param == "cluster":
        yield ClusterEdge()
        return
    if request.param == "kube":
        pair = make_token(PAIR, PAIR_TOKEN)
        installed = request.getfixturevalue("installed")
        with running_edge(installed, pair, (FIRST, SECOND)) as running:
            yield running
        return
    clock = Clock()
    with open_world(tmp_path, clock) as world:
        (tmp_path / "secrets" / "registry-login").write_text('{"auths": {}}')
        yield EmbeddedEdge(world, clock)


@pytest.fixture
def door(edge: Edge) -> Door:
    return Door(edge)


def test_a_machine_fetches_and_reports(door: Door, edge: Edge) -> None:
    token = edge.token_of(FIRST)

    assert door.fetch(token, FIRST) == 200
    assert door.report(token, FIRST) == 204

    assert edge.report_of(FIRST) == REPORT
    assert edge.report_of(SECOND) == b""


def test_a_boot_that_begins_again_fetches_again(door: Door, edge: Edge) -> None:
    assert [door.fetch(edge.token_of(FIRST), FIRST) for _ in range(3)] == [200, 200, 200]


def test_after_its_verdict_a_machine_is_given_nothing(door: Door, edge: Edge) -> None:
    token = edge.token_of(FIRST)
    door.fetch(token, FIRST)
    door.report(token, FIRST)

    assert door.fetch(token, FIRST) == 410
    assert door.fetch(edge.token_of(SECOND), SECOND) == 200


def test_a_lost_answer_is_given_again_and_another_word_is_not_taken(door: Door, edge: Edge) -> None:
    token = edge.token_of(FIRST)
    door.report(token, FIRST)

    assert door.report(token, FIRST) == 204
    assert door.report(token, FIRST, OTHER_REPORT) == 410

    assert edge.report_of(FIRST) == REPORT


def test_a_machine_that_nobody_made_is_given_nothing_and_not_believed(
    door: Door, edge: Edge
) -> None:
    token = edge.token_of(FIRST)

    assert door.fetch(token, "workers-3") in (403, 511)
    assert door.report(token, "workers-3") in (403, 511)
    assert door.fetch(token, "") == 400


def test_a_machine_that_leaves_is_given_nothing_and_not_believed(door: Door, edge: Edge) -> None:
    edge.let_go(FIRST)

    assert door.fetch(edge.token_of(FIRST), FIRST) == 410
    assert door.report(edge.token_of(FIRST), FIRST) == 410
    assert edge.report_of(FIRST) == b""


def test_a_token_ends_eleven_hours_after_it_was_issued(door: Door, edge: Edge) -> None:
    edge.clock.advance(timedelta(hours=10, minutes=59))
    assert door.fetch(edge.token_of(FIRST), FIRST) == 200

    edge.clock.advance(timedelta(minutes=1))
    assert door.fetch(edge.token_of(FIRST), FIRST) == 511
    assert door.report(edge.token_of(FIRST), FIRST) == 511


def test_a_bootstrap_token_is_one_machines_and_ends_with_its_verdict_or_its_hour(
    door: Door, edge: Edge
) -> None:
    first, second = door.join_token(FIRST), door.join_token(SECOND)
    assert first != second
    assert door.cluster.takes(first)

    again = door.join_token(FIRST)
    assert (door.cluster.takes(first), door.cluster.takes(again)) == (False, True)
    assert door.report(edge.token_of(FIRST), FIRST) == 204
    assert (door.cluster.takes(again), door.cluster.takes(second)) == (False, True)

    edge.clock.advance(timedelta(hours=1))
    assert not door.cluster.takes(second)
