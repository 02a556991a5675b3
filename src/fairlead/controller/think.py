"""
What a pass would do, from one read of the world. Pure: a preview is this, and nothing else.

The steps stand in the order in which they are safe: a pair exists before a template names it,
and a pair expires only after nothing names it.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import datetime, timedelta

from fairlead.answers.event import Event
from fairlead.answers.plan import Plan
from fairlead.answers.pool import PoolStatus
from fairlead.answers.wait import Wait
from fairlead.answers.words import ChangeClass, WaitFor
from fairlead.controller.observe import Snapshot
from fairlead.controller.pairs import needed_pairs, problem_after, refreshes
from fairlead.controller.pointers import judged, overdue_moments, overdue_of, pointers_of
from fairlead.controller.revise import Wanted, revise, situation_of
from fairlead.controller.state import state_of
from fairlead.controller.template import setting_steps, template_of, template_steps
from fairlead.decision.decide import decide
from fairlead.decision.decision import Decision, DeletePool, Keep
from fairlead.inputs.leaf import Unusable
from fairlead.inputs.platform_inputs import Stub
from fairlead.revision.revision import Revision
from fairlead.rollout.edge import watch_edge
from fairlead.rollout.leave import last_secrets
from fairlead.rollout.machines import Template
from fairlead.rollout.plan import MachinePlan, plan_machines
from fairlead.rollout.policy import Policy
from fairlead.rollout.progress import Progress, progress_of
from fairlead.rollout.record import PoolRecord
from fairlead.rollout.secrets import Need, SecretPlan, plan_secrets
from fairlead.rollout.situation import Situation
from fairlead.rollout.start import start
from fairlead.rollout.step import SecretStep, Step
from fairlead.rollout.window import last_start
from fairlead.timeline.conditions import PoolFacts, conditions_of, sentence_of
from fairlead.timeline.event import deletion_of, events_of

JUST_AFTER = timedelta(microseconds=1)


@dataclass(frozen=True, slots=True, kw_only=True)
class Thought:
    """
    Everything that a pass would write, and why.

    policy: how and when, as the documents say. first: steps before the record is written, so that
    what it names exists; then: those after it. shown: what the rollout would do as a whole, also
    if something holds it. wake: when to look again even if nothing happens. status and record are
    None if they are to stay as they are. is_over: nothing of a deleted pool is left; it is to be
    forgotten.
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
    record: PoolRecord | None = None
    events: tuple[Event, ...] = ()
    is_over: bool = False

    @property
    def steps(self) -> tuple[Step, ...]:
        """All steps, in order."""
        return self.first + self.then


def think(seen: Snapshot, now: datetime) -> Thought:
    """
    Return what a pass at this moment would do.

    In the order of the specification: what is wanted; the three pointers; the decision; whether
    it may become the target now; what that does to machines, and whether it is complete; what is
    told about it; the secrets that all of this names, which are known only then.
    """
    wanted = revise(seen, now)
    record, desired = pointers_of(wanted)
    decision = _decision_of(wanted, record, desired)
    begun, shown = start(decision, record, situation_of(wanted, record), seen.plan)
    # After the start: what halted an earlier target does not hold the next.
    rolled, template, machines = _rolled(wanted, judged(begun, situation_of(wanted, begun)))
    # What a target was set for is settled with it; the record says why it was set.
    settled = Keep(begun.target) if begun is not record and begun.target else decision
    facts = _facts_of(wanted, settled, rolled, (template, machines), shown.waits)
    needed = needed_pairs(wanted, facts, template, desired)
    facts = replace(facts, pinned_problem=problem_after(seen, needed, rolled))
    secrets = _secret_plan(wanted, facts, needed)
    first = (*secrets.before, *template_steps(seen, template))
    then = (*setting_steps(wanted), *machines.steps, *secrets.after)
    thought = Thought(
        policy=wanted.policy,
        decision=decision,
        first=first,
        then=then,
        shown=_shown(shown, first + then),
        waits=facts.waits,
        stub=wanted.stub,
        wake=_wake(wanted, facts, secrets),
        status=_status(wanted, facts),
    )
    return _told(thought, wanted, facts)


def _decision_of(wanted: Wanted, record: PoolRecord, desired: Revision | Unusable) -> Decision:
    if wanted.is_leaving:
        return DeletePool(record.target)
    return decide(
        record.target,
        desired,
        record.held,
        overdue_of(wanted, record),
        is_empty=not wanted.seen.machines and not wanted.desired,
    )


def _rolled(wanted: Wanted, record: PoolRecord) -> tuple[PoolRecord, Template | None, MachinePlan]:
    """Return the record once the next steps are taken, complete if they complete it."""
    situation = situation_of(wanted, record)
    template = template_of(wanted, record, situation)
    machines = _machine_plan(wanted, situation)
    progress = _progress(wanted, machines, template)
    if not record.is_rolling or not progress or not progress.is_complete or wanted.is_leaving:
        return record, template, machines
    record = replace(record, applied=record.target, failed=(), halted="", forgiven=(), plan=None)
    # Planned again, because what halted it is over.
    return record, template, _machine_plan(wanted, situation_of(wanted, record))


def _facts_of(
    wanted: Wanted,
    decision: Decision,
    record: PoolRecord,
    after: tuple[Template | None, MachinePlan],
    waits: tuple[Wait, ...],
) -> PoolFacts:
    template, machines = after
    return PoolFacts(
        decision=decision,
        record=record,
        progress=_progress(wanted, machines, template),
        machines=machines.after,
        waits=_all_waits(waits + machines.waits, record, template),
        refreshes=refreshes(wanted, record),
        problems=wanted.problems,
        fetched=any(machine.booted for machine in wanted.seen.machines),
    )


def _is_over(wanted: Wanted, facts: PoolFacts) -> bool:
    return wanted.is_leaving and not wanted.is_stopped and not facts.machines


def _secret_plan(wanted: Wanted, facts: PoolFacts, needed: Mapping[str, Need]) -> SecretPlan:
    tokens, user_data = wanted.seen.tokens, wanted.seen.user_data
    if _is_over(wanted, facts):
        return last_secrets(tokens.keys() | user_data.keys())
    return plan_secrets(tokens, user_data, needed, wanted.stub, wanted.now)


def _told(thought: Thought, wanted: Wanted, facts: PoolFacts) -> Thought:
    """Return the thought with its record, numbered if it says anything new, and its events."""
    seen, now = wanted.seen, wanted.now
    known = seen.record or PoolRecord(pool=seen.pool, serial=seen.first_serial)
    is_known = replace(facts.record, serial=known.serial) == seen.record
    record = known if is_known else replace(facts.record, serial=known.serial + 1)
    events = events_of(known, record, thought.steps, facts.machines, now)
    if is_over := _is_over(wanted, facts):
        events = (*events, deletion_of(record, now))
    return replace(thought, record=None if is_known else record, events=events, is_over=is_over)


def _wake(wanted: Wanted, facts: PoolFacts, secrets: SecretPlan) -> datetime | None:
    due = [wait.until for wait in facts.waits]
    due += [secrets.wake, *overdue_moments(wanted, facts.record), _closing(wanted, facts)]
    return min((moment for moment in due if moment and moment > wanted.now), default=None)


def _closing(wanted: Wanted, facts: PoolFacts) -> datetime | None:
    """Return when an edge that replaces machines by itself must be told to wait."""
    if not wanted.seen.replaces_by_itself or not facts.record.is_rolling:
        return None
    last = last_start(wanted.policy.windows, wanted.now, wanted.policy.estimate)
    return last + JUST_AFTER if last else None


def _machine_plan(wanted: Wanted, situation: Situation) -> MachinePlan:
    if not situation.target and not situation.is_leaving:
        return MachinePlan((), situation.machines, ())
    if wanted.seen.replaces_by_itself:
        return watch_edge(situation)
    return plan_machines(situation)


def _progress(wanted: Wanted, machines: MachinePlan, template: Template | None) -> Progress | None:
    if template is None:
        return None
    return progress_of(machines.after, template, wanted.desired, wanted.policy, wanted.now)


def _all_waits(
    waits: tuple[Wait, ...], record: PoolRecord, template: Template | None
) -> tuple[Wait, ...]:
    if not waits and record.is_rolling and template:
        return (Wait(wait_for=WaitFor.OBSERVED, says="the template was not observed yet"),)
    return tuple(dict.fromkeys(waits))


def _status(wanted: Wanted, facts: PoolFacts) -> PoolStatus | None:
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


def _shown(shown: Plan, steps: tuple[Step, ...]) -> Plan:
    disturbs = [step for step in steps if not isinstance(step, SecretStep)]
    if shown.change is ChangeClass.NONE and disturbs:
        return shown.but(change=ChangeClass.IN_PLACE)
    return shown
