"""
The rule: what a pool runs against what it should run.

`running` is the target, what the machine template was told, not what every machine has reached:
during a rollout a further platform change must not retarget it.
"""

from fairlead.decision.decision import (
    Adopt,
    ChangedIntent,
    Decision,
    Forced,
    HoldPlatformChange,
    Keep,
    Overdue,
    Reason,
    ReplaceMachines,
    Unknown,
)
from fairlead.decision.held import HeldChange
from fairlead.inputs.leaf import Unusable
from fairlead.revision.difference import Difference, difference_of
from fairlead.revision.revision import Revision


def decide(
    running: Revision | None,
    wanted: Revision | Unusable,
    held: tuple[HeldChange, ...] = (),
    overdue: tuple[HeldChange, ...] = (),
    *,
    is_empty: bool = False,
) -> Decision:
    """
    Compare what a pool runs with what it should run. A pool that was deleted is not compared.

    held: the platform changes as the pool holds them; overdue: those of them beyond their maximum
    age. is_empty: no machine exists and none is asked for. The owner forces a rollout where the
    wanted revision answers a request that the running one does not.

    ==============  ==========  ==========  ============================  ==================
    recorded        intent      platform    besides                       decision
    ==============  ==========  ==========  ============================  ==================
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
    if isinstance(wanted, Unusable):
        return Unknown(running=running, unusable=wanted)
    if running is None:
        return Adopt(wanted, is_new=True)
    difference = difference_of(running, wanted)
    force = wanted.force if wanted.force != running.force else ""
    if is_empty and (difference.intent or difference.platform or force):
        return Adopt(wanted, is_new=False)
    if reason := _reason_of(difference, force, overdue):
        return ReplaceMachines(
            running=running, wanted=wanted, because=reason, takes_along=difference.platform
        )
    if difference.platform:
        return HoldPlatformChange(running=running, wanted=wanted, held=held)
    return Keep(running)


def _reason_of(
    difference: Difference, force: str, overdue: tuple[HeldChange, ...]
) -> Reason | None:
    if difference.intent:
        return ChangedIntent(difference.intent)
    if force:
        return Forced(force)
    if difference.platform and overdue:
        return Overdue(overdue)
    return None
