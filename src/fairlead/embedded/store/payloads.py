"""
What the payload service asks the embedded store, and what it notes there.

Machines are made by name here, so each has a token of its own and the token of a pair admits
nobody: but for a machine that was already booting with it when this edge learned to give others.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from fairlead.answers.words import Phase
from fairlead.embedded.store.machines import StoredMachine
from fairlead.embedded.store.world import EmbeddedWorld
from fairlead.errors import InputError, UnavailableError
from fairlead.payload.bearer import Bearer, MachineToken, Standing, report_digest
from fairlead.revision.revision import Revision
from fairlead.rollout.machines import Machine
from fairlead.rollout.secrets import TokenSecret
from fairlead.rollout.served.pool_secrets import PoolSecrets

# A machine that failed is not listened to, also if it was changing when it did.
_LISTENED_TO = (Phase.BOOTING, Phase.READY, Phase.NOT_READY)


class StoredPayloads:
    """
    The payload service's view of one embedded world.

    wake: asks for a pass soon. on_report: told pool, machine and report, once it is kept.
    """

    def __init__(
        self,
        world: EmbeddedWorld,
        wake: Callable[[], None],
        on_report: Callable[[str, str, bytes], None] = lambda _pool, _machine, _report: None,
    ) -> None:
        self._world = world
        self._wake = wake
        self._on_report = on_report

    def find_bearer(self, token_hash: str, machine: str) -> Bearer | None:
        """
        Return whose token this is, and how that machine stands.

        Raises UnavailableError if something of its pool is damaged: it asks again.
        """
        try:
            bearer = self._find_bearer(token_hash, machine)
        except InputError as error:
            raise UnavailableError(str(error)) from error
        if bearer is not None and self._world.store.damage.is_of(bearer.pair.pool):
            raise UnavailableError(f"something of {bearer.pair.pool} is damaged: not served")
        return bearer

    def _find_bearer(self, token_hash: str, machine: str) -> Bearer | None:
        own = self._world.machine_tokens.find_by_hash(token_hash)
        if own is not None:
            return self._find_owner(own)
        pair = self._world.secrets.find_by_token_hash(token_hash)
        if pair is None:
            return None
        unnamed = self._world.machine_tokens.find_unnamed(machine)
        stored = self._world.machines.find_machine(machine)
        if unnamed is None or stored is None or not _is_of(stored, unnamed, pair):
            return Bearer(pair=pair)
        return _bearer(stored, unnamed, pair)

    def _find_owner(self, own: MachineToken) -> Bearer | None:
        stored = self._world.machines.find_machine(own.machine)
        pool = stored.machine.pool if stored else ""
        pair = self._world.secrets.find_token(pool, own.pair)
        if stored is None or pair is None:
            return None
        return replace(_bearer(stored, own, pair), own=own)

    def find_secrets(self, _pool: str, revision: Revision) -> PoolSecrets:
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
        """Keep what a machine says of its boot; both are written, or neither is."""
        if self._find(pool, machine) is not None:
            with self._world.store.writing():
                self._world.machines.write_report(machine, report)
                self._world.machine_tokens.spend(machine, report_digest(report))
            self._on_report(pool, machine, report)
            self._wake()

    def _find(self, pool: str, name: str) -> Machine | None:
        stored = self._world.machines.find_machine(name)
        is_known = stored is not None and stored.machine.pool == pool
        return stored.machine if stored and is_known and is_awaited(stored) else None


def is_awaited(stored: StoredMachine) -> bool:
    """Say whether a word of this machine about its boot is waited for."""
    machine = stored.machine
    if stored.gone_at is not None or machine.phase not in _LISTENED_TO:
        return False
    return machine.phase is Phase.BOOTING or machine.is_in_flight


def _is_of(stored: StoredMachine, token: MachineToken, pair: TokenSecret) -> bool:
    return (stored.machine.pool, token.pair) == (pair.pool, pair.id)


def _bearer(stored: StoredMachine, token: MachineToken, pair: TokenSecret) -> Bearer:
    machine = stored.machine
    boots_from = machine.heading_for or machine.revision
    is_expected = is_awaited(stored) and not token.said and boots_from == token.pair
    return Bearer(
        pair=pair,
        standing=Standing.EXPECTED if is_expected else Standing.OVER,
        said=token.said,
        settings=machine.settings,
    )
