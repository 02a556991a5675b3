"""
The boot report: what a machine tells back, small enough for a cloud's status channel.

The agent builds it from its flight record; the control plane reads it into the timeline. Encoding
never fails on size: it shortens causes first, then drops detail, and says that it did.
"""

from __future__ import annotations

from fairlead.contract.json_text import Pairs, encode_line, parse_json, plain
from fairlead.errors import InputError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

# Azure's extension status keeps 4 KiB; a quarter is left for what wraps the report.
LARGEST_REPORT_BYTES = 3000

REPORT_FORMAT = 1

# Names that a receipt lists, and characters of one: a receipt is half a kilobyte.
MOST_IGNORED = 64
LONGEST_NAME = 200

# Milliseconds: three centuries.
LARGEST = 1e13

DONE = "done"
SKIPPED = "skipped"
STOPPED = "stopped"
# A stage that began and never ended: the agent was killed, or still runs.
UNFINISHED = "unfinished"
OUTCOMES = (DONE, SKIPPED, STOPPED, UNFINISHED)

# Tried in order until the report fits: how long a cause may be, how long that of a stage that
# stopped the boot (it holds the last lines of what failed), and whether done steps stay.
_SHORTENINGS = (
    (400, 1000, True),
    (120, 1000, True),
    (40, 600, True),
    (40, 600, False),
    (0, 600, False),
    (0, 40, False),
    (0, 0, False),
)


class StageReport:
    """
    One stage of a boot, or one step of a stage (named `stage/step`).

    `start_ms` counts from the start of the run; `cause` says why, unless all is as expected.
    """

    __slots__ = ("cause", "name", "outcome", "start_ms", "took_ms")

    def __init__(
        self, name: str, start_ms: float, took_ms: float, outcome: str, cause: str = ""
    ) -> None:
        self.name = name
        self.start_ms = start_ms
        self.took_ms = took_ms
        self.outcome = outcome
        self.cause = cause


class BootReport:
    """
    One run of the agent on one machine.

    `exit_code` is None while the run has not ended. `facts` holds what the run found out beside
    its stages: the contract receipt, the hotfix decision, boot datapoints.
    """

    __slots__ = ("agent", "exit_code", "facts", "layout", "run_id", "stages", "started", "took_ms")

    def __init__(self, run_id: str, *, agent: str, layout: str, started: str) -> None:
        self.run_id = run_id
        self.agent = agent
        self.layout = layout
        self.started = started
        self.took_ms = 0.0
        self.exit_code: int | None = None
        self.stages: list[StageReport] = []
        self.facts: dict[str, Any] = {}


def report_fields(report: BootReport) -> dict[str, Any]:
    """Return the whole report as JSON values, nothing shortened."""
    return {
        "format": REPORT_FORMAT,
        "run": report.run_id,
        "agent": report.agent,
        "layout": report.layout,
        "started": report.started,
        "took_ms": report.took_ms,
        "exit": report.exit_code,
        "stages": [
            [stage.name, stage.start_ms, stage.took_ms, stage.outcome, stage.cause]
            for stage in report.stages
        ],
        "facts": dict(report.facts),
    }


def compact_fields(report: BootReport) -> dict[str, Any]:
    """Return the report as JSON values whose encoding is at most LARGEST_REPORT_BYTES."""
    fields = report_fields(report)
    if _size(fields) <= LARGEST_REPORT_BYTES:
        return fields
    fields["shortened"] = True
    for longest_cause, longest_stopped, keeps_steps in _SHORTENINGS:
        longest = (longest_cause, longest_stopped)
        fields["stages"] = _shortened_stages(report, longest, keeps_steps=keeps_steps)
        if _size(fields) <= LARGEST_REPORT_BYTES:
            return fields
    for name in sorted(report.facts, key=lambda name: -_size(report.facts[name])):
        del fields["facts"][name]
        if _size(fields) <= LARGEST_REPORT_BYTES:
            return fields
    # Only a run with hundreds of top-level stages gets here: the last ones matter most.
    while fields["stages"] and _size(fields) > LARGEST_REPORT_BYTES:
        del fields["stages"][0]
    return fields


def parse_report(text: bytes) -> BootReport:
    """Return the report. Raises InputError; fields that a newer agent added are ignored."""
    value = parse_json(text)
    if not isinstance(value, Pairs):
        raise InputError("a boot report must be a JSON object")
    fields = plain(value)
    known = {"run": "", "agent": "", "layout": "", "started": ""}
    for name in known:
        if not isinstance(fields.get(name), str):
            raise InputError("must be a string", field=name)
        known[name] = fields.pop(name)
    report = BootReport(
        known["run"], agent=known["agent"], layout=known["layout"], started=known["started"]
    )
    report.took_ms = _number(fields.pop("took_ms", 0.0), "took_ms")
    exit_code = fields.pop("exit", None)
    if exit_code is not None:
        report.exit_code = int(_number(exit_code, "exit"))
    stages = fields.pop("stages", [])
    if not isinstance(stages, list):
        raise InputError("must be a list", field="stages")
    for index, row in enumerate(stages):
        report.stages.append(_parse_stage(row, f"stages[{index}]"))
    facts = fields.get("facts", {})
    report.facts = facts if isinstance(facts, dict) else {}
    return report


def ignored_in(report: BootReport) -> tuple[str, ...]:
    """Return what a machine says it ignored of its node config. Whatever is no name is left out."""
    receipt = report.facts.get("receipt")
    ignored = receipt.get("ignored") if isinstance(receipt, dict) else None
    paths = ignored.get("paths") if isinstance(ignored, dict) else None
    found = paths[:MOST_IGNORED] if isinstance(paths, list) else []
    return tuple(
        path[:LONGEST_NAME] for path in found if isinstance(path, str) and path.isprintable()
    )


def _parse_stage(row: Any, where: str) -> StageReport:
    match row:
        case [str(name), start_ms, took_ms, str(outcome), str(cause)] if outcome in OUTCOMES:
            return StageReport(
                name, _number(start_ms, where), _number(took_ms, where), outcome, cause
            )
    raise InputError("must be [name, start_ms, took_ms, outcome, cause]", field=where)


def _number(value: Any, where: str) -> float:
    # The bound keeps infinity and what no clock or exit code can be out of the arithmetic.
    if isinstance(value, (int, float)) and not isinstance(value, bool) and abs(value) < LARGEST:
        return float(value)
    raise InputError("must be a number", field=where)


def _shortened_stages(
    report: BootReport, longest: tuple[int, int], *, keeps_steps: bool
) -> list[list[Any]]:
    """`longest` is the longest cause, and the longest of a stage that stopped the boot."""
    return [
        [
            *(stage.name, stage.start_ms, stage.took_ms, stage.outcome),
            stage.cause[: longest[stage.outcome == STOPPED]],
        ]
        for stage in report.stages
        if keeps_steps or "/" not in stage.name or stage.outcome != DONE
    ]


def _size(value: Any) -> int:
    return len(encode_line(value))
