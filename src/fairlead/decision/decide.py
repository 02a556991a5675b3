"""
The rule: what a pool runs against what it should run.

`running` is the target, what the machine template was told, not what every machine has reached:
during a rollout a further platform change must not retarget it.
"""

from dataclasses import dataclass

from fairlead.decision.decision import (
    Adopt,
    ChangedIntent,
    Decision,
    DeletePool,
    Forced,
    HoldPlatformChange,
    Keep,
    Overdue,
    ReplaceMachines,
    Unknown,
)
from fairlead.decision.held import HeldChange
from fairlead.inputs.leaf import Unusable
from fairlead.revision.difference import Difference, difference_of
from fairlead.revision.revision import Revision


@dataclass(frozen=True, slots=True, kw_only=True)
class Circumstances:
    """
    What else the rule looks at.

    `force` is a request that was not honoured yet, or ''. `held` are the platform changes as
    the pool holds them, `overdue` those of them beyond their maximum age. `is_empty`: no machine
    exists and none is asked for. `is_leaving`: the owner deleted the pool.
    """

    force: str = ""
    held: tuple[HeldChange, ...] = ()
    overdue: tuple[HeldChange, ...] = ()
    is_empty: bool = False
    is_leaving: bool = False


def decide(
    running: Revision | None, wanted: Revision | Unusable, circumstances: Circumstances
) -> Decision:
    """
    Compare what a pool runs with what it should run.

    ==============  ==========  ==========  ============================  ==================
    recorded        intent      platform    besides                       decision
    ==============  ==========  ==========  ============================  ==================
    any             any         any         the pool was deleted          DeletePool
    any             unusable    any                                       Unknown
    nothing         any         any                                       Adopt
    yes             any         any         anything differs, no machine  Adopt
    yes             differs     any                                       ReplaceMachines
    yes             same        any         forced                        ReplaceMachines
    yes             same        differs     held for too long             ReplaceMachines
    yes             same        differs                                   HoldPlatformChange
    yes             same        same                                      Keep
    ==============  ==========  ==========  ============================  ==================
    """
    if circumstances.is_leaving:
        return DeletePool(running)
    if isinstance(wanted, Unusable):
        return Unknown(running=running, unusable=wanted)
    if running is None:
        return Adopt(wanted, is_new=True)
    return _compared(running, wanted, circumstances)


def _compared(running: Revision, wanted: Revision, circumstances: Circumstances) -> Decision:
    difference = difference_of(running, wanted)
    if circumstances.is_empty and (difference.intent or difference.platform or circumstances.force):
        return Adopt(wanted, is_new=False)
    if reason := _reason_of(difference, circumstances):
        return ReplaceMachines(
            running=running, wanted=wanted, because=reason, takes_along=difference.platform
        )
    if difference.platform:
        return HoldPlatformChange(running=running, wanted=wanted, held=circumstances.held)
    return Keep(running)


def _reason_of(
    difference: Difference, circumstances: Circumstances
) -> ChangedIntent | Forced | Overdue | None:
    if difference.intent:
        return ChangedIntent(difference.intent)
    if circumstances.force:
        return Forced(circumstances.force)
    if difference.platform and circumstances.overdue:
        return Overdue(circumstances.overdue)
    return None
