"""
What the payload service asks the embedded store, and what it notes there.

A machine's name is what the machine says; the token proves only its pool. So a word about a
machine counts only while that machine of that very pool boots or changes.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from fairlead.answers.words import Phase
from fairlead.embedded.store.world import EmbeddedWorld
from fairlead.payload.pool_secrets import PoolSecrets
from fairlead.revision.revision import Revision
from fairlead.rollout.machines import Machine, NodeSettings
from fairlead.rollout.secrets import TokenSecret


class StoredPayloads:
    """The payload service's view of one embedded world. `wake` asks for a pass soon."""

    def __init__(self, world: EmbeddedWorld, wake: Callable[[], None]) -> None:
        self._world = world
        self._wake = wake

    def find_pair(self, token_hash: str) -> TokenSecret | None:
        """Return the pair whose token, or the one before it, has this hash."""
        return self._world.secrets.find_by_token_hash(token_hash)

    def find_settings(self, pool: str, machine: str) -> NodeSettings:
        """Return labels and taints that the machine joins with."""
        found = self._find(pool, machine)
        if found is not None:
            return found.settings
        template = self._world.machines.find_template(pool)
        return template.settings if template else NodeSettings()

    def find_secrets(self, revision: Revision) -> PoolSecrets:
        """Return the files that this revision names, as they are now."""
        return self._world.pools.read_secrets(revision.leaves)

    def record_fetch(self, pool: str, machine: str, revision: str) -> None:
        """Note which inputs a machine that boots was given."""
        found = self._find(pool, machine)
        if found is not None and found.booted != revision:
            self._world.machines.write_machine(replace(found, booted=revision))

    def record_problem(self, pool: str, pair: str, problem: str) -> None:
        """Note why a pair cannot be served."""
        self._world.secrets.write_problem(pool, pair, problem)
        self._wake()

    def record_report(self, pool: str, machine: str, report: bytes) -> None:
        """Keep what a machine says of its boot."""
        if self._find(pool, machine) is not None:
            self._world.machines.write_report(machine, report)
            self._wake()

    def _find(self, pool: str, name: str) -> Machine | None:
        stored = self._world.machines.find_machine(name)
        if stored is None or stored.gone_at is not None or stored.machine.pool != pool:
            return None
        machine = stored.machine
        return machine if machine.phase is Phase.BOOTING or machine.is_in_flight else None
