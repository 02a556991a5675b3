"""containerd's config follows the image: its network plugins, its format, the kubelet's driver."""

import tomllib
from typing import Any

import pytest

from unit.agent.steps.machine import Machine, make_config, run_all


def config_of(machine: Machine) -> dict[str, Any]:
    plugins: dict[str, Any] = tomllib.loads(machine.text("/etc/containerd/config.toml"))["plugins"]
    return plugins


@pytest.mark.parametrize(
    ("brought", "expected"),
    [
        ((), None),
        (("/usr/lib/cni/loopback",), "/usr/lib/cni"),
        (("/opt/cni/bin/loopback",), "/opt/cni/bin"),
        (("/usr/lib/cni/loopback", "/opt/cni/bin/loopback"), "/opt/cni/bin"),
        (("/usr/lib/cni/loopback", "/opt/cni/bin/flannel"), "/usr/lib/cni"),
    ],
)
@pytest.mark.parametrize(
    ("version", "plugin"),
    [("1.6.20~ds1", "io.containerd.grpc.v1.cri"), ("v2.1.4", "io.containerd.cri.v1.runtime")],
)
def test_network_plugins_are_looked_for_where_the_image_has_them(
    brought: tuple[str, ...], expected: str | None, version: str, plugin: str
) -> None:
    machine = Machine.fresh()
    machine.containerd_version = f"containerd example.test/containerd {version} abc\n".encode()
    for path in brought:
        machine.put(path, b"program", 0o755)

    run_all(machine, make_config())

    assert config_of(machine)[plugin].get("cni", {}).get("bin_dir") == expected


def test_the_owner_says_where_network_plugins_are() -> None:
    machine = Machine.fresh()
    machine.put("/usr/lib/cni/loopback", b"program", 0o755)
    cri = {"cni": {"bin_dir": "/opt/site/cni", "max_conf_num": 2}}
    plugins = {"io.containerd.grpc.v1.cri": cri}

    run_all(machine, make_config(fairlead={"config.containerd.plugins": plugins}))

    assert config_of(machine)["io.containerd.grpc.v1.cri"]["cni"] == {
        "bin_dir": "/opt/site/cni",
        "max_conf_num": 2,
    }


@pytest.mark.parametrize(
    ("driver", "is_systemd"), [(None, True), ("systemd", True), ("cgroupfs", False)]
)
def test_containerd_has_the_cgroup_driver_of_the_kubelet(
    driver: str | None, is_systemd: bool
) -> None:
    machine = Machine.fresh()
    settings = {"config.kubelet.cgroupDriver": driver} if driver else {}

    run_all(machine, make_config(fairlead=settings))

    runtimes = config_of(machine)["io.containerd.grpc.v1.cri"]["containerd"]["runtimes"]
    assert runtimes["runc"]["options"] == {"SystemdCgroup": is_systemd}
