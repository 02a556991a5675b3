"""The status of a NodePool as its definition has it, from what the controller says. Pure."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from datetime import UTC, datetime

import msgspec

from fairlead.answers.pool import PoolStatus
from fairlead.answers.text import shortened
from fairlead.answers.words import PoolState
from fairlead.kube.answer import Object
from fairlead.kube.names import POOL_LABEL

# The condition that says whether the operator can go on with a pool.
GOES_ON = "ReconciliationActive"

# Why it cannot: what is declared, or what stands in a cluster, is refused; anything else.
REFUSED, PASS_FAILED = "Refused", "PassFailed"
FAILED = frozenset({REFUSED, PASS_FAILED})

# What no pass thinks about, and only this edge knows: there while it is False.
REACHED = "ReachedWorkloadCluster"
EDGE_GOES_ON = "ClusterAPIActive"
OF_EDGE = frozenset({REACHED, EDGE_GOES_ON})

# What the rest of a status is before any pass has ended.
NOTHING_YET = {"version": "", "updated": 0, "available": 0, "replicas": 0, "desired": 0}

# What a pass judges of documents that it cannot use. What it says besides is of the machines that
# are there, and those are of what was declared before.
OF_DOCUMENTS = frozenset(
    {GOES_ON, "ConfigUpdatePending", "SupportedVersionSkew", "ValidConfig", "ValidRelease"}
)

LONGEST_MESSAGE = 3000


def status_fields(status: PoolStatus, found: Object) -> Object:
    """Return a status as the definition of NodePools has it."""
    written: Object = msgspec.to_builtins(status)
    written["replicas"] = written.pop("total")
    written["conditions"] = [
        {
            "type": one["type"],
            "status": one["status"],
            "reason": one["reason"],
            "message": one["message"],
            "lastTransitionTime": _whole_second(one["since"]),
        }
        for one in written["conditions"]
    ]
    written["selector"] = f"{POOL_LABEL}={found['metadata']['name']}"
    return written


def of_controller(conditions: Iterable[Object]) -> list[Object]:
    """Return those conditions that the controller wrote."""
    return [one for one in conditions if one["type"] not in OF_EDGE]


def of_edge(conditions: Iterable[Object]) -> list[Object]:
    """Return those conditions that only this edge knows of."""
    return [one for one in conditions if one["type"] in OF_EDGE]


def with_edge(conditions: Iterable[Object], told: Iterable[Object]) -> list[Object]:
    """Return conditions with these in the place of what only this edge knew before."""
    before = list(conditions)
    since = {one["type"]: one["lastTransitionTime"] for one in of_edge(before)}
    return of_controller(before) + [
        {**one, "lastTransitionTime": since.get(one["type"], one["lastTransitionTime"])}
        for one in told
    ]


def edge_condition(kind: str, reason: str, says: str, now: datetime) -> Object:
    """Return a condition that is there while it is False: why its edge cannot act for a pool."""
    return {
        "type": kind,
        "status": "False",
        "reason": reason,
        "message": shortened(says, LONGEST_MESSAGE),
        "lastTransitionTime": _whole_second(now.astimezone(UTC).isoformat()),
    }


def stamped_by_pass(conditions: Iterable[Object], found: Object) -> list[Object]:
    """Return what a pass over this NodePool says, with the generation that each was judged at."""
    told = list(conditions)
    said = {one["type"]: one["status"] for one in told}
    is_refused = said.get("ConfigUpdatePending") == "Unknown" or "False" in (
        said.get("ValidConfig"),
        said.get("ValidRelease"),
    )
    return _stamped(told, found, OF_DOCUMENTS | OF_EDGE if is_refused else said)


def failed_status(found: Object, reason: str, says: str, now: datetime) -> Object:
    """
    Return a status of this NodePool that says why the last pass could not be ended.

    Counts and other conditions stay what they were, of the generation that they were about: that
    is the last that is known.
    """
    known = found.get("status") or {}
    message = shortened(says, LONGEST_MESSAGE)
    conditions = {one["type"]: one for one in known.get("conditions") or ()}
    before = conditions.get(GOES_ON, {})
    since = before.get("lastTransitionTime", "") if before.get("status") == "False" else ""
    conditions[GOES_ON] = {
        **before,
        "type": GOES_ON,
        "status": "False",
        "reason": reason,
        "message": message,
        "lastTransitionTime": since or _whole_second(now.astimezone(UTC).isoformat()),
    }
    return {
        **NOTHING_YET,
        **known,
        "state": PoolState.BLOCKED.value,
        "sentence": message,
        "conditions": _stamped([conditions[kind] for kind in sorted(conditions)], found, {GOES_ON}),
    }


def is_failed(status: Object) -> bool:
    """Say whether a status says that the last pass could not be ended."""
    told = (one for one in status.get("conditions") or () if one["type"] == GOES_ON)
    return any(one["reason"] in FAILED for one in told)


def kept_condition(condition: Object) -> Object:
    """Return a condition as the controller reads it back."""
    names = ("type", "status", "reason", "message")
    return {**{name: condition[name] for name in names}, "since": condition["lastTransitionTime"]}


def _stamped(conditions: Iterable[Object], found: Object, judged: Collection[str]) -> list[Object]:
    """
    Return conditions with their generations; those that are not judged now keep theirs.

    `kubectl wait` takes no word about an earlier generation for one about this.
    """
    known, generation = found.get("status") or {}, found["metadata"]["generation"]
    before = {
        one["type"]: one.get("observedGeneration", 0) for one in known.get("conditions") or ()
    }
    return [
        {**one, "observedGeneration": generation if kind in judged else before.get(kind, 0)}
        for one in conditions
        if (kind := one["type"])
    ]


def _whole_second(moment: str) -> str:
    """Return a moment as Kubernetes writes them: UTC, whole seconds."""
    date, _, _ = moment.partition("+")
    return date.partition(".")[0].removesuffix("Z") + "Z"
