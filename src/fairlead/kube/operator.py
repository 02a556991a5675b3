"""
The operator: informers wake pools, workers make passes, and only the holder of the lease acts.

A pass is the same function as everywhere else. Its failure is that pool's own: it is told, and
tried again ever more rarely.
"""

from __future__ import annotations

import base64
import secrets
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta

from fairlead.controller.attempt import says_of
from fairlead.controller.reconcile import Chance, reconcile
from fairlead.errors import ConflictError, FairleadError, InputError, UnavailableError
from fairlead.hotfix.published_fixes import PublishedFixes
from fairlead.inputs.platform_inputs import Stub
from fairlead.kube.answer import BusyError
from fairlead.kube.client import KubeClient
from fairlead.kube.cluster_api.infrastructure import AwaitedError
from fairlead.kube.cluster_api.updater import Reach, Updater
from fairlead.kube.lease import Elector, Place
from fairlead.kube.names import EVERY_POOL, concerns, split
from fairlead.kube.queue import LONGEST_AGAIN_S, WorkQueue
from fairlead.kube.resource import MACHINES, NODE_POOLS
from fairlead.kube.secrets import LostRevisionError
from fairlead.kube.shown.event_copies import EventCopies
from fairlead.kube.shown.hotfixes import Around, HotfixCopies
from fairlead.kube.status import EDGE_GOES_ON, PASS_FAILED, REACHED, REFUSED, edge_condition
from fairlead.kube.world import KubeWorld, within

LEASE = "fairlead-operator"
TOKEN_BYTES = 32

# Seconds between two looks at whether this process leads, while nothing else happens.
LOOK_S = 0.2

# Seconds between two looks at nodes that are changed in place.
UPDATE_S = 1.0

# Seconds. A conflict that is waited for this long, after the fourth try, is no accident any more.
STAYS_S = 4.0

# Seconds at most between two looks for a template of a provider: there is no right to watch those.
SOON_S = 8.0

# Seconds between two looks at Secrets that pools name, where their content counts: those of whole
# namespaces are nobody's to watch for it. Each look is two questions to the server.
SECRETS_S = 60.0

# Seconds. A set, its deployment and their machines are told by watches of their own: a pass between
# two of them would write a status that is over before anybody reads it.
TOGETHER_S = 0.1

# Seconds that passes are told apart by.
BOUNDS_S = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0)


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """
    What an operator is told: its namespace, its name among operators, and how many at once.

    stub: where machines reach the payload service. pools_in: the namespaces whose pools it looks
    after; () is all. in_place_image: of the pods that change
    nodes in place; '' changes none. published: what hotfixes there are, if any. secrets_s: after
    how long a changed pull secret or trust bundle is noticed. together_s: for how long what happens
    to a pool is gathered before a pass.
    """

    namespace: str
    identity: str
    stub: Stub
    workers: int = 2
    pools_in: tuple[str, ...] = ()
    in_place_image: str = ""
    published: PublishedFixes | None = None
    secrets_s: float = SECRETS_S
    together_s: float = TOGETHER_S


@dataclass(slots=True)
class Counted:
    """What happened so far, for metrics and tests."""

    passes: int = 0
    failures: int = 0
    conflicts: int = 0
    seconds: float = 0.0
    quicker: list[int] = field(default_factory=lambda: [0] * len(BOUNDS_S))
    lock: threading.Lock = field(default_factory=threading.Lock)

    def add(self, *, failures: int = 0, conflicts: int = 0) -> None:
        """Count more of each."""
        with self.lock:
            self.failures += failures
            self.conflicts += conflicts

    def add_pass(self, seconds: float) -> None:
        """Count a pass that took so long."""
        with self.lock:
            self.passes += 1
            self.seconds += seconds
            for number, bound in enumerate(BOUNDS_S):
                self.quicker[number] += seconds <= bound

    def durations(self) -> tuple[int, float, tuple[int, ...]]:
        """Return passes, their seconds, and how many took at most each of BOUNDS_S."""
        with self.lock:
            return self.passes, self.seconds, tuple(self.quicker)


def whole_second() -> datetime:
    """Return the moment, as exactly as Kubernetes writes them."""
    return datetime.now(UTC).replace(microsecond=0)


class Operator:
    """
    One operator process. tell: takes what it has to say, a line at a time.

    clock: what its lease ends by. now: the moment of a pass.
    """

    def __init__(
        self,
        client: KubeClient,
        settings: Settings,
        tell: Callable[[str], None],
        clock: Callable[[], float] = time.monotonic,
        now: Callable[[], datetime] = whole_second,
    ) -> None:
        self._settings = settings
        self._tell = tell
        self._now = now
        self.client = client
        self._is_stopping = threading.Event()
        self._has_stopped = threading.Event()
        self.queue = WorkQueue(together_s=settings.together_s)
        self.counted = Counted()
        self.events = EventCopies(client, settings.identity, tell)
        home = settings.namespace
        copied = within(KubeWorld.copied, settings.pools_in, home)
        self.world = KubeWorld(client, home, settings.stub, self._wake, tell, copied)
        self.world.journal.copy = self.events.add
        self.world.pools.read_control_plane = self.world.control_planes.find
        reach = Reach(self.world.copies, self.world.workloads, self.world.secrets)
        self._updater = Updater(reach, settings.in_place_image, tell, now)
        self.hotfixes = self._copy_hotfixes(client, settings, tell)
        place = Place(namespace=settings.namespace, name=LEASE, holder=settings.identity)
        self.elector = Elector(client, place, tell, clock)
        self._seams = self.world.world()
        self._workers: list[threading.Thread] = []
        self._electing = threading.Thread(target=self._elect, name="lease", daemon=True)
        self._updating = threading.Thread(target=self._update, name="in-place", daemon=True)

    @property
    def is_ready(self) -> bool:
        """Whether it knows the cluster."""
        return self.world.copies.is_synced

    @property
    def lives(self) -> bool:
        """Whether everything runs that was started."""
        started = [self._electing, self._updating, *self._workers]
        is_any_over = any(not one.is_alive() for one in started if one.ident is not None)
        return self.world.copies.lives and not is_any_over

    def start(self) -> None:
        """Begin to follow the cluster, and to act while it leads. Raises UnavailableError."""
        self.world.copies.start()
        self.events.start()
        if self.hotfixes is not None:
            self.hotfixes.start()
        self._electing.start()
        self._updating.start()
        for number in range(self._settings.workers):
            worker = threading.Thread(target=self._work, name=f"worker-{number}", daemon=True)
            self._workers.append(worker)
            worker.start()

    def reach_by(self, stub: Stub) -> bool:
        """
        Let machines that boot from here on reach, and trust, the payload service by this.

        Return whether it is another one than before.
        """
        if stub == self.world.pools.stub:
            return False
        self.world.pools.stub = stub
        self._wake(EVERY_POOL)
        return True

    def stop(self) -> None:
        """
        Finish the passes under way, then give the lease back, then follow nothing any more.

        The lease is held until nothing acts: whoever takes it over begins where this one ended.
        """
        self._is_stopping.set()
        self.queue.close()
        if self.hotfixes is not None:
            self.hotfixes.stop()
        for worker in self._workers:
            worker.join()
        if self._updating.is_alive():
            self._updating.join()
        self._has_stopped.set()
        if self._electing.is_alive():
            self._electing.join()
        self.events.stop()
        self.world.copies.stop()
        self.world.workloads.close()

    def _copy_hotfixes(
        self, client: KubeClient, settings: Settings, tell: Callable[[str], None]
    ) -> HotfixCopies | None:
        if settings.published is None:
            return None
        self.world.pools.read_fixes = settings.published.read
        around = Around(
            published=settings.published,
            machines=lambda: self.world.copies.list_all(MACHINES),
            acts=lambda: self.elector.is_leader,
            changed=lambda: self._wake(EVERY_POOL),
            tell=tell,
        )
        copies = HotfixCopies(client, settings.namespace, around)
        settings.published.standings = copies.standings
        return copies

    def _elect(self) -> None:
        self.elector.run(self._has_stopped)

    def _update(self) -> None:
        while not self._is_stopping.wait(UPDATE_S):
            if self.elector.is_leader:
                self._updater.tick()

    def _wake(self, pool: str) -> None:
        """Ask for passes over what is named: a pool, those of a namespace, or all."""
        if pool == EVERY_POOL or pool.endswith("/"):
            for one in self.world.pools.list_pools():
                if concerns(pool, one):
                    self.queue.add(one)
        else:
            self.queue.add(pool)

    def _work(self) -> None:
        while (pool := self.queue.take()) is not None:
            try:
                self._pass(pool)
            finally:
                self.queue.done(pool)

    def _pass(self, pool: str) -> None:
        while not self.elector.is_leader:
            if self._is_stopping.wait(LOOK_S):
                return
        self.make_pass(pool)

    def make_pass(self, pool: str) -> None:
        """Make one pass over a pool; what goes wrong is told, and the pool is tried again."""
        begun = time.monotonic()
        try:
            with self.world.copies.one_look():
                wake = self._reconcile(pool)
                looks = [*self._looks_again(pool)]
        except Exception as error:  # noqa: BLE001 - door 2: a pool's failure is its own
            self._failed(pool, error)
        else:
            self.queue.succeeded(pool)
            if wake is not None:
                self.queue.add_later(pool, (wake - self._now()).total_seconds())
            for seconds in looks:
                self.queue.add_later(pool, seconds)
        finally:
            self.counted.add_pass(time.monotonic() - begun)

    def _looks_again(self, pool: str) -> Iterator[float]:
        """Yield after how many seconds a pool is to be looked at for what nobody watches."""
        if self.world.pools.secrets.move(pool):
            yield self._settings.secrets_s
        found = self.world.copies.find(NODE_POOLS, *split(pool))
        seconds = self.world.control_planes.look_again(found) if found else None
        if seconds is not None:
            yield seconds

    def _reconcile(self, pool: str) -> datetime | None:
        world = self.world
        if world.pools.is_gone(pool):
            return None
        world.pools.hold_on(pool)
        is_whole = self._is_kept_together(pool)
        world.machines.take_unreached(pool)  # of a pass that was not ended
        try:
            wake = reconcile(pool, self._seams, chance(), self._now())
        except LostRevisionError as error:
            if not world.drop_lost_pairs(pool):
                raise
            raise ConflictError(
                f"a pair was dropped that another operator left: {error}"
            ) from error
        if not is_whole:
            world.keep_together(pool)
        told, unreached = [], world.machines.take_unreached(pool)
        if paused := world.machines.find_pause(pool):
            told.append(edge_condition(EDGE_GOES_ON, "Paused", paused, self._now()))
        if unreached is not None:
            reason, says = unreached.reason, str(unreached)
            told.append(edge_condition(REACHED, reason, says, self._now()))
            again = self._now() + timedelta(seconds=unreached.seconds)
            wake = min(wake, again) if wake else again
        world.pools.flush(pool, told)
        return wake

    def _is_kept_together(self, pool: str) -> bool:
        """
        Put right what stands beside a template; say whether that was possible.

        What was carried out last may be what is refused: what is declared by now is the way out.
        """
        try:
            self.world.keep_together(pool)
        except InputError:
            return False
        return True

    def _failed(self, pool: str, error: Exception) -> None:
        """Try again later, and say why: a conflict only if it stays one, it is everyday life."""
        asked_s = error.seconds if isinstance(error, BusyError) else 0.0
        longest_s = SOON_S if isinstance(error, AwaitedError) else LONGEST_AGAIN_S
        seconds = self.queue.failed(pool, asked_s, longest_s)
        if isinstance(error, ConflictError):
            self.counted.add(conflicts=1)
            if seconds < STAYS_S:
                return
        else:
            self.counted.add(failures=1)
        says = says_of(error)
        self._tell(f"{pool}: {says}; again in {seconds:.1f} s")
        if isinstance(error, UnavailableError):
            return  # the cluster's trouble and not the pool's; nobody would take the word either
        reason = REFUSED if isinstance(error, InputError) else PASS_FAILED
        try:
            with self.world.copies.one_look():
                self.world.pools.write_failure(pool, reason, says, self._now())
        except FairleadError as refused:
            self._tell(f"{pool}: its status could not be written: {refused}")


def chance() -> Chance:
    """Return where tokens are drawn from. Names of machines are drawn by Cluster API."""
    return Chance(
        draw_token=lambda: base64.b64encode(secrets.token_bytes(TOKEN_BYTES)).decode(),
        draw_name=lambda pool: pool,
    )
