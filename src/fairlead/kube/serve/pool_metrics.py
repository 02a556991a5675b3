"""
What the status of all pools says in numbers.

Only pools that are being rolled out have a label of their own: a fleet has thousands, and nobody
asks for the progress of what stands still.
"""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from fairlead.answers.words import PoolState
from fairlead.errors import InputError
from fairlead.kept_text import parse_document
from fairlead.kube.answer import Object
from fairlead.kube.informer import Key
from fairlead.kube.packed import Packed
from fairlead.kube.serve.metric_text import Metric, Sample, by_label, gauge

HELD = ("ConfigUpdatePending", "True")
ROLLING = (PoolState.ROLLING_OUT.value, PoolState.SUPERSEDING.value)

# Ages of what is held, in seconds; beyond the last it is "older".
AGES = {"1h": 3600.0, "1d": 86_400.0, "7d": 604_800.0, "30d": 2_592_000.0}
OLDER = "older"


@dataclass(frozen=True, slots=True)
class Told:
    """
    What the status of one pool says in numbers.

    held: component and beginning of every change that it holds. rollout: machines wanted, with what
    is wanted, and ready; None while nothing rolls.
    """

    namespace: str
    pool: str
    state: str
    is_held: bool
    held: tuple[tuple[str, datetime], ...]
    rollout: tuple[int, int, int] | None


def told_of(pool: Object) -> Told:
    """Return what the status of a NodePool says in numbers."""
    status, metadata = _status(pool), pool["metadata"]
    state, is_held = str(status.get("state", "New")), _is_held(pool)
    rollout = None
    if state in ROLLING:
        rollout = status.get("desired", 0), status.get("updated", 0), status.get("available", 0)
    held = tuple(_held_in(pool)) if is_held else ()
    return Told(metadata["namespace"], metadata["name"], state, is_held, held, rollout)


class ToldPools:
    """What all pools say. A pool is unpacked again once it has changed, and at no other time."""

    def __init__(self) -> None:
        self._known: dict[Key, tuple[str, str, Told]] = {}
        self._lock = threading.Lock()

    def read(self, pools: Iterable[tuple[Key, Packed]]) -> list[Told]:
        """Return what these pools say, in this order; of others nothing is remembered."""
        with self._lock:
            known, self._known = self._known, {}
            for key, one in pools:
                uid, version, told = known.get(key, ("", "", None))
                if told is None or (uid, version) != (one.uid, one.version):
                    told = told_of(one.object)
                self._known[key] = one.uid, one.version, told
            return [told for _, _, told in self._known.values()]


def pool_metrics(known: Collection[Told], now: datetime) -> tuple[Metric, ...]:
    """Return what is told of these pools at this moment."""
    states = Counter(one.state for one in known)
    held = [one for pool in known for one in pool.held]
    ages = [(component, max(0.0, (now - since).total_seconds())) for component, since in held]
    oldest: dict[str, float] = {}
    for component, age in ages:
        oldest[component] = max(age, oldest.get(component, 0.0))
    bands = Counter((component, _band(age)) for component, age in ages)
    return (
        by_label(
            "pools", "Pools by state.", "state", {one.value: states[one.value] for one in PoolState}
        ),
        gauge(
            "held_pools",
            "Pools with a platform change that is held.",
            sum(one.is_held for one in known),
        ),
        Metric(
            "held_changes",
            "gauge",
            "Platform changes that pools do not have, by component and how long they are held.",
            tuple(
                Sample(bands[component, age], {"component": component, "age": age})
                for component in sorted(oldest)
                for age in (*AGES, OLDER)
            ),
        ),
        by_label(
            "oldest_held_seconds",
            "Age of the oldest held change of a component.",
            "component",
            dict(sorted(oldest.items())),
        ),
        _progress(known),
    )


def _progress(pools: Iterable[Told]) -> Metric:
    samples = [
        Sample(count, {"namespace": one.namespace, "pool": one.pool, "part": part})
        for one in pools
        if one.rollout is not None
        for part, count in zip(("desired", "updated", "available"), one.rollout, strict=True)
    ]
    says = "Machines of pools that are being rolled out: wanted, with what is wanted, and ready."
    return Metric("rollout_machines", "gauge", says, tuple(samples))


def _status(pool: Object) -> Object:
    status: Object = pool.get("status") or {}
    return status


def _is_held(pool: Object) -> bool:
    conditions = _status(pool).get("conditions") or ()
    return any((one["type"], one["status"]) == HELD for one in conditions)


def _held_in(pool: Object) -> Iterator[tuple[str, datetime]]:
    """Return component and beginning of every change that a pool holds."""
    try:
        record: Any = parse_document((_status(pool).get("record") or {}).get("text", "{}"))
    except InputError:
        return  # damaged: told where the pool is looked at
    for held in record.get("held") or ():
        yield held["leaf"].partition(".")[0], datetime.fromisoformat(held["since"])


def _band(age: float) -> str:
    return next((name for name, most in AGES.items() if age <= most), OLDER)
