"""
Whether a change of machines is made in place: in place, or not at all. Pure.

Cluster API applies the patches of an answer to what is there, and compares. What is equal then is
changed in place, and what is not is replaced: silence replaces machines. So of machines whose owner
wants them changed in place only, all is covered or the answer is a failure, on which nothing moves.

How a machine boots is not compared at all. Where nothing else differs, an empty answer would mean
that we change machines which we know nothing of: then a difference is made, and they are replaced.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from fairlead.errors import InputError
from fairlead.kube.answer import Object
from fairlead.kube.extension.wire import Hook, merge_patch, part_of, text_at
from fairlead.kube.names import owner_of, pair_of
from fairlead.kube.resource import GROUP

# What the owner of a MachineDeployment says of it; Cluster API copies it onto its MachineSets.
IN_PLACE = f"{GROUP}/in-place"
ONLY = "only"

# Fields of a machine that Cluster API does not compare, with those of `deletion` beside them.
NOT_COMPARED = frozenset(
    {
        *("clusterName", "bootstrap", "infrastructureRef", "providerID"),
        *("minReadySeconds", "readinessGates", "taints"),
    }
)
NOT_COMPARED_OF_DELETION = frozenset(
    {
        *("nodeDrainTimeoutSeconds", "nodeVolumeDetachTimeoutSeconds"),
        "nodeDeletionTimeoutSeconds",
    }
)

# A failure domain that no machine has: with it nothing is equal.
REPLACED = "fairlead-does-not-change-this-in-place"

WAY_OUT = (
    f"take it back, or take the annotation {IN_PLACE} from the MachineDeployment to have its "
    "machines replaced"
)


@dataclass(frozen=True, slots=True)
class Asked:
    """What a hook is about: the names of its objects, and where in each the compared part is."""

    machine: str
    infrastructure: str
    bootstrap: str
    path: tuple[str, ...]


ASKED = {
    Hook.CAN_UPDATE_MACHINE: Asked(
        "machine", "infrastructureMachine", "bootstrapConfig", ("spec",)
    ),
    Hook.CAN_UPDATE_MACHINE_SET: Asked(
        *("machineSet", "infrastructureMachineTemplate", "bootstrapConfigTemplate"),
        path=("spec", "template", "spec"),
    ),
}


@dataclass(frozen=True, slots=True)
class Claim:
    """
    What is answered. patches: by the field of the answer.

    pool: the one whose machines are changed in place, '' if none is.
    """

    patches: Object
    pool: str = ""


def claim_of(hook: Hook, request: Object) -> Claim:
    """
    Return what of a change is made in place.

    Raises InputError if its machines change in place only, and it cannot be made so.
    """
    asked = ASKED[hook]
    current, desired = part_of(request, "current"), part_of(request, "desired")
    differing = list(_differing(asked, current, desired))
    if not _wants_in_place(hook, request):
        if differing:
            return Claim({})
        patch = merge_patch(asked.path, {"failureDomain": REPLACED})
        return Claim({f"{asked.machine}Patch": patch})
    pool = _pool_of(asked, current, desired)
    version = f"{asked.machine}.{'.'.join(asked.path)}.version"
    uncovered = [one for one in differing if one != version]
    if uncovered:
        raise InputError("cannot be changed in place", field=uncovered[0], hint=WAY_OUT)
    if not differing:
        return Claim({}, pool)
    wanted = part_of(desired, asked.machine, *asked.path).get("version")
    return Claim({f"{asked.machine}Patch": merge_patch(asked.path, {"version": wanted})}, pool)


def _wants_in_place(hook: Hook, request: Object) -> bool:
    """Say whether the machines of a request are changed in place only. Raises InputError."""
    said = {
        text_at(request, side, ASKED[hook].machine, "metadata", "annotations", IN_PLACE)
        for side in ("current", "desired")
    } - {""}
    if said - {ONLY}:
        field = f"metadata.annotations.{IN_PLACE}"
        raise InputError(f"found {min(said - {ONLY})!r}, expected {ONLY!r}", field=field)
    return bool(said)


def _pool_of(asked: Asked, current: Object, desired: Object) -> str:
    """Return the pool that machines have their user data from, and get it from. Or InputError."""
    pool = owner_of(_labelled(part_of(desired, asked.machine)))
    field = f"{asked.machine}.{'.'.join(asked.path)}.bootstrap.dataSecretName"
    pairs = []
    for side in (current, desired):
        told = text_at(side, asked.machine, *asked.path, "bootstrap", "dataSecretName")
        pairs.append(pair_of(told, pool) if pool else "")
        if not pairs[-1]:
            problem = f"found {told!r}, expected user data of a pool of Fairlead"
            raise InputError(problem, field=field, hint=WAY_OUT)
    if pairs[0] == pairs[1]:
        problem = "is what it was: there is nothing that a node could be changed to"
        raise InputError(problem, field=field, hint=WAY_OUT)
    return pool


def _labelled(found: Object) -> Object:
    """Return what says whose an object is, known to be text."""
    labels = part_of(found, "metadata", "labels")
    if not all(isinstance(one, str) for one in labels.values()):
        raise InputError("is not text", field="metadata.labels")
    return {"metadata": {"namespace": text_at(found, "metadata", "namespace"), "labels": labels}}


def _differing(asked: Asked, current: Object, desired: Object) -> Iterator[str]:
    """Yield the fields that Cluster API would find to differ."""
    for name in (asked.machine, asked.infrastructure, asked.bootstrap):
        one, other = (part_of(side, name, *asked.path) for side in (current, desired))
        if name == asked.machine:
            one, other = _compared(one), _compared(other)
        yield from _paths(one, other, ".".join((name, *asked.path)))


def _compared(spec: Object) -> Object:
    kept = {name: value for name, value in spec.items() if name not in NOT_COMPARED}
    deletion = part_of(spec, "deletion")
    kept["deletion"] = {
        name: value for name, value in deletion.items() if name not in NOT_COMPARED_OF_DELETION
    }
    return kept


def _paths(one: Any, other: Any, at: str) -> Iterator[str]:
    if isinstance(one, dict) and isinstance(other, dict):
        for name in sorted({*one, *other}):
            yield from _paths(one.get(name), other.get(name), f"{at}.{name}")
    elif one != other:
        yield at
