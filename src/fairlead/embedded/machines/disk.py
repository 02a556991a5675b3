"""
A machine's disk as the edge touches it: the seed it boots from, and what its boots leave behind.

A machine owns its disk and may put a link anywhere, and the edge may be root: no link is followed
below the root, and only plain files are read, none of them without limit.
"""

from __future__ import annotations

import json
import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from fairlead.agent.layout import AKS_MARKER, Layout
from fairlead.agent.report.status import spare_of
from fairlead.agent.stages.read_features import HOTFIX_FEATURE
from fairlead.answers.words import Fault
from fairlead.embedded.machines.kind import Seed
from fairlead.embedded.machines.plain_file import NO_FILE, PLAIN, read_end
from fairlead.whole_file import write_whole_in

USER_DATA = "/var/lib/cloud/seed/nocloud/user-data"
META_DATA = "/var/lib/cloud/seed/nocloud/meta-data"
NETWORK_CONFIG = "/var/lib/cloud/seed/nocloud/network-config"
HOSTNAME = "/etc/hostname"

# A machine of this edge has the network that it finds; cloud-init must not ask for an address.
NO_NETWORK_CONFIG = b'{"config": "disabled"}\n'

# cloud-init keeps what it read for as long as the instance has the same name. Without this link
# it reads the seed again, and runs nothing twice that runs once for each instance.
CLOUD_INIT_CACHE = "/var/lib/cloud/instance"

# An image with this takes fixes. A feature file that user data brings is written over this one.
HOTFIX_ANCHOR = "/etc/fairlead/hotfix/root.json"
HOTFIX_FEATURES = f"{HOTFIX_FEATURE}=true\n".encode()

# What a seed puts in place through the agent, by the names of the layout.
PUT_BY_A_SEED = ("node_config", "boot_document", "features")
VERDICT = ("sentinel", "status")

# A directory where the agent must put a file, as a container runtime leaves one behind where
# what it was to mount had been missing.
DEFECT = "/etc/containerd/config.toml"

# The agent keeps its record below 256 KiB and its status below 16 KiB; the log's end is enough.
LARGEST_READ = 512 * 1024

SECRET = 0o600
PUBLIC = 0o644

KINDS_OF_FILE = {
    stat.S_IFDIR: "a directory",
    stat.S_IFLNK: "a link",
    stat.S_IFIFO: "a pipe",
    stat.S_IFSOCK: "a socket",
}

_DIRECTORY = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC


class MachineDisk:
    """The tree below `root`. Paths are the machine's own. Writing raises OSError."""

    def __init__(self, root: Path) -> None:
        self._root = root

    @property
    def layout(self) -> Layout:
        """Where this machine's image has things."""
        return Layout("aks" if self.has(AKS_MARKER) else "fairlead", {})

    # What it boots from.

    def has_seed(self, seed: Seed) -> bool:
        """Say whether this very seed is in place, whole."""
        return (
            self.find_text(META_DATA) == _meta_data(seed)
            and self.find_text(USER_DATA, len(seed.user_data) + 1) == seed.user_data
        )

    def put_seed(self, seed: Seed) -> None:
        """
        Afterwards this seed is in place, and nothing that came with another one is.

        The meta-data goes first and comes last: cut off anywhere, has_seed says no.
        """
        self.remove(META_DATA)
        self.remove_verdict()
        for what in PUT_BY_A_SEED:
            self.remove(getattr(self.layout, what))
        if self.has(HOTFIX_ANCHOR):
            self.put(self.layout.features, HOTFIX_FEATURES, PUBLIC)
        self.remove(CLOUD_INIT_CACHE)
        self.put(USER_DATA, seed.user_data, SECRET)
        self.put(NETWORK_CONFIG, NO_NETWORK_CONFIG, PUBLIC)
        self.put(HOSTNAME, f"{seed.hostname}\n".encode(), PUBLIC)
        self.put(META_DATA, _meta_data(seed), PUBLIC)

    def prepare_boot(self, seed: Seed | None, fault: Fault) -> None:
        """
        Afterwards a boot from this seed can begin: nothing here is another boot's verdict.

        None: from the seed that is in place, and with everything that came with it.
        """
        if seed is not None and not self.has_seed(seed):
            if not self.has(META_DATA) and not self.has(USER_DATA):
                for path, content in seed.image_files.items():
                    self.put(path, content, PUBLIC)
            self.put_seed(seed)
        self._apply_defect(wanted=fault is Fault.FAIL_BOOT)
        self.remove_verdict()

    def _apply_defect(self, *, wanted: bool) -> None:
        """Make the image one that cannot provision, or one that can."""
        if not wanted:
            # Nothing, a file, or a directory that holds something: not this defect.
            with suppress(OSError), self._parent_of(DEFECT, make=False) as (parent, name):
                os.rmdir(name, dir_fd=parent)
            return
        with self._parent_of(DEFECT, make=True) as (parent, name):
            with suppress(FileNotFoundError, IsADirectoryError):
                os.unlink(name, dir_fd=parent)
            with suppress(FileExistsError):
                os.mkdir(name, 0o755, dir_fd=parent)

    # What its boot left.

    def has_verdict(self) -> bool:
        """Say whether its last boot ended, well or not."""
        layout = self.layout
        return self.has(layout.sentinel) or self.has(spare_of(layout, layout.sentinel))

    def remove_verdict(self) -> None:
        """Afterwards its boot is yet to end. Sentinel first: see agent/report/status.py."""
        layout = self.layout
        for what in VERDICT:
            path = getattr(layout, what)
            self.remove(spare_of(layout, path))
            self.remove(path)

    # Files.

    def has(self, path: str) -> bool:
        """Say whether anything is at the path, a link that leads nowhere included."""
        try:
            with self._parent_of(path, make=False) as (parent, name):
                os.stat(name, dir_fd=parent, follow_symlinks=False)
        except OSError as error:
            if error.errno in NO_FILE:
                return False
            raise
        return True

    def find_text(self, path: str, most: int = LARGEST_READ) -> bytes | None:
        """Return the last part of a plain file; None if there is no such file."""
        try:
            with self._parent_of(path, make=False) as (parent, name):
                descriptor = os.open(name, PLAIN, dir_fd=parent)
        except OSError as error:
            if error.errno in NO_FILE:
                return None
            raise
        return read_end(descriptor, most)

    def oddity_at(self, path: str) -> str:
        """Return what is at the path if it is not a plain file: 'a directory'; '' if it is."""
        try:
            with self._parent_of(path, make=False) as (parent, name):
                mode = os.stat(name, dir_fd=parent, follow_symlinks=False).st_mode
        except OSError as error:
            if error.errno in NO_FILE:
                return ""
            raise
        return "" if stat.S_ISREG(mode) else KINDS_OF_FILE.get(stat.S_IFMT(mode), "a device")

    def put(self, path: str, content: bytes, mode: int) -> None:
        """Put this content at the path with this mode, whole or not at all."""
        with self._parent_of(path, make=True) as (parent, name):
            write_whole_in(parent, name, content, mode)

    def remove(self, path: str) -> None:
        """Afterwards no file or link is at the path."""
        with (
            suppress(FileNotFoundError),
            self._parent_of(path, make=False) as (parent, name),
        ):
            os.unlink(name, dir_fd=parent)

    @contextmanager
    def _parent_of(self, path: str, *, make: bool) -> Iterator[tuple[int, str]]:
        """Yield the open directory that holds this path, and the path's last part."""
        *directories, name = path.strip("/").split("/")
        descriptor = os.open(self._root, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        try:
            for part in directories:
                inner = _open_directory(descriptor, part, make=make)
                os.close(descriptor)
                descriptor = inner
            yield descriptor, name
        except OSError as error:
            # A name relative to a descriptor says nothing to whoever reads the message.
            error.filename = str(self._root / path.lstrip("/"))
            raise
        finally:
            os.close(descriptor)


def _open_directory(parent: int, name: str, *, make: bool) -> int:
    try:
        return os.open(name, _DIRECTORY, dir_fd=parent)
    except FileNotFoundError:
        if not make:
            raise
    with suppress(FileExistsError):
        os.mkdir(name, 0o755, dir_fd=parent)
    return os.open(name, _DIRECTORY, dir_fd=parent)


def _meta_data(seed: Seed) -> bytes:
    """Return NoCloud's meta-data: YAML there, and JSON is YAML that needs no quoting rules."""
    fields = {"instance-id": seed.instance, "local-hostname": seed.hostname}
    return json.dumps(fields).encode() + b"\n"
