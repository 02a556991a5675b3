"""containerd's config follows the image: its network plugins, its format, the kubelet's driver."""

import tomllib
from typing import Any

import pytest

from unit.agent.steps.machine import Machine, make_config, run_all


def config_of(machine: Machine) -> dict[str, Any]:
    plugins: dict[str, Any] = tomllib.loads(machine.text("/etc/containerd/config.toml"))["plugins"]
    return plugins


OLD_FORMAT = "io.containerd.grpc.v1.cri"
NEW_FORMAT = "io.containerd.cri.v1.runtime"
PACKAGED = "/usr/lib/cni/loopback"


def machine_with(version: str, *plugins: str) -> Machine:
    machine = Machine.fresh()
    machine.containerd_version = f"containerd example.test/containerd {version} abc\n".encode()
    for path in plugins:
        machine.put(path, b"program", 0o755)
    return machine


@pytest.mark.parametrize(
    ("version", "plugin", "expected"),
    [
        ("1.6.20~ds1", OLD_FORMAT, {"bin_dir": "/usr/lib/cni"}),
        ("1.7.24~ds1", OLD_FORMAT, {"bin_dir": "/usr/lib/cni"}),
        ("v2.0.5", NEW_FORMAT, {"bin_dir": "/usr/lib/cni"}),
        ("v2.1.4", NEW_FORMAT, {"bin_dirs": ["/opt/cni/bin", "/usr/lib/cni"]}),
        ("v2.10.0-rc.1", NEW_FORMAT, {"bin_dirs": ["/opt/cni/bin", "/usr/lib/cni"]}),
    ],
)
def test_plugins_of_a_package_are_found_by_every_containerd(
    version: str, plugin: str, expected: dict[str, Any]
) -> None:
    machine = machine_with(version, PACKAGED, "/opt/cni/bin/flannel")

    run_all(machine, make_config())

    assert config_of(machine)[plugin]["cni"] == expected


@pytest.mark.parametrize(
    "plugins", [(), ("/opt/cni/bin/loopback",), (PACKAGED, "/opt/cni/bin/loopback")]
)
@pytest.mark.parametrize(("version", "plugin"), [("1.7.2", OLD_FORMAT), ("v2.1.4", NEW_FORMAT)])
def test_plugins_where_containerd_looks_by_itself_need_no_word(
    plugins: tuple[str, ...], version: str, plugin: str
) -> None:
    machine = machine_with(version, *plugins)

    run_all(machine, make_config())

    assert "cni" not in config_of(machine)[plugin]


@pytest.mark.parametrize("word", ["bin_dir", "bin_dirs"])
def test_an_owner_who_names_plugins_has_the_only_word(word: str) -> None:
    machine = machine_with("v2.1.4", PACKAGED)
    cni = {word: "/opt/site/cni", "max_conf_num": 2}
    plugins = {NEW_FORMAT: {"cni": cni}, "io.containerd.cri.v1.images": {"a": 1}}

    run_all(machine, make_config(fairlead={"config.containerd.plugins": plugins}))

    assert config_of(machine)[NEW_FORMAT]["cni"] == cni


@pytest.mark.parametrize(
    ("driver", "is_systemd"), [(None, True), ("systemd", True), ("cgroupfs", False)]
)
def test_containerd_has_the_cgroup_driver_of_the_kubelet(
    driver: str | None, is_systemd: bool
) -> None:
    machine = Machine.fresh()
    settings = {"config.kubelet.cgroupDriver": driver} if driver else {}

    run_all(machine, make_config(fairlead=settings))

    runtimes = config_of(machine)[OLD_FORMAT]["containerd"]["runtimes"]
    assert runtimes["runc"]["options"] == {"SystemdCgroup": is_systemd}
