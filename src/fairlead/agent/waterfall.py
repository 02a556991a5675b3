"""The flight record for people: one line per stage, with a bar where its time went."""

from __future__ import annotations

from fairlead.agent.files import find_file
from fairlead.agent.record import parse_record
from fairlead.contract.boot_report import UNFINISHED, report_fields
from fairlead.contract.json_text import encode_json
from fairlead.errors import InputError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from fairlead.agent.host import Host
    from fairlead.agent.layout import Layout
    from fairlead.contract.boot_report import BootReport, StageReport

BAR_WIDTH = 40
# Eighths of a character cell, so that a 3 ms stage of a 2 s boot is still a visible sliver.
PARTS = " ▏▎▍▌▋▊▉█"
LONGEST_CAUSE = 60


def describe_runs(host: Host, layout: Layout, *, as_json: bool, all_runs: bool) -> str:
    """Return the last run, or all of them. Raises InputError if there is no record."""
    text = find_file(host, layout.record)
    runs = parse_record(text) if text is not None else []
    if not runs:
        raise InputError(
            f"no flight record at {layout.record}", hint="no boot of this agent has started here"
        )
    shown = runs if all_runs else runs[-1:]
    if as_json:
        fields = [report_fields(run) for run in shown]
        return encode_json(fields if all_runs else fields[0], indent=2) + "\n"
    return "\n".join(render_waterfall(run) for run in shown)


def render_waterfall(run: BootReport) -> str:
    """Return one run as a table with bars."""
    end_ms = max([run.took_ms, *(stage.start_ms + stage.took_ms for stage in run.stages), 0.1])
    width = max([len("stage"), *(len(_label(stage)) for stage in run.stages)])
    if run.exit_code is None:
        verdict = "has not ended"
    else:
        verdict = "provisioned" if run.exit_code == 0 else f"failed with exit code {run.exit_code}"
    lines = [f"boot {run.run_id} of {run.started}, agent {run.agent}, layout {run.layout}"]
    lines.append(f"{verdict}, {_duration(end_ms)}")
    for stage in sorted(run.stages, key=lambda stage: (stage.start_ms, "/" in stage.name)):
        took = "?" if stage.outcome == UNFINISHED else _duration(stage.took_ms)
        bar = _bar(stage, end_ms)
        cause = f"  {stage.cause[:LONGEST_CAUSE]}" if stage.cause else ""
        lines.append(f"  {_label(stage):{width}} {took:>9} {bar} {stage.outcome}{cause}")
    for name, value in run.facts.items():
        lines.append(f"  {name}: {encode_json(value)}")
    return "\n".join(lines) + "\n"


def _label(stage: StageReport) -> str:
    """Indent a step below its stage."""
    outer, slash, step = stage.name.partition("/")
    return f"  {step}" if slash else outer


def _duration(ms: float) -> str:
    return f"{ms / 1000:.2f} s" if ms >= 1000 else f"{ms:.1f} ms"  # noqa: PLR2004 - ms in a second


def _bar(stage: StageReport, end_ms: float) -> str:
    eighths = BAR_WIDTH * 8
    start = int(stage.start_ms / end_ms * eighths)
    length = max(1, int(stage.took_ms / end_ms * eighths))
    offset = min(start // 8, BAR_WIDTH - 1)
    full, part = divmod(length, 8)
    drawn = PARTS[8] * full + (PARTS[part] if part else "")
    return "│" + (" " * offset + drawn)[:BAR_WIDTH].ljust(BAR_WIDTH) + "│"
