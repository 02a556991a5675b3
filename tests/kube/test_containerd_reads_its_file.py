"""
The real containerd reads the config that our step writes: Debian's 1.6 and 1.7, 2.1 and 2.4.

`containerd config dump` prints what it made of the file and of its own defaults, so a setting in
the wrong place shows as a default. No daemon is started. Debian's programs run in roots of their
own, which needs root.
"""

import os
import subprocess
import tomllib
from pathlib import Path
from shutil import which
from typing import Any

import pytest

from fairlead.agent.host import RealHost
from fairlead.agent.steps.containerd_config import network_plugins_of, number_of
from fairlead.agent.steps.containerd_text import config_version, render_containerd_config
from fairlead.contract.node_config import NodeConfig
from fairlead.contract.node_settings import containerd_of
from kube.built_tools import built_tool, refuse
from shared_cases import REPOSITORY
from unit.agent.steps.machine import make_config

pytestmark = pytest.mark.slow

ROOTS = REPOSITORY / "build" / "roots"
PACKAGES = "containerd,containernetworking-plugins"
MERGED_USR = "/usr/share/mmdebstrap/hooks/merged-usr"
DEADLINE_S = 60

PAUSE = "registry.example.test/pause:3.10"
SANDBOX = {"pod_infra_container_image_url": PAUSE}


class Containerd:
    """One containerd: how it is started, and the root of an image around it."""

    def __init__(self, command: list[str], root: Path, config: Path) -> None:
        self.command = command
        self.root = root
        self.config = config

    def printed(self, *arguments: str) -> str:
        found = subprocess.run(
            [*self.command, *arguments],
            capture_output=True,
            text=True,
            timeout=DEADLINE_S,
            check=False,
        )
        assert found.returncode == 0, found.stderr
        return found.stdout

    def dumped(self, config: NodeConfig) -> tuple[int, dict[str, Any]]:
        """The format that is written for this containerd, and what it makes of the file."""
        number = number_of(self.printed("--version"))
        version = config_version(containerd_of(config), number[0])
        network = network_plugins_of(RealHost(str(self.root)), version, number)
        self.config.write_text(render_containerd_config(config, version, network))
        inside = "/" + self.config.name if self.command[0] == "chroot" else str(self.config)
        return version, tomllib.loads(self.printed("-c", inside, "config", "dump"))


def containerd_of_suite(suite: str) -> Containerd:
    """Debian's containerd, in the root that it came with."""
    missing = [tool for tool in ("mmdebstrap", "chroot") if which(tool) is None]
    if os.geteuid() != 0 or missing:
        refuse(f"needs {', '.join(missing) or 'root'}")
    root = ROOTS / f"containerd-{suite}"
    if not root.exists():
        half = root.with_name(f"{root.name}.half-{os.getpid()}")
        half.parent.mkdir(parents=True, exist_ok=True)
        make = ["mmdebstrap", "--quiet", "--variant=extract", f"--include={PACKAGES}"]
        subprocess.run([*make, f"--hook-dir={MERGED_USR}", suite, half], check=True, timeout=600)
        half.rename(root)
    return Containerd(["chroot", str(root), "/usr/bin/containerd"], root, root / "config.toml")


def containerd_2(name: str, scratch: Path, plugins: str) -> Containerd:
    """A containerd 2.x, and a root that has its network plugins in this directory."""
    plugin = scratch / plugins / "loopback"
    plugin.parent.mkdir(parents=True)
    plugin.write_text("")
    return Containerd([str(built_tool(name))], scratch, scratch / "config.toml")


@pytest.mark.root
@pytest.mark.parametrize(("suite", "number"), [("bookworm", " 1.6."), ("trixie", " 1.7.")])
def test_debians_containerd_takes_every_setting(suite: str, number: str) -> None:
    containerd = containerd_of_suite(suite)

    version, dump = containerd.dumped(make_config(kube_binary_config=SANDBOX))

    assert number in containerd.printed("--version")
    assert (version, dump["version"]) == (2, 2)
    cri = dump["plugins"]["io.containerd.grpc.v1.cri"]
    assert cri["sandbox_image"] == PAUSE
    assert cri["registry"]["config_path"] == "/etc/containerd/certs.d"
    assert cri["cni"]["bin_dir"] == "/usr/lib/cni"
    assert cri["containerd"]["default_runtime_name"] == "runc"
    runc = cri["containerd"]["runtimes"]["runc"]
    assert runc["runtime_type"] == "io.containerd.runc.v2"
    assert runc["options"]["SystemdCgroup"] is True


BOTH = ["/opt/cni/bin", "/usr/lib/cni"]


@pytest.mark.parametrize(
    ("plugins", "sections", "expected"),
    [
        ("opt/cni/bin", {}, (3, ["/opt/cni/bin"])),
        ("usr/lib/cni", {}, (3, BOTH)),
        # The owner writes for 1.x; containerd 2 carries it over into its own format.
        ("usr/lib/cni", {"config.containerd.version": 2}, (2, ["/usr/lib/cni"])),
    ],
)
@pytest.mark.parametrize("name", ["containerd-2.1", "containerd-2.4"])
def test_containerd_2_takes_every_setting(
    tmp_path: Path, name: str, plugins: str, sections: dict[str, Any], expected: object
) -> None:
    containerd = containerd_2(name, tmp_path, plugins)

    version, dump = containerd.dumped(make_config(kube_binary_config=SANDBOX, fairlead=sections))

    images = dump["plugins"]["io.containerd.cri.v1.images"]
    runtime = dump["plugins"]["io.containerd.cri.v1.runtime"]
    assert images["pinned_images"]["sandbox"] == PAUSE
    assert images["registry"]["config_path"] == "/etc/containerd/certs.d"
    assert (version, runtime["cni"]["bin_dirs"]) == expected
    assert runtime["cni"].get("bin_dir", "") == ""
    assert runtime["containerd"]["default_runtime_name"] == "runc"
    runc = runtime["containerd"]["runtimes"]["runc"]
    assert runc["runtime_type"] == "io.containerd.runc.v2"
    assert runc["options"]["SystemdCgroup"] is True


@pytest.mark.parametrize("name", ["containerd-2.1", "containerd-2.4"])
def test_the_other_cgroup_driver_and_the_owners_sections_arrive(tmp_path: Path, name: str) -> None:
    containerd = containerd_2(name, tmp_path, "usr/lib/cni")
    plugins = {"io.containerd.cri.v1.runtime": {"cni": {"bin_dirs": ["/opt/site/cni"]}}}
    settings = {"config.kubelet.cgroupDriver": "cgroupfs", "config.containerd.plugins": plugins}

    _, dump = containerd.dumped(make_config(fairlead=settings))

    runtime = dump["plugins"]["io.containerd.cri.v1.runtime"]
    assert runtime["cni"]["bin_dirs"] == ["/opt/site/cni"]
    assert runtime["containerd"]["runtimes"]["runc"]["options"]["SystemdCgroup"] is False
