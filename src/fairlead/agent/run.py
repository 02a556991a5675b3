"""
One run of the agent: what every stage shares, and the three ways it speaks.

Log lines are for engineers, events for the cloud's guest agent, the flight record for the owner
of the pool. Trouble with any of them never fails a boot: a full disk must not stop a node.
"""

from __future__ import annotations

from fairlead.agent.files import directory_of
from fairlead.agent.report.clock_text import NS_PER_MS, event_time, log_time
from fairlead.agent.report.record import Recorder
from fairlead.agent.report.redact import Redactor
from fairlead.contract.json_text import encode_line

TYPE_CHECKING = False
if TYPE_CHECKING:
    from fairlead.agent.host import Host
    from fairlead.agent.layout import Layout

INFORMATIONAL = "Informational"
ERROR = "Error"

# The guest agent's schema version for events, and the prefix that AKS dashboards query.
EVENT_SCHEMA = "1.23"
TASK_PREFIX = "AKS.AKSNodeController."


class Run:
    """The host, where things are on it, and everything this run has to say."""

    __slots__ = (
        "bundle_trouble", "host", "id", "is_dry", "layout", "record", "redactor", "refusals",
        "started_ns",
    )  # fmt: skip

    def __init__(self, host: Host, layout: Layout, run_id: str, *, is_dry: bool = False) -> None:
        self.host = host
        self.layout = layout
        self.id = run_id
        self.redactor = Redactor()
        # A dry run speaks on stderr only.
        self.is_dry = is_dry
        # On the monotonic clock, like every start of an event: the first time sync of a machine
        # may set the wall clock by years in the middle of a boot.
        self.started_ns = host.monotonic_ns()
        # Why modules came from their sources instead of the bundle; empty if none did.
        self.bundle_trouble: list[str] = []
        # Which documents were not taken, and why.
        self.refusals: list[str] = []
        self.record = Recorder(host, layout.record, self.redactor)

    def log(self, level: str, message: str, **facts: object) -> None:
        """Write one JSON line to the log file and to stderr: a constant sentence plus facts."""
        line = encode_line(
            {"time": log_time(self.host.now_ns()), "level": level, "msg": message, **facts}
        )
        text = (self.redactor.clean(line) + "\n").encode()
        self.host.say(text)
        if self.is_dry:
            return
        try:
            self.host.append_file(self.layout.log, text, 0o600, sync=False)
        except FileNotFoundError:
            self._append_to_first_log(text)
        except OSError:
            return

    def wall_ns(self, monotonic_ns: int) -> int:
        """Return what the wall clock, as it is set now, shows for a monotonic instant."""
        return self.host.now_ns() - (self.host.monotonic_ns() - monotonic_ns)

    def event(self, task: str, message: str, level: str, start_ns: int) -> None:
        """Leave one event file for the cloud's guest agent, from start_ns (monotonic) until now."""
        duration_ns = self.host.monotonic_ns() - start_ns
        end_ns = self.host.now_ns()
        start, end = event_time(end_ns - duration_ns), event_time(end_ns)
        duration_ms = duration_ns // NS_PER_MS
        event = {
            "Timestamp": start,
            "OperationId": end,
            "Version": EVENT_SCHEMA,
            "TaskName": TASK_PREFIX + task,
            "EventLevel": level,
            "Message": f"{self.redactor.clean(message)} | "
            f"startTime={start} endTime={end} durationMs={duration_ms}",
            "EventPid": "0",
            "EventTid": "0",
        }
        directory = self.layout.events
        path = f"{directory}/{end_ns}.json"
        try:
            self.host.make_directory(directory)
            # The reader takes every *.json it sees, so the name appears with the whole content.
            self.host.write_file(path + ".tmp", encode_line(event).encode(), 0o644, sync=False)
            self.host.rename(path + ".tmp", path)
        except OSError as error:
            self.log("WARN", "event not written", path=path, error=str(error))

    def _append_to_first_log(self, text: bytes) -> None:
        try:
            self.host.make_directory(directory_of(self.layout.log))
            self.host.append_file(self.layout.log, text, 0o600, sync=False)
        except OSError:
            return
