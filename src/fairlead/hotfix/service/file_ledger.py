"""
The ledger of a service in one directory, for several workers of one computer: see ledger.py.

An offer is decided and noted in one transaction of the file.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable, Sequence
from dataclasses import replace
from datetime import datetime
from pathlib import Path

from fairlead.hotfix.campaign import takes
from fairlead.hotfix.catalog import Fix
from fairlead.hotfix.service.ledger import (
    FORGOTTEN_AFTER,
    LATE_AFTER,
    MOST_GOOD,
    MOST_NOTES,
    SILENT,
    SILENT_AFTER,
    Asker,
    EndedBoot,
    epoch_in,
    waving,
)
from fairlead.hotfix.service.ledger_file import LedgerFile
from fairlead.hotfix.service.standing import Standing, advance_campaigns, read_standings

# Machines that are kept at all.
MOST_MACHINES = 1_000_000

# Rows at a time, so that no boot waits for a tidy ledger.
MOST_TENDED = 2000


class FileLedger:
    """The ledger in one directory. Every operation may raise UnavailableError."""

    def __init__(self, directory: Path) -> None:
        self._file = LedgerFile(directory)
        self._notes: dict[tuple[str, str], tuple[Asker, str, float]] = {}

    def close(self) -> None:
        """Note what waits, and close it."""
        try:
            self.write_notes()
        finally:
            self._file.close()

    def standings(self, fixes: Iterable[Fix]) -> dict[str, Standing]:
        """Return how these fixes stand, by version."""
        with self._file.reading() as db:
            return read_standings(db, fixes)

    def offer(self, fix: Fix, asker: Asker, now: datetime) -> bool:
        """Offer a fix to a machine of its base, unless its campaign has no room; say which."""
        with self._file.writing() as db:
            standing = read_standings(db, (fix,))[fix.version]
            if self._is_offered(db, fix, asker):
                # It asks again, within one boot or after one that it did not survive.
                return not standing.campaign.halted
            fixed = replace(standing.fixed, late=_count_late(db, fix, now))
            if not _is_room(db, replace(standing, fixed=fixed), fix, asker):
                return False
            _note(db, asker, fix.version, now.timestamp())
        self._notes.pop((asker.component, asker.machine), None)
        return True

    def has_had(self, fix: Fix, asker: Asker) -> bool:
        """Say whether a machine asked for this fix before and was offered it, or booted with it."""
        with self._file.reading() as db:
            return self._is_offered(db, fix, asker) or _has_used(db, fix, asker)

    def note(self, asker: Asker, version: str, now: datetime) -> None:
        """Note, a moment later, that a machine asked and what it was told."""
        if len(self._notes) >= MOST_NOTES:
            self._notes.pop(next(iter(self._notes)))
        self._notes[asker.component, asker.machine] = (asker, version, now.timestamp())

    def count(self, boot: EndedBoot, fixes: Sequence[Fix], now: datetime) -> bool:
        """Count a boot that ended, and let campaigns follow; False if it was counted before."""
        asker = boot.asker
        self._notes.pop((asker.component, asker.machine), None)
        with self._file.writing() as db:
            before = db.execute(
                "SELECT run FROM machines WHERE component = ? AND machine = ?",
                (asker.component, asker.machine),
            ).fetchone()
            if before is not None and before[0] == boot.run:
                return False
            db.execute(
                "DELETE FROM asked WHERE component = ? AND machine = ?",
                (asker.component, asker.machine),
            )
            _add_boot(db, boot, epoch_in(fixes, boot.version), now)
            _write_machine(db, boot, now)
            advance_campaigns(db, waving(fixes, asker.component, asker.base), now)
        return True

    def forget(self, component: str, machine: str) -> None:
        """Drop a machine that is gone from those that have a fix or lack it."""
        self._notes.pop((component, machine), None)
        with self._file.writing() as db:
            for table in ("asked", "machines"):
                db.execute(
                    f"DELETE FROM {table} WHERE component = ? AND machine = ?",  # noqa: S608
                    (component, machine),
                )

    def tend(self, fixes: Sequence[Fix], now: datetime) -> None:
        """Count who fell silent, and open waves that are due."""
        with self._file.writing() as db:
            _count_silent(db, fixes, now)
            for component, base in {(fix.component, fix.base) for fix in fixes}:
                advance_campaigns(db, waving(fixes, component, base), now)

    def tidy(self, now: datetime) -> None:
        """Forget machines of long ago, and the oldest where there are too many."""
        with self._file.writing() as db:
            _forget_unheard(db, now)

    def write_notes(self) -> None:
        """Note who asked since the last time."""
        notes, self._notes = self._notes, {}
        if not notes:
            return
        with self._file.writing() as db:
            for asker, version, at in notes.values():
                _note(db, asker, version, at)

    @staticmethod
    def _is_offered(db: sqlite3.Connection, fix: Fix, asker: Asker) -> bool:
        row = db.execute(
            "SELECT version FROM asked WHERE component = ? AND machine = ?",
            (asker.component, asker.machine),
        ).fetchone()
        return row is not None and row[0] == fix.version


def _is_room(db: sqlite3.Connection, standing: Standing, fix: Fix, asker: Asker) -> bool:
    """Say whether this machine may have the fix now: it is meant for it, or had it last time."""
    if takes(standing.campaign, asker.machine, standing.fixed, standing.others):
        return True
    return not standing.campaign.halted and _has_used(db, fix, asker)


def _count_late(db: sqlite3.Connection, fix: Fix, now: datetime) -> int:
    (late,) = db.execute(
        "SELECT COUNT(*) FROM asked WHERE component = ? AND version = ? AND at < ?",
        (fix.component, fix.version, (now - LATE_AFTER).timestamp()),
    ).fetchone()
    return int(late)


def _has_used(db: sqlite3.Connection, fix: Fix, asker: Asker) -> bool:
    row = db.execute(
        "SELECT used FROM machines WHERE component = ? AND machine = ?",
        (asker.component, asker.machine),
    ).fetchone()
    return row is not None and row[0] == fix.version


def _note(db: sqlite3.Connection, asker: Asker, version: str, at: float) -> None:
    # Who is told the same again asked when it asked first: silence counts from there.
    db.execute(
        "INSERT INTO asked VALUES (?, ?, ?, ?, ?, ?) ON CONFLICT (component, machine) DO UPDATE "
        "SET base = excluded.base, version = excluded.version, region = excluded.region, "
        "at = excluded.at WHERE version <> excluded.version",
        (asker.component, asker.machine, asker.base, version, asker.region, at),
    )


def _add_boot(db: sqlite3.Connection, boot: EndedBoot, epoch: str, now: datetime) -> None:
    asker, good = boot.asker, int(boot.is_good)
    key = (asker.component, asker.base, boot.version, asker.machine)
    before_good, before_failed = _said_before(db, key, epoch)
    said_good = int(good and before_good < MOST_GOOD)
    said_failed = int(not good and not before_failed)
    said = (before_good + said_good, before_failed + said_failed)
    db.execute(
        "INSERT INTO boots VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?) "
        "ON CONFLICT (component, base, version, machine) DO UPDATE SET epoch = excluded.epoch, "
        "region = excluded.region, good = good + excluded.good, "
        "failed = failed + excluded.failed, said_good = excluded.said_good, "
        "said_failed = excluded.said_failed, at = excluded.at, "
        "cause = CASE excluded.cause WHEN '' THEN cause ELSE excluded.cause END",
        (*key, epoch, asker.region, good, 1 - good, *said, now.timestamp(), boot.cause),
    )
    db.execute(
        "INSERT INTO tallies VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?) "
        "ON CONFLICT (component, base, version, region, epoch) DO UPDATE SET "
        "good = good + excluded.good, failed = failed + excluded.failed, "
        "said_good = said_good + excluded.said_good, "
        "said_failed = said_failed + excluded.said_failed",
        (
            *(asker.component, asker.base, boot.version, asker.region, epoch, good, 1 - good),
            *(said_good, said_failed),
        ),
    )


def _said_before(
    db: sqlite3.Connection, key: tuple[str, str, str, str], epoch: str
) -> tuple[int, int]:
    """Return how many good and failed boots of this machine count already."""
    row = db.execute(
        "SELECT said_good, said_failed FROM boots "
        "WHERE component = ? AND base = ? AND version = ? AND machine = ? AND epoch = ?",
        (*key, epoch),
    ).fetchone()
    return (row[0], row[1]) if row else (0, 0)


def _write_machine(db: sqlite3.Connection, boot: EndedBoot, now: datetime) -> None:
    asker = boot.asker
    db.execute(
        "REPLACE INTO machines VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
        (
            *(asker.component, asker.machine, asker.base, asker.region, boot.pool),
            *(boot.used, boot.wanted, int(boot.is_good), boot.cause, boot.run, now.timestamp()),
        ),
    )


def _count_silent(db: sqlite3.Connection, fixes: Sequence[Fix], now: datetime) -> None:
    """Count who said nothing for too long as failed."""
    silent = db.execute(
        "SELECT component, machine, base, version, region FROM asked WHERE at < ? "
        "ORDER BY at LIMIT ?",
        ((now - SILENT_AFTER).timestamp(), MOST_TENDED),
    ).fetchall()
    for component, machine, base, version, region in silent:
        db.execute("DELETE FROM asked WHERE component = ? AND machine = ?", (component, machine))
        if not _has_reports(db, component, base):
            continue
        asker = Asker(component=component, machine=machine, region=region, base=base)
        boot = EndedBoot(asker=asker, version=version, is_good=False, run="", cause=SILENT)
        _add_boot(db, boot, epoch_in(fixes, version), now)


def _has_reports(db: sqlite3.Connection, component: str, base: str) -> bool:
    row = db.execute(
        "SELECT 1 FROM machines WHERE component = ? AND base = ? LIMIT 1", (component, base)
    ).fetchone()
    return row is not None


def _forget_unheard(db: sqlite3.Connection, now: datetime) -> None:
    for table in ("machines", "boots"):
        db.execute(
            f"DELETE FROM {table} WHERE at < ?",  # noqa: S608 - one of two names
            ((now - FORGOTTEN_AFTER).timestamp(),),
        )
    (count,) = db.execute("SELECT COUNT(*) FROM machines").fetchone()
    if count > MOST_MACHINES:
        db.execute(
            "DELETE FROM machines WHERE (component, machine) IN "
            "(SELECT component, machine FROM machines ORDER BY at LIMIT ?)",
            (count - MOST_MACHINES,),
        )
