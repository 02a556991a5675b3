"""
One boot as spans and marks on one axis: milliseconds after the start of PID 1.

Three clocks meet in a report. systemd's stamps are on the axis already; the agent's stages count
from the start of its run, which the fact `clock` puts on the same clock; cloud-init's own stamps
were put there by the agent. A report without `boot` (an agent in a directory, no systemd) still
gives a timeline: then zero is the start of the agent, and `zero` says so.

A report comes from a machine, so every number in it may be wrong: what is not a time is left out.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any

from fairlead.contract.boot_report import (
    DONE,
    STOPPED,
    UNFINISHED,
    BootReport,
    StageReport,
    parse_report,
)
from fairlead.contract.json_text import Pairs, encode_json, parse_json
from fairlead.errors import InputError

SYSTEMD = "systemd"
CLOUD_INIT = "cloud-init"
FAIRLEAD = "fairlead"
KUBERNETES = "kubernetes"
OWNERS = (SYSTEMD, CLOUD_INIT, FAIRLEAD, KUBERNETES)

PID_1 = "PID 1"
AGENT_START = "the agent's start"

AGENT = "agent"
REGISTRATION = "provision/wait-for-node"

# group of the fact `boot`, name in it: (what it is called here, whose time it is). One name for
# what distributions and cloud-init versions call differently, so that boots can be compared.
NAMES = {
    ("systemd", "kernel"): ("kernel", SYSTEMD),
    ("systemd", "initrd"): ("initrd", SYSTEMD),
    ("systemd", "startup"): ("whole boot", SYSTEMD),
    ("systemd", "generators"): ("generators", SYSTEMD),
    ("systemd", "load-units"): ("load units", SYSTEMD),
    ("units", "systemd-networkd"): ("networkd", SYSTEMD),
    ("units", "walinuxagent"): ("guest agent", SYSTEMD),
    ("units", "waagent"): ("guest agent", SYSTEMD),
    ("units", "sysinit.target"): ("sysinit.target", SYSTEMD),
    ("units", "network-online.target"): ("network-online.target", SYSTEMD),
    ("units", "multi-user.target"): ("multi-user.target", SYSTEMD),
    ("units", "cloud-init.target"): ("cloud-init.target", CLOUD_INIT),
    ("units", "cloud-init-main"): ("cloud-init main", CLOUD_INIT),
    ("units", "cloud-init-local"): ("cloud-init local", CLOUD_INIT),
    ("units", "cloud-init"): ("cloud-init network", CLOUD_INIT),
    ("units", "cloud-init-network"): ("cloud-init network", CLOUD_INIT),
    ("units", "cloud-config"): ("cloud-init config", CLOUD_INIT),
    ("units", "cloud-final"): ("cloud-init final", CLOUD_INIT),
    ("units", "fairlead-node-seed"): ("seed reader", FAIRLEAD),
    ("units", "fairlead-node"): ("agent unit", FAIRLEAD),
    ("units", "aks-node-controller"): ("agent unit", FAIRLEAD),
    ("units", "containerd"): ("containerd", KUBERNETES),
    ("units", "kubelet"): ("kubelet", KUBERNETES),
    ("cloud-init", "init-local"): ("cloud-init local/work", CLOUD_INIT),
    ("cloud-init", "init"): ("cloud-init network/work", CLOUD_INIT),
    ("cloud-init", "modules-config"): ("cloud-init config/work", CLOUD_INIT),
    ("cloud-init", "modules-final"): ("cloud-init final/work", CLOUD_INIT),
}

# 11 days: no boot is longer, and no drawing has to cope with more.
FURTHEST_MS = 1e9
US_PER_MS = 1000
MS_PER_S = 1000

Path = tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Span:
    """
    Something that took time. `path` is its name below the names of what it is a part of.

    An unfinished span ends at the last instant that the timeline knows. `cause` says why, unless
    all is as expected.
    """

    path: Path
    owner: str
    start_ms: float
    end_ms: float
    outcome: str = DONE
    cause: str = ""

    @property
    def name(self) -> str:
        """The name without what it is a part of."""
        return self.path[-1]

    @property
    def depth(self) -> int:
        """How many spans this one is a part of."""
        return len(self.path) - 1

    @property
    def took_ms(self) -> float:
        """How long it took; of an unfinished span, so far."""
        return self.end_ms - self.start_ms


@dataclass(frozen=True, slots=True)
class Mark:
    """Something that was reached, and took no time."""

    name: str
    owner: str
    at_ms: float


@dataclass(frozen=True, slots=True)
class BootTimeline:
    """One boot. Spans lie in reading order: by start, each followed by its parts."""

    title: str
    verdict: str
    zero: str
    spans: tuple[Span, ...]
    marks: tuple[Mark, ...]

    @property
    def begin_ms(self) -> float:
        """Where a drawing begins: at zero, or before it if the kernel's time is known."""
        return min([0.0, *(span.start_ms for span in self.spans)])

    @property
    def end_ms(self) -> float:
        """The last instant that is known."""
        return max([0.0, *(s.end_ms for s in self.spans), *(m.at_ms for m in self.marks)])


def parse_boots(text: bytes) -> list[BootReport]:
    """
    Return the boots in a provision.json, or in what `fairlead-node report --json [--all]` printed.

    Raises InputError that says what was found instead.
    """
    value = parse_json(text)
    if isinstance(value, list) and not isinstance(value, Pairs):
        if not value:
            raise InputError("holds no boot", hint="no run was recorded on this machine")
        return [_parse_boot(item) for item in value]
    return [_parse_boot(value)]


def _parse_boot(value: Any) -> BootReport:
    fields = dict(value) if isinstance(value, Pairs) else {}
    if "fairlead" in fields:
        fields = dict(fields["fairlead"]) if isinstance(fields["fairlead"], Pairs) else {}
    elif "ExitCode" in fields:
        raise InputError(
            "this provision.json was written by the image's scripts and has no `fairlead` object",
            hint="run `fairlead-node report --json` on the machine and use its output",
        )
    if "run" not in fields or not isinstance(fields.get("stages", []), list):
        raise InputError(
            "is not a boot report", hint="expected provision.json or `fairlead-node report --json`"
        )
    return parse_report(encode_json(fields).encode())


def with_own_causes(timeline: BootTimeline) -> BootTimeline:
    """Return the timeline with each cause at the span that it is of, and not at wholes as well."""
    spans = tuple(_with_own_cause(span, timeline.spans) for span in timeline.spans)
    return replace(timeline, spans=spans)


def _with_own_cause(span: Span, spans: Iterable[Span]) -> Span:
    for part in spans:
        is_part = part.depth > span.depth and part.path[: len(span.path)] == span.path
        if is_part and part.cause and span.cause.endswith(part.cause):
            return replace(span, cause=span.cause.removesuffix(part.cause).rstrip(": "))
    return span


def boot_timeline_of(report: BootReport) -> BootTimeline:
    """Return the timeline of a report. Never raises: what is not a time is left out."""
    clock, boot = report.facts.get("clock"), report.facts.get("boot")
    offset_ms = _offset_ms(clock, boot)
    known = _boot_entries(boot or {}) if offset_ms is not None else []
    run = _run_span(report, offset_ms or 0.0)
    zero = PID_1 if offset_ms is not None else AGENT_START
    entries = [*known, run, *_stage_entries(report, run.start_ms)]
    marks = [mark for mark in entries if isinstance(mark, Mark)]
    when = "" if report.exit_code is None else f" {duration(run.end_ms)} after {zero}"
    return BootTimeline(
        title=f"boot {report.run_id} of {report.started}, agent {report.agent}, "
        f"layout {report.layout}",
        verdict=_verdict(report) + when,
        zero=zero,
        spans=in_reading_order(_ended(entries, marks)),
        marks=tuple(sorted(marks, key=lambda mark: (mark.at_ms, mark.name))),
    )


def _verdict(report: BootReport) -> str:
    if report.exit_code is None:
        return "has not ended"
    return "provisioned" if report.exit_code == 0 else f"failed with exit code {report.exit_code}"


def _offset_ms(clock: Any, boot: Any) -> float | None:
    """Return when the agent's run began, after PID 1; None if the report does not say."""
    match clock, boot:
        case {"monotonic_us": int(begun_us)}, {"pid1_us": int(pid1_us)}:
            offset_us = begun_us - pid1_us
            if 0 <= offset_us <= FURTHEST_MS * US_PER_MS:
                return round(offset_us / US_PER_MS, 1)
    return None


def _find_time(value: Any) -> float | None:
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        return None
    # In this order: an integer may be too large to be turned into a float.
    if abs(value) > FURTHEST_MS or math.isnan(value):
        return None
    return round(float(value), 1)


def _boot_entries(boot: Mapping[str, Any]) -> list[Span | Mark]:
    entries = []
    for (group, name), (label, owner) in NAMES.items():
        values = boot.get(group)
        entry = values.get(name) if isinstance(values, dict) else None
        if isinstance(entry, list) and entry:
            found = _entry_of(label, owner, entry)
            if found is not None:
                entries.append(found)
    return entries


def _entry_of(label: str, owner: str, entry: list[Any]) -> Span | Mark | None:
    start_ms = _find_time(entry[0])
    if start_ms is None:
        return None
    path = tuple(label.split("/"))
    if len(entry) == 1:
        return Span(path, owner, start_ms, start_ms, UNFINISHED)
    end_ms = _find_time(entry[1])
    if end_ms is None or end_ms < start_ms:
        return None
    if label.endswith(".target"):
        return Mark(label, owner, start_ms)
    if end_ms == start_ms and len(path) == 1:
        # A unit that systemd takes for active as soon as it runs: only its start is known.
        return Mark(f"{label} started", owner, start_ms)
    outcome = STOPPED if entry[2:] == ["failed"] else DONE
    return Span(path, owner, start_ms, end_ms, outcome)


def _run_span(report: BootReport, offset_ms: float) -> Span:
    took_ms = max(0.0, _find_time(report.took_ms) or 0.0)
    outcome = {None: UNFINISHED, 0: DONE}.get(report.exit_code, STOPPED)
    cause = "" if outcome == DONE else _verdict(report)
    end_ms = round(offset_ms + took_ms, 1)
    return Span((AGENT,), FAIRLEAD, offset_ms, end_ms, outcome, cause)


def _stage_entries(report: BootReport, offset_ms: float) -> list[Span | Mark]:
    entries: list[Span | Mark] = []
    stages = {stage.name for stage in report.stages if "/" not in stage.name}
    for stage in report.stages:
        span = _stage_span(stage, offset_ms, stages)
        if span is None:
            continue
        entries.append(span)
        # With a cause it did not wait: the cluster was not to be reached.
        if stage.name == REGISTRATION and stage.outcome == DONE and not stage.cause:
            entries.append(Mark("node registered", KUBERNETES, span.end_ms))
    return entries


def _stage_span(stage: StageReport, offset_ms: float, stages: set[str]) -> Span | None:
    start_ms, took_ms = _find_time(stage.start_ms), _find_time(stage.took_ms)
    if start_ms is None or took_ms is None:
        return None
    outer, slash, step = stage.name.partition("/")
    path = (AGENT, outer, step) if slash and outer in stages else (AGENT, stage.name)
    begin_ms = round(offset_ms + start_ms, 1)
    end_ms = round(begin_ms + max(0.0, took_ms), 1)
    return Span(path, FAIRLEAD, begin_ms, end_ms, stage.outcome, stage.cause)


def _ended(entries: Iterable[Span | Mark], marks: list[Mark]) -> list[Span]:
    """Return the spans; what has not ended is drawn until the last instant that is known."""
    spans = [entry for entry in entries if isinstance(entry, Span)]
    last_ms = max([0.0, *(span.end_ms for span in spans), *(mark.at_ms for mark in marks)])
    return [
        replace(span, end_ms=max(span.end_ms, last_ms)) if span.outcome == UNFINISHED else span
        for span in spans
    ]


def in_reading_order(spans: Iterable[Span]) -> tuple[Span, ...]:
    """Return the spans by start, each followed by its parts; what started together stays so."""
    rows = list(spans)
    # Of two spans with one path the first has the say where their parts go.
    numbered = reversed(list(enumerate(rows)))
    places = {span.path: (span.start_ms, index) for index, span in numbered}

    def place(span: Span) -> list[tuple[float, int]]:
        prefixes = [span.path[: length + 1] for length in range(len(span.path))]
        return [places.get(prefix, places[span.path]) for prefix in prefixes]

    return tuple(sorted(rows, key=place))


def duration(ms: float) -> str:
    """Return `12.3 ms` or `1.23 s`."""
    return f"{ms / MS_PER_S:.2f} s" if abs(ms) >= MS_PER_S else f"{ms:.1f} ms"


def timeline_fields(timeline: BootTimeline) -> dict[str, Any]:
    """Return the timeline as JSON values."""
    return {
        "title": timeline.title,
        "verdict": timeline.verdict,
        "zero": timeline.zero,
        "spans": [
            {
                "name": "/".join(span.path),
                "owner": span.owner,
                "start_ms": span.start_ms,
                "end_ms": span.end_ms,
                "outcome": span.outcome,
                "cause": span.cause,
            }
            for span in timeline.spans
        ],
        "marks": [
            {"name": mark.name, "owner": mark.owner, "at_ms": mark.at_ms} for mark in timeline.marks
        ],
    }
