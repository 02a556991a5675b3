"""What is written and told about a pass once its steps are known."""

from dataclasses import replace
from datetime import datetime, timedelta

from fairlead.answers.plan import Plan
from fairlead.answers.pool import PoolStatus
from fairlead.answers.words import ChangeClass
from fairlead.controller.pairs import is_over
from fairlead.controller.pointers import overdue_moments
from fairlead.controller.revise import Wanted
from fairlead.controller.state import state_of
from fairlead.controller.thought import Thought
from fairlead.rollout.record import PoolRecord
from fairlead.rollout.secrets import SecretPlan
from fairlead.rollout.step import SecretStep, Step
from fairlead.rollout.window import last_start
from fairlead.timeline.conditions import PoolFacts, conditions_of, sentence_of
from fairlead.timeline.event import deletion_of, events_of

JUST_AFTER = timedelta(microseconds=1)


def told(thought: Thought, wanted: Wanted, facts: PoolFacts) -> Thought:
    """Return the thought with its record, numbered if it says anything new, and its events."""
    seen, now = wanted.seen, wanted.now
    known = seen.record or PoolRecord(pool=seen.pool, serial=seen.first_serial)
    is_known = replace(facts.record, serial=known.serial) == seen.record
    record = known if is_known else replace(facts.record, serial=known.serial + 1)
    events = events_of(known, record, thought.steps, facts.machines, now)
    if over := is_over(wanted, facts):
        events = (*events, deletion_of(record, now))
    return replace(thought, record=None if is_known else record, events=events, is_over=over)


def status_of(wanted: Wanted, facts: PoolFacts) -> PoolStatus | None:
    """Return what the owner is to see, or None if that is what is seen already."""
    progress, applied, seen = facts.progress, facts.record.applied, wanted.seen
    status = PoolStatus(
        state=state_of(facts),
        sentence=sentence_of(facts),
        version=applied.version if applied else "",
        updated=progress.updated if progress else 0,
        available=progress.available if progress else 0,
        total=progress.total if progress else 0,
        desired=wanted.desired,
        conditions=conditions_of(facts, seen.status.conditions if seen.status else (), wanted.now),
    )
    return None if status == seen.status else status


def wake_of(wanted: Wanted, facts: PoolFacts, secrets: SecretPlan) -> datetime | None:
    """Return when to look again even if nothing happens."""
    due = [wait.until for wait in facts.waits]
    due += [secrets.wake, *overdue_moments(wanted, facts.record), _closing(wanted, facts)]
    return min((moment for moment in due if moment and moment > wanted.now), default=None)


def _closing(wanted: Wanted, facts: PoolFacts) -> datetime | None:
    """Return when an edge that replaces machines by itself must be told to wait."""
    if not wanted.seen.replaces_by_itself or not facts.record.is_rolling:
        return None
    last = last_start(wanted.policy.windows, wanted.now, wanted.policy.estimate)
    return last + JUST_AFTER if last else None


def shown_with(shown: Plan, steps: tuple[Step, ...]) -> Plan:
    """Return the plan, which changes a pool in place if any of these steps is seen outside."""
    disturbs = any(not isinstance(step, SecretStep) for step in steps)
    if shown.change is ChangeClass.NONE and disturbs:
        return shown.but(change=ChangeClass.IN_PLACE)
    return shown
