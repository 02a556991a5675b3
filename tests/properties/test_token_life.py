"""
The life of machines' tokens over random histories: whoever holds whichever, and says whatever.

The driver, the store and the payload service are the embedded edge's own; machines only stand
there. What may be answered is said here once more, in as few words as possible.
"""

from __future__ import annotations

import asyncio
import json
import tempfile
from contextlib import ExitStack
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from pathlib import Path

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    initialize,
    invariant,
    rule,
    run_state_machine_as_test,
)

from asgi_call import ask
from fairlead.agent.early.carried_files import files_in_user_data
from fairlead.answers.words import Fault, Phase
from fairlead.contract.boot_document import parse_boot_document
from fairlead.embedded.machines.drive import Driver
from fairlead.embedded.machines.kind import Life, Seed
from fairlead.embedded.store.payloads import StoredPayloads
from fairlead.payload.app import make_app
from fairlead.rollout.machines import Machine
from fairlead.sim.clock import Clock
from fairlead.sim.payloads import SimCluster
from unit.embedded.open_world import (
    OWN_STUB,
    PAIR,
    POOL,
    TOKEN,
    open_world,
    with_template,
    write_pair,
)

CA = "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n"
NAMES = ("workers-0", "workers-1", "workers-2")
OTHER_PAIR = "fedcba9876543210"
LIFE, JOIN_LIFE = timedelta(hours=11), timedelta(hours=1)

AT = st.integers(0, 30)
NAME = st.sampled_from((*NAMES, "workers-9", ""))


@dataclass(frozen=True)
class Given:
    """A token that a machine was given, with what it boots and when."""

    token: str
    machine: str
    pair: str
    at: datetime


class Yard:
    """Machines that take power and do nothing. What they were given is remembered."""

    name = "yard"

    def __init__(self, clock: Clock) -> None:
        self.clock = clock
        self.given: list[Given] = []
        self.lives: dict[str, Life] = {}

    def power_on(self, machine: str, seed: Seed | None, _fault: Fault) -> None:
        self.lives[machine] = Life.BOOTING
        if seed is not None:
            (carried,) = files_in_user_data(seed.user_data)
            token = parse_boot_document(carried.content).token
            pair = seed.instance.removeprefix(f"{machine}-")
            self.given.append(Given(token, machine, pair, self.clock.now))

    def life_of(self, machine: str) -> Life:
        return self.lives.get(machine, Life.ABSENT)

    def last_words(self, _machine: str) -> str:
        return ""

    def destroy(self, machine: str) -> None:
        self.lives.pop(machine, None)

    def list_names(self) -> tuple[str, ...]:
        return tuple(sorted(self.lives))


class TokenLife(RuleBasedStateMachine):
    """One pool of three machines, two pairs, and a thief who has seen every token there was."""

    @initialize()
    def begin(self) -> None:
        self.stack = ExitStack()
        path = Path(self.stack.enter_context(tempfile.TemporaryDirectory()))
        self.clock = Clock()
        self.world = self.stack.enter_context(open_world(path, self.clock))
        self.world.store.rows("PRAGMA synchronous = OFF")
        (path / "secrets" / "registry-login").write_text('{"auths": {}}')
        with_template(self.world)
        write_pair(self.world, OTHER_PAIR, "b3RoZXI=")
        for data in self.world.secrets.list_user_data(POOL):
            stub = replace(OWN_STUB, ca=CA)
            self.world.secrets.write_user_data(replace(data, stub=stub))
        for name in NAMES:
            self.world.machines.create_machine(POOL, name, PAIR)
        self.yard = Yard(self.clock)
        self.cluster = SimCluster(self.clock)
        self.drawn = 0
        self.said: dict[str, bytes] = {}  # by token: the report that was taken
        self.joins: list[tuple[str, str, datetime]] = []  # bootstrap token, token, moment
        self.spend_driver()

    def teardown(self) -> None:
        if hasattr(self, "stack"):
            self.stack.close()

    @rule()
    def spend_driver(self) -> None:
        """The control plane starts again: everything that it only remembered is lost."""
        self.driver = Driver(self.world, self.yard, lambda: self.clock.now, self._draw)
        source = StoredPayloads(self.world, lambda: None)
        self.app = make_app(source, lambda: self.clock.now, self.cluster)

    @rule()
    def tick(self) -> None:
        async def run() -> None:
            self.driver.tick()
            await self.driver.rest()

        before = {name for name in NAMES if self._is_ready(name)}
        asyncio.run(run())
        for name in NAMES:
            if self._is_ready(name) and name not in before:
                assert self.yard.life_of(name) is Life.UP

    @rule(seconds=st.sampled_from([1, 3, 20, 600, 3600, 39_000]))
    def wait(self, seconds: int) -> None:
        self.clock.advance(timedelta(seconds=seconds))
        # Only a pass keeps a pair's own token good; here its age must not matter to a machine.
        for secret in self.world.secrets.list_tokens(POOL):
            self.world.secrets.write_token(replace(secret, issued_at=self.clock.now))

    @rule(name=st.sampled_from(NAMES), life=st.sampled_from(Life))
    def look(self, name: str, life: Life) -> None:
        self.yard.lives[name] = life

    @rule(name=st.sampled_from(NAMES))
    def let_go(self, name: str) -> None:
        self.world.machines.remove_machine(name, "scaled down")

    @rule(name=st.sampled_from(NAMES), pair=st.sampled_from([PAIR, OTHER_PAIR]))
    def change(self, name: str, pair: str) -> None:
        if self._is_ready(name):
            self.world.machines.change_machine(name, pair)

    @rule(name=st.sampled_from(NAMES), life=st.sampled_from([Life.UP, Life.UP, Life.OFF]))
    def boot(self, name: str, life: Life) -> None:
        """What an honest machine does; whether it is still there when that is looked at."""
        self.tick()
        if own := [given for given in self.yard.given if given.machine == name]:
            at = len(self.yard.given) - 1 - self.yard.given.index(own[-1])
            self.fetch(at, name)
            self.report(at, name, 0, 0)
        self.look(name, life)
        self.tick()

    @rule(at=AT, name=NAME)
    def fetch(self, at: int, name: str) -> None:
        token = self._token(at)
        may = self._is_expected(token, name)

        status, body = self._ask("GET", "/v1/node-config", token, name)

        assert (status == 200) == may, (status, body)
        if status == 200:
            bootstrapping = json.loads(body)["bootstrapping_config"]
            join = str(bootstrapping["tls_bootstrapping_token"])
            assert join not in [known for known, _, _ in self.joins]
            self.joins.append((join, token, self.clock.now))
        else:
            assert b"tls_bootstrapping_token" not in body

    @rule(at=AT, name=NAME, run=st.integers(0, 2), exit_code=st.sampled_from([0, 0, 1]))
    def report(self, at: int, name: str, run: int, exit_code: int) -> None:
        token = self._token(at)
        fields = {"run": str(run), "agent": "a", "layout": "l", "started": "s", "exit": exit_code}
        body = json.dumps(fields).encode()
        may = self._is_expected(token, name)
        is_same = self.said.get(token) == body and self._is_shown_by_its_own(token, name)

        status, _ = self._ask("POST", "/v1/boot-report", token, name, body)

        assert (status == 204) == (may or is_same), status
        if may:
            self.said[token] = body

    @invariant()
    def whoever_is_ready_said_so_with_its_own_token(self) -> None:
        if not hasattr(self, "yard"):
            return
        for name in NAMES:
            if self._is_ready(name):
                reports = [
                    self.said.get(one.token) for one in self.yard.given if one.machine == name
                ]
                assert any(report and json.loads(report)["exit"] == 0 for report in reports)

    @invariant()
    def a_bootstrap_token_ends_with_its_hour_or_its_verdict(self) -> None:
        if not hasattr(self, "yard"):
            return
        for join, token, at in self.joins:
            if token in self.said or self.clock.now >= at + JOIN_LIFE:
                assert not self.cluster.takes(join)

    # What may be, in words of its own.

    def _draw(self) -> str:
        self.drawn += 1
        return f"b3du{self.drawn:04}"

    def _token(self, at: int) -> str:
        known = [TOKEN, "b3RoZXI=", *(given.token for given in self.yard.given)]
        return known[-1 - at % len(known)]

    def _machine(self, name: str) -> Machine | None:
        stored = self.world.machines.find_machine(name)
        return stored.machine if stored and stored.gone_at is None else None

    def _is_ready(self, name: str) -> bool:
        found = self._machine(name)
        return found is not None and found.phase is Phase.READY

    def _is_shown_by_its_own(self, token: str, name: str) -> bool:
        """Say whether this is the last token of that machine, and has not ended."""
        own = [given for given in self.yard.given if given.machine == name]
        return bool(
            own
            and own[-1].token == token
            and self.clock.now < own[-1].at + LIFE
            and self._machine(name) is not None
        )

    def _is_expected(self, token: str, name: str) -> bool:
        found = self._machine(name)
        if found is None or not self._is_shown_by_its_own(token, name) or token in self.said:
            return False
        pair = next(given.pair for given in self.yard.given if given.token == token)
        if found.is_in_flight:
            alive = found.phase in (Phase.READY, Phase.NOT_READY)
            return alive and found.heading_for == pair
        return found.phase is Phase.BOOTING

    def _ask(
        self, method: str, path: str, token: str, name: str, body: bytes = b""
    ) -> tuple[int, bytes]:
        headers = {"Authorization": f"Bearer {token}", "Fairlead-Machine": name}
        return ask(self.app, method, path, headers, body)


@pytest.mark.parametrize("lives", [15, pytest.param(60, marks=pytest.mark.slow)])
def test_a_token_is_good_for_one_machine_one_boot_and_one_verdict(lives: int) -> None:
    few = settings(max_examples=lives, stateful_step_count=40, deadline=None)
    run_state_machine_as_test(TokenLife, settings=few)
