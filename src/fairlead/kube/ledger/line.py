"""
What replicas keep of the fixes of one base, and every change of it. Pure: a line and facts in.

Its size is bounded, whatever a fleet does: so many machines that asked and said nothing yet, so
many whose voices are remembered. Names of machines are kept as hashes of KEY_LENGTH characters.
"""

from __future__ import annotations

import base64
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from hashlib import sha256

from fairlead.hotfix.campaign import Boots, Campaign, advance, takes
from fairlead.hotfix.catalog import Fix, campaign_said, patch_of
from fairlead.hotfix.service.ledger import (
    LATE_AFTER,
    MOST_GOOD,
    SILENT_AFTER,
    EndedBoot,
    epoch_in,
)
from fairlead.hotfix.service.standing import Standing, epoch_of

KEY_LENGTH = 12

# Boots with unproven fixes of one base that may be under way at once, however well they did.
MOST_UNDER_WAY = 1000

# Machines without an unproven fix whose silence would be noticed; others are not waited for.
MOST_PLAIN = 500

# Machines whose voices are remembered, and for or against how many fixes in all. Beyond, the one
# that was heard of longest ago may speak anew.
MOST_HEARD = 2000
MOST_SAID = 6000


@dataclass(slots=True)
class Asked:
    """A machine that asked. version: what it was offered. waves: whether room was taken for it."""

    version: str
    at: float
    waves: bool


@dataclass(slots=True)
class Heard:
    """A machine that reported. said: good and failed boots that counted, by version and epoch."""

    run: str = ""
    used: str = ""
    at: float = 0.0
    said: dict[tuple[str, str], tuple[int, int]] = field(default_factory=dict)


@dataclass(slots=True)
class Line:
    """
    Fixes of one base. tallies: good and failed boots that count, by version and epoch.

    campaigns: epoch, wave, good_before and halted, by version. has_reports: whether a boot of this
    base was ever reported.
    """

    campaigns: dict[str, tuple[str, int, int, str]] = field(default_factory=dict)
    tallies: dict[tuple[str, str], tuple[int, int]] = field(default_factory=dict)
    asked: dict[str, Asked] = field(default_factory=dict)
    heard: dict[str, Heard] = field(default_factory=dict)
    has_reports: bool = False


def key_of(text: str) -> str:
    """Return what a machine, a run or a nonce is kept as."""
    digest = sha256(text.encode(errors="surrogatepass")).digest()
    return base64.urlsafe_b64encode(digest)[:KEY_LENGTH].decode()


def moment_of(now: datetime) -> float:
    """Return seconds, to the millisecond."""
    return round(now.timestamp(), 3)


def standing_of(line: Line, fix: Fix) -> Standing:
    """Return how a fix stands."""
    good, failed = line.tallies.get((fix.version, epoch_of(fix)), (0, 0))
    halted = {version for version, (_, _, _, why) in line.campaigns.items() if why}
    usual = [
        count
        for (version, _), count in line.tallies.items()
        if (not version or patch_of(version) < patch_of(fix.version)) and version not in halted
    ]
    under_way = sum(one.version == fix.version for one in line.asked.values())
    return Standing(
        campaign=campaign_of(line, fix),
        fixed=Boots(good=good, failed=failed, under_way=under_way),
        others=Boots(good=sum(one[0] for one in usual), failed=sum(one[1] for one in usual)),
    )


def campaign_of(line: Line, fix: Fix) -> Campaign:
    """Return how far a fix came. One that was resumed begins anew, where the catalog says."""
    fresh = campaign_said(fix)
    epoch, wave, good_before, halted = line.campaigns.get(fix.version, ("", 0, 0, ""))
    if fix.version not in line.campaigns or epoch != epoch_of(fix):
        return fresh
    return replace(fresh, wave=max(wave, fix.wave), good_before=good_before, halted=halted)


def has_had(line: Line, fix: Fix, machine: str) -> bool:
    """Say whether a machine was offered this fix a moment ago, or booted with it last time."""
    key = key_of(machine)
    return _is_offered(line, fix, key) or _has_used(line, fix, key)


def offer(line: Line, fix: Fix, machine: str, now: datetime) -> bool:
    """Offer a fix, unless its campaign has no room; say which."""
    key, standing = key_of(machine), standing_of(line, fix)
    if standing.campaign.halted:
        return False
    if _is_offered(line, fix, key):
        return True
    fixed = replace(standing.fixed, late=_count_late(line, fix, now))
    is_taken = takes(standing.campaign, machine, fixed, standing.others)
    is_taken = is_taken or _has_used(line, fix, key)
    under_way = sum(one.waves for one in line.asked.values())
    if not is_taken or under_way >= MOST_UNDER_WAY:
        return False
    line.asked[key] = Asked(fix.version, moment_of(now), waves=True)
    return True


def note(line: Line, machine: str, version: str, at: float) -> None:
    """Note that a machine asked, unless it was heard of since, or too many are waited for."""
    key = key_of(machine)
    before, heard = line.asked.get(key), line.heard.get(key)
    if heard is not None and heard.at >= at:
        return
    if before is None:
        plain = sum(not one.waves for one in line.asked.values())
        if plain < MOST_PLAIN:
            line.asked[key] = Asked(version, at, waves=False)
    elif before.at <= at and before.version != version:
        line.asked[key] = Asked(version, at, waves=False)


def count(line: Line, boot: EndedBoot, fixes: Sequence[Fix], now: datetime) -> bool:
    """Count a boot that ended, and let campaigns follow; False if it was counted before."""
    key, run = key_of(boot.asker.machine), key_of(boot.run)
    before = line.heard.get(key)
    if before is not None and before.run == run:
        return False
    line.asked.pop(key, None)
    line.has_reports = True
    heard = _speak(line, key, (boot.version, epoch_in(fixes, boot.version)), is_good=boot.is_good)
    heard.run, heard.used, heard.at = run, boot.used, moment_of(now)
    _advance(line, fixes, now)
    return True


def tend(line: Line, fixes: Sequence[Fix], now: datetime) -> None:
    """Count who fell silent, open waves and make halts that are due."""
    last = (now - SILENT_AFTER).timestamp()
    for key in [key for key, one in line.asked.items() if one.at < last]:
        asked = line.asked.pop(key)
        if line.has_reports:
            about = (asked.version, epoch_in(fixes, asked.version))
            heard = _speak(line, key, about, is_good=False)
            heard.at = max(heard.at, asked.at)
    _advance(line, fixes, now)


def forget(line: Line, machine: str) -> None:
    """Wait no more for a machine that is gone."""
    key = key_of(machine)
    line.asked.pop(key, None)
    if key in line.heard:
        line.heard[key].used = ""


def _speak(line: Line, key: str, about: tuple[str, str], *, is_good: bool) -> Heard:
    """Let a machine speak for or against a version, if it has a voice left."""
    heard = line.heard.pop(key, None) or Heard()
    good, failed = heard.said.get(about, (0, 0))
    said_good = int(is_good and good < MOST_GOOD)
    said_failed = int(not is_good and not failed)
    # Of an earlier epoch nothing counts any more.
    kept = {one: said for one, said in heard.said.items() if one[0] != about[0]}
    heard.said = {**kept, about: (good + said_good, failed + said_failed)}
    all_good, all_failed = line.tallies.get(about, (0, 0))
    line.tallies[about] = (all_good + said_good, all_failed + said_failed)
    # The last in line is the one that was heard of last.
    line.heard[key] = heard
    said = sum(len(one.said) for one in line.heard.values())
    while len(line.heard) > MOST_HEARD or said > MOST_SAID:
        said -= len(line.heard.pop(next(iter(line.heard))).said)
    return heard


def _advance(line: Line, fixes: Iterable[Fix], now: datetime) -> None:
    for fix in fixes:
        if fix.everyone:
            continue
        standing = standing_of(line, fix)
        after = advance(standing.campaign, standing.fixed, standing.others, now)
        if after != standing.campaign:
            kept = (epoch_of(fix), after.wave, after.good_before, after.halted)
            line.campaigns[fix.version] = kept


def _count_late(line: Line, fix: Fix, now: datetime) -> int:
    last = (now - LATE_AFTER).timestamp()
    return sum(one.version == fix.version and one.at < last for one in line.asked.values())


def _is_offered(line: Line, fix: Fix, key: str) -> bool:
    return key in line.asked and line.asked[key].version == fix.version


def _has_used(line: Line, fix: Fix, key: str) -> bool:
    return key in line.heard and line.heard[key].used == fix.version
