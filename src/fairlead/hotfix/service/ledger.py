"""
The seam of the ledger: who was offered which fix, how boots ended, and what follows for waves.

An offer is decided and noted at once, so that all who serve one ledger together never let more
boots have an unproven fix than its campaign allows. Questions without an offer are noted a moment
later: they are counted, but nothing waits for them.

No machine has many voices, with the fix as without it: its first failure counts, and its first
MOST_GOOD good boots. So one that lies, or fails for reasons of its own, halts nothing by itself.

Who asked and then says nothing for SILENT_AFTER counts as failed, with the fix as without it: a
fix that stops a machine stops its report as well. Where a base never reported a boot, silence says
nothing. From LATE_AFTER on a boot with an unproven fix is late, which holds new offers back.

Two keep it: file_ledger.py for the workers of one computer, kube/ledger/ for replicas in a cluster.
tests/conformance/test_ledgers.py is one suite for both.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Protocol

from fairlead.hotfix.catalog import Fix, State
from fairlead.hotfix.service.standing import Standing, epoch_of

SILENT_AFTER = timedelta(minutes=30)

# Most boots end sooner. One that takes longer and ends well has only held others back.
LATE_AFTER = timedelta(minutes=2)

SILENT = "asked, and never said how the boot ended"

# A machine that nobody heard of for so long is no longer anybody's.
FORGOTTEN_AFTER = timedelta(days=180)

# Good boots of one machine with one fix that count.
MOST_GOOD = 3

# Questions that wait to be noted; beyond, the oldest are not.
MOST_NOTES = 20_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Asker:
    """A machine that asks. base: of its image, '' if it did not say."""

    component: str
    machine: str
    region: str
    base: str


@dataclass(frozen=True, slots=True, kw_only=True)
class EndedBoot:
    """
    How a boot ended. version: the fix that it speaks for or against, '' for none.

    used, wanted, cause: as in contract/hotfix/fact.py; where no fix was used, `used` is what the
    image brought, if that has a patch. run: the same run is counted once.
    """

    asker: Asker
    version: str
    is_good: bool
    run: str
    used: str = ""
    wanted: str = ""
    cause: str = ""
    pool: str = ""


class Ledger(Protocol):
    """What a service keeps. Every operation may raise UnavailableError; called by any thread."""

    def standings(self, fixes: Iterable[Fix]) -> dict[str, Standing]:
        """Return how these fixes stand, by version, as far as is known here at this moment."""

    def offer(self, fix: Fix, asker: Asker, now: datetime) -> bool:
        """Offer a fix to a machine of its base, unless its campaign has no room; say which."""

    def has_had(self, fix: Fix, asker: Asker) -> bool:
        """Say whether a machine asked for this fix before and was offered it, or booted with it."""

    def note(self, asker: Asker, version: str, now: datetime) -> None:
        """Note, a moment later, that a machine asked and what it was told."""

    def count(self, boot: EndedBoot, fixes: Sequence[Fix], now: datetime) -> bool:
        """Count a boot that ended, and let campaigns follow; False if it was counted before."""

    def forget(self, component: str, machine: str) -> None:
        """Drop a machine that is gone from those that have a fix or lack it."""

    def tend(self, fixes: Sequence[Fix], now: datetime) -> None:
        """Count who fell silent, and open waves that are due."""

    def tidy(self, now: datetime) -> None:
        """Forget machines of long ago, and the oldest where there are too many."""

    def write_notes(self) -> None:
        """Note who asked since the last time, if it is time to."""

    def close(self) -> None:
        """Note what waits, and let go of it."""


def waving(fixes: Iterable[Fix], component: str, base: str) -> list[Fix]:
    """Return the published fixes of one base."""
    return [
        fix
        for fix in fixes
        if (fix.component, fix.base) == (component, base) and fix.state is State.PUBLISHED
    ]


def epoch_in(fixes: Iterable[Fix], version: str) -> str:
    """Return since when boots with this version count, '' if always."""
    return next((epoch_of(fix) for fix in fixes if fix.version == version), "")
