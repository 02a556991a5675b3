"""
What a pass would do, from one read of the world. Pure: a preview is this, and nothing else.

The steps stand in the order in which they are safe: a pair exists before a template names it,
and a pair expires only after nothing names it; a machine is marked to go first before a template
has one machine fewer.
"""

from dataclasses import replace
from datetime import datetime

from fairlead.answers.plan import Plan
from fairlead.answers.wait import Wait
from fairlead.answers.words import WaitFor
from fairlead.controller.adopt import with_adoption
from fairlead.controller.conclude import shown_with, status_of, told, wake_of
from fairlead.controller.observe import Snapshot
from fairlead.controller.pairs import needed_pairs, problem_after, secrets_for, unserved_of
from fairlead.controller.pointers import begun_with, overdue_of, pointers_of
from fairlead.controller.revise import Wanted, revise, situation_of
from fairlead.controller.roll import facts_after
from fairlead.controller.template import setting_steps, template_steps
from fairlead.controller.thought import Thought
from fairlead.decision.decide import decide
from fairlead.decision.decision import Decision, DeletePool, Overdue, ReplaceMachines
from fairlead.inputs.leaf import Unusable
from fairlead.revision.revision import Revision
from fairlead.rollout.approval import Approval, agreed
from fairlead.rollout.record import PoolRecord
from fairlead.rollout.secrets import SecretPlan
from fairlead.rollout.start import start
from fairlead.rollout.step import MarkMachine
from fairlead.timeline.conditions import PoolFacts


def think(seen: Snapshot, now: datetime) -> Thought:
    """
    Return what a pass at this moment would do.

    In the order of the specification: what is wanted; the three pointers; the decision; whether
    it may become the target now; what that does to machines, and whether it is complete; the
    secrets that all of this names, which are known only then; and what is told about it. Failures
    are judged after the start: what halted an earlier target does not hold the next.
    """
    wanted = revise(seen, now)
    record, desired = pointers_of(wanted)
    goal, approved = agreed(seen.plan, record, desired)
    decision = _decision_of(wanted, record, goal)
    facts, shown = _facts_of(wanted, record, decision, approved, desired)
    facts, secrets = _with_secrets(wanted, facts, desired)
    marks = tuple(step for step in facts.steps if isinstance(step, MarkMachine))
    others = tuple(step for step in facts.steps if not isinstance(step, MarkMachine))
    first = (*secrets.before, *marks, *template_steps(seen, facts.template))
    then = (*setting_steps(wanted, facts.machines), *others, *secrets.after)
    thought = Thought(
        policy=wanted.policy,
        decision=decision,
        first=first,
        then=then,
        shown=shown_with(shown, first + then),
        waits=facts.waits,
        stub=wanted.stub,
        approved=approved,
        wake=wake_of(wanted, facts, secrets),
        status=status_of(wanted, facts),
        desired=desired if isinstance(desired, Revision) and not wanted.is_leaving else None,
    )
    return told(thought, wanted, facts)


def _facts_of(
    wanted: Wanted,
    record: PoolRecord,
    decision: Decision,
    approved: Approval | None,
    desired: Revision | Unusable,
) -> tuple[PoolFacts, Plan]:
    """Return the pool once what was decided is begun, and what a rollout would do."""
    if unserved := unserved_of(wanted, record, decision, desired):
        wanted = replace(wanted, unserved=unserved)
    settled, situation = decision, situation_of(wanted, record)
    begun, shown = start(decision, record, situation, approved)
    if begun is not record and begun.target:
        begun, settled = begun_with(wanted, begun, begun.target, desired)
        wanted = replace(wanted, unserved=unserved_of(wanted, begun, settled, desired))
    elif unagreed := _unagreed(decision, shown):
        wanted = replace(wanted, unagreed=unagreed)
        situation = situation_of(wanted, record)
    begun, shown = with_adoption(wanted, decision, begun, shown)
    # Of most pools nothing begins, and the record is handed on as it is.
    situation = situation if begun is record else situation_of(wanted, begun)
    return facts_after(wanted, settled, begun, situation, shown.waits), shown


def _unagreed(decision: Decision, shown: Plan) -> tuple[Wait, ...]:
    """Return why what the owner wants now must be planned again; a limit of theirs is no wish."""
    if not isinstance(decision, ReplaceMachines) or isinstance(decision.because, Overdue):
        return ()
    return tuple(wait for wait in shown.waits if wait.wait_for is WaitFor.PLAN)


def _with_secrets(
    wanted: Wanted, facts: PoolFacts, desired: Revision | Unusable
) -> tuple[PoolFacts, SecretPlan]:
    needed = needed_pairs(wanted, facts, desired)
    problem = problem_after(wanted.seen, needed, facts.record)
    if problem and not facts.pinned_problem:
        facts = replace(facts, pinned_problem=problem)
    return facts, secrets_for(wanted, facts, needed)


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
