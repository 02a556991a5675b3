"""
Run one program with a deadline, keeping the last part of what it printed.

`subprocess` costs 14 ms to import, so this uses posix_spawn. Waits on the process itself, not on
end-of-file: a script that leaves a daemon behind holding its output must not hang the boot. What
runs when this process is told to end is ended first: it has a session of its own, and would go on.
"""

from __future__ import annotations

# The `signal` module costs 5 ms for the sake of its enums; this is what it is made of.
import _signal  # type: ignore[import-not-found]
import posix as os
import select
import time

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    OnOutput = Callable[[bytes], None]

# Enough for the error at the end of a long log; the whole status must stay readable.
KEPT_OUTPUT_BYTES = 16 * 1024

SIGKILL = 9
SIGTERM = 15

# How long what runs may take to end after SIGTERM; systemd gives the agent 90 s for all of it.
END_DEADLINE_S = 5.0

# What a shell reports for a program killed by signal N.
SIGNAL_EXIT_BASE = 128


class Finished:
    """How a program ended. `exit_code` follows the shell's convention for signals."""

    __slots__ = ("exit_code", "is_timeout", "output")

    def __init__(self, exit_code: int, output: bytes, *, is_timeout: bool = False) -> None:
        self.exit_code = exit_code
        self.output = output
        self.is_timeout = is_timeout


class TerminatedError(BaseException):
    """SIGTERM came while a program ran: that is gone, and this process is to follow it."""


class Terminal:
    """What SIGTERM means while a program runs: not before its process is known."""

    __slots__ = ("_before", "is_pending", "process")

    def __init__(self) -> None:
        self.process = 0
        self.is_pending = False
        try:
            self._before = _signal.signal(SIGTERM, self._take)
        except ValueError:  # not the main thread, which is the one that gets signals
            self._before = None

    def _take(self, _number: int, _frame: object) -> None:
        self.is_pending = True
        self.refuse_pending()

    def refuse_pending(self) -> None:
        """Raise TerminatedError if SIGTERM came and the process is known."""
        if self.is_pending and self.process:
            raise TerminatedError

    def release(self) -> None:
        """Let SIGTERM mean what it meant before."""
        if self._before is not None:
            _signal.signal(SIGTERM, self._before)


def die_terminated() -> None:
    """End this process as SIGTERM would have."""
    _signal.signal(SIGTERM, _signal.SIG_DFL)
    os.kill(os.getpid(), SIGTERM)


def run(
    command: list[str],
    environment: dict[str, str],
    deadline_s: float | None,
    on_output: OnOutput | None,
) -> Finished:
    """Run to the end or to the deadline. Output and errors are one stream. See Host.run."""
    reading, writing = os.pipe2(os.O_CLOEXEC)
    terminal = Terminal()
    try:
        terminal.process = _spawn(command, environment, writing)
        terminal.refuse_pending()
        return _collect(terminal.process, reading, deadline_s, on_output)
    except (TerminatedError, KeyboardInterrupt):
        _end_group(terminal.process)
        raise
    finally:
        terminal.release()
        os.close(reading)


def _end_group(process: int) -> None:
    """Afterwards the program and everything in its process group are gone."""
    if not process:
        return
    end = time.monotonic() + END_DEADLINE_S
    is_there = _signal_group(process, SIGTERM)
    while is_there and time.monotonic() < end:
        time.sleep(0.02)
        # A leader that nobody collects would stay a member.
        _collect_leader(process, os.WNOHANG)
        is_there = _signal_group(process, 0)
    if is_there:
        _signal_group(process, SIGKILL)
        _collect_leader(process, 0)


def _signal_group(process: int, number: int) -> bool:
    """Send a signal, or with 0 none; return whether the group has a member."""
    try:
        os.killpg(process, number)
    except ProcessLookupError:
        return False
    return True


def _collect_leader(process: int, how: int) -> None:
    try:
        os.waitpid(process, how)
    except ChildProcessError:
        return  # collected already


def _spawn(command: list[str], environment: dict[str, str], writing: int) -> int:
    """Start the program, its output going to `writing`, which is closed here; return its pid."""
    # Bytes, so that the machine's locale has no say in what a script gets.
    code = ("utf-8", "surrogateescape")
    words = [word.encode(*code) for word in command]
    variables = {name.encode(*code): value.encode(*code) for name, value in environment.items()}
    null = os.open("/dev/null", os.O_RDONLY | os.O_CLOEXEC)
    try:
        # The one file action that posix_spawn needs per standard stream; dup2 clears CLOEXEC.
        actions = [(os.POSIX_SPAWN_DUP2, null, 0)]
        actions += [(os.POSIX_SPAWN_DUP2, writing, stream) for stream in (1, 2)]
        # A session of its own, so that the deadline can kill everything it started.
        return os.posix_spawnp(words[0], words, variables, file_actions=actions, setsid=True)
    finally:
        os.close(writing)
        os.close(null)


def _collect(
    process: int, reading: int, deadline_s: float | None, on_output: OnOutput | None
) -> Finished:
    os.set_blocking(reading, False)
    exited = os.pidfd_open(process)
    poll = select.poll()
    poll.register(reading, select.POLLIN)
    poll.register(exited, select.POLLIN)
    end = None if deadline_s is None else time.monotonic() + deadline_s
    kept = bytearray()
    is_timeout = False
    try:
        while True:
            remaining_ms = None if end is None else max(0.0, end - time.monotonic()) * 1000
            ready = [descriptor for descriptor, _ in poll.poll(remaining_ms)]
            if reading in ready and not _read(reading, kept, on_output):
                poll.unregister(reading)
            if exited in ready:
                break
            if not ready:
                is_timeout = True
                os.killpg(process, SIGKILL)
                break
        _, wait_status = os.waitpid(process, 0)
        _read(reading, kept, on_output)
    finally:
        os.close(exited)
    code = os.waitstatus_to_exitcode(wait_status)
    return Finished(
        code if code >= 0 else SIGNAL_EXIT_BASE - code, bytes(kept), is_timeout=is_timeout
    )


def _read(reading: int, kept: bytearray, on_output: OnOutput | None) -> bool:
    """Take what is there; return False at end-of-file."""
    while True:
        try:
            part = os.read(reading, 65536)
        except BlockingIOError:
            return True
        if not part:
            return False
        if on_output is not None:
            on_output(part)
        kept += part
        del kept[:-KEPT_OUTPUT_BYTES]
