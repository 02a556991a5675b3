"""
Numbers in the text format of Prometheus.

Written by hand: some dozen numbers, all known elsewhere, need no registry.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True)
class Sample:
    """One number. part: of a histogram, '_bucket', '_sum' or '_count'."""

    value: float
    labels: Mapping[str, str] = field(default_factory=dict)
    part: str = ""


@dataclass(frozen=True, slots=True)
class Metric:
    """One metric, its name without what all of ours begin with. kind: as Prometheus calls it."""

    name: str
    kind: str
    says: str
    samples: tuple[Sample, ...]


def gauge(name: str, says: str, value: float) -> Metric:
    """Return a number that goes up and down."""
    return Metric(name, "gauge", says, (Sample(value),))


def counter(name: str, says: str, value: float) -> Metric:
    """Return a number that goes up until the process ends."""
    return Metric(name, "counter", says, (Sample(value),))


def by_label(name: str, says: str, label: str, values: Mapping[str, float]) -> Metric:
    """Return one gauge for each value of a label."""
    samples = tuple(Sample(value, {label: word}) for word, value in values.items())
    return Metric(name, "gauge", says, samples)


def render_metrics(metrics: Iterable[Metric]) -> str:
    """Return all of them as one text."""
    return "".join(line for metric in metrics for line in _lines(metric))


def _lines(metric: Metric) -> Iterator[str]:
    name = f"fairlead_{metric.name}"
    yield f"# HELP {name} {metric.says}\n# TYPE {name} {metric.kind}\n"
    for sample in metric.samples:
        labels = ",".join(f'{label}="{_escaped(word)}"' for label, word in sample.labels.items())
        yield f"{name}{sample.part}{f'{{{labels}}}' if labels else ''} {_number(sample.value)}\n"


def _number(value: float) -> str:
    number = float(value)
    return str(int(number)) if number.is_integer() else repr(number)


def _escaped(word: str) -> str:
    return word.replace("\\", r"\\").replace('"', r"\"").replace("\n", r"\n")
