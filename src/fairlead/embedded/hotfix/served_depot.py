"""
A depot that this process serves: the app, and what has to be done from time to time.

Everything but signing is bounded to milliseconds, so it is done between two requests.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

from fairlead.aside import Aside, at_once
from fairlead.embedded.hotfix.counted_log import CountedLog, Said
from fairlead.errors import FairleadError
from fairlead.hotfix.catalog import Fix
from fairlead.hotfix.publish.depot import Depot
from fairlead.hotfix.publish.publisher import renew_depot
from fairlead.hotfix.service.attestation.verifier import AttestationVerifier
from fairlead.hotfix.service.file_ledger import FileLedger
from fairlead.hotfix.service.http_app import is_hotfix_path, make_hotfix_app
from fairlead.hotfix.service.ledger import Ledger
from fairlead.hotfix.service.pointers import ServedPointers
from fairlead.hotfix.service.shelf import Shelf
from fairlead.hotfix.service.standing import Standing
from fairlead.telling.errno_text import problem_text

TEND_EVERY = timedelta(seconds=1)
TIDY_EVERY = timedelta(hours=1)
# A timestamp counts for a day and is signed anew in its first hours: tries that fail cost nothing.
RENEW_EVERY = timedelta(minutes=10)


def present() -> datetime:
    """Return this moment."""
    return datetime.now(UTC)


@dataclass(frozen=True, slots=True, kw_only=True)
class Kept:
    """
    Where a service keeps what it counts. aside: where the ledger is asked, if it may wait.

    signs: whether the keys that sign what ends soon are in the depot.
    """

    ledger: Ledger
    aside: Aside = at_once
    signs: bool = True


class ServedDepot:
    """
    One depot, its ledger and its answers. Raises UnavailableError if the ledger cannot be had.

    leads: one process of those that serve a depot counts silence, opens waves and signs. kept: by
    default in the depot's own directory.
    """

    def __init__(
        self,
        depot: Depot,
        verifiers: Sequence[AttestationVerifier],
        log: Said,
        *,
        leads: bool = True,
        kept: Kept | None = None,
    ) -> None:
        self.depot = depot
        self._log = log
        self._lines = CountedLog(lambda text: log.tell(f"hotfix: {text}"))
        self._leads = leads
        self._kept = kept or Kept(ledger=FileLedger(depot.directory))
        self._ledger = self._kept.ledger
        self.pointers = ServedPointers(
            Shelf(depot, self._tell_shelf), self._ledger, verifiers, self._lines.tell
        )
        self.app = make_hotfix_app(self.pointers, present, self._tell_defect, self._kept.aside)
        # How fixes that come in waves stand, by version, as of the last time they were tended.
        self.standings: dict[str, Standing] = {}
        self._due: dict[str, datetime] = {}
        self._renewing: asyncio.Task[None] | None = None
        self._keeping: asyncio.Task[None] | None = None

    @staticmethod
    def answers(path: str) -> bool:
        """Say whether a request for this path is the app's."""
        return is_hotfix_path(path)

    def tick(self, now: datetime) -> None:
        """Do what is due. What fails is told once and tried again."""
        self.pointers.shelf.look(now)
        self._lines.settle(now)
        if self._kept.aside is at_once:
            self._keep(now)
        elif self._keeping is None or self._keeping.done():
            self._keeping = asyncio.get_running_loop().create_task(self._keep_aside(now))
        if not self._leads or not self._kept.signs:
            return
        if self._is_due("renew", RENEW_EVERY, now) and self._renewing is None:
            self._renewing = asyncio.get_running_loop().create_task(self._renew(now))
            self._renewing.add_done_callback(self._forget_renewal)

    def _keep(self, now: datetime) -> None:
        self._made("notes", self._ledger.write_notes)
        fixes = self.pointers.shelf.catalog.fixes
        if self._leads and self._is_due("tend", TEND_EVERY, now):
            self._made("waves", lambda: self._tend(fixes, now))
        if self._leads and self._is_due("tidy", TIDY_EVERY, now):
            self._made("ledger", lambda: self._ledger.tidy(now))

    async def _keep_aside(self, now: datetime) -> None:
        try:
            await self._kept.aside(lambda: self._keep(now))
        except FairleadError as error:
            self._log.trouble("hotfix ledger", f"{problem_text(error)}; tried again")

    def _tend(self, fixes: Sequence[Fix], now: datetime) -> None:
        self._ledger.tend(fixes, now)
        waving = [fix for fix in fixes if not fix.everyone]
        self.standings = self._ledger.standings(waving)

    async def rest(self) -> None:
        """Wait until nothing that was begun is under way."""
        for one in (self._renewing, self._keeping):
            if one is not None:
                await one

    def close(self) -> None:
        """Let go of the ledger."""
        self._made("ledger", self._ledger.close)

    def forget(self, component: str, machine: str) -> None:
        """Drop a machine that is gone."""
        self._made("ledger", lambda: self._ledger.forget(component, machine))

    async def _renew(self, now: datetime) -> None:
        """Sign anew what ends soon, in a thread: whoever publishes may hold the depot's lock."""
        try:
            is_renewed = await asyncio.to_thread(renew_depot, self.depot, now)
        except (FairleadError, OSError) as error:
            self._log.trouble(
                "hotfix metadata", f"not signed anew, tried again: {problem_text(error)}"
            )
            return
        self._log.is_well("hotfix metadata")
        if is_renewed:
            self._log.tell("hotfix metadata: signed anew")

    def _forget_renewal(self, _: asyncio.Task[None]) -> None:
        self._renewing = None

    def _is_due(self, what: str, every: timedelta, now: datetime) -> bool:
        if now < self._due.get(what, now):
            return False
        self._due[what] = now + every
        return True

    def _made(self, what: str, work: Callable[[], object]) -> None:
        try:
            work()
        except (FairleadError, OSError) as error:
            self._log.trouble(f"hotfix {what}", f"{problem_text(error)}; tried again")
        else:
            self._log.is_well(f"hotfix {what}")

    def _tell_shelf(self, problem: str) -> None:
        if problem:
            self._log.trouble("hotfix depot", problem)
        else:
            self._log.is_well("hotfix depot")

    def _tell_defect(self, error: Exception) -> None:
        self._lines.tell(f"a request failed: {type(error).__name__}: {error}")
