"""
What a Machine says of its own change in place: annotations that nobody but the operator writes.

Cluster API copies the Secret that a MachineSet names onto Machines that it made before, so what a
machine has and what it heads for stand in annotations of our own, and completion is judged by them
alone. All that is known of a change is here and in the cluster that the node is in: an operator
that takes over goes on where the last one ended.
"""

from __future__ import annotations

import enum
from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import datetime

from fairlead.answers.words import Phase
from fairlead.errors import InputError
from fairlead.kept_text import parse_value, render_value
from fairlead.kube.answer import Object
from fairlead.kube.resource import GROUP
from fairlead.rollout.machines import Machine

# What a machine has: '' from the moment on which its node may have parts of two revisions.
REVISION = f"{GROUP}/revision"
HEADING_FOR = f"{GROUP}/heading-for"
CHANGE = f"{GROUP}/change"
# Of the last boot that failed: which change it was part of, or '', and what stopped it. Noted by
# the payload service, to which a machine whose kubelet died still speaks.
BOOT_FAILED = f"{GROUP}/boot-failed"


class ChangeStage(enum.Enum):
    """How far a change in place has come."""

    DRAIN = "drain"
    APPLY = "apply"
    FAILED = "failed"


@dataclass(frozen=True, slots=True, kw_only=True)
class Change:
    """
    One change in place. to: the revision.

    since: when this stage began. problem: what it waits for or failed of, or ''.
    """

    to: str
    stage: ChangeStage
    since: datetime
    problem: str = ""


def heads_elsewhere(found: Object) -> bool:
    """Say whether a machine that stays is told to change in place."""
    return HEADING_FOR in annotations_of(found) and "deletionTimestamp" not in found["metadata"]


def annotations_of(found: Object) -> Mapping[str, str]:
    """Return the annotations of an object."""
    return found["metadata"].get("annotations") or {}


def change_of(found: Object) -> Change | None:
    """
    Return the change that was begun, for what the machine heads for or did before; or None.

    Raises InputError if somebody else wrote it.
    """
    text = annotations_of(found).get(CHANGE)
    try:
        return parse_value(Change, text) if text else None
    except InputError as error:
        raise InputError(
            f"the annotation {CHANGE} is none of ours: {error}",
            hint="remove it: the change begins again",
        ) from error


def applied_since(found: Object) -> str:
    """Return what tells the change that is being applied from all others, or '' if none is."""
    change = change_of(found)
    if change is None or change.stage is not ChangeStage.APPLY:
        return ""
    is_wanted = annotations_of(found).get(HEADING_FOR) == change.to
    return change.since.isoformat() if is_wanted else ""


def failed_boot(change: str, says: str) -> dict[str, str]:
    """Return the annotation that keeps what stopped a boot, with the change that it was part of."""
    return {BOOT_FAILED: f"{change} {says}"}


def failure_of_change(found: Object) -> str:
    """Return what stopped the boot of the change that is being applied, or ''."""
    of, _, says = annotations_of(found).get(BOOT_FAILED, "").partition(" ")
    return says if of and of == applied_since(found) else ""


def kept_change(change: Change) -> dict[str, str]:
    """Return the annotation that keeps a change."""
    return {CHANGE: render_value(change)}


def with_change(machine: Machine, found: Object) -> Machine:
    """
    Return a machine with what its own annotations say of it.

    A drain is waited for as long as its owner lets it: what may take too long is only the rest.
    """
    annotations = annotations_of(found)
    machine = replace(machine, revision=annotations.get(REVISION, machine.revision))
    heading = annotations.get(HEADING_FOR, "")
    if heading in ("", machine.revision) or machine.is_leaving:
        return machine
    machine = replace(machine, heading_for=heading, since=None)
    change = change_of(found)
    if change is None or change.to != heading:
        return machine
    if change.stage is ChangeStage.APPLY:
        machine = replace(machine, since=change.since)
    if change.stage is ChangeStage.FAILED:
        machine = replace(machine, phase=Phase.FAILED, ready_at=None, since=change.since)
    return replace(machine, problem=change.problem or machine.problem)
