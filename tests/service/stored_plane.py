"""A control plane over a real store whose machines do what they are told, when they are told."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

from fairlead.answers.reply import Health
from fairlead.answers.words import Phase
from fairlead.contract.boot_report import BootReport, report_fields
from fairlead.contract.hotfix.fact import FACT, HotfixFact, agent_in
from fairlead.contract.json_text import encode_line
from fairlead.controller.loop import Failure
from fairlead.controller.reconcile import Chance, reconcile
from fairlead.embedded.certificates.authority import announce
from fairlead.embedded.machines.kind import Life, Printed
from fairlead.embedded.machines.next_move import Become, Destroy, Sight, next_move
from fairlead.embedded.state_directory import StateDirectory
from fairlead.embedded.store.database import Store
from fairlead.embedded.store.world import EmbeddedWorld
from fairlead.inputs.platform_inputs import Stub
from fairlead.rollout.fixes import offered_to
from fairlead.rollout.machines import Machine
from fairlead.telling.told_pools import ToldPools

STUB = Stub(endpoint="https://127.0.0.1:1/v1/node-config", ca="CA")
MOST_PASSES = 200


class StoredPlane:
    """Everything but processes and a loop: passes and machines move when a test says so."""

    def __init__(self, path: Path) -> None:
        self.directory = StateDirectory(path)
        self.directory.make()
        (self.directory.secrets / "registry-login").write_text(
            '{"auths": {"r.example": {"auth": "hunter2"}}}'
        )
        self.store = Store(self.directory)
        self.failed: dict[str, Failure] = {}
        self.moment = datetime(2026, 7, 1, 12, tzinfo=UTC)
        self.world = EmbeddedWorld(self.store, self.directory, STUB, self.now)
        self.told = ToldPools()
        self.consoles: dict[str, Printed] = {}
        self.woken = 0
        self.is_stopped = False
        self.baked = ""
        self._drawn = 0

    # What commands need of it.

    def now(self) -> datetime:
        return self.moment

    def wake(self) -> None:
        self.woken += 1

    def stop(self) -> None:
        self.is_stopped = True

    def rotate_authority(self, overlap: timedelta) -> None:
        announce(self.directory.certificates, self.now(), overlap)

    def printed(self, machine: str) -> Printed:
        return self.consoles.get(machine, Printed(power="", begin=0, data=b"", last_words=""))

    def failures(self) -> dict[str, Failure]:
        return self.failed

    def health(self) -> Health:
        return Health(
            version="0",
            pid=os.getpid(),
            started_at=self.moment,
            payload_endpoint="https://127.0.0.1:1",
            machines="directory",
            pools=len(self.world.pools.list_pools()),
        )

    # What a test does with it.

    def one_pass(self, pool: str = "workers") -> None:
        reconcile(pool, self.world.world(), self.chance(), self.now())

    def chance(self) -> Chance:
        return Chance(self._draw_token, self._draw_name)

    def run_machines(self) -> int:
        moved = self.world.machines.observe_templates()
        for machine in self.world.machines.list_all():
            moved += self._run(machine)
        return moved

    def settle(self, *pools: str, after_each: Callable[[], None] = lambda: None) -> None:
        """Run passes and machines until machines rest. after_each: called after each of both."""
        for _ in range(MOST_PASSES):
            known = self.world.pools.list_pools()
            before = self.world.pools.markers()
            for pool in pools or known:
                if pool in known:
                    self.one_pass(pool)
                    after_each()
            moved = self.run_machines()
            after_each()
            self.moment += timedelta(minutes=1)
            if not moved and before == self.world.pools.markers():
                return
        raise AssertionError("the pools do not settle")

    def names(self, pool: str = "workers") -> list[str]:
        return sorted(machine.name for machine in self.world.machines.list_machines(pool))

    def close(self) -> None:
        self.store.close()

    def _run(self, machine: Machine) -> bool:
        if machine.is_leaving:
            return self._leave(machine)
        if machine.phase is not Phase.BOOTING and not machine.is_in_flight:
            return False
        revision = machine.heading_for or machine.revision
        tokens = {token.id: token for token in self.world.secrets.list_tokens(machine.pool)}
        self.world.machines.write_machine(
            replace(
                machine,
                revision=revision,
                heading_for="",
                phase=Phase.READY,
                ready_at=self.now(),
                booted=tokens[revision].served.id,
                agent=self._report(machine) if self.baked else "",
            )
        )
        return True

    def _report(self, machine: Machine) -> str:
        """Let a machine say what it booted with: a published fix, or its image's agent."""
        fact = HotfixFact(self.baked)
        if offered := offered_to(self.baked, self.world.fixes.read()):
            fact.wanted = fact.used = offered.version
        report = BootReport("run", agent=self.baked, layout="fairlead", started="")
        report.exit_code = 0
        report.facts[FACT] = fact.encode()
        text = encode_line(report_fields(report)).encode()
        self.world.machines.write_report(machine.name, text)
        return agent_in(report)

    def _leave(self, machine: Machine) -> bool:
        stored = self.world.machines.find_machine(machine.name)
        assert stored is not None
        move = next_move(stored, Sight(life=Life.UP, leaving_since=machine.since), self.now())
        if isinstance(move, Destroy):
            self.world.let_go(machine.name, self.now())
        elif isinstance(move, Become):
            self.world.machines.write_machine(move.machine)
        return move is not None

    def _draw_token(self) -> str:
        self._drawn += 1
        return f"secret-token-{self._drawn}"

    def _draw_name(self, pool: str) -> str:
        self._drawn += 1
        return f"{pool}-{self._drawn}"
