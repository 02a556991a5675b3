"""
What is remembered of a pool between passes: two of the three pointers, and why they are there.

Written by the controller only. The third pointer, desired, is computed on every pass and never
stored. A record is bound to the template: if the template names another revision than `target`,
the record is stale and is seeded again from evidence.
"""

import enum
from dataclasses import dataclass
from datetime import datetime

from fairlead.answers.fix import Adoption
from fairlead.answers.plan import Plan
from fairlead.decision.held import HeldChange
from fairlead.revision.revision import Revision

# Enough to remember every request of a pool that is forced, or resumed, weekly for a year.
MOST_HONOURED = 64


class Evidence(enum.Enum):
    """From what a record was seeded, the best first."""

    NOTHING = "NewPool"
    SECRET = "Secret"  # noqa: S105 - a kind of evidence
    COMPUTED = "SeededWithoutEvidence"


@dataclass(frozen=True, slots=True, kw_only=True)
class PoolRecord:
    """
    One pool's memory.

    serial: goes up with every write, so that the events of one write can be told apart.
    applied: every machine has it; only ever becomes what `target` was.
    target: what the template was told. reason, sentence, started_at: why and when it became the
    target, in short and in full. asked_by: who asked for it; '' if nobody did.
    honoured: force requests that were answered. held: platform changes that wait.
    failed: machines of the target that failed; halted: why nothing more is replaced, or ''.
    resumed: requests to go on that were seen. forgiven: machines that failed before the last of
    them and are not gone yet; they count no more. repair_stopped: why repair gave up, or ''.
    repaired: machines that were repaired in a row, the first at repairing_since, and none came up.
    spent: the target of the approved plan that was there when the last target was set, or ''.
    adopted: the last request for a fix that was seen. adoption: what is done about it, until it is
    over; adoption_over: why it ended, or ''.
    """

    pool: str
    serial: int = 0
    applied: Revision | None = None
    target: Revision | None = None
    reason: str = ""
    asked_by: str = ""
    sentence: str = ""
    started_at: datetime | None = None
    honoured: tuple[str, ...] = ()
    held: tuple[HeldChange, ...] = ()
    failed: tuple[str, ...] = ()
    halted: str = ""
    resumed: tuple[str, ...] = ()
    forgiven: tuple[str, ...] = ()
    repair_stopped: str = ""
    repaired: tuple[str, ...] = ()
    repairing_since: datetime | None = None
    plan: Plan | None = None
    spent: str = ""
    adopted: str = ""
    adoption: Adoption | None = None
    adoption_over: str = ""
    seeded: Evidence = Evidence.NOTHING

    @property
    def is_rolling(self) -> bool:
        """Say whether the template was told something that not every machine has."""
        if self.target is None:
            return False
        return self.applied is None or self.applied.id != self.target.id
