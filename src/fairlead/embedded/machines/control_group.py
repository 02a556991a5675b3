"""
The control groups of a machine, on a computer whose first process is not systemd.

PID 1 of a machine needs a group that it may divide. Where systemd runs, systemd-nspawn asks it for
one. Elsewhere, as in a container, a group of our own is made in each hierarchy that systemd looks
at, and removed with the machine.
"""

from __future__ import annotations

import os
import signal
import time
from contextlib import suppress
from pathlib import Path

from fairlead.errors import UnavailableError
from fairlead.telling.errno_text import os_problem

GROUPS = Path("/sys/fs/cgroup")
HIERARCHIES = ("systemd", "unified", ".")

# There exactly where systemd is the first process: sd_booted(3).
SYSTEMD = Path("/run/systemd/system")

REMOVE_DEADLINE_S = 10.0
STEP_S = 0.01


def groups_of(name: str) -> list[Path]:
    """Return where the groups of a machine are; [] where systemd makes them."""
    if SYSTEMD.is_dir():
        return []
    parents = [GROUPS / part for part in HIERARCHIES]
    return [parent / name for parent in parents if (parent / "cgroup.procs").exists()]


def make_groups(name: str) -> list[Path]:
    """Afterwards the groups of a machine exist; return where."""
    groups = groups_of(name)
    for group in groups:
        group.mkdir(exist_ok=True)
    return groups


def remove_groups(name: str) -> None:
    """Afterwards nothing runs in the groups of a machine, and they are gone."""
    for group in groups_of(name):
        if group.is_dir():
            _empty(group)


def _empty(group: Path) -> None:
    end = time.monotonic() + REMOVE_DEADLINE_S
    inner = [Path(parent) for parent, _, _ in os.walk(group)]
    for path in sorted(inner, reverse=True):
        while path.is_dir():
            _kill_members(path)
            try:
                path.rmdir()
            except FileNotFoundError:
                break
            except OSError as error:
                if time.monotonic() > end:
                    why = os_problem(error)
                    raise UnavailableError(f"{group} cannot be removed: {why}") from error
                time.sleep(STEP_S)


def _kill_members(group: Path) -> None:
    with suppress(FileNotFoundError):
        for process in (group / "cgroup.procs").read_text().split():
            with suppress(ProcessLookupError):
                os.kill(int(process), signal.SIGKILL)
