"""What a pass would do: everything it would write, and why."""

from dataclasses import dataclass
from datetime import datetime

from fairlead.answers.event import Event
from fairlead.answers.plan import Plan
from fairlead.answers.pool import PoolStatus
from fairlead.answers.wait import Wait
from fairlead.decision.decision import Decision
from fairlead.inputs.platform_inputs import Stub
from fairlead.revision.revision import Revision
from fairlead.rollout.approval import Approval
from fairlead.rollout.policy import Policy
from fairlead.rollout.record import PoolRecord
from fairlead.rollout.step import Step
from fairlead.timeline.event import NO_CAUSE, Cause


@dataclass(frozen=True, slots=True, kw_only=True)
class Thought:
    """
    Everything that a pass would write, and why.

    policy: how and when, as the documents say. first: steps before the record is written, so that
    what it names exists; then: those after it. shown: what the rollout would do as a whole, also
    if something holds it. approved: the plan that binds it, or None. wake: when to look again
    even if nothing happens. cause: why machines are made. status and record are None if they are
    to stay as they are. desired: what the documents ask for now, also where a rollout goes to what
    was approved before; None if that is not known. is_over: nothing of a deleted pool is left; it
    is to be forgotten.
    lacking: machines that are to be replaced for a fix.
    """

    policy: Policy
    decision: Decision
    first: tuple[Step, ...]
    then: tuple[Step, ...]
    shown: Plan
    waits: tuple[Wait, ...]
    stub: Stub
    wake: datetime | None
    status: PoolStatus | None
    approved: Approval | None = None
    record: PoolRecord | None = None
    desired: Revision | None = None
    events: tuple[Event, ...] = ()
    cause: Cause = NO_CAUSE
    is_over: bool = False
    lacking: frozenset[str] = frozenset()

    @property
    def writes(self) -> bool:
        """Say whether a pass would write anything."""
        is_known = self.record is None and self.status is None
        return bool(self.steps or self.events or self.is_over or not is_known)

    @property
    def steps(self) -> tuple[Step, ...]:
        """All steps, in order."""
        return self.first + self.then
