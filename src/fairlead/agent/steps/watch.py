"""
Watching a service: is it still the process that was started, and what did it say when it died?

systemd is asked once for the main process; after that its directory below /proc tells, which costs
no process of ours per look. A service that systemd starts again has died all the same.
"""

from __future__ import annotations

from fairlead.agent.steps.systemd import run_command, unit_properties
from fairlead.errors import UnavailableError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from fairlead.agent.host import Host

# A journal is asked after something failed already; one that does not answer in this time is
# left out of the report.
JOURNAL_DEADLINE_S = 5.0

# The last lines of the unit's own processes, without what systemd says about them.
JOURNAL_LINES = 5

ACTIVE = "active"


class Watch:
    """One life of a service. `process` 0 is one without a main process, which cannot be watched."""

    __slots__ = ("_host", "_unit", "process", "started_us")

    def __init__(self, host: Host, unit: str, process: int, started_us: int) -> None:
        self._host = host
        self._unit = unit
        self.process = process
        # On CLOCK_MONOTONIC; 0 if systemd does not say.
        self.started_us = started_us

    def refuse_death(self) -> None:
        """Return while the service lives; else raise UnavailableError with its last words."""
        if self.process and self._host.file_mode(f"/proc/{self.process}") is None:
            raise death_of(self._host, self._unit)


def watch_service(host: Host, unit: str) -> Watch:
    """Return a watch on a service that was started; raise UnavailableError if it is dead."""
    names = "ActiveState,MainPID,ExecMainStartTimestampMonotonic"
    found = unit_properties(host, unit, names)
    process, started_us = (_number(found.get(name, "")) for name in names.split(",")[1:])
    if not process and found.get("ActiveState") != ACTIVE:
        raise death_of(host, unit)
    return Watch(host, unit, process, started_us)


def death_of(host: Host, unit: str) -> UnavailableError:
    """Return the error that says that a service died, with what it printed last."""
    state = unit_properties(host, unit, "ActiveState,SubState,Result,ExecMainStatus")
    return UnavailableError(
        f"{unit} died; systemd says {describe_state(state)}", said=last_words_of(host, unit)
    )


def describe_state(state: dict[str, str]) -> str:
    """Return `failed (failed), exit-code 1`, or as much of it as systemd gave."""
    shown = f"{state.get('ActiveState', '?')} ({state.get('SubState', '?')})"
    result = state.get("Result", "")
    if result in ("", "success"):
        return shown
    return f"{shown}, {result} {state.get('ExecMainStatus', '')}".rstrip()


def last_words_of(host: Host, unit: str) -> str:
    """Return what the processes of a unit printed last in this boot; '' if there is no journal."""
    # What a process that just died has written may still be on its way to the journal.
    for command in (["journalctl", "--sync"], _journal_command(unit)):
        try:
            output = run_command(host, command, JOURNAL_DEADLINE_S)
        except (UnavailableError, OSError):
            output = ""
    return output


def _journal_command(unit: str) -> list[str]:
    how = ["--boot", "--quiet", "--no-pager", "--output=cat", f"--lines={JOURNAL_LINES}"]
    return ["journalctl", *how, f"_SYSTEMD_UNIT={unit}"]


def _number(text: str) -> int:
    return int(text) if text.isascii() and text.isdigit() else 0
