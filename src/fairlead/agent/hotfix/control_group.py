"""
A control group around one attempt, so that everything in it can be bounded, and ended at once.

A process may leave its session, its parent and its process group; it does not leave its control
group by accident. Version 2 is used where it is mounted, else version 1. In a systemd unit that is
delegated to us, the agent moves into a group of its own first: only then may the kernel bound what
is in the other one.

systemd ends everything of a unit with it. An agent that somebody else started may be killed alone:
then its warden, a process that waits for nothing else, ends the group.
"""

from __future__ import annotations

import posix as os
import time

from fairlead.agent.hotfix.in_fork import hear_nobody
from fairlead.agent.hotfix.turn import hurry

SIGKILL = 9
# One try of a warden; the next one follows as long as anything is left.
TRY_S = 1.0

# Where distributions mount them; the second one is beside version 1.
UNIFIED = ("/sys/fs/cgroup", "/sys/fs/cgroup/unified")
# Hierarchies of version 1 that can hold an attempt still, or at least count it.
DIVIDED = ("freezer", "pids", "systemd")
DIVIDED_MOUNT = "/sys/fs/cgroup/{}"
SYSTEMD_HIERARCHY = "name=systemd"

PREFIX = "fairlead-fix-"
OWN_PART = "fairlead-agent"

# A package manager has a dozen processes. A fork bomb meets this instead of the machine's end: the
# kernel refuses more where it counts tasks, and whoever waits gives the attempt up everywhere.
MOST_TASKS = 256
# What lists the tasks of a group: version 2, version 1.
TASK_LISTS = ("cgroup.threads", "tasks")
# dnf with the metadata of a distribution takes 400 MiB. What takes more is ended inside the group.
MOST_MEMORY = 1 << 30

# Of version 2 and 1: what is written where to hold a group still and to let it go, and which file
# says by which line that it stands.
FREEZERS = (
    ("cgroup.freeze", "1", "0", "cgroup.events", "frozen 1"),
    ("freezer.state", "FROZEN", "THAWED", "freezer.state", "FROZEN"),
)

STEP_S = 0.002
# How long a group is given to stand still. It takes a moment where 256 tasks run on two cores.
STILL_S = 0.25


class ControlGroup:
    """One new group in one hierarchy, and if need be a second one that only counts tasks."""

    __slots__ = ("_counting", "path")

    def __init__(self, path: str, counting: str) -> None:
        self.path = path
        self._counting = counting

    def add(self, process: int) -> None:
        """Move a process here; what it starts from then on is here, too. Raises OSError."""
        for path in (self.path, self._counting):
            if path:
                _write(f"{path}/cgroup.procs", str(process))

    def why_too_much(self) -> str:
        """Return what is wrong if it holds as many tasks as it may; else ''."""
        count = _count_tasks(self.path)
        return f"{count} tasks at once, of at most {MOST_TASKS}" if count >= MOST_TASKS else ""

    def end(self, deadline_s: float) -> int:
        """Kill everything in it; return how many processes are still there at the deadline."""
        end = time.monotonic() + deadline_s
        if self._counting:
            # Nobody takes the place of a killed one.
            _try_write(f"{self._counting}/pids.max", "0")
        while True:
            _kill_all(self.path)
            left = _members(self.path)
            # Whoever is dying is listed no more, and holds its group for a moment longer.
            if (not left and self._is_removed()) or time.monotonic() >= end:
                return len(left)
            time.sleep(STEP_S)

    def _is_removed(self) -> bool:
        is_gone = _remove(self.path)
        return (not self._counting or _remove(self._counting)) and is_gone


class WatchedGroup:
    """A control group and its warden."""

    __slots__ = ("_group", "_life", "_warden")

    def __init__(self, group: ControlGroup, warden: int, life: int) -> None:
        self._group = group
        self._warden = warden
        self._life = life

    def add(self, process: int) -> None:
        """Move a process here. Raises OSError."""
        self._group.add(process)

    def why_too_much(self) -> str:
        """Return what is wrong if it holds as many tasks as it may; else ''."""
        return self._group.why_too_much()

    def end(self, deadline_s: float) -> int:
        """Kill everything in it; return how many are left, which the warden goes on with."""
        left = self._group.end(deadline_s)
        if not left:
            os.kill(self._warden, SIGKILL)
        os.close(self._life)
        os.waitpid(self._warden, os.WNOHANG if left else 0)
        return left

    def leave_to_warden(self) -> None:
        """In the process of the work: this end of the pipe is the agent's alone."""
        os.close(self._life)


def make_control_group() -> ControlGroup | None:
    """Return a new group below our own, or None where we may make none."""
    own = _own_groups()
    for mount in UNIFIED:
        if "" in own and _exists(f"{mount}/cgroup.controllers"):
            counting = "" if _has_unified_tasks(mount) else _make_divided(own, "pids")
            group = _make_unified(mount + own[""].rstrip("/"), counting)
            if group is not None:
                return group
    for name in DIVIDED:
        path = _make_divided(own, name)
        if path:
            return ControlGroup(path, "" if name == "pids" else _make_divided(own, "pids"))
    return None


def watch_group(group: ControlGroup) -> WatchedGroup:
    """Return the group with a warden. Raises OSError where there can be none."""
    waiting, life = os.pipe2(os.O_CLOEXEC)
    try:
        warden = os.fork()
    except OSError:
        os.close(life)
        os.close(waiting)
        raise
    if warden == 0:
        _wait_and_end(group, waiting, life)
    os.close(waiting)
    return WatchedGroup(group, warden, life)


def _wait_and_end(group: ControlGroup, waiting: int, life: int) -> None:
    """Never returns: this process has a copy of everything that its parent still has to do."""
    try:
        hear_nobody()
        os.close(life)
        # Nothing is ever written: this ends when the last copy of the other end is closed.
        os.read(waiting, 1)
        while group.end(TRY_S):
            pass
    finally:
        os._exit(0)  # noqa: SLF001 - the one way out of a fork


def _make_unified(above: str, counting: str) -> ControlGroup | None:
    if above.endswith(".service"):
        _divide_unit(above)
    elif above.endswith(f".service/{OWN_PART}"):
        above = above.rpartition("/")[0]
    path = _make_below(above)
    if not path:
        return None
    for name, value in (("pids.max", MOST_TASKS), ("memory.max", MOST_MEMORY)):
        if _exists(f"{path}/{name}"):
            _try_write(f"{path}/{name}", str(value))
    return ControlGroup(path, counting)


def _divide_unit(unit: str) -> None:
    """Let the kernel bound groups below this one: a group with processes of its own cannot."""
    own = f"{unit}/{OWN_PART}"
    try:
        os.mkdir(own)
    except FileExistsError:
        pass
    except OSError:
        return  # not delegated: the unit's own bounds are all there is
    if _try_write(f"{own}/cgroup.procs", str(os.getpid())):
        for controller in ("+pids", "+memory"):
            _try_write(f"{unit}/cgroup.subtree_control", controller)


def _make_divided(own: dict[str, str], name: str) -> str:
    key = SYSTEMD_HIERARCHY if name == "systemd" else name
    if key not in own:
        return ""
    path = _make_below(DIVIDED_MOUNT.format(name) + own[key].rstrip("/"))
    if path and name == "pids":
        _try_write(f"{path}/pids.max", str(MOST_TASKS))
    return path


def _make_below(above: str) -> str:
    """Return a new group, after groups of agents that were killed are ended; '' if refused."""
    try:
        if not _exists(f"{above}/cgroup.procs"):
            return ""  # a directory that nothing is mounted at
        for name in os.listdir(above):
            if name.startswith(PREFIX) and not _exists(f"/proc/{name.removeprefix(PREFIX)}"):
                _kill_all(f"{above}/{name}")
                _remove(f"{above}/{name}")
        path = f"{above}/{PREFIX}{os.getpid()}"
        os.mkdir(path)
    except OSError:
        return ""
    return path


def _own_groups() -> dict[str, str]:
    """Return which group we are in, by controller; '' is version 2."""
    try:
        lines = _read("/proc/self/cgroup").split("\n")
    except OSError:
        return {}
    found = {}
    for line in lines:
        _, _, rest = line.partition(":")
        controllers, colon, path = rest.partition(":")
        if colon:
            found.update(dict.fromkeys(controllers.split(","), path))
    return found


def _has_unified_tasks(mount: str) -> bool:
    try:
        return "pids" in _read(f"{mount}/cgroup.controllers").split()
    except OSError:
        return False


def _kill_all(path: str) -> None:
    # First, and with all groups below: a fork bomb uses every moment.
    if _try_write(f"{path}/cgroup.kill", "1"):
        for process in _members(path):
            hurry(process)
        return
    for below in _groups_below(path):
        _kill_all(below)
    # Older kernels: what stands still cannot start more. A killed one dies when it is let go.
    for switch, still, moving, file, says in FREEZERS:
        if _try_write(f"{path}/{switch}", still):
            _wait_for(f"{path}/{file}", says)
            _kill_each(path)
            _try_write(f"{path}/{switch}", moving)
            return
    _kill_each(path)


def _kill_each(path: str) -> None:
    for process in _members(path):
        try:
            os.kill(process, SIGKILL)
        except OSError:
            continue  # gone by itself
        hurry(process)


def _wait_for(path: str, line: str) -> None:
    """
    Wait until the kernel says that a group stands still.

    Whoever is about to start one more goes on until then, and its child would not be killed.
    """
    end = time.monotonic() + STILL_S
    while time.monotonic() < end:
        try:
            if line in _read(path).split("\n"):
                return
        except OSError:
            return  # removed meanwhile
        time.sleep(STEP_S)


def _members(path: str) -> list[int]:
    found = []
    for group in (path, *_groups_below(path)):
        try:
            found += [int(word) for word in _read(f"{group}/cgroup.procs").split()]
        except OSError:
            continue  # removed meanwhile
    return found


def _count_tasks(path: str) -> int:
    count = 0
    for group in (path, *_groups_below(path)):
        for name in TASK_LISTS:
            try:
                count += _read(f"{group}/{name}").count("\n")
            except OSError:
                continue  # of the other version, or removed meanwhile
            break
    return count


def _groups_below(path: str) -> list[str]:
    try:
        names = os.listdir(path)
    except OSError:
        return []
    return [f"{path}/{name}" for name in names if _exists(f"{path}/{name}/cgroup.procs")]


def _remove(path: str) -> bool:
    """Say whether this group is gone; one that is busy is tried again, by us or the next agent."""
    for below in _groups_below(path):
        _remove(below)
    try:
        os.rmdir(path)
    except FileNotFoundError:
        return True
    except OSError:
        return False
    return True


def _exists(path: str) -> bool:
    try:
        os.stat(path)
    except OSError:
        return False
    return True


def _read(path: str) -> str:
    descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    try:
        parts = []
        while part := os.read(descriptor, 1 << 16):
            parts.append(part)
    finally:
        os.close(descriptor)
    return b"".join(parts).decode("ascii", "replace")


def _write(path: str, text: str) -> None:
    descriptor = os.open(path, os.O_WRONLY | os.O_CLOEXEC)
    try:
        os.write(descriptor, text.encode())
    finally:
        os.close(descriptor)


def _try_write(path: str, text: str) -> bool:
    try:
        _write(path, text)
    except OSError:
        return False
    return True
