"""How a fix stands, by the tables of the ledger: its campaign, and boots with and without it."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable
from dataclasses import dataclass, replace
from datetime import datetime

from fairlead.hotfix.campaign import Boots, Campaign, advance
from fairlead.hotfix.catalog import Fix, campaign_said, patch_of
from fairlead.hotfix.catalog_text import moment_text

# A base that nobody asked about has no rows.
NOTHING = Boots()


@dataclass(frozen=True, slots=True, kw_only=True)
class Standing:
    """
    One fix at one moment.

    fixed: boots with it that count, see ledger.py. others: boots without it that do: with no fix,
    or with an older one that was not halted. How a newer one does says nothing of this one.
    """

    campaign: Campaign
    fixed: Boots
    others: Boots


def epoch_of(fix: Fix) -> str:
    """Return since when boots with this fix count: since it was resumed last, or ''."""
    return moment_text(fix.resumed_at) if fix.resumed_at else ""


def read_standings(db: sqlite3.Connection, fixes: Iterable[Fix]) -> dict[str, Standing]:
    """Return how these fixes stand, by version."""
    found: dict[str, Standing] = {}
    counted: dict[tuple[str, str], _Counts] = {}
    for fix in fixes:
        place = (fix.component, fix.base)
        if place not in counted:
            counted[place] = _Counts(db, *place)
        found[fix.version] = counted[place].standing_of(db, fix)
    return found


def advance_campaigns(db: sqlite3.Connection, fixes: Iterable[Fix], now: datetime) -> None:
    """Open the waves and make the halts that are due."""
    waving = [fix for fix in fixes if not fix.everyone]
    for fix, standing in zip(waving, read_standings(db, waving).values(), strict=True):
        before = standing.campaign
        after = advance(before, standing.fixed, standing.others, now)
        if after != before:
            db.execute(
                "REPLACE INTO campaigns VALUES (?, ?, ?, ?, ?, ?)",
                (
                    fix.component,
                    fix.version,
                    epoch_of(fix),
                    after.wave,
                    after.good_before,
                    after.halted,
                ),
            )


class _Counts:
    """Boots of one base that count, by version and epoch."""

    def __init__(self, db: sqlite3.Connection, component: str, base: str) -> None:
        rows = db.execute(
            "SELECT version, epoch, SUM(said_good), SUM(said_failed) FROM tallies "
            "WHERE component = ? AND base = ? GROUP BY version, epoch",
            (component, base),
        )
        self._ended = {(version, epoch): (good, bad) for version, epoch, good, bad in rows}
        halted = db.execute(
            "SELECT version FROM campaigns WHERE component = ? AND halted <> ''", (component,)
        )
        self._halted = {version for (version,) in halted}

    def standing_of(self, db: sqlite3.Connection, fix: Fix) -> Standing:
        good, failed = self._ended.get((fix.version, epoch_of(fix)), (0, 0))
        without = [
            count for (version, _), count in self._ended.items() if self._is_usual(version, fix)
        ]
        (under_way,) = db.execute(
            "SELECT COUNT(*) FROM asked WHERE component = ? AND version = ?",
            (fix.component, fix.version),
        ).fetchone()
        return Standing(
            campaign=_campaign_of(db, fix),
            fixed=Boots(good=good, failed=failed, under_way=under_way),
            others=Boots(
                good=sum(count[0] for count in without), failed=sum(count[1] for count in without)
            ),
        )

    def _is_usual(self, version: str, fix: Fix) -> bool:
        """Say whether boots with this version are what boots with the fix are compared with."""
        is_older = not version or patch_of(version) < patch_of(fix.version)
        return is_older and version not in self._halted


def _campaign_of(db: sqlite3.Connection, fix: Fix) -> Campaign:
    """Return how far a fix came. One that was resumed begins anew, where the catalog says."""
    fresh = campaign_said(fix)
    row = db.execute(
        "SELECT wave, good_before, halted FROM campaigns "
        "WHERE component = ? AND version = ? AND epoch = ?",
        (fix.component, fix.version, epoch_of(fix)),
    ).fetchone()
    if row is None:
        return fresh
    return replace(fresh, wave=max(row[0], fix.wave), good_before=row[1], halted=row[2])
