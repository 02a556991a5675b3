"""
Who runs before others: whoever has to end a fork bomb, and what was killed and has yet to die.

Real time is asked for first. A priority alone counts among the processes of one session only, where
the kernel shares the processors among sessions; both are root's to raise.
"""

from __future__ import annotations

import posix as os

THIS_PROCESS = 0

# Real-time priorities, of 1 to 99: whoever waits comes before what dies, and both before the rest.
WAITING = 2
DYING = 1
# Where real time is refused, as in a control group that has no share of it.
PRIORITY = -10


class Turn:
    """The right of this process to run first, from here until it is released."""

    __slots__ = ("_policy", "_priority")

    def __init__(self) -> None:
        self._policy = os.sched_getscheduler(THIS_PROCESS), os.sched_getparam(THIS_PROCESS)
        self._priority = os.getpriority(os.PRIO_PROCESS, THIS_PROCESS)
        _prefer(THIS_PROCESS, WAITING, min(self._priority, PRIORITY))

    def release(self) -> None:
        """Be one of many again."""
        _is_granted(THIS_PROCESS, *self._policy)
        _set_priority(THIS_PROCESS, self._priority)


def hurry(process: int) -> None:
    """Let a killed process die before others run: it does nothing else any more."""
    _prefer(process, DYING, PRIORITY)


def _prefer(process: int, real_time: int, priority: int) -> None:
    # What is started meanwhile does not inherit it.
    policy = os.SCHED_FIFO | os.SCHED_RESET_ON_FORK
    if not _is_granted(process, policy, os.sched_param(real_time)):
        _set_priority(process, priority)


def _is_granted(process: int, policy: int, parameter: os.sched_param) -> bool:
    try:
        os.sched_setscheduler(process, policy, parameter)
    except OSError:
        return False
    return True


def _set_priority(process: int, priority: int) -> None:
    try:
        os.setpriority(os.PRIO_PROCESS, process, priority)
    except OSError:
        return  # not ours to raise, or gone meanwhile
