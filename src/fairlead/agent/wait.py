"""
provision-wait: return as soon as the sentinel appears, with the status as the answer.

Watches the sentinel's folder with inotify and looks again after the watch is set, so that no
appearance is lost. Where inotify is not to be had (some network file systems, a full watch
table) it looks every 10 ms. The spare sentinel of a disk that refuses writes is seen within the
watch's longest silence.
"""

from __future__ import annotations

import posix as os
import time

from fairlead.agent.files import directory_of, find_file
from fairlead.agent.report.record import parse_record
from fairlead.agent.report.status import has_verdict, read_status
from fairlead.contract.boot_report import UNFINISHED
from fairlead.errors import InputError, UnavailableError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from fairlead.agent.host import Host
    from fairlead.agent.inotify import Watch
    from fairlead.agent.layout import Layout

# The bar is 20 ms from the sentinel's appearance to the answer.
POLL_S = 0.01


def wait_for_sentinel(
    host: Host,
    layout: Layout,
    timeout_s: float | None,
    open_watch: Callable[[str], Watch | None] | None = None,
) -> None:
    """
    Return when the sentinel is there. Raises UnavailableError on a timeout.

    `open_watch` None means inotify; it is imported only if there is something to wait for.
    """
    if has_verdict(host, layout):
        return
    path = layout.sentinel
    end_s = None if timeout_s is None else time.monotonic() + timeout_s
    watch = _watch(host, directory_of(path), open_watch)
    try:
        while not has_verdict(host, layout):
            remaining_s = None if end_s is None else end_s - time.monotonic()
            if remaining_s is not None and remaining_s <= 0:
                raise UnavailableError(
                    f"no {path} after {timeout_s:g} s: {describe_progress(host, layout)}"
                )
            if watch is None:
                time.sleep(POLL_S if remaining_s is None else min(POLL_S, remaining_s))
            else:
                watch.wait(remaining_s)
    finally:
        if watch is not None:
            os.close(watch.descriptor)


def _watch(
    host: Host, directory: str, open_watch: Callable[[str], Watch | None] | None
) -> Watch | None:
    try:
        host.make_directory(directory)
    except OSError:
        return None  # A full or read-only disk: the spare sentinel is looked for instead.
    if open_watch is None:
        from fairlead.agent import inotify

        open_watch = inotify.open_watch
    return open_watch(host.real_path(directory))


def describe_progress(host: Host, layout: Layout) -> str:
    """Say which stage the boot is in, from the flight record."""
    try:
        text = find_file(host, layout.record)
    except OSError as error:
        return f"its record cannot be read: {error}"
    runs = parse_record(text) if text is not None else []
    if not runs:
        return "no boot of this agent has started here"
    stages = runs[-1].stages
    unfinished = [stage.name for stage in stages if stage.outcome == UNFINISHED]
    if unfinished:
        return f"the boot is in stage {unfinished[-1]}, begun {runs[-1].started}"
    last = stages[-1].name if stages else "nothing yet"
    return f"the boot of {runs[-1].started} has finished stage {last}"


def judge_status(host: Host, layout: Layout) -> None:
    """Return if the status says 0. Raises InputError with the status's own words otherwise."""
    try:
        status = read_status(host, layout)
    except OSError as error:
        raise InputError(
            f"failed to read provision.json: {error}. "
            "One reason could be that AKSNodeConfig is not properly set"
        ) from error
    code = _exit_code(status)
    if code != 0:
        raise InputError(
            f"provision failed: exitCode={code} error={status.get('Error', '')} "
            f"output={status.get('Output', '')!r}"
        )


def _exit_code(status: dict[str, Any]) -> int:
    text = status.get("ExitCode", "")
    if text == "":
        raise InputError("missing ExitCode in provision.json")
    digits = text.removeprefix("-").removeprefix("+") if isinstance(text, str) else ""
    if not (digits.isascii() and digits.isdigit()):
        raise InputError(f"invalid ExitCode in provision.json: {text}")
    return int(text)
