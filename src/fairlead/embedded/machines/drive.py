"""
The hands of the embedded edge: gives machines power, takes them away, and notes what they became.

The store is only touched between two awaits, so by one thread; whatever waits for a process or a
disk runs in a thread of its own, one at a time for each machine.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from dataclasses import replace
from datetime import datetime, timedelta

from fairlead.answers.words import EventKind, Fault, Phase
from fairlead.embedded.machines.kind import Life, MachineKind
from fairlead.embedded.machines.next_move import (
    Become,
    Destroy,
    Move,
    PowerOn,
    Restart,
    Sight,
    next_move,
)
from fairlead.embedded.machines.seed import seed_of
from fairlead.embedded.store.machines import StoredMachine
from fairlead.embedded.store.world import EmbeddedWorld
from fairlead.errors import FairleadError, UnavailableError
from fairlead.payload.bearer import issued
from fairlead.rollout.machines import Machine
from fairlead.rollout.secrets import UserData

# How many machines start or stop at once: more only makes each of them slower.
MOST_AT_ONCE = 8

# A disk that is full or a mount that hangs does not mend itself in milliseconds.
RETRY_AFTER = timedelta(seconds=2)

# Machines that are ready are looked at this often.
LOOK_EVERY = timedelta(seconds=3)


class Driver:
    """Drives every machine of one control plane. What it remembers may be lost at any time."""

    def __init__(
        self,
        world: EmbeddedWorld,
        kind: MachineKind,
        now: Callable[[], datetime],
        draw_token: Callable[[], str],
    ) -> None:
        self._world = world
        self._kind = kind
        self._now = now
        self._draw_token = draw_token
        self._busy: dict[str, asyncio.Task[None]] = {}
        self._look_at = now()
        self._retry_at: dict[str, datetime] = {}

    def tick(self) -> int:
        """Let every machine make its next move; return how many did or are about to."""
        machines = self._world.machines
        moves = machines.observe_templates()
        for stored in (*machines.list_moving(), *self._fallen()):
            if self._is_free(stored.machine.name):
                move = next_move(stored, self._sight_of(stored), self._now())
                if move is not None:
                    moves += self._make(stored, move)
        return moves + len(self._busy)

    def _is_free(self, name: str) -> bool:
        return name not in self._busy and self._retry_at.get(name, self._now()) <= self._now()

    def _fallen(self) -> list[StoredMachine]:
        """Return ready machines that no longer run, as often as they are looked at."""
        if self._now() < self._look_at:
            return []
        self._look_at = self._now() + LOOK_EVERY
        machines = self._world.machines
        fallen = [
            machines.find_machine(name)
            for name in machines.list_running()
            if self._kind.life_of(name) is not Life.UP
        ]
        return [stored for stored in fallen if stored is not None]

    async def rest(self) -> None:
        """Wait until nothing that was begun is under way."""
        while self._busy:
            await asyncio.gather(*self._busy.values())

    def _sight_of(self, stored: StoredMachine) -> Sight:
        machine = stored.machine
        is_stuck = machine.is_leaving and stored.fault is Fault.STUCK_DRAIN
        return Sight(
            life=self._kind.life_of(machine.name),
            last_words=self._kind.last_words(machine.name)
            if machine.phase is Phase.BOOTING
            else "",
            leaving_since=self._leaving_since(machine) if is_stuck else None,
        )

    def _leaving_since(self, machine: Machine) -> datetime | None:
        if machine.since is not None:
            return machine.since
        events = self._world.journal.read_machine_events(machine.name)
        told = (event.at for event in events if event.kind is EventKind.MACHINE_LEAVES)
        return min(told, default=None)

    def _make(self, stored: StoredMachine, move: Move) -> int:
        match move:
            case Become():
                self._world.machines.write_machine(move.machine)
            case Destroy():
                self._begin(stored, self._destroy(stored))
            case PowerOn():
                self._begin(stored, self._power_on(stored, move.revision))
            case Restart():
                self._begin(stored, self._restart(stored))
        return 1

    def _begin(self, stored: StoredMachine, work: Coroutine[None, None, None]) -> None:
        if len(self._busy) >= MOST_AT_ONCE:
            work.close()  # its turn comes with a later tick
            return
        name = stored.machine.name
        task = asyncio.get_running_loop().create_task(self._told(stored, work))
        self._busy[name] = task
        task.add_done_callback(lambda _: self._busy.pop(name, None))

    async def _told(self, stored: StoredMachine, work: Coroutine[None, None, None]) -> None:
        """Do the work; what goes wrong with it is the machine's problem, and is tried again."""
        name = stored.machine.name
        self._retry_at.pop(name, None)
        try:
            await work
        except (FairleadError, OSError) as error:
            self._retry_at[name] = self._now() + RETRY_AFTER
            found = self._world.machines.find_machine(name)
            if found and found.gone_at is None and found.machine.problem != str(error):
                self._world.machines.write_machine(replace(found.machine, problem=str(error)))

    async def _power_on(self, stored: StoredMachine, revision: str) -> None:
        name, world = stored.machine.name, self._world
        user_data = self._user_data_of(stored.machine.pool, revision)
        token = self._draw_token()
        seed = seed_of(name, user_data, token)
        # Noted first: a report that comes at once must be later than its power. With the token,
        # so that what an earlier boot still says is known to be an earlier boot's.
        with world.store.writing():
            world.machines.note_power(name)
            world.machine_tokens.write(issued(name, revision, token, self._now()))
        await asyncio.to_thread(self._kind.power_on, name, seed, stored.fault)

    async def _restart(self, stored: StoredMachine) -> None:
        """Let a provisioned machine boot from what it has; it proves nothing, and gets no token."""
        name = stored.machine.name
        self._world.machines.note_power(name)
        await asyncio.to_thread(self._kind.power_on, name, None, stored.fault)

    def _user_data_of(self, pool: str, revision: str) -> UserData:
        for found in self._world.secrets.list_user_data(pool):
            if found.id == revision:
                return found
        raise UnavailableError(f"its user data {revision} is missing; a pass makes it again")

    async def _destroy(self, stored: StoredMachine) -> None:
        name = stored.machine.name
        await asyncio.to_thread(self._kind.destroy, name)
        self._world.machines.mark_gone(name)
