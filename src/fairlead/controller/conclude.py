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
from fairlead.rollout.adoption import LOOK_AGAIN, lacking_in
from fairlead.rollout.record import PoolRecord
from fairlead.rollout.secrets import SecretPlan
from fairlead.rollout.step import SecretStep, Step
from fairlead.rollout.window import last_start
from fairlead.timeline.conditions import PoolFacts, conditions_of, sentence_of
from fairlead.timeline.event import Passed, cause_of, deletion_of, events_of

JUST_AFTER = timedelta(microseconds=1)


def told(thought: Thought, wanted: Wanted, facts: PoolFacts) -> Thought:
    """Return the thought with its record, numbered if it says anything new, and its events."""
    seen = wanted.seen
    known = seen.record or PoolRecord(pool=seen.pool, serial=seen.first_serial)
    # Every step of thinking hands the record on as it is unless it says something new.
    is_known = facts.record == known and seen.record is not None
    record = known if is_known else replace(facts.record, serial=known.serial + 1)
    passed = _passed(thought, wanted, facts, (known, record))
    events = events_of(passed)
    if over := is_over(wanted, facts):
        events = (*events, deletion_of(passed))
    # Of a pool that is over only a first record is kept: without its number, a pass that is cut
    # off before the pool is forgotten would tell of the deletion again under another key.
    kept = None if is_known or (over and seen.record) else record
    lacking = lacking_in(facts.record.adoption, seen.machines)
    return replace(
        thought, record=kept, events=events, cause=passed.cause, is_over=over, lacking=lacking
    )


def _passed(
    thought: Thought, wanted: Wanted, facts: PoolFacts, records: tuple[PoolRecord, PoolRecord]
) -> Passed:
    """Return what events are made from. records: the one before the pass, and the one after it."""
    (before, after), seen = records, wanted.seen
    asked_by = seen.documents.asked_by
    return Passed(
        before=before,
        after=after,
        steps=thought.steps,
        seen=seen.machines,
        machines=facts.machines,
        cause=cause_of(after, seen.machines, wanted.desired, asked_by),
        declared_by=asked_by,
        policy=wanted.policy,
        is_leaving=wanted.is_leaving,
        now=wanted.now,
    )


def status_of(wanted: Wanted, facts: PoolFacts) -> PoolStatus | None:
    """Return what the owner is to see, or None if that is what is seen already."""
    progress, applied, seen = facts.progress, facts.record.applied, wanted.seen
    sentence, known = sentence_of(facts), seen.status.conditions if seen.status else ()
    status = PoolStatus(
        state=state_of(facts),
        sentence=sentence,
        version=applied.version if applied else "",
        updated=facts.updated,
        available=progress.available if progress else 0,
        total=progress.total if progress else 0,
        desired=wanted.desired,
        conditions=conditions_of(facts, sentence, known, wanted.now),
    )
    return None if status == seen.status else status


def wake_of(wanted: Wanted, facts: PoolFacts, secrets: SecretPlan) -> datetime | None:
    """Return when to look again even if nothing happens."""
    due = [wait.until for wait in facts.waits]
    if facts.record.adoption:
        due.append(wanted.now + LOOK_AGAIN)
    due += [secrets.wake, *overdue_moments(wanted, facts.record), _closing(wanted, facts)]
    return min((moment for moment in due if moment and moment > wanted.now), default=None)


def _closing(wanted: Wanted, facts: PoolFacts) -> datetime | None:
    """Return when an edge that replaces machines by itself must be told to wait."""
    if not wanted.edge_replaces or not facts.record.is_rolling:
        return None
    last = last_start(wanted.policy.windows, wanted.now, wanted.policy.estimate)
    return last + JUST_AFTER if last else None


def shown_with(shown: Plan, steps: tuple[Step, ...]) -> Plan:
    """Return the plan, which changes a pool in place if any of these steps is seen outside."""
    disturbs = any(not isinstance(step, SecretStep) for step in steps)
    if shown.change is ChangeClass.NONE and disturbs:
        return shown.but(change=ChangeClass.IN_PLACE)
    return shown
