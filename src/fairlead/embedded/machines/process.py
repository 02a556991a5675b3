"""
The processes of one machine: started so that they outlive us, found again, and ended.

The pid file is on the disk before the program runs: a shell waits at a gate until it is, and a
control plane that is killed in between leaves a shell that ends by itself. A pid alone proves
nothing, since the kernel gives it out again: the start time and the boot of this computer go with
it. What a machine starts in sessions of its own is known by a variable that children inherit.
"""

from __future__ import annotations

import os
import select
import signal
import stat
import time
from contextlib import ExitStack, suppress
from pathlib import Path

from fairlead.embedded.machines.kind import Printed
from fairlead.embedded.machines.plain_file import find_end, find_part
from fairlead.errors import UnavailableError
from fairlead.whole_file import write_whole

PID_FILE = "pid"
CONSOLE = "console.log"

# Names the machine's directory in everything that it starts.
MARK = "FAIRLEAD_MACHINE_DIRECTORY"

# Opens when a line comes in, and never if whoever should send it dies. What comes after it reads
# nothing, and runs in the machine's directory.
GATE = 'cd "$1" && shift && read -r go && exec "$@" </dev/null'

# Appending: whoever trims it must not leave a hole where the next line goes. What a machine put in
# its place is neither followed nor waited for.
CONSOLE_FLAGS = os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_APPEND | os.O_CLOEXEC
CONSOLE_FLAGS |= os.O_NOFOLLOW | os.O_NONBLOCK

# Bytes. A machine that prints without end must not fill the disk.
LARGEST_CONSOLE = 4 * 1024 * 1024
CONSOLE_END = 16 * 1024
# What a command may ask for at once.
LARGEST_ANSWER = 256 * 1024
LARGEST_PID_FILE = 256

PROCESSES = Path("/proc")
BOOT_ID = PROCESSES / "sys/kernel/random/boot_id"

# Fields of /proc/PID/stat, counted after the command's closing parenthesis: see proc(5).
STATE, START_TIME = 0, 19
ENDED = ("Z", "X")

# A killed process is gone in milliseconds, unless a disk that hangs holds it.
KILL_DEADLINE_S = 10.0
STEP_S = 0.005


def start_process(directory: Path, command: list[str], environment: dict[str, str]) -> int:
    """
    Start a program for the machine in this directory, in a session of its own; return its pid.

    Afterwards the pid file names it, and the console holds what it prints and nothing else.
    """
    variables = {
        "PATH": os.environ.get("PATH", os.defpath),
        **environment,
        MARK: str(directory),
    }
    with ExitStack() as stack:
        # Each is let go of whatever comes after it: a computer may run out of descriptors here.
        console = os.open(directory / CONSOLE, CONSOLE_FLAGS, 0o600)
        stack.callback(os.close, console)
        reading, writing = os.pipe2(os.O_CLOEXEC)
        stack.callback(os.close, reading)
        stack.callback(os.close, writing)
        process = os.posix_spawn(
            "/bin/sh",
            ["/bin/sh", "-c", GATE, "gate", str(directory), *command],
            variables,
            file_actions=[
                (os.POSIX_SPAWN_DUP2, reading, 0),
                (os.POSIX_SPAWN_DUP2, console, 1),
                (os.POSIX_SPAWN_DUP2, console, 2),
            ],
            setsid=True,
            # Python ignores it, and what is ignored stays so in children.
            setsigdef=[signal.SIGPIPE],
        )
        _write_pid_file(directory, process)
        os.write(writing, b"go\n")
    return process


def trim_console(directory: Path) -> None:
    """Afterwards what the machine printed takes no more room than it may."""
    with suppress(FileNotFoundError, NotADirectoryError):
        found = (directory / CONSOLE).lstat()
        if stat.S_ISREG(found.st_mode) and found.st_size > LARGEST_CONSOLE:
            descriptor = os.open(directory / CONSOLE, CONSOLE_FLAGS)  # which empties it
            os.close(descriptor)


def console_end(directory: Path) -> bytes:
    """Return the last part of what the machine printed; b'' if it printed nothing."""
    return find_end(directory / CONSOLE, CONSOLE_END) or b""


def read_console(directory: Path, most: int) -> tuple[int, bytes]:
    """Return where the last part of what the machine printed begins, and that part."""
    return find_part(directory / CONSOLE, most) or (0, b"")


def find_process(directory: Path) -> int | None:
    """
    Return the pid of the machine's first process if it runs; None if it ended or never began.

    A child of ours that ended is reaped here. Machines outlive us, so most are nobody's children
    that could be waited for; looking is the one way that works for all.
    """
    noted = _read_pid_file(directory)
    if noted is None:
        return None
    process, started, boot = noted
    fields = _stat_fields(process)
    if fields is None or fields[START_TIME] != started or boot != _boot_id():
        return None
    if fields[STATE] in ENDED:
        _is_living_child(process)
        return None
    return process


def find_start_ns(directory: Path) -> int | None:
    """Return when the machine was last given power, as wall-clock nanoseconds; None if never."""
    try:
        return (directory / PID_FILE).stat().st_mtime_ns
    except FileNotFoundError:
        return None


def printed_by(directory: Path, last_words: str) -> Printed:
    """Return the end of what the machine printed since it last got power."""
    begin, data = read_console(directory, LARGEST_ANSWER)
    started_ns = find_start_ns(directory)
    power = "" if started_ns is None else str(started_ns)
    return Printed(power=power, begin=begin, data=data, last_words=last_words)


def list_processes(directory: Path) -> list[int]:
    """Return everything that the machine started on this computer and that still runs."""
    mark = f"{MARK}={directory}".encode()
    found = {int(entry) for entry in os.listdir(PROCESSES) if entry.isdigit()}  # noqa: PTH208
    marked = [process for process in found if mark in _environment_of(process)]
    first = find_process(directory)
    return sorted({*marked, first} if first is not None else set(marked))


def kill_processes(directory: Path) -> None:
    """Afterwards nothing that the machine started runs. Raises UnavailableError if it stays."""
    end = time.monotonic() + KILL_DEADLINE_S
    killed: set[int] = set()
    while running := [*list_processes(directory), *filter(_is_living_child, killed)]:
        for process in running:
            _kill(process, directory)
        killed.update(running)
        if time.monotonic() > end:
            shown = ", ".join(map(str, running))
            raise UnavailableError(f"killed processes of {directory.name} do not end: {shown}")
        time.sleep(STEP_S)


def children_of(process: int) -> list[int]:
    """Return the pids of a process's children; [] if it ended."""
    try:
        text = (PROCESSES / f"{process}/task/{process}/children").read_text()
    except (FileNotFoundError, ProcessLookupError):
        return []
    return [int(child) for child in text.split()]


def open_children(process: int, stack: ExitStack) -> list[int]:
    """Return handles of a process's children, which stay theirs whatever becomes of the pids."""
    handles = []
    for child in children_of(process):
        with suppress(ProcessLookupError):
            handles.append(os.pidfd_open(child))
            stack.callback(os.close, handles[-1])
    return handles


def kill_open(handles: list[int]) -> None:
    """Afterwards none of these processes runs. Raises UnavailableError if one stays."""
    for handle in handles:
        with suppress(ProcessLookupError):
            signal.pidfd_send_signal(handle, signal.SIGKILL)
        ended = select.poll()
        ended.register(handle, select.POLLIN)
        if not ended.poll(KILL_DEADLINE_S * 1000):
            raise UnavailableError("a killed process does not end")


def _is_living_child(process: int) -> bool:
    """Reap a child of ours that ended; say whether it has yet to end."""
    try:
        return os.waitpid(process, os.WNOHANG)[0] == 0
    except ChildProcessError:
        return False


def _kill(process: int, directory: Path) -> None:
    """Kill by a handle: between a look and a signal a pid may become another process."""
    try:
        handle = os.pidfd_open(process)
    except (ProcessLookupError, OSError):
        return
    try:
        is_marked = f"{MARK}={directory}".encode() in _environment_of(process)
        if is_marked or find_process(directory) == process:
            signal.pidfd_send_signal(handle, signal.SIGKILL)
    except ProcessLookupError:
        return
    finally:
        os.close(handle)


def _write_pid_file(directory: Path, process: int) -> None:
    fields = _stat_fields(process)
    started = fields[START_TIME] if fields else "0"
    write_whole(directory / PID_FILE, f"{process} {started} {_boot_id()}\n".encode())


def _read_pid_file(directory: Path) -> tuple[int, str, str] | None:
    words = (find_end(directory / PID_FILE, LARGEST_PID_FILE) or b"").decode(errors="replace")
    match words.split():
        case [process, started, boot] if process.isascii() and process.isdigit():
            return int(process), started, boot
    return None  # torn by a power cut, after which nothing of it runs


def _stat_fields(process: int) -> list[str] | None:
    """Return what follows the command's name, which may hold anything."""
    try:
        text = (PROCESSES / str(process) / "stat").read_text(errors="replace")
    except (FileNotFoundError, ProcessLookupError):
        return None
    return text.rpartition(")")[2].split()


def _environment_of(process: int) -> list[bytes]:
    """Return the variables that a process began with; [] if it ended or is not ours to see."""
    try:
        return (PROCESSES / str(process) / "environ").read_bytes().split(b"\0")
    except OSError:
        return []


def _boot_id() -> str:
    return BOOT_ID.read_text().strip()
