"""
Machines that are containers: real systemd and cloud-init from an image, by systemd-nspawn, as root.

A machine shares this computer's network, since the payload service listens on its loopback. So a
machine reaches whatever listens there, abstract sockets included, and its ports are this
computer's: two kubelets would want the same one. What it could do to that network is taken away:
it may not configure it, send raw packets or bind a port below 1024, and no image is started whose
cloud-init asks around. It is no boundary against the machine's own root: use images you trust.

In its directory: `upper/` (the machine's disk), `work/`, `root/` (disk over image, mounted), links
to the image, `pid` (of systemd-nspawn), `console.log` (of the last boot).
"""

from __future__ import annotations

import hashlib
import os
import signal
import time
from contextlib import ExitStack, suppress
from pathlib import Path
from shutil import which

from fairlead.answers.words import Fault
from fairlead.embedded.machines.control_group import make_groups, remove_groups
from fairlead.embedded.machines.disk import MachineDisk
from fairlead.embedded.machines.image import (
    ROOT,
    UPPER,
    lay_out,
    mount,
    refuse_unusable_image,
    unmount,
)
from fairlead.embedded.machines.kind import Life, Seed
from fairlead.embedded.machines.last_words import last_line_of, last_words_of
from fairlead.embedded.machines.place import list_places, place_of, remove_tree
from fairlead.embedded.machines.process import (
    children_of,
    console_end,
    find_process,
    find_start_ns,
    kill_open,
    kill_processes,
    open_children,
    start_process,
    trim_console,
)
from fairlead.errors import InputError, UnavailableError
from fairlead.telling.errno_text import os_problem

TOOLS = ("systemd-nspawn", "mount", "umount")

# What systemd-nspawn leaves to a container, and what one in this computer's network may not have:
# raw packets, low ports, and device files of this computer's disks. Without a network of its own
# a container gets no CAP_NET_ADMIN, and never CAP_SYS_TIME: the clock is this computer's.
DROPPED = "CAP_NET_RAW,CAP_NET_BROADCAST,CAP_NET_BIND_SERVICE,CAP_MKNOD"

OPTIONS = (
    "--quiet",
    "--boot",
    "--settings=no",
    "--register=no",
    "--link-journal=no",
    "--resolv-conf=off",
    "--timezone=off",
    "--console=pipe",
    f"--drop-capability={DROPPED}",
)

# A shell enters the groups before it becomes systemd-nspawn, which stays where it is.
ENTER = 'for group; do [ "$group" = -- ] && break; echo $$ >"$group/cgroup.procs"; done; '
ENTER += 'while [ "$1" != -- ]; do shift; done; shift; exec "$@"'

# An orderly end takes a second; one that hangs is cut off.
STOP_DEADLINE_S = 10.0
STEP_S = 0.02


class NspawnMachines:
    """
    Every machine below `directory`, made of the same image, whose first layer lies on top.

    Starting and stopping wait for systemd, for seconds: call them from a thread. Raises InputError
    for an image that cannot be used, or without the rights and programs it takes.
    """

    name = "nspawn"

    def __init__(self, directory: Path, image: tuple[Path, ...]) -> None:
        missing = [tool for tool in TOOLS if which(tool) is None]
        if os.geteuid() != 0:
            raise InputError("machines of the kind nspawn need root", hint="or use `directory`")
        if missing:
            raise InputError(
                f"not installed: {', '.join(missing)}", hint="Debian: apt install systemd-container"
            )
        self._image = tuple(layer.resolve() for layer in image)
        refuse_unusable_image(self._image)
        self._directory = directory.resolve()

    def power_on(self, machine: str, seed: Seed | None, fault: Fault) -> None:
        """Start a boot from this seed, or from what it has, unless that very one is under way."""
        place = place_of(self._directory, machine)
        try:
            place.mkdir(mode=0o700, parents=True, exist_ok=True)
            lay_out(place, self._image)
            if fault is not Fault.NEVER_JOIN:
                self._boot(place, seed, fault)
        except OSError as error:
            why = os_problem(error)
            raise UnavailableError(f"{machine} cannot be given power: {why}") from error

    def _boot(self, place: Path, seed: Seed | None, fault: Fault) -> None:
        mount(place)
        disk = MachineDisk(place / ROOT)
        is_same = seed is None or disk.has_seed(seed)
        if is_same and self.life_of(place.name) is Life.BOOTING:
            return
        stop(place)
        disk.prepare_boot(seed, fault)
        name = container_name(place)
        groups = [str(group) for group in make_groups(name)]
        nspawn = ["systemd-nspawn", *OPTIONS, f"--machine={name}", f"--directory={place / ROOT}"]
        environment = {}
        if groups:
            nspawn.append("--keep-unit")
            environment["SYSTEMD_NSPAWN_UNIFIED_HIERARCHY"] = "1"
        start_process(place, ["/bin/sh", "-c", ENTER, "enter", *groups, "--", *nspawn], environment)

    def life_of(self, machine: str) -> Life:
        """Return what can be seen of it."""
        place = place_of(self._directory, machine)
        trim_console(place)
        # First, since a machine that ended in between has left its verdict by then.
        process = find_process(place)
        if not (place / UPPER).is_dir():
            return Life.ABSENT
        has_verdict = any(disk.has_verdict() for disk in _disks_of(place, process))
        if process is None:
            return Life.DOWN if has_verdict else Life.OFF
        return Life.UP if has_verdict else Life.BOOTING

    def last_words(self, machine: str) -> str:
        """Return how far its boot came and what stopped it, in one line; '' if it left nothing."""
        place = place_of(self._directory, machine)
        since_ns = find_start_ns(place)
        if since_ns is None or not (place / UPPER).is_dir():
            return ""
        process = find_process(place)
        disk = _disks_of(place, None)[0]
        said = last_words_of(disk, since_ns, is_running=process is not None)
        return said or last_line_of(console_end(place))

    def destroy(self, machine: str) -> None:
        """Afterwards nothing of it runs and nothing of it is here. Raises UnavailableError."""
        place = place_of(self._directory, machine)
        try:
            stop(place)
            unmount(place)
            remove_tree(place)
        except OSError as error:
            raise UnavailableError(f"{machine} cannot be removed: {os_problem(error)}") from error

    def list_names(self) -> tuple[str, ...]:
        """Return every machine that has something here, sorted."""
        return list_places(self._directory)


def container_name(place: Path) -> str:
    """Return what systemd calls the machine: at most 64 letters, no two alike on one computer."""
    return f"fairlead-{hashlib.sha256(str(place).encode()).hexdigest()[:16]}"


def stop(place: Path) -> None:
    """Afterwards nothing of the machine runs: it had time for an orderly end."""
    process = find_process(place)
    with ExitStack() as stack:
        first = open_children(process, stack) if process is not None else []
        if process is not None:
            # systemd-nspawn passes it on as the signal that PID 1 powers off for.
            os.kill(process, signal.SIGTERM)
            end = time.monotonic() + STOP_DEADLINE_S
            while find_process(place) is not None and time.monotonic() < end:
                time.sleep(STEP_S)
        kill_processes(place)
        # With PID 1 of the machine everything in it ends.
        kill_open(first)
    remove_groups(container_name(place))


def _disks_of(place: Path, process: int | None) -> list[MachineDisk]:
    """Return where to look for what the machine wrote: its disk, and its memory while it runs."""
    is_mounted = (place / ROOT).is_mount()
    disks = [MachineDisk(place / (ROOT if is_mounted else UPPER))]
    for child in children_of(process) if process is not None else []:
        inside = Path(f"/proc/{child}/root")
        # Until it has moved into the machine, systemd-nspawn's child is still outside.
        with suppress(OSError):
            if not inside.samefile("/"):
                disks.append(MachineDisk(inside))
    return disks
