"""
Many boots as one: the median of every start and duration, with the least and the most.

Medians are taken per span, so the spans of the result need not fit together as those of one boot
do: a part may seem longer than its whole. Unfinished spans are left out, since how long they took
is not known.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from statistics import median
from typing import Any

from fairlead.boots.boot import MS_PER_S, BootTimeline, Mark, Path, Span, in_reading_order
from fairlead.contract.boot_report import DONE, UNFINISHED
from fairlead.errors import InputError


@dataclass(frozen=True, slots=True)
class Spread:
    """What was seen of one quantity, in ms."""

    median_ms: float
    least_ms: float
    most_ms: float
    boots: int


@dataclass(frozen=True, slots=True)
class SpanSpread:
    """A span over many boots. `outcomes` counts how it ended."""

    path: Path
    owner: str
    start: Spread
    took: Spread
    outcomes: dict[str, int]


@dataclass(frozen=True, slots=True)
class MarkSpread:
    """A mark over many boots."""

    name: str
    owner: str
    at: Spread


@dataclass(frozen=True, slots=True)
class BootMedians:
    """Many boots that share one axis."""

    boots: int
    zero: str
    spans: tuple[SpanSpread, ...]
    marks: tuple[MarkSpread, ...]


def spread_of(values: Iterable[float]) -> Spread:
    """Return median, least and most of at least one value."""
    found = sorted(values)
    return Spread(round(median(found), 1), found[0], found[-1], len(found))


def medians_of(timelines: Sequence[BootTimeline]) -> BootMedians:
    """Return the medians of at least one boot. Raises InputError if their axes differ."""
    zeros = {timeline.zero for timeline in timelines}
    if len(zeros) != 1:
        raise InputError(
            "these boots have no common start: some count from PID 1, some from the agent's start",
            hint="take reports of one kind together",
        )
    spans: dict[tuple[Path, str], list[Span]] = {}
    marks: dict[tuple[str, str], list[float]] = {}
    for timeline in timelines:
        for span in _one_per_path(timeline.spans):
            spans.setdefault((span.path, span.owner), []).append(span)
        for mark in timeline.marks:
            marks.setdefault((mark.name, mark.owner), []).append(mark.at_ms)
    return BootMedians(
        boots=len(timelines),
        zero=zeros.pop(),
        spans=tuple(_span_spread(found) for found in spans.values()),
        marks=tuple(
            MarkSpread(name, owner, spread_of(found)) for (name, owner), found in marks.items()
        ),
    )


def _one_per_path(spans: Iterable[Span]) -> list[Span]:
    first: dict[Path, Span] = {}
    for span in spans:
        if span.outcome != UNFINISHED:
            first.setdefault(span.path, span)
    return list(first.values())


def _span_spread(found: list[Span]) -> SpanSpread:
    outcomes: dict[str, int] = {}
    for span in found:
        outcomes[span.outcome] = outcomes.get(span.outcome, 0) + 1
    return SpanSpread(
        found[0].path,
        found[0].owner,
        spread_of(span.start_ms for span in found),
        spread_of(round(span.took_ms, 1) for span in found),
        outcomes,
    )


def median_timeline(medians: BootMedians) -> BootTimeline:
    """Return the medians as a timeline that can be drawn."""
    return BootTimeline(
        title="with least..most of what each span took",
        verdict=f"medians of {medians.boots} boots",
        zero=medians.zero,
        spans=in_reading_order(_median_span(spread, medians.boots) for spread in medians.spans),
        marks=tuple(
            sorted(
                (Mark(spread.name, spread.owner, spread.at.median_ms) for spread in medians.marks),
                key=lambda mark: (mark.at_ms, mark.name),
            )
        ),
    )


def _median_span(spread: SpanSpread, boots: int) -> Span:
    outcomes = spread.outcomes
    outcome = max(outcomes, key=lambda name: outcomes[name])
    said = _range(spread.took)
    if spread.took.boots < boots:
        said += f", in {spread.took.boots} of {boots} boots"
    others = [f"{count} {name}" for name, count in outcomes.items() if name not in (outcome, DONE)]
    said += "".join(f", {other}" for other in others)
    start_ms = spread.start.median_ms
    end_ms = round(start_ms + spread.took.median_ms, 1)
    return Span(spread.path, spread.owner, start_ms, end_ms, outcome, said)


def _range(spread: Spread) -> str:
    if spread.most_ms >= MS_PER_S:
        return f"{spread.least_ms / MS_PER_S:.2f}..{spread.most_ms / MS_PER_S:.2f} s"
    return f"{spread.least_ms:.1f}..{spread.most_ms:.1f} ms"


def medians_fields(medians: BootMedians) -> dict[str, Any]:
    """Return the medians as JSON values."""
    return {
        "boots": medians.boots,
        "zero": medians.zero,
        "spans": [
            {
                "name": "/".join(spread.path),
                "owner": spread.owner,
                "start_ms": spread_fields(spread.start),
                "took_ms": spread_fields(spread.took),
                "outcomes": spread.outcomes,
            }
            for spread in medians.spans
        ],
        "marks": [
            {"name": spread.name, "owner": spread.owner, "at_ms": spread_fields(spread.at)}
            for spread in medians.marks
        ],
    }


def spread_fields(spread: Spread) -> dict[str, float]:
    """Return the spread as JSON values."""
    return {
        "median": spread.median_ms,
        "least": spread.least_ms,
        "most": spread.most_ms,
        "boots": spread.boots,
    }
