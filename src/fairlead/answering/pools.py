"""Pools and the platform as they are told, also where one of them cannot be thought about."""

from collections.abc import Callable, Mapping
from datetime import datetime
from functools import partial
from typing import TypeVar

from fairlead.answering.edge import Edge, no_such
from fairlead.answers.pool import PoolAnswer, PoolDetail, PoolStatus
from fairlead.answers.reply import Platform
from fairlead.controller.attempt import Failed, attempt
from fairlead.controller.observe import World, observe, with_fixes_read
from fairlead.controller.think import think
from fairlead.errors import InputError
from fairlead.proposal.plan import record_after
from fairlead.rollout.record import PoolRecord
from fairlead.telling.failed import failed_answer, failed_conditions, failed_detail
from fairlead.telling.platform import platform_answer
from fairlead.telling.pool import pool_answer, pool_detail, unreadable_pool
from fairlead.telling.told_pools import Told, told_of

T = TypeVar("T")


class PoolAnswers:
    """What there is to say about the pools of one edge."""

    def __init__(self, edge: Edge) -> None:
        self._edge = edge

    def known(self, name: str) -> str:
        """Return the name of a pool. Raises NotFoundError if there is none of this name."""
        pools = self._edge.world().pools.list_pools()
        if name not in pools:
            raise no_such("pool", name, pools)
        return name

    def listing(self) -> Callable[[str], Told]:
        """Return what tells of many pools, each as `listed` does, at one look at what is shared."""
        return partial(self._told, world=with_fixes_read(self._edge.world()))

    def listed(self, pool: str) -> PoolAnswer:
        """Return a pool in short; one that cannot be read keeps no other from being listed."""
        return self._told(pool, self._edge.world()).answer

    def in_short(self, pool: str) -> PoolAnswer:
        """Return a pool in short. Raises InputError if it cannot be read."""
        return self._in_short(pool, self._edge.world()).answer

    def _told(self, pool: str, world: World) -> Told:
        try:
            return self._in_short(pool, world)
        except InputError as error:
            return Told(unreadable_pool(pool, str(error), self._edge.waits_beside(pool)))

    def _in_short(self, pool: str, world: World) -> Told:
        now, besides = self._edge.now(), self._edge.waits_beside(pool)

        def answer() -> Told:
            seen = observe(pool, world)
            thought = think(seen, now)
            return told_of(pool_answer(seen, thought, now, besides), thought)

        found = _tried(answer)
        return Told(self._failed_answer(pool, found, now)) if isinstance(found, Failed) else found

    def in_full(self, pool: str) -> PoolDetail:
        """Return a pool in full. Raises InputError if it cannot be read."""
        now = self._edge.now()
        found = _tried(partial(self._detail, pool, now))
        return self._failed_detail(pool, found, now) if isinstance(found, Failed) else found

    def platform(self, known: Mapping[str, PoolRecord] | None = None) -> Platform:
        """Return the platform as it is told. known: what the next passes will remember of pools."""
        world, now = self._edge.world(), self._edge.now()
        document, defaults = world.pools.read_platform(), world.code.defaults
        if known is not None:
            return platform_answer(document, defaults, known)
        records = {}
        for pool in world.pools.list_pools():
            found = attempt(partial(_record_of, pool, world, now))
            if not isinstance(found, Failed):
                records[pool] = found
        return platform_answer(document, defaults, records)

    def _detail(self, pool: str, now: datetime) -> PoolDetail:
        seen = observe(pool, self._edge.world())
        machines = self._edge.machine_answers(pool)
        return pool_detail(seen, think(seen, now), now, machines, self._edge.waits_beside(pool))

    def _failed_answer(self, pool: str, failed: Failed, now: datetime) -> PoolAnswer:
        """Return what is known of a pool that cannot be thought about."""
        status, besides = self._find_status(pool), self._edge.waits_beside(pool)
        return failed_answer(pool, failed, status, now, besides)

    def _failed_detail(self, pool: str, failed: Failed, now: datetime) -> PoolDetail:
        machines = attempt(partial(self._edge.machine_answers, pool))
        document = attempt(partial(self._edge.world().pools.read_documents, pool))
        return failed_detail(
            self._failed_answer(pool, failed, now),
            failed,
            failed_conditions(pool, failed, self._find_status(pool), now),
            None if isinstance(document, Failed) else document.pool,
            () if isinstance(machines, Failed) else machines,
        )

    def _find_status(self, pool: str) -> PoolStatus | None:
        found = attempt(partial(self._edge.world().pools.find_status, pool))
        return None if isinstance(found, Failed) else found


def _tried(think_about: Callable[[], T]) -> T | Failed:
    """Return what thinking gives, or why not. Raises InputError if the pool cannot be read."""
    found = attempt(think_about)
    if isinstance(found, Failed) and isinstance(found.error, InputError):
        raise found.error
    return found


def _record_of(pool: str, world: World, now: datetime) -> PoolRecord:
    seen = observe(pool, world)
    return record_after(seen, think(seen, now))
