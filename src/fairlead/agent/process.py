"""
Run one program with a deadline, keeping the last part of what it printed.

`subprocess` costs 14 ms to import, so this uses posix_spawn. Waits on the process itself, not on
end-of-file: a script that leaves a daemon behind holding its output must not hang the boot.
"""

from __future__ import annotations

import os
import select
import time

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    OnOutput = Callable[[bytes], None]

# Enough for the error at the end of a long log; the whole status must stay readable.
KEPT_OUTPUT_BYTES = 16 * 1024

# The `signal` module costs 5 ms for the sake of its enums.
SIGKILL = 9

# What a shell reports for a program killed by signal N.
SIGNAL_EXIT_BASE = 128


class Finished:
    """How a program ended. `exit_code` follows the shell's convention for signals."""

    __slots__ = ("exit_code", "is_timeout", "output")

    def __init__(self, exit_code: int, output: bytes, *, is_timeout: bool = False) -> None:
        self.exit_code = exit_code
        self.output = output
        self.is_timeout = is_timeout


def run(
    command: list[str],
    environment: dict[str, str],
    deadline_s: float | None,
    on_output: OnOutput | None,
) -> Finished:
    """Run to the end or to the deadline. Output and errors are one stream. See Host.run."""
    reading, writing = os.pipe2(os.O_CLOEXEC)
    try:
        process = _spawn(command, environment, writing)
        return _collect(process, reading, deadline_s, on_output)
    finally:
        os.close(reading)


def _spawn(command: list[str], environment: dict[str, str], writing: int) -> int:
    """Start the program, its output going to `writing`, which is closed here; return its pid."""
    # Bytes, so that the machine's locale has no say in what a script gets.
    words = [_bytes(word) for word in command]
    variables = {_bytes(name): _bytes(value) for name, value in environment.items()}
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


def _bytes(text: str) -> bytes:
    return text.encode("utf-8", "surrogateescape")


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
