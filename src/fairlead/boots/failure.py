"""What stopped a boot, in one line, from its report. Pure; a machine wrote what is read here."""

from __future__ import annotations

from fairlead.contract.boot_report import STOPPED, BootReport
from fairlead.contract.visible_text import without_errno

LONGEST = 500
# The cause of a stage that stopped the boot holds the last lines of what failed.
LONGEST_FAILURE = 1200


def failure_text(report: BootReport) -> str:
    """Return what stopped a boot, in one line; '' if nothing did."""
    for stage in report.stages:
        if stage.outcome == STOPPED:
            why = stage.cause or f"exit {report.exit_code}"
            return one_line(f"stage {stage.name}: {why}", LONGEST_FAILURE)
    return f"its boot ended with exit code {report.exit_code}" if report.exit_code else ""


def one_line(text: str, longest: int = LONGEST) -> str:
    """Return the beginning of a text as a line that can be shown."""
    # Four times as much is looked at: whatever is white space in it becomes one space.
    start = without_errno(text)[: 4 * longest]
    shown = "".join(mark if mark.isprintable() else " " for mark in start)
    line = " ".join(shown.split())
    return line if len(line) <= longest else f"{line[:longest]}..."
