"""
What a pass would do, from one read of the world. Pure: a preview is this, and nothing else.

The steps stand in the order in which they are safe: a pair exists before a template names it,
and a pair expires only after nothing names it.
"""

from dataclasses import dataclass, replace
from datetime import datetime, timedelta

from fairlead.controller.moment import Moment, moment_of, situation_of
from fairlead.controller.observe import PoolStatus, Snapshot
from fairlead.controller.pairs import pairs_of, problem_after, refreshes, stub_of
from fairlead.controller.pointers import (
    circumstances_of,
    held_of,
    judged,
    overdue_moments,
    pointers_of,
)
from fairlead.controller.state import state_of
from fairlead.controller.template import setting_steps, template_of, template_steps
from fairlead.decision.decide import decide
from fairlead.decision.decision import Decision, Keep
from fairlead.inputs.platform_inputs import Stub
from fairlead.rollout.edge import watch_edge
from fairlead.rollout.leave import last_secrets
from fairlead.rollout.machines import Template
from fairlead.rollout.plan import MachinePlan, Situation, plan_machines
from fairlead.rollout.progress import Progress, progress_of
from fairlead.rollout.record import ChangeClass, PoolRecord, RolloutPlan
from fairlead.rollout.secrets import SecretPlan, plan_secrets
from fairlead.rollout.start import Start, start
from fairlead.rollout.step import SecretStep, Step
from fairlead.rollout.wait import Wait, WaitFor
from fairlead.rollout.window import last_start
from fairlead.timeline.conditions import PoolFacts, conditions_of, sentence_of
from fairlead.timeline.event import Event, deletion_of, events_of

JUST_AFTER = timedelta(microseconds=1)


@dataclass(frozen=True, slots=True, kw_only=True)
class Thought:
    """
    Everything that a pass would write, and why.

    first: steps before the record is written, so that what it names exists; then: those after it.
    record and status are None if they are to stay as they are. shown: what the rollout would do
    as a whole, also if something holds it. wake: when to look again even if nothing happens.
    is_over: nothing of a deleted pool is left; it is to be forgotten.
    """

    decision: Decision
    first: tuple[Step, ...]
    then: tuple[Step, ...]
    events: tuple[Event, ...]
    record: PoolRecord | None
    status: PoolStatus | None
    shown: RolloutPlan
    waits: tuple[Wait, ...]
    stub: Stub
    wake: datetime | None
    is_over: bool = False

    @property
    def steps(self) -> tuple[Step, ...]:
        """All steps, in order."""
        return self.first + self.then


def think(seen: Snapshot, now: datetime) -> Thought:
    """Return what a pass at this moment would do."""
    here = moment_of(seen, now)
    record, revision = pointers_of(here)
    record = replace(record, held=held_of(here, record, revision))
    decision = decide(record.target, revision, circumstances_of(here, record))

    begun = start(decision, record, situation_of(here, record), seen.plan)
    record = judged(here, begun.record)
    situation = situation_of(here, record)
    template = template_of(here, record, situation)
    plan = _machine_plan(here, situation)
    progress = _progress(here, plan, template)
    if record.is_rolling and progress and progress.is_complete and not here.is_leaving:
        record = replace(
            record, applied=record.target, failed=(), halted="", forgiven=(), plan=None
        )
        plan = _machine_plan(here, situation_of(here, record))  # what halted it is over

    facts = PoolFacts(
        # What a target was set for is settled with it; the record says why it was set.
        decision=Keep(record.target) if begun.is_started and record.target else decision,
        record=record,
        progress=progress,
        machines=plan.after,
        waits=_all_waits(begun, plan, record, template),
        refreshes=refreshes(here, record),
        problems=here.wanted.problems,
        fetched=any(machine.booted for machine in seen.machines),
    )
    pairs = pairs_of(here, facts, template, revision)
    facts = replace(facts, pinned_problem=problem_after(pairs, record))
    is_over = here.is_leaving and not situation.is_stopped and not facts.machines
    secrets = last_secrets(pairs) if is_over else plan_secrets(pairs, now)
    first = (*secrets.before, *template_steps(seen, template))
    then = (*setting_steps(here, situation), *plan.steps, *secrets.after)
    known = seen.record or PoolRecord(pool=seen.pool, serial=seen.first_serial)
    record = _numbered(record, seen.record, known.serial)
    events = events_of(known, record, first + then, facts.machines, now)
    status = _status(here, facts)
    return Thought(
        decision=decision,
        first=first,
        then=then,
        events=(*events, deletion_of(record, now)) if is_over else events,
        record=None if record == seen.record else record,
        status=None if status == seen.status else status,
        shown=_shown(begun.shown, first + then),
        waits=facts.waits,
        stub=stub_of(here),
        wake=_wake(here, facts, secrets),
        is_over=is_over,
    )


def _numbered(record: PoolRecord, known: PoolRecord | None, serial: int) -> PoolRecord:
    """Return the record with the next number if it says anything that the known one does not."""
    if known and replace(record, serial=serial) == known:
        return known
    return replace(record, serial=serial + 1)


def _wake(here: Moment, facts: PoolFacts, secrets: SecretPlan) -> datetime | None:
    due = [wait.until for wait in facts.waits]
    due += [secrets.wake, *overdue_moments(here, facts.record), _closing(here, facts)]
    return min((moment for moment in due if moment and moment > here.now), default=None)


def _closing(here: Moment, facts: PoolFacts) -> datetime | None:
    """Return when an edge that replaces machines by itself must be told to wait."""
    if not here.seen.replaces_by_itself or not facts.record.is_rolling:
        return None
    policy = here.wanted.policy
    last = last_start(policy.windows, here.now, policy.estimate)
    return last + JUST_AFTER if last else None


def _machine_plan(here: Moment, situation: Situation) -> MachinePlan:
    if not situation.target and not situation.is_leaving:
        return MachinePlan((), situation.machines, ())
    if here.seen.replaces_by_itself:
        return watch_edge(situation)
    return plan_machines(situation)


def _progress(here: Moment, plan: MachinePlan, template: Template | None) -> Progress | None:
    if template is None:
        return None
    return progress_of(plan.after, template, here.desired, here.wanted.policy, here.now)


def _all_waits(
    begun: Start, plan: MachinePlan, record: PoolRecord, template: Template | None
) -> tuple[Wait, ...]:
    waits = tuple(dict.fromkeys((*begun.waits, *plan.waits)))
    if not waits and record.is_rolling and template:
        return (Wait(wait_for=WaitFor.OBSERVED, says="the template was not observed yet"),)
    return waits


def _status(here: Moment, facts: PoolFacts) -> PoolStatus:
    seen, progress = here.seen, facts.progress
    previous = seen.status.conditions if seen.status else ()
    applied = facts.record.applied
    return PoolStatus(
        state=state_of(facts),
        sentence=sentence_of(facts),
        version=applied.version if applied else "",
        updated=progress.updated if progress else 0,
        available=progress.available if progress else 0,
        total=progress.total if progress else 0,
        desired=here.desired,
        conditions=conditions_of(facts, previous, here.now),
    )


def _shown(shown: RolloutPlan, steps: tuple[Step, ...]) -> RolloutPlan:
    disturbs = [step for step in steps if not isinstance(step, SecretStep)]
    if shown.change is ChangeClass.NONE and disturbs:
        return replace(shown, change=ChangeClass.IN_PLACE)
    return shown
