"""
One node: a root under an overlay in memory, booted by systemd-nspawn, gone without a trace.

Nothing a node does reaches this machine's network: each has a network namespace of its own, and
start_node kills it and refuses to go on if that namespace has a way out. A process that enters a
node from outside would keep this machine's capabilities (one such `date -s` moved the real
clock), so Node.enter drops them.

Everything made here carries the name fairlead-boot-<pid>-<n>, so that what a killed test run left
behind can be told from what a living one uses, and swept.
"""

import atexit
import itertools
import os
import signal
import socket
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from shutil import which

PREFIX = "fairlead-boot"
SCRATCH = Path("/run") if os.access("/run", os.W_OK) else Path("/tmp")
CGROUPS = Path("/sys/fs/cgroup")
NAMESPACES = Path("/run/netns")
NODE_TOOLS = ("systemd-nspawn", "nsenter", "setpriv", "ip", "mount", "umount")

# A first boot takes 1 to 3 s on two idle cores, and ten times that beside other work.
BOOT_DEADLINE_S = 90.0
LEADER_DEADLINE_S = 20.0

DATA_SOURCES = "datasource_list: [NoCloud, None]"

# What host root has and PID 1 of a node has not.
DROPPED = "-sys_time,-sys_module,-sys_rawio,-sys_boot,-syslog"

_numbers = itertools.count(1)


class NotIsolatedError(Exception):
    """A node could reach, or change, something outside itself."""


class Node:
    """A running node. `root` is its whole tree, `upper` what it wrote."""

    def __init__(self, name: str, directory: Path) -> None:
        self.name = name
        self.directory = directory
        self.upper = directory / "upper"
        self.root = directory / "root"
        self.leader = 0
        self.started_us = 0
        self.process: subprocess.Popen[bytes] | None = None

    def wait_for(self, path: str, deadline_s: float = BOOT_DEADLINE_S) -> Path:
        """Return where the node wrote this path, once it is there; TimeoutError if it is not."""
        found = self.upper / path.lstrip("/")
        end = time.monotonic() + deadline_s
        while not found.exists():
            if time.monotonic() > end:
                raise TimeoutError(f"{self.name} did not write {path} in {deadline_s:.0f} s")
            if self.process is not None and self.process.poll() is not None:
                raise TimeoutError(f"{self.name} ended before it wrote {path}")
            time.sleep(0.02)
        return found

    def read(self, path: str) -> str:
        """Return a file of the node; '' if there is none."""
        file = self.root / path.lstrip("/")
        return file.read_text(errors="replace") if file.is_file() else ""

    def enter(self, *command: str, timeout_s: float = 20.0) -> subprocess.CompletedProcess[str]:
        """Run a command inside the node, with no more rights than the node's own PID 1."""
        return subprocess.run(
            [
                *("nsenter", "-t", str(self.leader), "-m", "-p", "-u", "-i", "-n", "-C", "--wd=/"),
                *("setpriv", f"--bounding-set={DROPPED}", "--inh-caps=-all", *command),
            ],
            capture_output=True,
            text=True,
            timeout=timeout_s,
            check=False,
            env={"PATH": "/usr/sbin:/usr/bin:/sbin:/bin", "LC_ALL": "C.UTF-8"},
        )

    def console(self) -> str:
        """Return what the node printed on its console."""
        return (self.directory / "console.log").read_text(errors="replace")


def missing_tools(*more: str) -> list[str]:
    """Return what has to be installed, or become root, before a node can boot."""
    missing = [tool for tool in (*NODE_TOOLS, *more) if which(tool) is None]
    return missing if os.geteuid() == 0 else ["root", *missing]


@contextmanager
def make_node(*lower: Path) -> Iterator[Node]:
    """Yield a node that lies over these roots, the first on top; nothing of it is left after."""
    name = f"{PREFIX}-{os.getpid()}-{next(_numbers)}"
    node = Node(name, SCRATCH / name)
    node.directory.mkdir()
    try:
        _mount("-t", "tmpfs", "-o", "mode=0700,size=1g", "tmpfs", node.directory)
        work = node.directory / "work"
        for directory in (node.upper, work, node.root):
            directory.mkdir(mode=0o755)
        layers = ":".join(str(path) for path in lower)
        options = f"lowerdir={layers},upperdir={node.upper},workdir={work}"
        _mount("-t", "overlay", "-o", options, "overlay", node.root)
        yield node
    finally:
        stop_node(node)
        remove_node(name)


def start_node(
    node: Node, *, network: str = "", options: tuple[str, ...] = (), runs_pods: bool = False
) -> None:
    """
    Boot the node; afterwards its PID 1 runs, in a network that leads nowhere.

    runs_pods: the node gets groups of its own in every controller, to divide among its pods.
    """
    _refuse_other_data_sources(node.root)
    groups = every_group(node.name) if runs_pods else control_groups(node.name)
    for group in groups:
        group.mkdir(exist_ok=True)
        _allow_what_its_parent_has(group)
    enter = "".join(f"echo $$ > {group}/cgroup.procs; " for group in groups)
    way = f"--network-namespace-path=/run/netns/{network}" if network else "--private-network"
    command = [
        *("/bin/sh", "-c", enter + 'exec "$@"', "enter"),
        *("systemd-nspawn", "--quiet", "--boot", f"--directory={node.root}"),
        *("--register=no", "--keep-unit", f"--machine={node.name}", "--notify-ready=yes", way),
        *("--link-journal=no", "--resolv-conf=off", "--timezone=off", "--console=pipe"),
        *options,
    ]
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as notices:
        address = node.directory / "notify"
        address.unlink(missing_ok=True)
        notices.bind(str(address))
        with (node.directory / "console.log").open("wb") as console:
            node.started_us = time.monotonic_ns() // 1000
            node.process = subprocess.Popen(
                command,
                env={
                    "PATH": os.environ.get("PATH", os.defpath),
                    "NOTIFY_SOCKET": str(address),
                    "SYSTEMD_NSPAWN_UNIFIED_HIERARCHY": "0" if runs_pods else "1",
                },
                stdin=subprocess.DEVNULL,
                stdout=console,
                stderr=subprocess.STDOUT,
            )
        node.leader = _leader_of(node, notices)
    try:
        refuse_way_out(node.leader)
    except NotIsolatedError:
        stop_node(node)
        raise


def stop_node(node: Node) -> None:
    """Cut the node's power: its PID 1 and everything below are gone."""
    if node.process is None:
        return
    if node.leader:
        with suppress(ProcessLookupError):
            os.kill(node.leader, signal.SIGKILL)
    else:
        node.process.kill()
    try:
        node.process.wait(10)
    except subprocess.TimeoutExpired:
        node.process.kill()
        node.process.wait(10)
    node.process = None
    node.leader = 0
    _empty_groups(node.name)


def _leader_of(node: Node, notices: socket.socket) -> int:
    notices.settimeout(LEADER_DEADLINE_S)
    while True:
        try:
            notice = notices.recv(4096).decode()
        except TimeoutError:
            raise TimeoutError(f"{node.name} did not start: {node.console()[-2000:]}") from None
        for line in notice.splitlines():
            if line.startswith("X_NSPAWN_LEADER_PID="):
                return int(line.partition("=")[2])


def refuse_way_out(process: int) -> None:
    """Raise unless this process is in a network namespace of its own without a default route."""
    theirs, ours = Path(f"/proc/{process}/ns/net"), Path("/proc/self/ns/net")
    if theirs.stat().st_ino == ours.stat().st_ino:
        raise NotIsolatedError("the node shares this machine's network")
    for line in Path(f"/proc/{process}/net/route").read_text().splitlines()[1:]:
        fields = line.split()
        if fields[1] == "00000000":
            raise NotIsolatedError(f"the node has a default route through {fields[0]}")
    for line in Path(f"/proc/{process}/net/dev").read_text().splitlines()[2:]:
        interface = line.partition(":")[0].strip()
        if not (interface == "lo" or interface.startswith(("host0", "flb"))):
            raise NotIsolatedError(f"the node has an interface that is not ours: {interface}")


def _refuse_other_data_sources(root: Path) -> None:
    """A node that probes for its cloud would send requests to whatever network there is."""
    found = []
    for file in sorted((root / "etc/cloud").rglob("*.cfg")):
        text = file.read_text()
        found += [line for line in text.splitlines() if line.startswith("datasource_list:")]
    if not found or found[-1] != DATA_SOURCES or set(found) != {DATA_SOURCES}:
        raise NotIsolatedError(f"cloud-init would look elsewhere: {found or 'no datasource_list'}")


def control_groups(name: str) -> list[Path]:
    """Return where the groups of a node belong, in each hierarchy that systemd looks at."""
    parents = [CGROUPS / part for part in ("systemd", "unified", ".")]
    return [parent / name for parent in parents if (parent / "cgroup.procs").exists()]


def every_group(name: str) -> list[Path]:
    """Return where the groups of a node that runs pods belong: in each hierarchy there is."""
    mounted = sorted(path for path in CGROUPS.glob("*") if path.is_mount())
    parents = [*mounted, CGROUPS]
    return [parent / name for parent in parents if (parent / "cgroup.procs").exists()]


def _allow_what_its_parent_has(group: Path) -> None:
    """A new group of the controller cpuset may use no processor, and takes no process in."""
    for name in ("cpuset.cpus", "cpuset.mems"):
        if (group / name).exists() and not (group / name).read_text().strip():
            (group / name).write_text((group.parent / name).read_text())


def _empty_groups(name: str) -> None:
    for group in every_group(name):
        if group.exists():
            _empty_group(group)


def _empty_group(group: Path) -> None:
    """Kill what is left in a group of ours, then remove it."""
    end = time.monotonic() + 10
    directories = [*(path for path in group.rglob("*") if path.is_dir()), group]
    for path in sorted(directories, reverse=True):
        while path.exists():
            for process in (path / "cgroup.procs").read_text().split():
                with suppress(ProcessLookupError):
                    os.kill(int(process), signal.SIGKILL)
            try:
                path.rmdir()
            except OSError:
                if time.monotonic() > end:
                    raise
                time.sleep(0.01)


def _mount(*words: str | Path) -> None:
    subprocess.run(["mount", *map(str, words)], check=True, capture_output=True, text=True)


def remove_node(name: str) -> None:
    """Make mounts, control groups and directory of this name absent."""
    _empty_groups(name)
    directory = SCRATCH / name
    for mounted in (directory / "root", directory):
        while os.path.ismount(mounted):
            subprocess.run(["umount", "--lazy", str(mounted)], check=True, capture_output=True)
    if directory.exists():
        directory.rmdir()
    if (NAMESPACES / name).exists():
        subprocess.run(["ip", "netns", "delete", name], check=True, capture_output=True)


def sweep_leftovers() -> list[str]:
    """Remove the nodes whose makers are gone, or which this process forgot; return their names."""
    places = [SCRATCH, *every_group(""), NAMESPACES]
    names = {
        entry.name
        for place in places
        if place.is_dir()
        for entry in place.iterdir()
        if entry.name.startswith(f"{PREFIX}-") and not _is_owner_alive(entry.name)
    }
    for name in sorted(names):
        remove_node(name)
    return sorted(names)


def _is_owner_alive(name: str) -> bool:
    owner = name.removeprefix(f"{PREFIX}-").partition("-")[0]
    return owner.isdigit() and int(owner) != os.getpid() and Path(f"/proc/{owner}").exists()


@atexit.register
def _sweep_at_exit() -> None:
    if os.geteuid() == 0 and any(SCRATCH.glob(f"{PREFIX}-{os.getpid()}-*")):
        sweep_leftovers()
