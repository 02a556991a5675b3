"""
The hands of the embedded edge: gives machines power, takes them away, and notes what they became.

The store is only touched between two awaits, so by one thread; whatever waits for a process or a
disk runs in a thread of its own, one at a time for each machine.

A machine owns its disk, and this computer may run out of anything: whatever goes wrong with one
machine is told as its problem and tried again, ever more rarely, and holds up no other.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
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
from fairlead.telling.errno_text import problem_text

# How many machines start or stop at once: more only makes each of them slower.
MOST_AT_ONCE = 8

# A disk that is full or a mount that hangs does not mend itself in milliseconds. Every further
# failure doubles the wait.
RETRY_AFTER = timedelta(seconds=2)
LONGEST_RETRY = timedelta(seconds=60)

# Machines that are ready are looked at this often, and what one that boots wrote is read so often.
LOOK_EVERY = timedelta(seconds=3)
READ_EVERY = timedelta(seconds=1)

LONGEST_PROBLEM = 500


@dataclass(frozen=True, slots=True)
class _Trouble:
    """How often in a row something went wrong with a machine, and when it is tried again."""

    count: int
    retry_at: datetime


def _no_files() -> Mapping[str, bytes]:
    return {}


@dataclass(frozen=True, slots=True, kw_only=True)
class Besides:
    """What else is done when machines come and go: files of a new one's image, a last word."""

    image_files: Callable[[], Mapping[str, bytes]] = _no_files
    on_gone: Callable[[str], None] = lambda _: None


class Driver:
    """Drives every machine of one control plane. What it remembers may be lost at any time."""

    def __init__(
        self,
        world: EmbeddedWorld,
        kind: MachineKind,
        now: Callable[[], datetime],
        draw_token: Callable[[], str],
        besides: Besides | None = None,
    ) -> None:
        self._world = world
        self._kind = kind
        self._now = now
        self._draw_token = draw_token
        self._besides = besides or Besides()
        self._busy: dict[str, asyncio.Task[None]] = {}
        self._look_at = now()
        self._trouble: dict[str, _Trouble] = {}
        self._words: dict[str, tuple[datetime, str]] = {}
        # A machine that is ready has a problem only because somebody could not look at it.
        self._unclear = {machine.name for machine in world.machines.list_all() if machine.problem}

    def tick(self) -> int:
        """Let every machine make its next move; return how many did or are about to."""
        machines = self._world.machines
        moves = machines.observe_templates()
        for stored in (*machines.list_moving(), *self._fallen()):
            moves += self._move_on(stored)
        return moves + len(self._busy)

    def _move_on(self, stored: StoredMachine) -> int:
        name = stored.machine.name
        if not self._is_free(name):
            return 0
        moves = 0
        with self._its_own(name):
            move = next_move(stored, self._sight_of(stored), self._now())
            moves = self._make(stored, move) if move is not None else 0
            if name not in self._busy:
                self._trouble.pop(name, None)
        return moves

    def _is_free(self, name: str) -> bool:
        trouble = self._trouble.get(name)
        return name not in self._busy and (trouble is None or trouble.retry_at <= self._now())

    def _fallen(self) -> list[StoredMachine]:
        """Return ready machines that no longer run, as often as they are looked at."""
        if self._now() < self._look_at:
            return []
        self._look_at = self._now() + LOOK_EVERY
        names = self._world.machines.list_running()
        fallen = [self._find_fallen(name) for name in names if self._is_free(name)]
        return [stored for stored in fallen if stored is not None]

    def _find_fallen(self, name: str) -> StoredMachine | None:
        """Return a ready machine that no longer runs, or that could not be looked at before."""
        found = None
        with self._its_own(name):
            if self._kind.life_of(name) is not Life.UP or name in self._unclear:
                self._unclear.discard(name)
                found = self._world.machines.find_machine(name)
        return found

    async def rest(self) -> None:
        """Wait until nothing that was begun is under way."""
        while self._busy:
            await asyncio.gather(*self._busy.values())

    def _sight_of(self, stored: StoredMachine) -> Sight:
        machine = stored.machine
        is_stuck = machine.is_leaving and stored.fault is Fault.STUCK_DRAIN
        return Sight(
            life=self._kind.life_of(machine.name),
            last_words=self._last_words(machine.name) if machine.phase is Phase.BOOTING else "",
            leaving_since=self._leaving_since(machine) if is_stuck else None,
        )

    def _last_words(self, name: str) -> str:
        """Return what a machine left so far, as it was a moment ago."""
        read_at, words = self._words.get(name, (None, ""))
        if read_at is None or self._now() - read_at >= READ_EVERY:
            words = self._kind.last_words(name)
            self._words[name] = (self._now(), words)
        return words

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
        # A store that does not take the problem fails the next tick, where that is told.
        with suppress(FairleadError), self._its_own(name):
            await work
            self._trouble.pop(name, None)

    @contextmanager
    def _its_own(self, name: str) -> Iterator[None]:
        """Whatever goes wrong inside is this machine's problem, and nobody else's."""
        try:
            yield
        except Exception as error:  # noqa: BLE001 - door 2: a machine's failure is its own
            self._note(name, error)

    def _note(self, name: str, error: Exception) -> None:
        """Tell what went wrong with a machine, once, and when it is tried again."""
        known = self._trouble.get(name)
        count = known.count + 1 if known else 1
        # The exponent is bounded, so that a machine broken for a year does not overflow.
        wait = min(RETRY_AFTER * 2 ** min(count - 1, 10), LONGEST_RETRY)
        self._trouble[name] = _Trouble(count, self._now() + wait)
        self._unclear.add(name)
        problem = _problem_of(error)
        found = self._world.machines.find_machine(name)
        if found is None or found.gone_at is not None or found.machine.phase is Phase.FAILED:
            return  # what a machine failed of stays its problem
        if found.machine.problem != problem:
            self._world.machines.write_machine(replace(found.machine, problem=problem))

    async def _power_on(self, stored: StoredMachine, revision: str) -> None:
        name, world = stored.machine.name, self._world
        user_data = self._user_data_of(stored.machine.pool, revision)
        token = self._draw_token()
        seed = replace(seed_of(name, user_data, token), image_files=self._besides.image_files())
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
        self._world.let_go(name, self._now())
        self._besides.on_gone(name)
        self._words.pop(name, None)
        self._unclear.discard(name)


def _problem_of(error: Exception) -> str:
    says = problem_text(error)
    if not isinstance(error, FairleadError | OSError):
        says = f"a defect of the control plane: {type(error).__name__}: {error}"
    return says if len(says) <= LONGEST_PROBLEM else f"{says[:LONGEST_PROBLEM]}..."
