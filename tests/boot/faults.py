"""
Ways to hurt a node, and what is left to say about it when its boot is over.

Disks are file systems in memory with a size of their own, bound over a directory of the node; the
node's root, its journal and the harness's files stay well. Everything is undone with the stack.
"""

import json
import os
import shutil
import subprocess
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from boot.boot_case import RECORDS, STATE, BootCase, prepare
from boot.node import CGROUPS, Node, make_node, start_node, stop_node
from boot.roots import agent_layer, base_root
from fairlead.agent.report.record import parse_record
from fairlead.contract.boot_report import BootReport

# The other one boots at half the speed.
SUITE = os.environ.get("FAIRLEAD_FAULT_SUITE", "trixie")
FAULT_TOOLS = ("mkfs.ext4", "losetup", "nsenter")

# A waiter must end by itself; this is for the test, not for the node.
WAITER_DEADLINE_S = 60
FILLER = ".filler"

# Smaller than this and a first boot has no room for its journal and cloud-init's state.
DISK_MIB = 96


@dataclass
class Machine:
    """A node to be hurt. `options` go to nspawn; `stack` undoes what was done to it."""

    node: Node
    stack: ExitStack
    case: BootCase
    options: list[str] = field(default_factory=list)
    network: str = ""

    @property
    def inside(self) -> Path:
        """The node's tree as the node sees it, mounts included; only while it runs."""
        return Path(f"/proc/{self.node.leader}/root")

    def write(self, path: str, text: str) -> None:
        """Put a file into the node's image."""
        file = self.node.root / path.lstrip("/")
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)

    def drop_in(self, text: str) -> None:
        """Change settings of the agent's unit."""
        self.write("/etc/systemd/system/fairlead-node.service.d/fault.conf", text)

    def start(self) -> None:
        """Boot."""
        start_node(self.node, network=self.network, options=tuple(self.options))

    def bind(self, path: str, mounting: str, *, read_only: bool = False) -> Path:
        """Put a file system of its own, with the same files, over a directory of the node."""
        source = self.node.root / path.lstrip("/")
        source.mkdir(parents=True, exist_ok=True)
        disk = self.node.directory / f"disk{len(self.options)}"
        disk.mkdir()
        _run("mount", "-t", "tmpfs", "-o", mounting, "tmpfs", disk)
        self.stack.callback(_run, "umount", "--lazy", disk)
        shutil.copytree(source, disk, symlinks=True, dirs_exist_ok=True)
        self.options.append(f"--bind{'-ro' if read_only else ''}={disk}:{path}")
        return disk


@dataclass(frozen=True)
class End:
    """How it ended: what a waiter was told, what failed, what the record holds."""

    waiter: int
    status: dict[str, Any]
    complaint: str
    failed: list[str]
    runs: int
    records: list[BootReport]

    @property
    def error(self) -> str:
        """What the status says is wrong."""
        return str(self.status.get("Error", ""))

    def verdict(self) -> tuple[int, str, list[str], int]:
        """The waiter's exit code, the status's, what failed, how often the script ran."""
        return self.waiter, str(self.status.get("ExitCode", "none")), self.failed, self.runs


@contextmanager
def a_machine(
    folder: Path,
    script: str = "",
    *,
    image: str = "aks",
    user_data: bytes | None = None,
) -> Iterator[Machine]:
    """Yield a machine that has its user data and has not started."""
    case = BootCase("fault", folder, image=image, seed="directory", render="boothook")
    if user_data is not None:
        case.render = ""
        (folder / "given").mkdir()
        (folder / "given" / "user-data").write_bytes(user_data)
    with (
        make_node(agent_layer(SUITE), base_root(SUITE)) as node,
        ExitStack() as stack,
    ):
        machine = Machine(node, stack, case)
        machine.options += prepare(case, node, stack)
        if script:
            machine.write("/opt/azure/containers/provision_start.sh", script)
        # Before the disks go away, so that none is busy.
        stack.callback(stop_node, node)
        yield machine


def fill(disk: Path) -> None:
    """Leave no byte on this file system."""
    with suppress(OSError), (disk / FILLER).open("wb", buffering=0) as file:
        while True:
            file.write(b"x" * 4096)


def use_up_inodes(disk: Path) -> None:
    """Leave no room for one more file."""
    with suppress(OSError):
        for number in range(100_000):
            (disk / f"{FILLER}{number}").touch()


def limit_memory(machine: Machine, mebibytes: int) -> None:
    """Give the running node so much memory and no more."""
    group = CGROUPS / "memory" / machine.node.name
    group.mkdir()
    machine.stack.callback(stop_node, machine.node)
    (group / "memory.limit_in_bytes").write_text(str(mebibytes << 20))
    (group / "cgroup.procs").write_text(str(machine.node.leader))


@contextmanager
def disk_image(machine: Machine) -> Iterator[Path]:
    """Move the machine's upper layer to an ext4 file system; yield the file that it lives in."""
    image = machine.node.directory / "disk.img"
    with image.open("wb") as file:
        file.truncate(DISK_MIB << 20)
    _run("mkfs.ext4", "-q", "-F", image)
    with mounted_upper(machine, image, layer=machine.node.upper):
        yield image


@contextmanager
def mounted_upper(machine: Machine, image: Path, layer: Path | None = None) -> Iterator[None]:
    """Let the machine's upper layer be on the file system in this file, and back again."""
    node = machine.node
    was, disk = node.upper, node.directory / f"{image.name}.mounted"
    disk.mkdir()
    if os.path.ismount(node.root):
        _run("umount", "--lazy", node.root)
    # The kernel detaches a loop device that mount made as soon as it is unmounted.
    _run("mount", "-o", "loop", image, disk)
    try:
        if layer is not None:
            _run("cp", "--archive", layer, disk / "upper")
            (disk / "work").mkdir()
        _run("sync", "--file-system", disk)
        node.upper = disk / "upper"
        layers = f"{agent_layer(SUITE)}:{base_root(SUITE)}"
        options = f"lowerdir={layers},upperdir={node.upper},workdir={disk / 'work'}"
        _run("mount", "-t", "overlay", "-o", options, "overlay", node.root)
        yield
    finally:
        stop_node(node)
        node.upper = was
        for place in (node.root, disk):
            if os.path.ismount(place):
                _run("umount", place)


def wait_for_boot(node: Node) -> None:
    """Return when systemd has nothing left to do."""
    end = time.monotonic() + WAITER_DEADLINE_S
    state = ""
    # An answer in the first moments of PID 1 is none.
    while state not in ("running", "degraded") and time.monotonic() < end:
        command = ("systemctl", "is-system-running", "--wait")
        state = node.enter(*command, timeout_s=WAITER_DEADLINE_S).stdout.strip()


def end_of(machine: Machine, *, timeout_s: int = WAITER_DEADLINE_S) -> End:
    """Wait until the boot is over and somebody who waits for a verdict has had an answer."""
    node = machine.node
    waited = node.enter(
        *("fairlead-node", "provision-wait", f"--timeout={timeout_s}"), timeout_s=timeout_s + 10
    )
    wait_for_boot(node)
    listed = node.enter("systemctl", "list-units", "--failed", "--plain", "--no-legend").stdout
    failed = [line.split()[0] for line in listed.splitlines()]
    record = machine.inside / RECORDS[machine.case.image].lstrip("/")
    runs = machine.inside / f"{STATE}/runs".lstrip("/")
    return End(
        waiter=waited.returncode,
        status=json.loads(waited.stdout) if waited.stdout.strip() else {},
        complaint=waited.stderr,
        # The watch beside the unit fails with it, or a moment later.
        failed=[
            unit for unit in failed if unit.startswith("fairlead-node") and ".path" not in unit
        ],
        runs=len(runs.read_text().splitlines()) if runs.is_file() else 0,
        records=parse_record(record.read_bytes()) if record.is_file() else [],
    )


def _run(*command: str | Path) -> None:
    subprocess.run(command, check=True, capture_output=True)
