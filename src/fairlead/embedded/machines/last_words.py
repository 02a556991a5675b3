"""
How far a machine's boot came, in one line, from what its agent wrote to its disk.

Only what was written since the machine last got power counts: the record and the log keep what
earlier boots said. Secrets are masked by the agent before it writes.
"""

from __future__ import annotations

from fairlead.agent.report.clock_text import log_time
from fairlead.agent.report.record import parse_record
from fairlead.boots.failure import failure_text, one_line
from fairlead.contract.boot_report import UNFINISHED, BootReport
from fairlead.contract.json_text import Pairs, parse_json, plain
from fairlead.embedded.machines.disk import MachineDisk
from fairlead.errors import InputError

# The end of a log holds what the agent waits for; a run takes 16 KiB of the record at most, and
# a machine that writes more of it must not cost us the time to read it all.
LOG_END_BYTES = 16 * 1024
RECORD_END_BYTES = 64 * 1024

# Where a run begins in a record.
RUN = b'\n{"run":'

TROUBLE = ("WARN", "ERROR")

PROVISIONED = "provisioned"


def last_words_of(disk: MachineDisk, since_ns: int, *, is_running: bool) -> str:
    """Return what the boot that began after this moment says; '' if it left nothing."""
    since = log_time(since_ns)
    if oddity := disk.oddity_at(disk.layout.record):
        return f"its flight record {disk.layout.record} is {oddity}, not a file"
    report = _find_report(disk, since)
    if report is None:
        return ""
    return one_line(_story_of(report) or _open_end(disk, report, since, is_running=is_running))


def last_line_of(console: bytes) -> str:
    """Return the last line of a console that says anything; '' if none does."""
    for raw in reversed(console.splitlines()):
        line = _sentence_of(raw) or one_line(raw.decode("utf-8", "replace"))
        if line:
            return line
    return ""


def _find_report(disk: MachineDisk, since: str) -> BootReport | None:
    text = disk.find_text(disk.layout.record, RECORD_END_BYTES) or b""
    runs = parse_record(text[max(0, text.rfind(RUN)) :])
    return runs[-1] if runs and runs[-1].started >= since else None


def _story_of(report: BootReport) -> str:
    return PROVISIONED if report.exit_code == 0 else failure_text(report)


def _open_end(disk: MachineDisk, report: BootReport, since: str, *, is_running: bool) -> str:
    trouble = _last_trouble(disk, since)
    if is_running:
        return f"{_where(report)}: {trouble or 'under way'}"
    return f"{_where(report)}: the agent died" + (f"; {trouble}" if trouble else "")


def _where(report: BootReport) -> str:
    for stage in reversed(report.stages):
        return f"{'' if stage.outcome == UNFINISHED else 'after '}stage {stage.name}"
    return "before the first stage"


def _last_trouble(disk: MachineDisk, since: str) -> str:
    for raw in reversed((disk.find_text(disk.layout.log, LOG_END_BYTES) or b"").splitlines()):
        fields = _fields_of(raw)
        if fields.get("level") in TROUBLE and str(fields.get("time", "")) >= since:
            return _sentence_of(raw)
    return ""


def _sentence_of(raw: bytes) -> str:
    """Return a log line of the agent as a sentence; '' if it is not one."""
    fields = _fields_of(raw)
    said = fields.get("msg")
    if not isinstance(said, str):
        return ""
    why = fields.get("cause") or fields.get("error") or ""
    return one_line(f"{said}: {why}" if why else said)


def _fields_of(raw: bytes) -> dict[str, object]:
    if not raw.startswith(b"{"):
        return {}
    try:
        value = parse_json(raw)
    except InputError:
        return {}
    return dict(plain(value)) if isinstance(value, Pairs) else {}
