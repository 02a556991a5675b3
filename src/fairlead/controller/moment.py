"""
One read of the world together with what it asks for, at one moment.

Every part of a thought looks at this and at the record, and at nothing else.
"""

from dataclasses import dataclass
from datetime import datetime

from fairlead.controller.observe import Snapshot
from fairlead.controller.revise import Wanted, revise
from fairlead.rollout.plan import Situation, may_scale
from fairlead.rollout.record import PoolRecord


@dataclass(frozen=True, slots=True, kw_only=True)
class Moment:
    """What was read, what is wanted, how many machines, and when."""

    seen: Snapshot
    wanted: Wanted
    desired: int
    now: datetime

    @property
    def is_leaving(self) -> bool:
        """Say whether the owner deleted the pool."""
        return self.seen.documents.is_leaving


def moment_of(seen: Snapshot, now: datetime) -> Moment:
    """Return the moment. Raises InputError only if the document is no pool at all."""
    wanted = revise(seen)
    return Moment(seen=seen, wanted=wanted, desired=_desired(seen, wanted, now), now=now)


def situation_of(here: Moment, record: PoolRecord) -> Situation:
    """Return what a plan for this record is made from."""
    seen, wanted = here.seen, here.wanted
    known = seen.template.revision if seen.template else ""
    halted = record.halted
    if wanted.problems:
        halted = f"the pool's settings cannot be used: {wanted.problems}"
    return Situation(
        machines=seen.machines,
        target=record.target.id if record.target else known,
        desired=here.desired,
        policy=wanted.policy,
        now=here.now,
        reason=record.reason,
        bound=record.plan,
        is_stopped=wanted.is_stopped,
        halted=halted,
        forgiven=record.forgiven,
        is_leaving=here.is_leaving,
    )


def _desired(seen: Snapshot, wanted: Wanted, now: datetime) -> int:
    current = seen.template.replicas if seen.template else 0
    situation = Situation(
        machines=(),
        target="",
        desired=0,
        policy=wanted.policy,
        now=now,
        is_stopped=wanted.is_stopped,
        is_leaving=seen.documents.is_leaving,
    )
    if seen.template and not may_scale(situation):
        return current
    if situation.is_leaving:
        return 0
    return wanted.policy.replicas_from(current)
