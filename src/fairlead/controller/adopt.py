"""What a pass does about a fix that a pool's owner asked for: see rollout/adoption.py."""

from fairlead.answers.plan import Plan
from fairlead.controller.revise import Wanted, situation_of
from fairlead.decision.decision import Decision, ReplaceMachines
from fairlead.rollout.adoption import Asked, adopted, reason_for
from fairlead.rollout.plan import rollout_plan_of
from fairlead.rollout.record import PoolRecord


def with_adoption(
    wanted: Wanted, decision: Decision, record: PoolRecord, shown: Plan
) -> tuple[PoolRecord, Plan]:
    """Return the record and the plan with those that are replaced for a fix, if any are."""
    record = _adopted(wanted, record)
    if record.adoption is None or record.is_rolling or isinstance(decision, ReplaceMachines):
        return record, shown  # a rollout replaces them anyway
    situation, because = situation_of(wanted, record), reason_for(record.adoption)
    shown = shown.but(because=because, target=situation.target)
    return record, rollout_plan_of(situation, shown)


def _adopted(wanted: Wanted, record: PoolRecord) -> PoolRecord:
    seen = wanted.seen
    if wanted.problems or wanted.is_leaving or record.target is None:
        return record
    asked = Asked(
        policy=wanted.policy,
        machines=seen.machines,
        fixes=seen.fixes,
        approved=seen.plan,
        asked_by=seen.documents.asked_by,
        now=wanted.now,
    )
    return adopted(record, asked, is_seeded=seen.record is None)
