"""
The flight record: one JSON line per fact, appended as it happens.

A line is written with one system call and is useless until its closing brace is there, so
whatever a kill or a power cut leaves behind, the reader takes the whole lines and drops the rest.
The first and the last line of a run are synced; the ones between cost no wait for the disk.

Written by the agent only; read by `report`, by `provision-wait` on a timeout, and by the agent
itself to build the boot report in provision.json.
"""

from __future__ import annotations

from fairlead.agent.files import directory_of
from fairlead.agent.report.clock_text import log_time, milliseconds
from fairlead.contract.boot_report import (
    DONE,
    LARGEST,
    OUTCOMES,
    UNFINISHED,
    BootReport,
    StageReport,
    compact_fields,
)
from fairlead.contract.json_text import encode_line, parse_json, plain
from fairlead.errors import InputError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from fairlead.agent.host import Host
    from fairlead.agent.report.redact import Redactor

# A node that boots a thousand times must not fill its disk: about 60 runs.
LARGEST_FILE_BYTES = 256 * 1024

BOOT_ID = "/proc/sys/kernel/random/boot_id"
# 64 random bits: enough to tell the boots of one machine apart.
BOOT_ID_LENGTH = 16

# Longer causes are output, and belong into the log.
LONGEST_CAUSE = 1000


class Recorder:
    """Appends to the record of one host. Trouble with the disk never fails a boot."""

    __slots__ = ("_host", "_mono_ns", "_path", "_redactor", "_torn", "report")

    def __init__(self, host: Host, path: str, redactor: Redactor) -> None:
        self._host = host
        self._path = path
        self._redactor = redactor
        self._mono_ns = host.monotonic_ns()
        # Nobody knows how the run before this one ended, so the first line starts afresh.
        self._torn = True
        self.report = BootReport("", agent="", layout="", started="")

    def begin(self, run_id: str, agent: str, layout: str) -> None:
        """Start a run."""
        self._mono_ns = self._host.monotonic_ns()
        started = log_time(self._host.now_ns())
        self.report = BootReport(run_id, agent=agent, layout=layout, started=started)
        self._make_room()
        line = {"run": run_id, "agent": agent, "layout": layout, "started": started}
        self._append(line, sync=True)
        self.note("clock", self._clock())

    def begin_stage(self, name: str) -> float:
        """Note that a stage begins; return its start for end_stage."""
        start_ms = self._elapsed_ms()
        self._append({"begin": name, "at": start_ms}, sync=False)
        return start_ms

    def end_stage(self, name: str, start_ms: float, outcome: str, cause: str = "") -> None:
        """Note how a stage ended, and show it on the console."""
        self._end(name, start_ms, round(self._elapsed_ms() - start_ms, 1), (outcome, cause))

    def end_step(self, name: str, took_ms: float, outcome: str, cause: str) -> None:
        """Note how a step of the running stage ended, and show it on the console."""
        self._end(name, round(self._elapsed_ms() - took_ms, 1), took_ms, (outcome, cause))

    def _end(self, name: str, start_ms: float, took_ms: float, how: tuple[str, str]) -> None:
        outcome, cause = how[0], self._redactor.clean(how[1])[:LONGEST_CAUSE]
        stage = StageReport(name, start_ms, took_ms, outcome, cause)
        self.report.stages.append(stage)
        self._append(
            {
                "stage": name,
                "at": start_ms,
                "took": took_ms,
                "outcome": outcome,
                "cause": cause,
            },
            sync=False,
        )
        shown = f"fairlead: {name}: {outcome}, {took_ms:.0f} ms"
        because = f": {cause}" if cause and outcome != DONE else ""
        self._host.show_on_console(f"{shown}{because}\r\n".encode())

    def note(self, name: str, value: object) -> None:
        """Note a fact of this run: the receipt, the hotfix decision, datapoints."""
        self.report.facts[name] = value
        self._append({"fact": name, "value": value}, sync=False)

    def note_later(self, name: str, value: object) -> None:
        """Note a fact of the last run, by a process that is no run itself."""
        text = self._redactor.clean(encode_line({"fact": name, "value": value}))
        try:
            self._host.append_file(self._path, f"\n{text}\n".encode(), 0o600, sync=False)
        except OSError:
            return  # No record, or no disk for one: the log has it.

    def end(self, exit_code: int) -> None:
        """End the run."""
        self.report.exit_code = exit_code
        self.report.took_ms = self._elapsed_ms()
        self._append({"exit": exit_code, "took": self.report.took_ms}, sync=True)

    def compact(self, exit_code: int) -> dict[str, Any]:
        """Return the boot report so far, as it goes into provision.json."""
        self.report.exit_code = exit_code
        self.report.took_ms = self._elapsed_ms()
        return compact_fields(self.report)

    def _clock(self) -> dict[str, Any]:
        """Where this run begins on the clock of systemd's stamps, and of which boot it is."""
        clock: dict[str, Any] = {"monotonic_us": self._mono_ns // 1000}
        boot_id = find_boot_id(self._host)
        if boot_id:
            clock["boot"] = boot_id
        return clock

    def _elapsed_ms(self) -> float:
        return milliseconds(self._host.monotonic_ns() - self._mono_ns)

    def _make_room(self) -> None:
        try:
            self._host.make_directory(directory_of(self._path))
            if self._is_full():
                self._host.rename(self._path, self._path + ".1")
        except OSError:
            return  # No record yet, or no disk for one.

    def _is_full(self) -> bool:
        try:
            return len(self._host.read_file(self._path)) > LARGEST_FILE_BYTES
        except OSError as error:
            from errno import EFBIG

            if error.errno == EFBIG:
                return True
            raise

    def _append(self, line: dict[str, Any], *, sync: bool) -> None:
        if not self.report.run_id:
            return  # No run has begun: this is a dry run, or a command that is not a boot.
        text = ("\n" if self._torn else "") + self._redactor.clean(encode_line(line)) + "\n"
        try:
            self._host.append_file(self._path, text.encode(), 0o600, sync=sync)
        except OSError:
            self._torn = True
        else:
            self._torn = False


def find_boot_id(host: Host) -> str:
    """Return what tells this boot of the machine from every other; '' in a directory."""
    if host.is_directory:
        return ""
    try:
        return host.read_file(BOOT_ID).decode().replace("-", "").strip()[:BOOT_ID_LENGTH]
    except (OSError, ValueError):
        return ""


def parse_record(text: bytes) -> list[BootReport]:
    """Return every run of a record, oldest first. Never raises: what is torn is left out."""
    runs: list[BootReport] = []
    begun: dict[str, float] = {}
    for raw in text.split(b"\n"):
        line = _parse_line(raw)
        if isinstance(line.get("run"), str):
            _finish(runs, begun)
            runs.append(
                BootReport(
                    line["run"],
                    agent=str(line.get("agent", "")),
                    layout=str(line.get("layout", "")),
                    started=str(line.get("started", "")),
                )
            )
        elif runs:
            _take(runs[-1], begun, line)
    _finish(runs, begun)
    return runs


def _parse_line(raw: bytes) -> dict[str, Any]:
    if not raw.startswith(b"{"):
        return {}
    try:
        return plain(parse_json(raw))  # type: ignore[no-any-return]
    except InputError:
        return {}


def _take(run: BootReport, begun: dict[str, float], line: dict[str, Any]) -> None:
    if not all(_is_time(line.get(name, 0)) for name in ("at", "took", "exit")):
        return
    match line:
        case {"begin": str(name), "at": int() | float() as at}:
            begun[name] = float(at)
        case {
            "stage": str(name),
            "at": int() | float() as at,
            "took": int() | float() as took,
            "outcome": str(outcome),
            "cause": str(cause),
        } if outcome in OUTCOMES:
            begun.pop(name, None)
            run.stages.append(StageReport(name, float(at), float(took), outcome, cause))
        case {"fact": str(name), "value": value}:
            run.facts[name] = value
        case {"exit": int(exit_code), "took": int() | float() as took}:
            run.exit_code = exit_code
            run.took_ms = float(took)


def _is_time(value: object) -> bool:
    """Say whether a number can be one: what is longer fits no float, and was no clock."""
    return isinstance(value, (int, float)) and abs(value) < LARGEST


def _finish(runs: list[BootReport], begun: dict[str, float]) -> None:
    """Turn stages that began and never ended into unfinished ones."""
    if runs:
        for name, at in begun.items():
            runs[-1].stages.append(StageReport(name, at, 0.0, UNFINISHED))
    begun.clear()
