"""
provision.json and provision.complete: published whole, status first, both with the run's id.

Scripts baked into an image write the same two files. What they wrote is theirs: only a pair that
carries our run id is ever replaced or removed.

A disk that is full or read-only refuses them. Each file has a spare place below /run for that
case, which a reboot empties; a waiter looks at both.
"""

from __future__ import annotations

from fairlead.agent.files import (
    find_file,
    publish_if_absent,
    remove_if_present,
)
from fairlead.agent.host import is_regular_file
from fairlead.agent.report.clock_text import NS_PER_S, date_time
from fairlead.contract.json_text import Pairs, encode_line, parse_json, plain
from fairlead.errors import InputError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from fairlead.agent.host import Host
    from fairlead.agent.layout import Layout
    from fairlead.agent.run import Run

# The status of a boot that failed before the bootstrap command could start.
NOT_STARTED = 240

# The last part of a script's output is where the error is; the cloud's channel is 4 KiB.
LONGEST_OUTPUT = 2048

VERDICT_MODE = 0o600

_OURS = "fairlead"

# What systemd knows of a boot, and a directory that stands for a machine does not.
DATAPOINTS = (
    "KernelStartTime",
    "CloudInitLocalStartTime",
    "CloudInitStartTime",
    "CloudFinalStartTime",
    "NetworkdStartTime",
    "GuestAgentStartTime",
    "ContainerdStartTime",
    "KubeletStartTime",
    "SystemdSummary",
)


class Outcome:
    """
    How provisioning ended. `exit_code` is the status's; 0 means provisioned.

    `said` is what a program that failed printed last, for the cause of its stage.
    """

    __slots__ = ("error", "exit_code", "is_started", "output", "said")

    def __init__(self, exit_code: int, error: str = "", output: str = "", said: str = "") -> None:
        self.exit_code = exit_code
        # False if nothing ran that could have an exit code of its own.
        self.is_started = True
        self.error = error
        self.output = output
        self.said = said


def not_started(error: str) -> Outcome:
    """Return the outcome of a boot that failed before anything ran."""
    outcome = Outcome(NOT_STARTED, error)
    outcome.is_started = False
    return outcome


def spare_of(layout: Layout, path: str) -> str:
    """Return where a file of the verdict goes that its own disk refuses."""
    return f"{layout.state}/{path.rpartition('/')[2]}"


def has_verdict(host: Host, layout: Layout) -> bool:
    """Say whether a sentinel is there, on the disk or in its spare place; a plain file counts."""
    places = (layout.sentinel, spare_of(layout, layout.sentinel))
    return any(is_regular_file(host, path) for path in places)


def find_status(host: Host, layout: Layout) -> bytes | None:
    """Return the status, whoever wrote it; None if there is none. A spare is the later word."""
    spare = find_file(host, spare_of(layout, layout.status))
    return find_file(host, layout.status) if spare is None else spare


def remove_own_leftovers(run: Run) -> None:
    """
    Make room for this run's verdict: what an earlier run of ours published is gone.

    The sentinels go first, so that a waiter never sees a verdict without its status. Raises
    OSError only after having tried all.
    """
    layout = run.layout
    failures = []
    for path in (layout.sentinel, layout.status):
        for place in (spare_of(layout, path), path):
            try:
                found = find_file(run.host, place)
                if found is not None and _is_ours(found):
                    remove_if_present(run.host, place)
            except OSError as error:
                failures.append(error)
    if failures:
        raise failures[0]


def publish(run: Run, outcome: Outcome) -> None:
    """
    Leave a status and a sentinel, in this order, unless scripts left theirs.

    Raises OSError only after having tried both: a waiter that ends with "no status" is better
    off than one that never ends.
    """
    failures = []
    for path, text in _verdict_files(run, outcome):
        try:
            _publish_somewhere(run, path, text)
        except OSError as error:
            failures.append(error)
    if failures:
        raise failures[0]


def publish_for_this_boot(run: Run, outcome: Outcome) -> None:
    """Leave a verdict that waiters see, and that a reboot or an image of this disk forgets."""
    for path, text in _verdict_files(run, outcome):
        publish_if_absent(run.host, spare_of(run.layout, path), text, VERDICT_MODE)


def _verdict_files(run: Run, outcome: Outcome) -> tuple[tuple[str, bytes], ...]:
    status = encode_line(_status_fields(run, outcome)) + "\n"
    sentinel = encode_line({_OURS: {"run": run.id}}) + "\n"
    return (run.layout.status, status.encode()), (run.layout.sentinel, sentinel.encode())


def _publish_somewhere(run: Run, path: str, text: bytes) -> None:
    try:
        is_new = publish_if_absent(run.host, path, text, VERDICT_MODE)
        problem = "" if is_new or is_regular_file(run.host, path) else f"{path} is no plain file"
    except OSError as error:
        problem = str(error)
        if _holds_another_word(run.host, path):
            return  # A full disk that holds the scripts' own.
    if problem:
        spare = spare_of(run.layout, path)
        run.log("ERROR", "verdict goes to its spare place", path=spare, error=problem)
        publish_if_absent(run.host, spare, text, VERDICT_MODE)


def _holds_another_word(host: Host, path: str) -> bool:
    try:
        found = find_file(host, path)
    except OSError:
        return False
    return found is not None and not _is_ours(found)


def read_status(host: Host, layout: Layout) -> dict[str, Any]:
    """Return the status, whoever wrote it. Raises OSError or InputError."""
    spare = find_file(host, spare_of(layout, layout.status))
    value = parse_json(host.read_file(layout.status) if spare is None else spare)
    if not isinstance(value, Pairs):
        raise InputError("must be a JSON object", field=layout.status)
    return plain(value)  # type: ignore[no-any-return]


def _is_ours(text: bytes) -> bool:
    try:
        value = parse_json(text)
    except InputError:
        # Our files appear whole. Anything else is not ours; an empty sentinel is a script's.
        return False
    return isinstance(value, Pairs) and any(name == _OURS for name, _ in value)


def _status_fields(run: Run, outcome: Outcome) -> dict[str, Any]:
    """The keys and their order are those of the AKS scripts; `fairlead` is ours."""
    clean = run.redactor.clean
    points = _datapoints(run)
    started = date_time(run.wall_ns(run.started_ns))
    seconds = (run.host.monotonic_ns() - run.started_ns) // NS_PER_S
    return {
        "ExitCode": str(outcome.exit_code),
        "Output": clean(outcome.output)[-LONGEST_OUTPUT:],
        "Error": clean(outcome.error),
        "ExecDuration": str(seconds),
        "KernelStartTime": points["KernelStartTime"],
        "CloudInitLocalStartTime": points["CloudInitLocalStartTime"],
        "CloudInitStartTime": points["CloudInitStartTime"],
        "CloudFinalStartTime": points["CloudFinalStartTime"],
        "NetworkdStartTime": points["NetworkdStartTime"],
        "CSEStartTime": started,
        "GuestAgentStartTime": points["GuestAgentStartTime"],
        "SystemdSummary": points["SystemdSummary"],
        "BootDatapoints": {
            "KernelStartTime": points["KernelStartTime"],
            "CSEStartTime": started,
            "GuestAgentStartTime": points["GuestAgentStartTime"],
            "KubeletStartTime": points["KubeletStartTime"],
            "ContainerdStartTime": points["ContainerdStartTime"],
        },
        _OURS: run.record.compact(outcome.exit_code),
    }


def _datapoints(run: Run) -> dict[str, str]:
    """Return when the parts of this boot began, and note it in the record; '' if not known."""
    if run.host.is_directory:
        return dict.fromkeys(DATAPOINTS, "")
    # A waiter imports this module too, and writes no status.
    from fairlead.agent.report.datapoints import boot_fact_of, datapoints_of, read_boot_stamps

    stamps = read_boot_stamps(run.host)
    boot = boot_fact_of(stamps)
    if boot:
        run.record.note("boot", boot)
    return datapoints_of(stamps)
