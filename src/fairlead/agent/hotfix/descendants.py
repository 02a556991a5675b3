"""
The processes of one attempt where no control group can be made: whoever descends from this process.

As a subreaper this process inherits what a double fork would hand to the first process of the
machine, so that descent can be followed in /proc. All of them are stopped before any is killed:
where the number of processes is bounded, a fork bomb then has no free place left to go on in.
"""

from __future__ import annotations

import posix as os
import time

# The numbers that the kernel gives to these questions: prctl(2).
SET_PARENT_DEATH_SIGNAL = 1
SET_CHILD_SUBREAPER = 36

SIGKILL = 9
SIGSTOP = 19

# Above what the user has running already. The kernel binds everybody but root by it; what root
# started is counted.
MORE_TASKS = 256
# Seconds: a walk through /proc costs milliseconds.
LOOK_S = 0.1
ROOT = 0

LOWER_PRIORITY = 10

STEP_S = 0.002
# Stopped, traced, dead: none of them starts another process.
STILL = "TtZX"
DEAD = "ZX"
CLEAN_PASSES = 2


class Descendants:
    """Everything that this process starts from here on, and everything that starts."""

    __slots__ = ("_look_at",)

    def __init__(self) -> None:
        self._look_at = time.monotonic()
        _prctl(SET_CHILD_SUBREAPER, 1)

    def add(self, process: int) -> None:
        """A child is a descendant already."""

    def why_too_much(self) -> str:
        """Return what is wrong if there are as many as there may be; else ''."""
        now = time.monotonic()
        if os.getuid() != ROOT or now < self._look_at:
            return ""
        self._look_at = now + LOOK_S
        count = len(_find())
        return f"{count} processes at once, of at most {MORE_TASKS}" if count >= MORE_TASKS else ""

    def end(self, deadline_s: float) -> int:
        """Kill all of them; return how many are still there at the deadline."""
        end = time.monotonic() + deadline_s
        _repeat(SIGSTOP, STILL, end - deadline_s / 2)
        left = _repeat(SIGKILL, DEAD, end)
        _prctl(SET_CHILD_SUBREAPER, 0)
        return len(left)


def bind_child() -> None:
    """In the child: die with the parent, and bound how many processes there may be."""
    import resource

    _prctl(SET_PARENT_DEATH_SIGNAL, SIGKILL)
    # Whoever has to end a fork bomb must get a turn beside it.
    os.nice(LOWER_PRIORITY)
    # The limit counts every process of the user, so it is set above those that there are.
    user = os.getuid()
    running = sum(1 for process in _processes() if _owner(process) == user)
    hard = resource.getrlimit(resource.RLIMIT_NPROC)[1]
    wanted = running + MORE_TASKS
    limit = wanted if hard == resource.RLIM_INFINITY else min(wanted, hard)
    resource.setrlimit(resource.RLIMIT_NPROC, (limit, limit))


def _repeat(number: int, until: str, end: float) -> list[int]:
    """
    Send this signal until every descendant is in one of these states; return who is not by then.

    Seen in one pass is not enough: whoever is started while a pass looks is seen by the next.
    """
    clean = 0
    while True:
        others = [process for process, state in _find().items() if state not in until]
        for process in others:
            _signal(process, number)
        _collect()
        clean = 0 if others else clean + 1
        if clean == CLEAN_PASSES or time.monotonic() >= end:
            return others
        time.sleep(STEP_S)


def _find() -> dict[int, str]:
    """Return every descendant of this process with its state."""
    parents: dict[int, list[int]] = {}
    states = {}
    for process in _processes():
        try:
            stat = _read(f"/proc/{process}/stat")
        except OSError:
            continue  # gone meanwhile
        # The name before the closing bracket may hold anything.
        state, parent = stat.rpartition(")")[2].split()[:2]
        states[process] = state
        parents.setdefault(int(parent), []).append(process)
    found: dict[int, str] = {}
    pending = [os.getpid()]
    while pending:
        for child in parents.get(pending.pop(), ()):
            if child not in found:
                found[child] = states[child]
                pending.append(child)
    return found


def _processes() -> list[int]:
    return [int(name) for name in os.listdir("/proc") if name.isdigit()]


def _owner(process: int) -> int:
    try:
        return os.stat(f"/proc/{process}").st_uid
    except OSError:
        return -1


def _collect() -> None:
    while True:
        try:
            process, _ = os.waitpid(-1, os.WNOHANG)
        except ChildProcessError:
            return
        if not process:
            return


def _signal(process: int, number: int) -> None:
    try:
        os.kill(process, number)
    except OSError:
        return  # gone by itself


def _read(path: str) -> str:
    descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    try:
        return os.read(descriptor, 4096).decode("ascii", "replace")
    finally:
        os.close(descriptor)


def _prctl(option: int, value: int) -> None:
    # 10 ms to import, so nothing else of the agent does.
    import ctypes

    library = ctypes.CDLL(None, use_errno=True)
    if library.prctl(option, ctypes.c_ulong(value), 0, 0, 0) != 0:
        number = ctypes.get_errno()
        raise OSError(number, os.strerror(number))
