"""
How far a published fix reaches: waves that open by outcome, and a halt that needs nobody.

Two questions about one base, answered after every boot report. Do boots with the fix fail more
often than boots without it? A sequential test (Wald): it may be asked after each boot without
losing its meaning, and errs on a good fix with a chance of at most FALSE_HALT. May the next wave
open? When its time has come, enough boots of this wave have ended, and they speak for the fix.

Until a fix has proven itself, few boots have it at once: those under way when it is halted are
harmed as well. A fix that stops a machine stops its report, too: a boot that is late takes another
one's room, and while so many are late that the fix would be halted had they failed, nobody new is
offered it. All of it is pure: counts and a moment in, a campaign out.
"""

from __future__ import annotations

import enum
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from hashlib import sha256
from math import exp, log

# The chance that a fix which does no harm is halted.
FALSE_HALT = 0.001

# The harm that is looked for: this part of all boots, beside those that fail without the fix. A
# little harm takes many boots to see, a great one two or three.
HARMS = (0.005, 0.05, 0.5)

# Before boots without the fix were seen, as if one of two hundred had failed.
PRIOR_FAILED, PRIOR_BOOTS = 1, 200

# A base that fails more often than this is broken already; the test needs a rate below one.
WORST_RATE = 0.45

# Boots with the fix that may be under way at once: two, and one more for each that ended well.
FIRST_AT_ONCE = 2

BUCKETS = 10_000


class Schedule(enum.StrEnum):
    """How fast waves may open. The anchors are Bottlerocket's: six days, a day, three hours."""

    NORMAL = "normal"
    ACCELERATED = "accelerated"
    EMERGENCY = "emergency"


# Of all machines, and when after the start the wave may open, as a part of the schedule's length.
WAVES = ((0.01, 0.0), (0.05, 0.15), (0.20, 0.35), (0.50, 0.60), (1.0, 0.85))

LENGTHS = {
    Schedule.NORMAL: timedelta(days=6),
    Schedule.ACCELERATED: timedelta(hours=24),
    Schedule.EMERGENCY: timedelta(hours=3),
}

# Good boots that a wave must have seen before the next one opens.
NEEDED = (3, 10, 20, 40, 0)


@dataclass(frozen=True, slots=True, kw_only=True)
class Boots:
    """
    How boots of one base ended.

    under_way: they were offered the fix and said nothing yet. late: those of them that should have
    by the moment that is asked about; it is counted for offers alone.
    """

    good: int = 0
    failed: int = 0
    under_way: int = 0
    late: int = 0

    @property
    def ended(self) -> int:
        """Boots whose end is known."""
        return self.good + self.failed


@dataclass(frozen=True, slots=True, kw_only=True)
class Campaign:
    """
    One fix on its way to the machines of its base.

    wave: how many waves are open beyond the first. good_before: boots that had ended well with the
    fix when this wave opened. halted: why it stopped, or ''.
    """

    version: str
    schedule: Schedule
    started_at: datetime
    wave: int = 0
    good_before: int = 0
    halted: str = ""

    @property
    def reach(self) -> float:
        """The part of all machines that the open waves hold."""
        return WAVES[self.wave][0]


def advance(campaign: Campaign, fixed: Boots, others: Boots, now: datetime) -> Campaign:
    """Return the campaign after these boots with the fix, and these of its base without it."""
    if campaign.halted:
        return campaign
    if evidence_of_harm(fixed, others) >= log(1 / FALSE_HALT):
        return replace(campaign, halted=_why(fixed, others))
    if not _may_widen(campaign, fixed, others, now):
        return campaign
    return replace(campaign, wave=campaign.wave + 1, good_before=fixed.good)


def evidence_of_harm(fixed: Boots, others: Boots) -> float:
    """
    Return how much more likely these boots are if the fix harms, as a logarithm.

    Below zero they speak for the fix. Each harm has the same weight beforehand.
    """
    usual = usual_rate(others)
    each = [_evidence_of(usual + harm, usual, fixed) for harm in HARMS]
    strongest = max(each)
    return strongest + log(sum(exp(one - strongest) for one in each) / len(each))


def _evidence_of(harmful: float, usual: float, fixed: Boots) -> float:
    return fixed.failed * log(harmful / usual) + fixed.good * log((1 - harmful) / (1 - usual))


def usual_rate(others: Boots) -> float:
    """Return how often boots of this base fail without the fix."""
    return min((others.failed + PRIOR_FAILED) / (others.ended + PRIOR_BOOTS), WORST_RATE)


def takes(campaign: Campaign, machine: str, fixed: Boots, others: Boots) -> bool:
    """Say whether this machine is offered the fix at this moment."""
    has_room = fixed.under_way + fixed.late < FIRST_AT_ONCE + fixed.good
    return has_room and not is_in_doubt(fixed, others) and is_meant(campaign, machine, fixed)


def is_in_doubt(fixed: Boots, others: Boots) -> bool:
    """Say whether the fix would be halted had every boot failed that is late."""
    if not fixed.late:
        return False
    feared = replace(fixed, failed=fixed.failed + fixed.late)
    return evidence_of_harm(feared, others) >= log(1 / FALSE_HALT)


def is_meant(campaign: Campaign, machine: str, fixed: Boots) -> bool:
    """
    Say whether the open waves are meant for this machine, be there room at this moment or not.

    A machine's place in line is always the same for one fix, and another for the next fix. But a
    wave has as many boots as it needs to be judged, whoever comes: in a fleet of ten machines
    nobody may be among the first hundredth.
    """
    if campaign.halted:
        return False
    in_this_wave = fixed.good - campaign.good_before + fixed.under_way
    return (
        in_this_wave < NEEDED[campaign.wave]
        or bucket_of(campaign.version, machine) < campaign.reach * BUCKETS
    )


def bucket_of(version: str, machine: str) -> int:
    """Return a machine's place in line for a fix, from 0 to BUCKETS - 1."""
    digest = sha256(f"fairlead/hotfix-bucket\n{version}\n{machine}".encode()).digest()
    return int.from_bytes(digest[:8], "big") % BUCKETS


def _may_widen(campaign: Campaign, fixed: Boots, others: Boots, now: datetime) -> bool:
    if campaign.wave + 1 >= len(WAVES):
        return False
    length = LENGTHS[campaign.schedule]
    is_due = now >= campaign.started_at + length * WAVES[campaign.wave + 1][1]
    is_seen = fixed.good - campaign.good_before >= NEEDED[campaign.wave]
    return is_due and is_seen and evidence_of_harm(fixed, others) <= 0


def _why(fixed: Boots, others: Boots) -> str:
    return (
        f"{fixed.failed} of {fixed.ended} boots with it failed, "
        f"{others.failed} of {others.ended} without it"
    )
