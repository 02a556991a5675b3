"""
What is published in the depot of a control plane, as plain facts for passes and answers.

The catalog is read again when its file is another one; looking costs one stat. A catalog that
cannot be read stops nothing: it is told, and no machine is replaced for a fix meanwhile.
"""

from __future__ import annotations

import os
import stat
import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from fairlead.contract.hotfix.answer import OUR_COMPONENT
from fairlead.errors import InputError
from fairlead.hotfix.campaign import BUCKETS, WAVES, Boots, Campaign, bucket_of, is_meant
from fairlead.hotfix.catalog import Catalog, State, campaign_said
from fairlead.hotfix.catalog import Fix as CatalogFix
from fairlead.hotfix.catalog_text import LARGEST_CATALOG, parse_catalog
from fairlead.rollout.fixes import NO_FIXES, Fix, Fixes, fixes_of

if TYPE_CHECKING:
    from fairlead.hotfix.service.standing import Standing

    # How fixes that come in waves stand, by version: whoever counts boots knows.
    Standings = Callable[[], Mapping[str, Standing]]

# Where the machines of one computer are.
LOCAL_REGION = "local"


def _nobody_counts() -> Mapping[str, Standing]:
    return {}


@dataclass(frozen=True, slots=True)
class OpenWaves:
    """See Waves in rollout/fixes.py."""

    campaign: Campaign
    fixed: Boots

    @property
    def part(self) -> float:
        """See Waves."""
        return self.campaign.reach

    def first_for(self, machine: str) -> int:
        """See Waves."""
        if is_meant(self.campaign, machine, self.fixed):
            return 0
        bucket = bucket_of(self.campaign.version, machine)
        return 1 + next(at for at, (part, _) in enumerate(WAVES) if bucket < part * BUCKETS)


class PublishedFixes:
    """
    The fixes of one depot, which may not be there, as machines of a region are offered them.

    standings: see above; a fix that comes in waves and is not in it came as far as its publisher
    said. catalog: as it was read last.
    """

    def __init__(
        self, depot: Path, standings: Standings = _nobody_counts, region: str = LOCAL_REGION
    ) -> None:
        self._path = depot / "catalog.json"
        self._name = str(self._path)
        self.standings = standings
        self.region = region
        self.catalog = Catalog()
        self._file: tuple[int, ...] = ()
        self._known = NO_FIXES
        self._lock = threading.Lock()

    def read(self) -> Fixes:
        """Return what is published now. Never raises for what is on the disk."""
        with self._lock:
            return self._read_now()

    def _read_now(self) -> Fixes:
        try:
            found = os.stat(self._name)  # noqa: PTH116 - every pass asks, and a Path costs as much again
        except (FileNotFoundError, NotADirectoryError):
            if self._file:
                self._file, self._known, self.catalog = (), NO_FIXES, Catalog()
            return NO_FIXES
        except OSError as error:
            return self._problem(os.strerror(error.errno or 0))
        file = (found.st_ino, found.st_mtime_ns, found.st_size)
        if file != self._file:
            self._known = self._read(found)
            self._file = file
        return with_standings(self._known, self.standings())

    def _read(self, found: os.stat_result) -> Fixes:
        if not stat.S_ISREG(found.st_mode) or found.st_size > LARGEST_CATALOG:
            return self._problem(f"it is no file of at most {LARGEST_CATALOG} bytes")
        try:
            with self._path.open("rb") as file:
                self.catalog = parse_catalog(file.read(LARGEST_CATALOG + 1))
                return fixes_in(self.catalog, self.region)
        except OSError as error:
            return self._problem(os.strerror(error.errno or 0))
        except InputError as error:
            return self._problem(str(error))

    def _problem(self, why: str) -> Fixes:
        return Fixes(problem=f"what hotfixes are published cannot be read: {self._path}: {why}")


def fixes_in(catalog: Catalog, region: str) -> Fixes:
    """Return the fixes of our own agent in a catalog, as machines of a region are offered them."""
    off = "" if catalog.is_on(region) else f"the region {region} is off"
    return fixes_of(
        Fix(
            version=fix.version,
            since=fix.published_at,
            stopped=_why_stopped(fix) or off,
            is_withdrawn=fix.state is State.WITHDRAWN,
            waves=None if fix.everyone else OpenWaves(campaign_said(fix), Boots()),
        )
        for fix in catalog.fixes
        if fix.component == OUR_COMPONENT
    )


def _why_stopped(fix: CatalogFix) -> str:
    if fix.state is State.WITHDRAWN:
        return f"it was withdrawn: {fix.reason}" if fix.reason else "it was withdrawn"
    if fix.state is State.RETIRED:
        return "it was retired"
    return ""


def with_standings(fixes: Fixes, standings: Mapping[str, Standing]) -> Fixes:
    """Return fixes with how far those came whose boots are counted."""
    found = {
        version: _with_standing(fix, standings[version])
        for version, fix in fixes.by_version.items()
        if version in standings and not fix.stopped
    }
    return replace(fixes, by_version={**fixes.by_version, **found}) if found else fixes


def _with_standing(fix: Fix, standing: Standing) -> Fix:
    halted = standing.campaign.halted
    if halted:
        return replace(fix, stopped=f"it was halted: {halted}")
    return replace(fix, waves=OpenWaves(standing.campaign, standing.fixed))
