"""The flight record for people: one line per stage, with a bar where its time went."""

from __future__ import annotations

from fairlead.agent.files import find_file
from fairlead.agent.report.datapoints import boot_fact_of, read_boot_stamps
from fairlead.agent.report.record import find_boot_id, parse_record
from fairlead.contract.boot_report import STOPPED, UNFINISHED, report_fields
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

# For `fairlead timeline`, which draws them; as text they would be a screen of numbers.
TIMELINE_FACTS = ("boot", "clock")


def describe_runs(host: Host, layout: Layout, *, as_json: bool, all_runs: bool) -> str:
    """Return the last run, or all of them. Raises InputError if there is no record."""
    text = find_file(host, layout.record)
    runs = parse_record(text) if text is not None else []
    if not runs:
        raise InputError(
            f"no flight record at {layout.record}", hint="no boot of this agent has started here"
        )
    shown = runs if all_runs else runs[-1:]
    _add_what_is_known_by_now(host, shown)
    if as_json:
        fields = [report_fields(run) for run in shown]
        return encode_json(fields if all_runs else fields[0], indent=2) + "\n"
    return "\n".join(render_waterfall(run) for run in shown)


def _add_what_is_known_by_now(host: Host, runs: list[BootReport]) -> None:
    """A run ends before its boot does: ask systemd again, for the runs of this boot."""
    boot_id = find_boot_id(host)
    of_this_boot = [run for run in runs if boot_id and _boot_id_of(run) == boot_id]
    boot = boot_fact_of(read_boot_stamps(host)) if of_this_boot else {}
    if boot:
        for run in of_this_boot:
            run.facts["boot"] = boot


def _boot_id_of(run: BootReport) -> str:
    match run.facts.get("clock"):
        case {"boot": str(boot_id)}:
            return boot_id
    return ""


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
    # The first that stopped is the step; its stage says the same again.
    stopped = [stage for stage in run.stages if stage.outcome == STOPPED and stage.cause]
    lines += [f"because {stage.name}: {stage.cause}" for stage in stopped[:1]]
    for stage in sorted(run.stages, key=lambda stage: (stage.start_ms, "/" in stage.name)):
        took = "?" if stage.outcome == UNFINISHED else _duration(stage.took_ms)
        bar = _bar(stage, end_ms)
        cause = f"  {stage.cause[:LONGEST_CAUSE]}" if stage.cause else ""
        lines.append(f"  {_label(stage):{width}} {took:>9} {bar} {stage.outcome}{cause}")
    for name, value in run.facts.items():
        if name not in TIMELINE_FACTS:
            lines.append(f"  {name}: {encode_json(value)}")
    around = _around(run)
    if around:
        lines.append(f"  {around}")
    return "\n".join(lines) + "\n"


def _around(run: BootReport) -> str:
    """Say where in the machine's boot this run was; '' if nobody knows."""
    match run.facts:
        case {"clock": {"monotonic_us": int(begun_us)}, "boot": {"pid1_us": int(pid1_us)} as boot}:
            said = [f"began {_duration((begun_us - pid1_us) / 1000)} after PID 1"]
        case _:
            return ""
    for unit in ("network-online.target", "cloud-init.target"):
        match boot.get("units"):
            case dict(units) if isinstance(units.get(unit), list) and units[unit]:
                said.append(f"{unit} at {_duration(units[unit][0])}")
    return "boot: " + ", ".join(said)


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
