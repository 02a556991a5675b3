"""
The three pointers of a pool, and what is known about the way from one to the next.

applied: every machine has it. target: what the template was told. desired: computed here on every
pass, never stored.
"""

from dataclasses import replace
from datetime import datetime

from fairlead.controller.evidence import seed
from fairlead.controller.moment import Moment
from fairlead.controller.revise import revision_wanted
from fairlead.decision.decide import Circumstances
from fairlead.decision.held import HeldChange, held_changes, overdue_at
from fairlead.inputs.leaf import Unusable
from fairlead.revision.difference import difference_of
from fairlead.revision.revision import Revision
from fairlead.rollout.machines import Template
from fairlead.rollout.progress import halt_cause, progress_of
from fairlead.rollout.record import PoolRecord
from fairlead.rollout.resume import resumed


def pointers_of(here: Moment) -> tuple[PoolRecord, Revision | Unusable]:
    """Return the record with applied and target, and desired, the third pointer."""
    seen, wanted = here.seen, here.wanted
    content = wanted.policy.content
    first = revision_wanted(wanted, seen, content, wanted.policy.force)
    record = seed(seen, first, content)
    if wanted.policy.force and wanted.policy.force not in record.honoured:
        return record, first
    force = record.target.force if record.target else wanted.policy.force
    if force == wanted.policy.force:
        return record, first
    return record, revision_wanted(wanted, seen, content, force)


def held_of(
    here: Moment, record: PoolRecord, revision: Revision | Unusable
) -> tuple[HeldChange, ...]:
    """Return the platform changes that the target lacks."""
    if here.is_leaving:
        return record.held
    if record.target is None or here.wanted.platform is None or isinstance(revision, Unusable):
        # What was held when it could last be computed is the best that is known.
        return record.held
    changes = difference_of(record.target, revision).platform
    return held_changes(changes, here.wanted.platform.notices, record.held, here.now)


def circumstances_of(here: Moment, record: PoolRecord) -> Circumstances:
    """Return what else the rule looks at."""
    force = here.wanted.policy.force
    limits = here.wanted.policy.maximum_age
    return Circumstances(
        force="" if force in record.honoured else force,
        held=record.held,
        overdue=tuple(
            held
            for held in record.held
            if (moment := overdue_at(held, limits)) is not None and moment <= here.now
        ),
        is_empty=not here.seen.machines and not here.desired,
        is_leaving=here.is_leaving,
    )


def overdue_moments(here: Moment, record: PoolRecord) -> list[datetime | None]:
    """Return when each held change becomes a rollout."""
    return [overdue_at(held, here.wanted.policy.maximum_age) for held in record.held]


def judged(here: Moment, record: PoolRecord) -> PoolRecord:
    """Return the record with the machines of its target that failed, and whether it halts."""
    if here.is_leaving:
        return record
    policy = here.wanted.policy
    record = resumed(record, here.seen.machines, policy, here.now)
    if not record.is_rolling or record.target is None:
        return record
    template = Template(revision=record.target.id, version="", machine_template={}, replicas=0)
    found = progress_of(here.seen.machines, template, here.desired, policy, here.now).failed
    failed = tuple(sorted({*record.failed, *found}.difference(record.forgiven)))
    halted = record.halted or halt_cause(here.seen.machines, failed, policy, here.now)
    return replace(record, failed=failed, halted=halted)
