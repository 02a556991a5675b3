"""
Replacing the machines that lack a fix, because their owner asked for it.

The request is a setting of the pool: it is in no hash, so machines that have the fix stay, and so
do those that are made meanwhile. Which machines it is about is settled once, by the first pass that
sees the request, and never grows: a fix that does not take would replace machines for ever.
Budgets, windows, batches and halts hold for them as in any rollout.
"""

from collections.abc import Iterable
from dataclasses import dataclass, replace
from datetime import datetime, timedelta

from fairlead.answers.fix import Adoption
from fairlead.rollout.approval import Approval
from fairlead.rollout.fixes import Fixes, lacks
from fairlead.rollout.machines import Machine
from fairlead.rollout.policy import Policy
from fairlead.rollout.record import PoolRecord

# What is published is looked at this often while machines are replaced for it.
LOOK_AGAIN = timedelta(seconds=15)

DONE = "all that lacked it when its owner asked are replaced"
TAKEN_BACK = "the pool's owner no longer asks for it"


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """What the documents, the machines and the depot say at one moment."""

    policy: Policy
    machines: tuple[Machine, ...]
    fixes: Fixes
    approved: Approval | None
    asked_by: str
    now: datetime


def reason_for(adoption: Adoption) -> str:
    """Return why machines are replaced, to follow the word because."""
    return f"the pool's owner wants no machine without the fix {adoption.fix}"


def lacking_in(adoption: Adoption | None, machines: Iterable[Machine]) -> frozenset[str]:
    """Return the machines that are still to be replaced for a fix."""
    if adoption is None:
        return frozenset()
    named = set(adoption.machines)
    return frozenset(
        machine.name
        for machine in machines
        if machine.name in named and not machine.is_leaving and lacks(machine, adoption.fix)
    )


def adopted(record: PoolRecord, asked: Asked, *, is_seeded: bool) -> PoolRecord:
    """
    Return the record with a request that is new, or without one that is over.

    is_seeded: there was no record, so nobody knows whether the request was answered; it counts as
    answered. Where what is published cannot be read, everything stays as it is.
    """
    request = asked.policy.without
    if is_seeded:
        return replace(record, adopted=request.key)
    if asked.fixes.problem:
        return record
    if record.adoption and record.adopted != request.key:
        record = ended(record, TAKEN_BACK)
    if record.adopted != request.key:
        record = _begun(record, asked)
    if record.adoption and (why := why_stopped(record.adoption.fix, asked.fixes)):
        return ended(record, why)
    return record


def why_stopped(version: str, fixes: Fixes) -> str:
    """Return why no machine is to be replaced for a fix, or ''."""
    fix = fixes.by_version.get(version)
    if fix is None:
        return f"{version} is not published here"
    return f"{version} is not given to machines: {fix.stopped}" if fix.stopped else ""


def ended(record: PoolRecord, why: str) -> PoolRecord:
    """Return the record after the last step for a fix. A halt was about these steps alone."""
    record = replace(record, adoption=None, adoption_over=why)
    if record.is_rolling:
        return record
    return replace(record, failed=(), halted="", forgiven=())


def _begun(record: PoolRecord, asked: Asked) -> PoolRecord:
    request = asked.policy.without
    record = replace(record, adopted=request.key)
    if not request.fix:
        return record
    record = replace(record, adoption_over="")
    shown = asked.approved if asked.approved and asked.approved.adopts == request.key else None
    names = tuple(
        machine.name
        for machine in asked.machines
        if not machine.is_leaving
        and lacks(machine, request.fix)
        and (shown is None or machine.name in shown.disturbed)
    )
    if not names and not why_stopped(request.fix, asked.fixes):
        return record
    adoption = Adoption(
        fix=request.fix, machines=names, started_at=asked.now, asked_by=asked.asked_by
    )
    return replace(record, adoption=adoption)
