"""
What the ledger knows of the machines: who has a fix, who lacks it, and how boots ended.

By the last boot that each machine reported. A machine that never reported is not known here. One
that has a newer fix of the base, or an image that was built with it, lacks no older one.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from fairlead.errors import UnavailableError
from fairlead.hotfix.campaign import Boots, Campaign
from fairlead.hotfix.catalog import Fix, patch_of
from fairlead.hotfix.service.ledger_file import SCHEMA, open_to_read
from fairlead.hotfix.service.standing import read_standings

# Causes that are told, the most frequent first.
MOST_CAUSES = 5

# The last number of the version that a machine booted with, 0 without one; in SQL, see `lacks`.
_PATCH = "CAST(substr(used, length(base) + 2) AS INTEGER)"


def lacks(fix: Fix, used: str) -> bool:
    """Say whether a machine of the fix's base lacks it that booted with this version, or ''."""
    return not used or patch_of(used) < patch_of(fix.version)


@dataclass(frozen=True, slots=True, kw_only=True)
class InRegion:
    """Machines of a fix's base in one region, and every boot of theirs with and without it."""

    region: str
    have: int
    lack: int
    with_fix: Boots
    without: Boots


@dataclass(frozen=True, slots=True, kw_only=True)
class Reach:
    """
    How far one fix came.

    regions: only those where a machine of its base reported. causes: why boots with it failed, and
    how many machines each stopped. under_way: machines that were offered it and said nothing yet.
    """

    fix: Fix
    campaign: Campaign
    regions: tuple[InRegion, ...]
    causes: tuple[tuple[str, int], ...]
    under_way: int

    @property
    def have(self) -> int:
        """Machines whose last boot had it."""
        return sum(one.have for one in self.regions)

    @property
    def lack(self) -> int:
        """Machines of its base whose last boot had neither it nor a newer one."""
        return sum(one.lack for one in self.regions)


class KnownFleet(Protocol):
    """
    What a ledger knows, to read only. Every operation may raise UnavailableError.

    Two read it: Fleet below, and kube/ledger/fleet_reach.py what replicas in a cluster counted.
    """

    def reach_of(self, fixes: Iterable[Fix]) -> tuple[Reach, ...]:
        """Return how far these fixes came."""

    def lacking(self, fix: Fix, most: int) -> tuple[str, ...]:
        """Return machines of the fix's base whose last boot lacked it, by name."""

    def having(self, fix: Fix, most: int) -> tuple[str, ...]:
        """Return machines whose last boot had the fix, by name."""


class Fleet:
    """The ledger of a depot, to read only. Every operation may raise UnavailableError."""

    def __init__(self, directory: Path) -> None:
        self._directory = directory

    def reach_of(self, fixes: Iterable[Fix]) -> tuple[Reach, ...]:
        """Return how far these fixes came."""
        with closing(self._opened()) as db:
            return tuple(_reach_of(db, fix) for fix in fixes)

    def lacking(self, fix: Fix, most: int) -> tuple[str, ...]:
        """Return machines of the fix's base whose last boot lacked it, by name."""
        return self._names(fix, f"{_PATCH} < ?", patch_of(fix.version), most)

    def having(self, fix: Fix, most: int) -> tuple[str, ...]:
        """Return machines whose last boot had the fix, by name."""
        return self._names(fix, "used = ?", fix.version, most)

    def used_by(self, component: str, machine: str) -> str | None:
        """Return the version of a machine's last boot, as EndedBoot; None if it never reported."""
        with closing(self._opened()) as db:
            row = db.execute(
                "SELECT used FROM machines WHERE component = ? AND machine = ?",
                (component, machine),
            ).fetchone()
        return str(row[0]) if row else None

    def _names(self, fix: Fix, condition: str, value: str | int, most: int) -> tuple[str, ...]:
        with closing(self._opened()) as db:
            rows = db.execute(
                "SELECT machine FROM machines "  # noqa: S608 - one of two conditions
                f"WHERE component = ? AND base = ? AND {condition} ORDER BY machine LIMIT ?",
                (fix.component, fix.base, value, most),
            ).fetchall()
        return tuple(name for (name,) in rows)

    def _opened(self) -> sqlite3.Connection:
        found = open_to_read(self._directory)
        if found is not None:
            return found
        # Nobody was served yet: the same answers as from a ledger in which nothing is.
        empty = sqlite3.connect(":memory:")
        for statement in SCHEMA:
            empty.execute(statement)
        return empty


def _reach_of(db: sqlite3.Connection, fix: Fix) -> Reach:
    try:
        standing = read_standings(db, (fix,))[fix.version]
        machines, boots = _machines_by_region(db, fix), _boots_by_region(db, fix)
        causes = db.execute(
            "SELECT cause, COUNT(*) FROM boots WHERE component = ? AND base = ? AND version = ? "
            "AND failed > 0 AND cause <> '' GROUP BY cause ORDER BY 2 DESC, 1 LIMIT ?",
            (fix.component, fix.base, fix.version, MOST_CAUSES),
        ).fetchall()
    except sqlite3.Error as error:
        raise UnavailableError(f"the ledger cannot be read: {error}") from error
    regions = []
    for region in sorted(machines.keys() | boots.keys()):
        have, lack = machines.get(region, (0, 0))
        with_fix, without = boots.get(region, (Boots(), Boots()))
        regions.append(
            InRegion(region=region, have=have, lack=lack, with_fix=with_fix, without=without)
        )
    return Reach(
        fix=fix,
        campaign=standing.campaign,
        regions=tuple(regions),
        causes=tuple(causes),
        under_way=standing.fixed.under_way,
    )


def _machines_by_region(db: sqlite3.Connection, fix: Fix) -> dict[str, tuple[int, int]]:
    rows = db.execute(
        f"SELECT region, SUM(used = ?), SUM({_PATCH} < ?) FROM machines "  # noqa: S608 - a constant
        "WHERE component = ? AND base = ? GROUP BY region",
        (fix.version, patch_of(fix.version), fix.component, fix.base),
    )
    return {region: (have, lack) for region, have, lack in rows}


def _boots_by_region(db: sqlite3.Connection, fix: Fix) -> dict[str, tuple[Boots, Boots]]:
    rows = db.execute(
        "SELECT region, SUM(good * (version = ?1)), SUM(failed * (version = ?1)), "
        "SUM(good * (version <> ?1)), SUM(failed * (version <> ?1)) FROM tallies "
        "WHERE component = ?2 AND base = ?3 GROUP BY region",
        (fix.version, fix.component, fix.base),
    )
    return {
        row[0]: (Boots(good=row[1], failed=row[2]), Boots(good=row[3], failed=row[4]))
        for row in rows
    }
