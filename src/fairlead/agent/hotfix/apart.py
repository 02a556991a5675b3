"""
Work in a process of its own: its lines are read until a deadline, and nothing of it stays.

The child is a fork, so it starts with all that this process knows and costs no second start. What
it tells comes as lines over a pipe. They are bounded, because whoever parses what strangers wrote
may be made to say anything.
"""

from __future__ import annotations

import posix as os
import select
import time

from fairlead.agent import process
from fairlead.agent.hotfix.control_group import make_control_group, watch_group
from fairlead.agent.hotfix.in_fork import work_and_exit
from fairlead.agent.hotfix.turn import Turn

TYPE_CHECKING = False
if TYPE_CHECKING:
    from fairlead.agent.hotfix.control_group import WatchedGroup
    from fairlead.agent.hotfix.in_fork import Apart, Work
    from fairlead.agent.hotfix.kept import Keeper

# A line is the end of one stage; its longest part is a cause.
LONGEST_LINE = 64 * 1024

# How long killed processes may take to be gone; the boot goes on then, whatever they do.
END_DEADLINE_S = 0.4

# How often it is looked at whether it multiplies: a fork bomb makes a hundred tasks meanwhile.
LOOK_MS = 25.0

NS_PER_MS = 1_000_000


class ForkedWork:
    """The child, its pipe, and what holds everything together that it starts."""

    __slots__ = ("_buffer", "_given_up", "_holder", "_process", "_reading", "_turn")

    def __init__(self, holder: WatchedGroup | Keeper, child: int, reading: int) -> None:
        self._holder = holder
        self._process = child
        self._reading = reading
        self._buffer = bytearray()
        self._given_up = ""
        # Whoever has to end a fork bomb must get a turn beside it.
        self._turn = Turn()

    def next_line(self, until_ns: int) -> bytes | None:
        """See Apart."""
        terminal = process.Terminal()
        try:
            terminal.process = self._process
            terminal.refuse_pending()
            return self._next_line(until_ns)
        except (process.TerminatedError, KeyboardInterrupt):
            self.end()
            raise
        finally:
            terminal.release()

    def _next_line(self, until_ns: int) -> bytes | None:
        poll = select.poll()
        poll.register(self._reading, select.POLLIN)
        while b"\n" not in self._buffer:
            left_ms = (until_ns - time.monotonic_ns()) / NS_PER_MS
            self._given_up = self._holder.why_too_much()
            if left_ms <= 0 or self._given_up:
                return None
            if not poll.poll(min(left_ms, LOOK_MS)):
                continue
            part = os.read(self._reading, 1 << 16)
            self._buffer += part
            if not part or len(self._buffer) > LONGEST_LINE:
                return None
        line, _, rest = bytes(self._buffer).partition(b"\n")
        self._buffer[:] = rest
        return line

    def why_given_up(self) -> str:
        """See Apart."""
        return self._given_up

    def end(self) -> int:
        """See Apart."""
        left = self._holder.end(END_DEADLINE_S)
        self._turn.release()
        os.close(self._reading)
        try:
            # Whoever cannot be killed is not waited for.
            os.waitpid(self._process, os.WNOHANG if left else 0)
        except ChildProcessError:
            return left  # collected with the others
        return left


def start_apart(work: Work) -> Apart:
    """Start this work in a child. Raises OSError where there can be none."""
    made = make_control_group()
    if made is None:
        from fairlead.agent.hotfix.kept import start_kept

        keeper, told = start_kept(work)
        return ForkedWork(keeper, keeper.process, told)
    group = watch_group(made)
    reading, writing = os.pipe2(os.O_CLOEXEC)
    gate, opener = os.pipe2(os.O_CLOEXEC)
    child = os.fork()
    if child == 0:
        _work_when_told(work, writing, (gate, opener), group)
    os.close(writing)
    os.close(gate)
    try:
        group.add(child)
        os.write(opener, b"\n")
    except OSError:
        # Not started: without its byte the child ends at the end of the pipe.
        os.close(reading)
        os.kill(child, process.SIGKILL)
        os.waitpid(child, 0)
        group.end(END_DEADLINE_S)
        raise
    finally:
        os.close(opener)
    return ForkedWork(group, child, reading)


def _work_when_told(work: Work, writing: int, gate: tuple[int, int], group: WatchedGroup) -> None:
    try:
        group.leave_to_warden()
        # Nothing is started before what holds it together is there.
        os.close(gate[1])
        if os.read(gate[0], 1):
            work_and_exit(work, writing)
    finally:
        os._exit(1)  # noqa: SLF001 - the one way out of a fork
