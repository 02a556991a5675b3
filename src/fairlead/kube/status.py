"""The status of a NodePool as its definition has it, from what the controller says. Pure."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

from fairlead.answers.pool import PoolStatus
from fairlead.answers.text import shortened
from fairlead.answers.words import PoolState
from fairlead.kept_text import parse_document, render_value
from fairlead.kube.answer import Object
from fairlead.kube.names import POOL_LABEL

# The condition that says whether the operator can go on with a pool, and what the rest is before
# any pass has ended.
GOES_ON = "ReconciliationActive"
NOTHING_YET = {"version": "", "updated": 0, "available": 0, "replicas": 0, "desired": 0}

LONGEST_MESSAGE = 3000


def status_fields(status: PoolStatus, found: Object) -> Object:
    """Return a status as the definition of NodePools has it."""
    written: Any = parse_document(render_value(status))
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
    return dict(written)


def failed_status(known: Object, reason: str, says: str, now: datetime) -> Object:
    """
    Return a status that says why the last pass could not be ended.

    Counts and other conditions stay what they were: that is the last that is known.
    """
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
        "conditions": [conditions[kind] for kind in sorted(conditions)],
    }


def kept_condition(condition: Object) -> Object:
    """Return a condition as the controller reads it back."""
    names = ("type", "status", "reason", "message")
    return {**{name: condition[name] for name in names}, "since": condition["lastTransitionTime"]}


def _whole_second(moment: str) -> str:
    """Return a moment as Kubernetes writes them: UTC, whole seconds."""
    date, _, _ = moment.partition("+")
    return date.partition(".")[0].removesuffix("Z") + "Z"
