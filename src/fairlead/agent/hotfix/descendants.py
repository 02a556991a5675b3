"""
Whoever descends from a process, found in /proc, and ended.

As a subreaper a process inherits what a double fork would hand to the first process of the machine,
so that descent can be followed. All of them are stopped before any is killed: where the number of
processes is bounded, a fork bomb then has no free place left to go on in.
"""

from __future__ import annotations

import posix as os
import time

# The number that the kernel gives to this question: prctl(2).
SET_CHILD_SUBREAPER = 36

SIGKILL = 9
SIGSTOP = 19

STEP_S = 0.002
# Stopped, traced, dead: none of them starts another process.
STILL = "TtZX"
DEAD = "ZX"
CLEAN_PASSES = 2


def inherit_orphans() -> None:
    """Become the parent of whoever of our descendants loses theirs."""
    prctl(SET_CHILD_SUBREAPER, 1)


def end_all() -> None:
    """
    Kill all descendants of this process, which inherits orphans; return when none is left.

    Without a deadline: as long as one of them runs, killing another only makes room for its next.
    """
    clean = 0
    while clean < CLEAN_PASSES:
        # Seen in one pass is not enough: whoever is started while a pass looks is seen by the next.
        clean = 0 if _signal_all(SIGSTOP) else clean + 1
    # Whoever has descendants has a child: those that lose their parent become ours.
    while _has_children():
        _signal_all(SIGKILL)
        time.sleep(STEP_S)


def find(ancestor: int) -> dict[int, str]:
    """Return every descendant of a process with its state."""
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
    pending = [ancestor]
    while pending:
        for child in parents.get(pending.pop(), ()):
            if child not in found:
                found[child] = states[child]
                pending.append(child)
    return found


def count_of_user(user: int) -> int:
    """Return how many processes this user has on the machine."""
    return sum(1 for process in _processes() if _owner(process) == user)


def prctl(option: int, value: int) -> None:
    """Ask the kernel for something of this process: prctl(2). Raises OSError."""
    # 10 ms to import, so nothing else of the agent does.
    import ctypes

    library = ctypes.CDLL(None, use_errno=True)
    if library.prctl(option, ctypes.c_ulong(value), 0, 0, 0) != 0:
        number = ctypes.get_errno()
        raise OSError(number, os.strerror(number))


def _signal_all(number: int) -> bool:
    """Send this signal to every descendant that is not still; return whether there was one."""
    # First those that a walk through /proc comes too late for: whoever starts another process and
    # ends, again and again. They are our children by then.
    for process in _own_children():
        _signal(process, number)
    moving = [
        process
        for process, state in find(os.getpid()).items()
        if state not in (STILL if number == SIGSTOP else DEAD)
    ]
    for process in moving:
        _signal(process, number)
    return bool(moving)


def _own_children() -> list[int]:
    own = os.getpid()
    try:
        return [int(word) for word in _read(f"/proc/{own}/task/{own}/children").split()]
    except OSError:
        return []  # a kernel without this list


def _processes() -> list[int]:
    return [int(name) for name in os.listdir("/proc") if name.isdigit()]


def _owner(process: int) -> int:
    try:
        return os.stat(f"/proc/{process}").st_uid
    except OSError:
        return -1


def _has_children() -> bool:
    """Collect whoever is dead; return whether there is anybody else."""
    while True:
        try:
            process, _ = os.waitpid(-1, os.WNOHANG)
        except ChildProcessError:
            return False
        if not process:
            return True


def _signal(process: int, number: int) -> None:
    try:
        os.kill(process, number)
    except OSError:
        return  # gone by itself


def _read(path: str) -> str:
    descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    try:
        return os.read(descriptor, 1 << 16).decode("ascii", "replace")
    finally:
        os.close(descriptor)
