"""
A record to its machines: the next steps, what they leave behind, and whether the target is reached.
"""

from dataclasses import replace

from fairlead.answers.wait import Wait
from fairlead.answers.words import GAVE_UP, Strategy, WaitFor
from fairlead.controller.observe import Snapshot
from fairlead.controller.pairs import refreshes
from fairlead.controller.pointers import judged
from fairlead.controller.revise import (
    Wanted,
    adoption_waits,
    input_waits,
    situation_of,
)
from fairlead.controller.template import template_of
from fairlead.decision.decision import Decision
from fairlead.inputs.leaf import Unusable
from fairlead.inputs.parse import NodePool
from fairlead.inputs.registry import unapplied
from fairlead.rollout.adoption import DONE, ended, lacking_in
from fairlead.rollout.edge import watch_edge
from fairlead.rollout.machines import Template
from fairlead.rollout.plan import MachinePlan, plan_machines
from fairlead.rollout.progress import Progress, failing, progress_of
from fairlead.rollout.record import PoolRecord
from fairlead.rollout.repair import with_repairs
from fairlead.rollout.situation import Situation
from fairlead.timeline.conditions import PoolFacts


def facts_after(
    wanted: Wanted,
    decision: Decision,
    record: PoolRecord,
    situation: Situation,
    waits: tuple[Wait, ...],
) -> PoolFacts:
    """
    Return the pool once failures are judged and the next steps are taken.

    situation: that of the record. waits: what keeps a target from being set.
    """
    known, record = record, judged(record, situation)
    situation = situation if record is known else situation_of(wanted, record)
    template = template_of(wanted, record, situation)
    record, plan, progress = _planned(wanted, record, situation, template)
    waits = input_waits(wanted, decision) + adoption_waits(wanted, record) + waits
    return PoolFacts(
        decision=decision,
        record=_with_repairs(record, plan),
        template=template,
        steps=plan.steps,
        progress=progress,
        machines=plan.after,
        waits=_all_waits(waits + plan.waits, record, template),
        pinned_problem=wanted.unserved,
        refreshes=refreshes(wanted, record),
        in_place=wanted.policy.strategy is Strategy.IN_PLACE,
        problems=wanted.problems,
        repairs=wanted.policy.auto_repair,
        fetched=any(machine.booted for machine in wanted.seen.machines),
        not_applied=not_applied(wanted.seen, record, wanted.pool),
        lacking=lacking_in(record.adoption, plan.after),
        failures=_failures(wanted, plan),
        control_plane=wanted.control_plane,
        skew=wanted.skew,
    )


def _failures(wanted: Wanted, plan: MachinePlan) -> dict[str, str]:
    found = failing(plan.after, wanted.policy, wanted.now)
    return {machine.name: failure for machine, failure in found}


def _planned(
    wanted: Wanted, record: PoolRecord, situation: Situation, template: Template | None
) -> tuple[PoolRecord, MachinePlan, Progress | None]:
    """Return the record, without what is complete; the next steps; and how far machines are."""
    plan = _machine_plan(wanted, situation)
    progress = _progress_of(wanted, plan, template)
    if record.is_rolling and progress and progress.is_complete and not wanted.is_leaving:
        record = replace(
            record, applied=record.target, failed=(), halted="", forgiven=(), plan=None
        )
        # Planned again, because what halted it is over.
        plan = _machine_plan(wanted, situation_of(wanted, record))
        progress = _progress_of(wanted, plan, template)
    if _is_adopted(record, plan, progress):
        record = ended(record, DONE)
        plan = _machine_plan(wanted, situation_of(wanted, record))
    return record, plan, progress


def _is_adopted(record: PoolRecord, plan: MachinePlan, progress: Progress | None) -> bool:
    """Say whether nothing is left to do for a fix: who lacked it is gone, and others are ready."""
    if record.adoption is None or lacking_in(record.adoption, plan.after):
        return False
    return progress is not None and progress.is_settled


def not_applied(seen: Snapshot, record: PoolRecord, pool: NodePool) -> dict[str, str]:
    """Return what machines of this edge are told and do not apply, each with the reason."""
    if not seen.not_applied:
        return {}
    told = unapplied(record.target.leaves if record.target else {}, seen.not_applied)
    if isinstance(pool.settings, Unusable):
        return told
    return {**told, **unapplied(pool.settings, seen.not_applied)}


def _machine_plan(wanted: Wanted, situation: Situation) -> MachinePlan:
    if not situation.target and not situation.is_leaving:
        return MachinePlan((), situation, ())
    if wanted.edge_replaces or (wanted.edge_makes and situation.is_leaving):
        return watch_edge(situation, wanted.seen.template)
    return plan_machines(situation)


def _with_repairs(record: PoolRecord, plan: MachinePlan) -> PoolRecord:
    told = (wait.says for wait in plan.waits if wait.wait_for in GAVE_UP)
    if (stopped := next(told, "")) != record.repair_stopped:
        record = replace(record, repair_stopped=stopped)
    return with_repairs(record, plan.situation)


def _progress_of(wanted: Wanted, plan: MachinePlan, template: Template | None) -> Progress | None:
    if template is None:
        return None
    return progress_of(plan.after, template, wanted.desired, wanted.policy, wanted.now)


def _all_waits(
    waits: tuple[Wait, ...], record: PoolRecord, template: Template | None
) -> tuple[Wait, ...]:
    if not waits and record.is_rolling and template:
        return (Wait(wait_for=WaitFor.OBSERVED, says="the template was not observed yet"),)
    return tuple(dict.fromkeys(waits))
