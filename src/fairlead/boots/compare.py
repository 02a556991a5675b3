"""
Two boots, or two sets of boots, held against each other: where the time went or came from.

Spans are compared by how long they took, marks by when they were reached. A ratio against less
than a millisecond says nothing, so there is none.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from fairlead.boots.boot import BootTimeline
from fairlead.boots.medians import BootMedians, Spread, medians_of, spread_fields

# The resolution of a report is 0.1 ms; a tenth of its value is what a ratio may be off.
LEAST_RATIO_MS = 1.0

SPAN = "span"
MARK = "mark"


@dataclass(frozen=True, slots=True)
class Difference:
    """One span or mark in A and in B. `a` or `b` is None where that side does not have it."""

    kind: str
    name: str
    owner: str
    a: Spread | None
    b: Spread | None

    @property
    def delta_ms(self) -> float | None:
        """B minus A, in medians; None if one side does not have it."""
        if self.a is None or self.b is None:
            return None
        return round(self.b.median_ms - self.a.median_ms, 1)

    @property
    def ratio(self) -> float | None:
        """B divided by A; None where that would say nothing."""
        if self.a is None or self.b is None or self.a.median_ms < LEAST_RATIO_MS:
            return None
        return round(self.b.median_ms / self.a.median_ms, 3)


def compare_boots(a: Sequence[BootTimeline], b: Sequence[BootTimeline]) -> tuple[Difference, ...]:
    """
    Return every span and mark of both sides, the largest difference first.

    What only one side has comes last, by its own size. Raises InputError if axes differ.
    """
    medians_of([*a, *b])  # refuses boots that do not share an axis
    sides = [_quantities(medians_of(side)) for side in (a, b)]
    keys = dict.fromkeys([*sides[0], *sides[1]])
    found = [Difference(*key, sides[0].get(key), sides[1].get(key)) for key in keys]
    return tuple(sorted(found, key=_size))


def _quantities(medians: BootMedians) -> dict[tuple[str, str, str], Spread]:
    found = {(SPAN, "/".join(s.path), s.owner): s.took for s in medians.spans}
    return {**found, **{(MARK, m.name, m.owner): m.at for m in medians.marks}}


def _size(difference: Difference) -> tuple[bool, float, str]:
    delta_ms = difference.delta_ms
    if delta_ms is None:
        only = difference.a or difference.b
        return True, -abs(only.median_ms) if only else 0.0, difference.name
    return False, -abs(delta_ms), difference.name


def difference_fields(difference: Difference) -> dict[str, Any]:
    """Return the difference as JSON values."""
    return {
        "kind": difference.kind,
        "name": difference.name,
        "owner": difference.owner,
        "a_ms": None if difference.a is None else spread_fields(difference.a),
        "b_ms": None if difference.b is None else spread_fields(difference.b),
        "delta_ms": difference.delta_ms,
        "ratio": difference.ratio,
    }
