"""What the pool's owner configured is on the machine: once, whole, and only where it may be."""

import tomllib
from pathlib import Path
from typing import Any

import pytest

from fairlead.agent.host import RealHost
from fairlead.errors import InputError
from fairlead.sim.host import HostStoppedError
from unit.agent.steps.machine import Machine, changes_of, make_config, run_all, words_of

MOTD = {"contentBase64": "aGVsbG8K", "mode": "0640"}
SETTINGS: dict[str, Any] = {
    "config.files./etc/motd": MOTD,
    "config.files./opt/site/bin/check": {"contentBase64": "IyEvYmluL3NoCg==", "mode": "0755"},
    "config.sysctl.vm.swappiness": "10",
    "config.sysctl.net.ipv4.ip_forward": "0",
    "config.mirrors.docker.io": [
        "https://mirror.example.test",
        "http://cache.example.test:5000",
        "https://harbor.example.test/v2/proxy",
    ],
    "config.containerd.debug": {"level": "warn"},
    "config.containerd.plugins": {
        "io.containerd.grpc.v1.cri": {
            "containerd": {"default_runtime_name": "crun", "runtimes": {"crun": {"a": 1}}}
        }
    },
    "imageBase": "ubuntu-24.04",
}

HOSTS_TOML = """\
# Written by fairlead-node: the mirrors of this pool.
[host."https://mirror.example.test"]
capabilities = ["pull", "resolve"]
[host."http://cache.example.test:5000"]
capabilities = ["pull", "resolve"]
[host."https://harbor.example.test/v2/proxy"]
capabilities = ["pull", "resolve"]
override_path = true
"""

CONFIG_TOML = """\
version = 2
[plugins."io.containerd.grpc.v1.cri".containerd]
default_runtime_name = "crun"
[plugins."io.containerd.grpc.v1.cri".containerd.runtimes.runc]
runtime_type = "io.containerd.runc.v2"
[plugins."io.containerd.grpc.v1.cri".containerd.runtimes.runc.options]
SystemdCgroup = true
[plugins."io.containerd.grpc.v1.cri".containerd.runtimes.crun]
a = 1
[plugins."io.containerd.grpc.v1.cri".registry]
config_path = "/etc/containerd/certs.d"
[debug]
level = "warn"
"""

SYSCTL_CONF = """\
-net.bridge.bridge-nf-call-ip6tables = 1
-net.bridge.bridge-nf-call-iptables = 1
-net.ipv4.ip_forward = 0
-vm.swappiness = 10
"""


def fresh() -> Machine:
    machine = Machine.fresh()
    machine.put("/proc/sys/vm/swappiness", b"60\n")
    return machine


def test_a_directory_gets_every_file_of_the_pool(tmp_path: Path) -> None:
    result = run_all(RealHost(str(tmp_path)), make_config(fairlead=SETTINGS))

    assert set(words_of(result).values()) == {"done"}
    assert (tmp_path / "etc/motd").read_text() == "hello\n"
    assert (tmp_path / "etc/motd").stat().st_mode & 0o7777 == 0o640
    assert (tmp_path / "opt/site/bin/check").stat().st_mode & 0o7777 == 0o755
    assert (tmp_path / "etc/sysctl.d/60-fairlead.conf").read_text() == SYSCTL_CONF
    assert (tmp_path / "etc/containerd/certs.d/docker.io/hosts.toml").read_text() == HOSTS_TOML
    config = tmp_path / "etc/containerd/config.toml"
    assert config.read_text() == CONFIG_TOML
    assert tomllib.loads(HOSTS_TOML)["host"].keys() == {
        "https://mirror.example.test",
        "http://cache.example.test:5000",
        "https://harbor.example.test/v2/proxy",
    }


def test_a_second_run_on_a_machine_changes_and_restarts_nothing() -> None:
    machine = fresh()
    first = run_all(machine, make_config(fairlead=SETTINGS))
    machine.started.clear()

    second = run_all(machine, make_config(fairlead=SETTINGS))

    assert set(words_of(first).values()) == {"done"}
    assert machine.text("/proc/sys/vm/swappiness") == "10\n"
    assert machine.text("/proc/sys/net/ipv4/ip_forward") == "0\n"
    assert changes_of(second) == []
    assert machine.commands() == ["modprobe -q -a overlay br_netfilter"]


def test_a_setting_of_an_interface_with_a_dot_in_its_name_is_that_interfaces() -> None:
    machine = fresh()
    machine.put("/proc/sys/net/ipv4/conf/eth0.100/rp_filter", b"0\n")
    config = make_config(fairlead={"config.sysctl.net.ipv4.conf.eth0/100.rp_filter": "1"})

    first, second = run_all(machine, config), run_all(machine, config)

    assert set(words_of(first).values()) == {"done"}
    assert machine.text("/proc/sys/net/ipv4/conf/eth0.100/rp_filter") == "1\n"
    assert "-net.ipv4.conf.eth0/100.rp_filter = 1\n" in machine.text(
        "/etc/sysctl.d/60-fairlead.conf"
    )
    assert changes_of(second) == []


def test_a_changed_file_restarts_what_may_read_it_and_a_mirror_restarts_nothing() -> None:
    machine = fresh()
    run_all(machine, make_config(fairlead={"config.files./etc/motd": MOTD}))
    machine.started.clear()
    mirrored = {"config.files./etc/motd": MOTD, "config.mirrors.docker.io": ["https://a"]}
    run_all(machine, make_config(fairlead=mirrored))
    after_mirror = machine.commands()[1:]

    changed = {**mirrored, "config.files./etc/motd": {"contentBase64": "eA==", "mode": "0644"}}
    run_all(machine, make_config(fairlead=changed))

    assert after_mirror == []
    assert [line for line in machine.commands() if "restart" in line] == [
        "systemctl restart containerd.service",
        "systemctl restart kubelet.service",
    ]


def test_mirrors_that_are_not_wanted_go_and_those_of_the_image_stay(tmp_path: Path) -> None:
    brought = tmp_path / "etc/containerd/certs.d/quay.io/hosts.toml"
    brought.parent.mkdir(parents=True)
    brought.write_text("# of the image\n")
    host = RealHost(str(tmp_path))
    run_all(host, make_config(fairlead=SETTINGS))

    result = run_all(host, make_config())

    assert "removed /etc/containerd/certs.d/docker.io/hosts.toml" in changes_of(result)
    assert brought.exists()
    assert (tmp_path / "etc/motd").exists()


@pytest.mark.parametrize(
    ("version", "sections", "expected"),
    [
        (b"v1.7.22", {}, 2),
        (b"v2.1.4", {}, 3),
        (b"v2.1.4", {"version": 2}, 2),
        (b"v2.1.4", {"plugins": {"io.containerd.grpc.v1.cri": {"a": 1}}}, 2),
        (b"v2.1.4", {"plugins": {"io.containerd.cri.v1.images": {"a": 1}}}, 3),
        (b"v2.1.4", {"debug": {"level": "warn"}}, 3),
    ],
)
def test_the_format_is_that_of_the_sections_else_that_of_the_machine(
    version: bytes, sections: dict[str, object], expected: int
) -> None:
    machine = fresh()
    machine.containerd_version = b"containerd example.test/containerd " + version + b" abc\n"
    settings = {f"config.containerd.{name}": value for name, value in sections.items()}

    result = run_all(machine, make_config(fairlead=settings))

    assert result.error is None
    assert tomllib.loads(machine.text("/etc/containerd/config.toml"))["version"] == expected


@pytest.mark.parametrize(
    "name",
    [
        "/proc/sys/kernel/panic",
        "/sys/x",
        "/dev/sda",
        "/run/fairlead/verdict.json",
        "/var/run/fairlead/verdict.json",
        "/etc/fairlead/node-config.json",
        "/usr/lib/fairlead/fairlead-node",
        "/var/lib/fairlead/provision.complete",
        "/etc/systemd/system/fairlead-node.service",
        "/etc/systemd/system/kubelet.service.d/20-fairlead-command.conf",
        "/etc/sysctl.d/60-fairlead.conf",
        "/etc/containerd/config.toml",
        "/etc/kubernetes/kubelet-config.json",
        "/etc/kubernetes/bootstrap-kubelet.conf",
        "/etc/kubernetes/pki/ca.crt",
        "/opt/azure/containers/provision.complete",
        "/etc/containerd/certs.d/docker.io/hosts.toml",
    ],
)
def test_a_file_that_is_not_the_owners_to_write_stops_the_boot(tmp_path: Path, name: str) -> None:
    settings = {f"config.files.{name}": MOTD, "config.mirrors.docker.io": ["https://a"]}

    result = run_all(RealHost(str(tmp_path)), make_config(fairlead=settings))

    assert result.stopped_by == "pool-files"
    assert isinstance(result.error, InputError)
    assert result.error.field.startswith("fairlead[config.files.")
    assert not (tmp_path / name.lstrip("/")).exists()


@pytest.mark.parametrize(
    ("settings", "step"),
    [
        ({"config.files./etc/../x": MOTD}, "pool-files"),
        ({"config.mirrors.docker.io/library": ["https://a"]}, "registry-mirrors"),
        ({"config.containerd.version": 4}, "containerd-config"),
        ({"config.containerd.version": True}, "containerd-config"),
        ({"config.containerd.plugins": "x"}, "containerd-config"),
        ({"config.containerd.debug": {"a": 2**70}}, "containerd-config"),
    ],
)
def test_a_setting_that_cannot_be_used_stops_the_boot_where_it_is_used(
    tmp_path: Path, settings: dict[str, object], step: str
) -> None:
    result = run_all(RealHost(str(tmp_path)), make_config(fairlead=settings))

    assert result.stopped_by == step
    assert isinstance(result.error, InputError)
    assert result.error.field.startswith("fairlead[config.")


def test_version_3_is_refused_for_a_containerd_that_cannot_read_it() -> None:
    result = run_all(fresh(), make_config(fairlead={"config.containerd.version": 3}))

    assert result.stopped_by == "containerd-config"
    assert "version 3 is for containerd 2 and later, found 1" in str(result.error)


def test_a_bad_kernel_setting_costs_tuning_and_not_what_a_node_needs() -> None:
    machine = fresh()
    settings = {"config.sysctl.vm.swappiness": "10", "config.sysctl.net.*": "1"}

    result = run_all(machine, make_config(fairlead=settings))

    assert result.error is None
    assert words_of(result)["kernel-settings"] == "skipped"
    assert machine.text("/proc/sys/net/ipv4/ip_forward") == "1\n"
    assert machine.text("/proc/sys/vm/swappiness") == "60\n"


def test_a_kernel_without_the_setting_is_said_and_no_failure() -> None:
    machine = fresh()

    result = run_all(machine, make_config(fairlead={"config.sysctl.net.odd.thing": "1"}))

    causes = {run.name: run.cause for run in result.runs}
    assert words_of(result)["kernel-settings"] == "done"
    assert "net.odd.thing" in causes["kernel-settings"]


def test_a_run_killed_at_any_operation_is_completed_by_the_next() -> None:
    whole = fresh()
    start = whole.operations
    run_all(whole, make_config(fairlead=SETTINGS))
    operations = whole.operations - start
    paths = ("/etc/motd", "/etc/containerd/certs.d/docker.io/hosts.toml")

    for stop in range(1, operations):
        machine = fresh()
        machine._stops_at = machine.operations + stop
        with pytest.raises(HostStoppedError):
            run_all(machine, make_config(fairlead=SETTINGS))
        again = machine.after_reboot(machine.disk)

        result = run_all(again, make_config(fairlead=SETTINGS))

        assert result.error is None, f"killed at operation {stop}"
        assert [again.text(path) for path in paths] == ["hello\n", HOSTS_TOML]
        assert changes_of(run_all(again, make_config(fairlead=SETTINGS))) == []
