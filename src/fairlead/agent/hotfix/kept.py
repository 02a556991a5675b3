"""
Work where no control group can be made: a keeper stands between this process and the work.

The keeper has nothing to do but to end whatever the work started: when it is told to, when the work
is over, or when whoever would tell it is gone. It goes on until nothing is left, however long the
boot is willing to wait for that. Where the kernel lets us, the work is in a process namespace, and
the kernel ends all of it with its first process. Elsewhere descent is followed.
"""

from __future__ import annotations

import posix as os
import select
import time

from fairlead.agent.hotfix import descendants
from fairlead.agent.hotfix.in_fork import hear_nobody, work_and_exit

TYPE_CHECKING = False
if TYPE_CHECKING:
    from fairlead.agent.hotfix.in_fork import Work

SIGKILL = 9

# The number that the kernel gives to this question: prctl(2). And unshare(2).
SET_PARENT_DEATH_SIGNAL = 1
NEW_USER_NAMESPACE = 0x10000000
NEW_PROCESS_NAMESPACE = 0x20000000

# Above what the user has running already, the kernel refuses more to everybody but root. Somewhat
# earlier the attempt is given up, by everybody: a fix has a dozen processes.
MORE_TASKS = 256
MOST_PROCESSES = 192
# Seconds: a walk through /proc costs milliseconds.
LOOK_S = 0.1
ROOT = 0

LOWER_PRIORITY = 10
MS_PER_S = 1000


class Keeper:
    """The process that ends everything, seen from the one that tells it to."""

    __slots__ = ("_look_at", "_order", "process")

    def __init__(self, process: int, order: int) -> None:
        self.process = process
        self._order = order
        self._look_at = time.monotonic()

    def why_too_much(self) -> str:
        """Return what is wrong if there are as many as there may be; else ''."""
        now = time.monotonic()
        if now < self._look_at:
            return ""
        self._look_at = now + LOOK_S
        count = len(descendants.find(self.process))
        if count < MOST_PROCESSES:
            return ""
        return f"{count} processes at once, of at most {MOST_PROCESSES}"

    def end(self, deadline_s: float) -> int:
        """Have all of them killed; return how many are still there at the deadline."""
        os.close(self._order)
        ended = os.pidfd_open(self.process)
        try:
            poll = select.poll()
            poll.register(ended, select.POLLIN)
            if poll.poll(deadline_s * MS_PER_S):
                return 0
        finally:
            os.close(ended)
        # The keeper goes on; what it could not end yet is told.
        return max(1, len(descendants.find(self.process)))


def start_kept(work: Work) -> tuple[Keeper, int]:
    """Return who keeps this work, and where to read what it tells. Raises OSError."""
    reading, writing = os.pipe2(os.O_CLOEXEC)
    order, telling = os.pipe2(os.O_CLOEXEC)
    keeper = os.fork()
    if keeper == 0:
        os.close(telling)
        _keep(work, writing, order)
    os.close(writing)
    os.close(order)
    return Keeper(keeper, telling), reading


def _keep(work: Work, writing: int, order: int) -> None:
    """Never returns: this process has a copy of everything that its parent still has to do."""
    code = 1
    try:
        _bound_number()
        is_alone = _enter_process_namespace()
        if not is_alone:
            descendants.inherit_orphans()
        worker = os.fork()
        if worker == 0:
            os.close(order)
            descendants.prctl(SET_PARENT_DEATH_SIGNAL, SIGKILL)
            # Whoever has to end a fork bomb must get a turn beside it.
            os.nice(LOWER_PRIORITY)
            if is_alone:
                _lead(writing)
            work_and_exit(work, writing)
        hear_nobody()
        os.close(writing)
        _wait_for_word(worker, order)
        if is_alone:
            # The kernel kills everybody else in there, and lets go of this one when they are gone.
            os.kill(worker, SIGKILL)
            os.waitpid(worker, 0)
        else:
            descendants.end_all()
        code = 0
    finally:
        os._exit(code)  # noqa: SLF001 - the one way out of a fork


def _lead(writing: int) -> None:
    """
    Return in a child of this process, which is the first of its namespace and ends with that child.

    The work is not the first process itself: that one cannot be stopped or killed from within.
    """
    worker = os.fork()
    if worker == 0:
        return
    hear_nobody()
    os.close(writing)
    # The orphans of a namespace become children of its first process.
    while os.waitpid(-1, 0)[0] != worker:
        pass
    os._exit(0)  # noqa: SLF001 - the one way out of a fork


def _wait_for_word(worker: int, order: int) -> None:
    """Return when the work is over, or when the other end of the pipe is closed."""
    poll = select.poll()
    poll.register(order, select.POLLIN)
    poll.register(os.pidfd_open(worker), select.POLLIN)
    poll.poll()


def _bound_number() -> None:
    import resource

    # The limit counts every process of the user, so it is set above those that there are.
    running = descendants.count_of_user(os.getuid())
    hard = resource.getrlimit(resource.RLIMIT_NPROC)[1]
    wanted = running + MORE_TASKS
    limit = wanted if hard == resource.RLIM_INFINITY else min(wanted, hard)
    resource.setrlimit(resource.RLIMIT_NPROC, (limit, limit))


def _enter_process_namespace() -> bool:
    """
    Have the next child begin a process namespace; return False where the kernel refuses.

    Whoever is not root needs a user namespace for it, in which everybody keeps their own number.
    /proc stays the machine's, so a program finds itself there as ever.
    """
    import ctypes

    user, group = os.getuid(), os.getgid()
    wanted = NEW_PROCESS_NAMESPACE | (0 if user == ROOT else NEW_USER_NAMESPACE)
    # Not ours in a process that may not be looked into: nobody would have a number afterwards.
    is_ours = os.stat("/proc/self/uid_map").st_uid == user
    if not is_ours or ctypes.CDLL(None).unshare(wanted) != 0:
        return False
    if user != ROOT:
        _write("/proc/self/setgroups", "deny")
        _write("/proc/self/uid_map", f"{user} {user} 1")
        _write("/proc/self/gid_map", f"{group} {group} 1")
    return True


def _write(path: str, text: str) -> None:
    descriptor = os.open(path, os.O_WRONLY | os.O_CLOEXEC)
    try:
        os.write(descriptor, text.encode())
    finally:
        os.close(descriptor)
