"""
The embedded control plane: one process, one event loop, one writer.

Everything that it knows is in its state directory. Killed at any moment and started again, it
goes on where it was: machines run on meanwhile, and the payload service comes back at the same
address, since machines that boot know no other.
"""

from __future__ import annotations

import asyncio
import base64
import os
import secrets
import time
from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any

from fairlead import __version__
from fairlead.answers.reply import Health
from fairlead.controller.loop import Failure, Loop
from fairlead.controller.reconcile import Chance
from fairlead.controller.replay import prove_replay
from fairlead.embedded.access.peer import user_name
from fairlead.embedded.access.shared import DoorKeeper, close_doors
from fairlead.embedded.certificates.renewal import Renewal
from fairlead.embedded.hotfix.at_plane import HotfixAtPlane
from fairlead.embedded.machines.drive import Besides, Driver
from fairlead.embedded.machines.place import place_of
from fairlead.embedded.machines.process import printed_by
from fairlead.embedded.serve.api import make_api
from fairlead.embedded.serve.apply import apply
from fairlead.embedded.serve.door import (
    COMMANDS,
    GUESTS,
    PAYLOADS,
    Door,
    fitted,
    raise_descriptor_limit,
)
from fairlead.embedded.serve.empty_cluster import EmptyCluster
from fairlead.embedded.serve.log import Log
from fairlead.embedded.serve.server import QuietServer, listen, make_server
from fairlead.embedded.serve.unix_socket import bind
from fairlead.embedded.serve.watch import Place, find_place, watch
from fairlead.embedded.store.check import REMEDY
from fairlead.embedded.store.database import Store
from fairlead.embedded.store.noted_agents import note_agents
from fairlead.embedded.store.payloads import StoredPayloads
from fairlead.embedded.store.world import EmbeddedWorld
from fairlead.errors import FairleadError, InputError, InvariantError, UnavailableError
from fairlead.inputs.leaf import Json
from fairlead.inputs.platform_inputs import Stub
from fairlead.payload.app import make_app
from fairlead.proposal.propose import Shown
from fairlead.telling.errno_text import problem_text
from fairlead.telling.told_pools import ToldPools

if TYPE_CHECKING:
    from fairlead.embedded.machines.kind import MachineKind, Printed
    from fairlead.embedded.state_directory import StateDirectory

# Passes between two looks at the machines: a fleet of changed pools must not stop boots.
MOST_PASSES = 50

# Seconds. What changes by itself, like a process that ended, is noticed after the first while
# something moves, and after the second while nothing does.
MOVING_S = 0.05
IDLE_S = 0.5

TOKEN_BYTES = 32

# Of the socket for other users, who reach it only through a door: see access/shared.py.
FOR_ALL = 0o666

# As Kubernetes draws them: no vowels, so no words.
NAME_LETTERS = "bcdfghjklmnpqrstvwxz2456789"
NAME_LENGTH = 6


class ControlPlane:
    """One control plane over one state directory. Raises ConflictError if another one has it."""

    def __init__(self, directory: StateDirectory, kind: MachineKind) -> None:
        self.directory = directory
        self.started_at = self.now()
        self._log = Log()
        self._failing: set[str] = set()
        self._kind = kind
        self._store = Store(directory)
        directory.shared_bootstrap_token.unlink(missing_ok=True)
        self._renewal = Renewal(directory, self.now())
        self._descriptors = raise_descriptor_limit()
        self._listener = listen(directory.port, fitted(PAYLOADS, self._descriptors))
        self._is_stopping = asyncio.Event()
        self._is_woken = asyncio.Event()
        self._ended_because = ""
        self._socket_place: Place | None = None
        self.world = EmbeddedWorld(self._store, directory, self._stub(), self.now, kind=kind.name)
        self._doors = DoorKeeper(directory, self._log.tell)
        self._refuse_other_kinds()
        self._tell_strangers()
        note_agents(self.world)
        markers = self.world.pools.markers
        self.told = ToldPools()
        hear = self.told.keep_quiet
        self._loop = Loop(self.world.world(), chance(), markers, self._tell_failure, hear)
        self._hotfix = HotfixAtPlane(
            directory,
            StoredPayloads(self.world, self.wake),
            self._log,
            lambda: (self._listener.address, self._renewal.certificates.ca_pem),
        )
        self.world.fixes.standings = self._hotfix.standings
        besides = Besides(image_files=self._hotfix.image_files, on_gone=self._hotfix.forget)
        self._driver = Driver(self.world, kind, self.now, _draw_token, besides)

    @staticmethod
    def now() -> datetime:
        """Return this moment."""
        return datetime.now(UTC)

    def wake(self) -> None:
        """Ask for a pass soon."""
        self._is_woken.set()

    def stop(self) -> None:
        """Ask for an orderly end. Machines run on."""
        self._is_stopping.set()
        self._is_woken.set()

    def health(self) -> Health:
        """Return what `fairlead up` waits for and `fairlead down` needs."""
        return Health(
            version=__version__,
            pid=os.getpid(),
            started_at=self.started_at,
            payload_endpoint=self._listener.address,
            machines=self._kind.name,
            pools=len(self.world.pools.list_pools()),
            damage=self._store.damage.says(),
        )

    def printed(self, machine: str) -> Printed:
        """Return the end of what a machine printed."""
        place = place_of(self.directory.machines, machine)
        return printed_by(place, self._kind.last_words(machine))

    def failures(self) -> Mapping[str, Failure]:
        """Return the pools whose last pass failed, and why."""
        return self._loop.failures

    def declare(self, documents: Sequence[Json]) -> None:
        """Put documents in force before anybody is served. Raises InputError by field."""
        apply(self.world, documents, Shown(), self.now(), user_name(os.geteuid()))

    def close(self) -> None:
        """Let go of the state directory. Afterwards another control plane may have it."""
        self._listener.socket.close()
        self._store.close()

    async def run(self, when_ready: Callable[[], None] = lambda: None) -> None:
        """Serve and reconcile until stopped. Afterwards the state directory is free again."""
        try:
            self._refuse_broken_scheme()
            source = StoredPayloads(self.world, self.wake, self._hotfix.count_report)
            joins = EmptyCluster(lambda: self._renewal.certificates.ca_pem)
            payloads = make_app(source, self.now, joins, self._tell_defect)
            payloads = self._hotfix.before(payloads)
            front = make_server(payloads, self._listener.socket, self._renewal.certificates)
            servers = (front, *self._command_servers())
            asyncio.get_running_loop().set_exception_handler(self._tell_trouble)
            async with asyncio.TaskGroup() as group:
                for server in servers:
                    group.create_task(server.serve([server.door]))
                self._socket_place = find_place(self.directory.socket)
                for server in servers:
                    await server.is_ready()
                when_ready()
                watching = group.create_task(watch(self.directory, self._tend, self._end))
                await self._work(front)
                watching.cancel()
                for server in servers:
                    server.should_exit = True
        except BaseExceptionGroup as group:
            raise group.exceptions[0] from group  # one of our own, that the others end with
        finally:
            # Whatever took its place is somebody else's.
            if find_place(self.directory.socket) == self._socket_place:
                close_doors(self.directory)
                self.directory.shared_socket.unlink(missing_ok=True)
                self.directory.socket.unlink(missing_ok=True)
            self.close()
        if self._ended_because:
            raise UnavailableError(self._ended_because)

    def _command_servers(self) -> tuple[QuietServer, ...]:
        """Return what serves the owner's commands, and what serves those of other users."""
        api, most = make_api(self), self._descriptors
        own = Door(bind(self.directory.socket), fitted(COMMANDS, most))
        shared = Door(bind(self.directory.shared_socket, FOR_ALL), fitted(GUESTS, most))
        self._doors.look()
        return make_server(api, own), make_server(api, shared)

    def _end(self, because: str) -> None:
        self._ended_because = because
        self.stop()

    async def _work(self, front: QuietServer) -> None:
        while not self._is_stopping.is_set():
            self._is_woken.clear()
            self._doors.look()
            self._renew_certificates(front)
            self._hotfix.tick()
            await self._rest(MOVING_S if self._move() else self._idle_s())
        await self._driver.rest()
        await self._hotfix.close()

    def _move(self) -> bool:
        """Make passes and moves; say whether there were any."""
        passes = self._made("passes", lambda: self._loop.run_due(self.now(), MOST_PASSES))
        for pool in self._failing - self._loop.failures.keys():
            self._failing.discard(pool)
            self._log.is_well(f"pass over {pool}")
        return bool(passes + self._made("machines", self._driver.tick))

    def _made(self, what: str, work: Callable[[], int | None]) -> int:
        """
        Do a part of the work; what is not there for it is told once, and it is tried again.

        Defects are met where they are one pool's or one machine's: in the loop and the driver.
        """
        try:
            count = work()
        except (FairleadError, OSError) as error:
            self._log.trouble(what, f"{_says(error)}; tried again")
            return 0
        self._log.is_well(what)
        return count or 0

    def _tend(self) -> None:
        self._made("database", self._store.tend)
        for says in self._store.sweep(time.monotonic()).says():
            self._log.trouble(says, f"damaged in {self.directory.database}; {REMEDY}")
            self.wake()

    def _tell_trouble(self, _: asyncio.AbstractEventLoop, context: dict[str, Any]) -> None:
        """Tell what no task of ours waits for: a connection that broke, descriptors that ended."""
        error = context.get("exception")
        says = f"{type(error).__name__}: {error}" if error else "failed"
        self._log.trouble(str(context.get("message", "the event loop")), says)

    def _tell_defect(self, error: Exception) -> None:
        self._log.trouble("a machine's request", _says(error))

    def _tell_failure(self, pool: str, error: Exception) -> None:
        self._failing.add(pool)
        self._log.trouble(f"pass over {pool}", _says(error))

    def rotate_authority(self, overlap: timedelta) -> None:
        """Announce the next authority, which takes over after this overlap. Raises OSError."""
        self._renewal.announce(self.now(), overlap)
        self.wake()

    def _renew_certificates(self, front: QuietServer) -> None:
        """Serve with a certificate that has a month to go, and let user data name who signs it."""
        if not self._renewal.is_due(self.now()):
            return
        try:
            self._renewal.look(self.now(), self.world.machines.list_moving)
            front.load_certificate(self._renewal.certificates)
            self.world.pools.change_stub(self._stub())
        except (FairleadError, OSError) as error:
            self._log.tell(f"certificates not renewed, trying again: {problem_text(error)}")

    def _idle_s(self) -> float:
        """Return how long nothing happens by itself: a token, a window or a retry may be due."""
        now = self.now()
        due = self._loop.next_due(now)
        return min(IDLE_S, max((due - now).total_seconds(), MOVING_S)) if due else IDLE_S

    async def _rest(self, longest_s: float) -> None:
        try:
            await asyncio.wait_for(self._is_woken.wait(), longest_s)
        except TimeoutError:
            return

    def _stub(self) -> Stub:
        return Stub(
            endpoint=f"{self._listener.address}/v1/node-config",
            report=f"{self._listener.address}/v1/boot-report",
            ca=self._renewal.certificates.ca_pem,
        )

    def _refuse_broken_scheme(self) -> None:
        proof = prove_replay(self.world.world(), self.now())
        if proof.broken:
            raise InvariantError(
                f"this version hashes equal inputs apart ({len(proof.broken)} of {proof.compared} "
                "pools), so it does not act; go back to the version before"
            )

    def _tell_strangers(self) -> None:
        known = set(self.world.machines.list_names())
        for name in self._kind.list_names():
            if name not in known:
                place = self.directory.machines / name
                self._log.tell(f"{place} belongs to no machine that is known here")

    def _refuse_other_kinds(self) -> None:
        found = {stored.kind for stored in self.world.machines.list_stored()} - {self._kind.name}
        if found:
            self.close()
            kinds = ", ".join(sorted(found))
            raise InputError(
                f"the machines in {self.directory.path} are of the kind {kinds}",
                hint=f"start with --machines {kinds}, or with another --state",
            )


def _says(error: Exception) -> str:
    return f"failed: {type(error).__name__}: {error}"


def chance() -> Chance:
    """Return where tokens and names are drawn from: the kernel."""
    return Chance(draw_token=_draw_token, draw_name=_draw_name)


def _draw_token() -> str:
    return base64.b64encode(secrets.token_bytes(TOKEN_BYTES)).decode()


def _draw_name(pool: str) -> str:
    letters = (secrets.choice(NAME_LETTERS) for _ in range(NAME_LENGTH))
    return f"{pool}-{''.join(letters)}"
