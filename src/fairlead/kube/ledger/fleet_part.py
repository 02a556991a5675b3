"""
What replicas know of some machines: the fix of the last boot, and how boots ended. Pure.

Nothing is decided by it. A machine is in one part, by its name, whatever its image base. As in the
ledger of a depot (hotfix/service/file_ledger.py), who asked and then said nothing for SILENT_AFTER
failed, where machines of its base report at all.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import datetime
from typing import TypeVar

from fairlead.hotfix.service.ledger import FORGOTTEN_AFTER, SILENT, SILENT_AFTER, Asker, EndedBoot
from fairlead.kube.ledger.line import key_of

# What one part keeps at most; of each the one that was heard of longest ago goes first. A row of
# MACHINES takes some 90 bytes, and 400 with the longest names that anybody proved.
MOST_MACHINES = 2500
MOST_ASKED = 500
MOST_FAILED = 500
MOST_TALLIES = 300

# Fixes that one machine failed with, and causes in all, whose texts come from machines.
MOST_FAILED_WITH = 3
MOST_CAUSES = 50
LONGEST_CAUSE = 200
OTHER_CAUSES = "another cause"

LONGEST_NAME = 253

K = TypeVar("K")
V = TypeVar("V")


@dataclass(slots=True)
class Known:
    """The last boot of a machine. at: seconds since the epoch."""

    base: str
    region: str
    used: str
    run: str
    at: int


@dataclass(slots=True)
class Waiting:
    """A machine that asked and said nothing since. version: what it was offered, or ''."""

    version: str
    base: str
    region: str
    at: int


@dataclass(slots=True)
class Part:
    """
    Some machines, by name; of each table the last row is the one that was heard of last.

    tallies: every good and failed boot, by base, version and region. failed: the last cause, by
    machine and by the fix that it failed with.
    """

    machines: dict[str, Known] = field(default_factory=dict)
    asked: dict[str, Waiting] = field(default_factory=dict)
    tallies: dict[tuple[str, str, str], tuple[int, int]] = field(default_factory=dict)
    failed: dict[str, dict[str, str]] = field(default_factory=dict)


def note(part: Part, asker: Asker, version: str, at: int) -> None:
    """Note that a machine asked, unless it was heard of since or waits for the same already."""
    name = asker.machine[:LONGEST_NAME]
    known, before = part.machines.get(name), part.asked.get(name)
    is_old = known is not None and known.at >= at
    if not is_old and (before is None or before.version != version):
        _put(part.asked, name, Waiting(version, asker.base, asker.region, at), MOST_ASKED)


def end_boot(part: Part, boot: EndedBoot, now: datetime) -> None:
    """Keep how a boot ended, unless it was told before."""
    asker, run = boot.asker, key_of(boot.run)
    name = asker.machine[:LONGEST_NAME]
    before = part.machines.get(name)
    if before is not None and before.run == run:
        return
    at = int(now.timestamp())
    _put(part.machines, name, Known(asker.base, asker.region, boot.used, run, at), MOST_MACHINES)
    settle(part, now)
    _forget_unheard(part, now)
    part.asked.pop(name, None)
    _count(part, (asker.base, boot.version, asker.region), is_good=boot.is_good)
    if not boot.is_good:
        _fail(part, name, boot.version, boot.cause)


def settle(part: Part, now: datetime, reporting: frozenset[str] = frozenset()) -> None:
    """Count who fell silent, where machines of the base report: here, or as the caller knows."""
    last = (now - SILENT_AFTER).timestamp()
    silent = [name for name, one in part.asked.items() if one.at < last]
    if not silent:
        return
    bases = reporting | {one.base for one in part.machines.values()}
    for name in silent:
        if (asked := part.asked[name]).base in bases:
            del part.asked[name]
            _count(part, (asked.base, asked.version, asked.region), is_good=False)
            _fail(part, name, asked.version, SILENT)


def forget(part: Part, machine: str) -> None:
    """Drop a machine that is gone; how its boots ended stays."""
    part.asked.pop(machine, None)
    part.machines.pop(machine, None)


def halve(part: Part) -> None:
    """Drop the half of the machines that was heard of longest ago."""
    for table in (part.machines, part.asked, part.failed):
        for name in list(table)[: (len(table) + 1) // 2]:
            del table[name]


def _forget_unheard(part: Part, now: datetime) -> None:
    last = (now - FORGOTTEN_AFTER).timestamp()
    for name in [name for name, one in part.machines.items() if one.at < last]:
        del part.machines[name]


def _count(part: Part, about: tuple[str, str, str], *, is_good: bool) -> None:
    good, failed = part.tallies.get(about, (0, 0))
    _put(part.tallies, about, (good + is_good, failed + (not is_good)), MOST_TALLIES)


def _fail(part: Part, name: str, version: str, cause: str) -> None:
    if not version or not cause:
        return
    known = {one for causes in part.failed.values() for one in causes.values()}
    told = cause[:LONGEST_CAUSE]
    if told not in known and len(known) >= MOST_CAUSES:
        told = OTHER_CAUSES
    causes = part.failed.get(name, {})
    _put(causes, version, told, MOST_FAILED_WITH)
    _put(part.failed, name, causes, MOST_FAILED)


def _put(table: dict[K, V], key: K, value: V, most: int) -> None:
    """Put a row behind all others; the first one goes where there are too many."""
    table.pop(key, None)
    table[key] = value
    while len(table) > most:
        del table[next(iter(table))]
