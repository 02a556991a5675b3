"""
Going on after a halt: once per value that the owner writes.

What failed until then is forgiven and leaves, so that its place is free for another try. The
names are remembered until the machines are gone: a controller that is cut off in between would
count them again and halt for what was forgiven.
"""

from dataclasses import replace
from datetime import datetime

from fairlead.rollout.in_place import degradation_of
from fairlead.rollout.machines import Machine
from fairlead.rollout.policy import Policy
from fairlead.rollout.progress import failure_of
from fairlead.rollout.record import MOST_HONOURED, PoolRecord


def resumed(
    record: PoolRecord, machines: tuple[Machine, ...], policy: Policy, now: datetime
) -> PoolRecord:
    """
    Return the record with the request seen, and without its halt if the request is a fresh one.

    A request that comes while nothing is halted changes nothing, now or later.
    """
    if record.forgiven:
        there = {machine.name for machine in machines}
        record = replace(record, forgiven=tuple(name for name in record.forgiven if name in there))
    if not policy.resume or policy.resume in record.resumed:
        return record
    told = replace(record, resumed=(*record.resumed, policy.resume)[-MOST_HONOURED:])
    if not record.halted and not degradation_of(machines, record.forgiven):
        return told
    target = record.target.id if record.target else ""
    failing = {
        machine.name
        for machine in machines
        if (machine.revision == target or machine.heading_for) and failure_of(machine, policy, now)
    }
    return replace(
        told, failed=(), halted="", forgiven=tuple(sorted(failing.union(record.forgiven)))
    )
