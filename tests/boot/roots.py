"""
Debian roots that nodes boot from: made once by mmdebstrap, kept below build/roots.

A root is never written to after it took its name: nodes lay an overlay over it. Its name holds a
digest of everything that went into it, so a changed package list makes another root.
"""

import hashlib
import os
import shutil
import subprocess
import sys
import time
from fcntl import LOCK_EX, flock
from functools import cache
from pathlib import Path

from shared_cases import REPOSITORY

ROOTS = REPOSITORY / "build" / "roots"

SUITES = ("bookworm", "trixie")

# What a cloud image has and a boot needs; the agent needs python3 only. isc-dhcp and networkd
# configuration are left out on purpose: a node's network is what the case gives it.
PACKAGES = (
    "ca-certificates",
    "cloud-init",
    "curl",
    "dbus",
    "gpgv",
    "iproute2",
    "kmod",
    "python3",
    "systemd",
    "systemd-sysv",
)

# Set by mmdebstrap options, and must not stay in the root: a node would accept expired indexes.
CHECK_VALID_UNTIL = 'Acquire::Check-Valid-Until "false"'

# Another test run may be using a layer of other sources; after this long nobody does.
LAYER_KEPT_S = 2 * 3600

# Without these, cloud-init in a root this small ends degraded (no locale, no ssh-keygen), and
# without the first one it asks the addresses of every cloud it knows.
CLOUD_CONFIG = """\
datasource_list: [NoCloud, None]
locale: false
ssh_genkeytypes: []
ssh_deletekeys: false
users: []
"""


@cache
def base_root(suite: str, packages: tuple[str, ...] = PACKAGES) -> Path:
    """Return a root of this suite; the first caller makes it in about 30 s, others wait."""
    recipe = "\n".join((suite, *packages, CLOUD_CONFIG, CHECK_VALID_UNTIL))
    digest = hashlib.sha256(recipe.encode()).hexdigest()[:12]
    root = ROOTS / f"{suite}-{digest}"
    ROOTS.mkdir(parents=True, exist_ok=True)
    with (ROOTS / f"{suite}.lock").open("w") as lock:
        flock(lock, LOCK_EX)
        if not root.exists():
            _make_root(suite, root, packages)
    return root


def _make_root(suite: str, root: Path, packages: tuple[str, ...]) -> None:
    half = root.with_name(f"{root.name}.half-{os.getpid()}")
    command = [
        *("mmdebstrap", "--quiet", "--variant=minbase", f"--include={','.join(packages)}"),
        *(f"--aptopt={CHECK_VALID_UNTIL}", suite, str(half)),
    ]
    try:
        subprocess.run(command, check=True, timeout=600)
        (half / "etc/apt/apt.conf.d/99mmdebstrap").unlink(missing_ok=True)
        settings = half / "etc/cloud/cloud.cfg.d"
        settings.mkdir(parents=True, exist_ok=True)
        (settings / "99-fairlead-test.cfg").write_text(CLOUD_CONFIG)
        half.rename(root)
    finally:
        shutil.rmtree(half, ignore_errors=True)


@cache
def agent_layer(suite: str, version: str = "", packages: tuple[str, ...] = PACKAGES) -> Path:
    """
    Return what installing the agent's .deb adds to a root: the directory to lay over it.

    The package is built from the sources and installed by dpkg, as an image's builder would.
    version: what it is told to be, if not the version of the sources. packages: of the root.
    """
    package = _build_package(version)
    digest = hashlib.sha256(package.read_bytes()).hexdigest()[:12]
    base = base_root(suite, packages)
    layer = ROOTS / f"{base.name}.agent-{digest}"
    with (ROOTS / f"{suite}.lock").open("w") as lock:
        flock(lock, LOCK_EX)
        if not layer.exists():
            _remove_old_layers(suite)
            _make_agent_layer(base, package, layer)
        os.utime(layer)
    package.unlink()
    return layer


def _remove_old_layers(suite: str) -> None:
    for old in ROOTS.glob(f"{suite}-*.agent-*"):
        if time.time() - old.stat().st_mtime > LAYER_KEPT_S:
            shutil.rmtree(old, ignore_errors=True)


def _build_package(version: str) -> Path:
    sys.path.insert(0, str(REPOSITORY / "deploy" / "node"))
    from build_agent import build_deb, source_version

    output = ROOTS / f"package-{os.getpid()}"
    output.mkdir(parents=True, exist_ok=True)
    package = ROOTS / f"fairlead-node-{os.getpid()}.deb"
    try:
        return Path(build_deb(output, version or source_version()).rename(package))
    finally:
        shutil.rmtree(output)


def _make_agent_layer(base: Path, package: Path, layer: Path) -> None:
    from boot.node import make_node

    with make_node(base) as node:
        shutil.copy(package, node.root / "tmp/fairlead-node.deb")
        # No network, and no processes that outlive the installation.
        install = "chroot . dpkg --install /tmp/fairlead-node.deb"
        subprocess.run(
            ["unshare", "--net", "--mount", "--pid", "--fork", "sh", "-ec", install],
            cwd=node.root,
            check=True,
            capture_output=True,
        )
        (node.root / "tmp/fairlead-node.deb").unlink()
        half = layer.with_name(f"{layer.name}.half-{os.getpid()}")
        try:
            # Whiteouts and opaque marks of the overlay are device files and attributes.
            subprocess.run(["cp", "--archive", node.upper, half], check=True)
            half.rename(layer)
        finally:
            shutil.rmtree(half, ignore_errors=True)


if __name__ == "__main__":
    for each in SUITES:
        print(base_root(each))  # noqa: T201 - a developer's way to warm the cache
