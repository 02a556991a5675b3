"""On a machine that systemd runs, the steps do what is needed, once, and heal what was cut off."""

import pytest

from fairlead.sim.host import HostStoppedError
from unit.agent.steps.machine import (
    CERTIFICATE,
    KEY,
    OTHER_CERTIFICATE,
    Machine,
    changes_of,
    make_config,
    run_all,
    words_of,
)

LIMITS = {"custom_linux_os_config": {"ulimit_config": {"no_file": "1048576"}}}


def causes_of(machine: Machine, **fields: object) -> dict[str, str]:
    return {run.name: run.cause for run in run_all(machine, make_config(**fields)).runs}


def test_a_fresh_machine_becomes_a_node() -> None:
    machine = Machine.fresh()

    result = run_all(machine, make_config())

    assert set(words_of(result).values()) == {"done"}
    assert machine.commands() == [
        "modprobe -q -a overlay br_netfilter",
        "/usr/lib/systemd/systemd-sysctl /etc/sysctl.d/60-fairlead.conf",
        "systemctl enable --no-reload containerd.service",
        "systemctl enable --no-reload kubelet.service",
        "systemctl daemon-reload",
        "systemctl start containerd.service",
        "systemctl start kubelet.service",
    ]


def test_a_second_run_starts_nothing() -> None:
    machine = Machine.fresh()
    run_all(machine, make_config())
    machine.started.clear()

    result = run_all(machine, make_config())

    assert changes_of(result) == []
    # Asking for a module that the kernel lacks changes nothing, so it may be asked again.
    assert machine.commands() == ["modprobe -q -a overlay br_netfilter"]


def test_only_the_service_whose_files_changed_is_restarted() -> None:
    machine = Machine.fresh()
    run_all(machine, make_config())
    machine.started.clear()

    run_all(machine, make_config(**LIMITS))

    assert machine.commands()[1:] == [
        "systemctl daemon-reload",
        "systemctl restart containerd.service",
    ]


def test_a_service_that_the_image_started_gets_our_files_by_a_restart() -> None:
    machine = Machine.fresh()
    machine.active.add("containerd.service")
    machine.enabled.add("containerd.service")

    run_all(machine, make_config())

    assert "systemctl restart containerd.service" in machine.commands()
    assert "systemctl enable --no-reload containerd.service" not in machine.commands()


def test_a_run_killed_at_any_operation_is_completed_by_the_next() -> None:
    whole = Machine.fresh()
    config = make_config(**LIMITS, custom_ca_certs=[OTHER_CERTIFICATE])
    start = whole.operations
    run_all(whole, config)
    paths = ("/etc/containerd/config.toml", "/etc/kubernetes/bootstrap-kubelet.conf")
    expected = {path: whole.read_file(path) for path in paths}

    for stop in range(1, whole.operations - start - len(paths)):
        machine = Machine.fresh()
        machine._stops_at = machine.operations + stop
        with pytest.raises(HostStoppedError):
            run_all(machine, config)
        again = machine.after_reboot(machine.disk)

        result = run_all(again, config)

        assert result.error is None, f"killed at operation {stop}"
        assert {path: again.read_file(path) for path in paths} == expected
        assert again.loaded == whole.loaded, f"killed at operation {stop}"
        assert again.active == {"containerd.service", "kubelet.service"}
        assert OTHER_CERTIFICATE in again.text("/etc/ssl/certs/ca-certificates.crt")
        assert changes_of(run_all(again, config)) == []


def test_missing_programs_stop_the_boot_at_once_and_say_what_to_install() -> None:
    machine = Machine.fresh()
    machine.remove("/usr/bin/kubelet")

    result = run_all(machine, make_config())

    assert result.stopped_by == "find-programs"
    assert str(result.error) == ("kubelet is missing: install the kubelet package of pkgs.k8s.io")
    assert machine.started == []


def test_containerd_2_gets_a_config_in_its_own_format() -> None:
    machine = Machine.fresh()
    machine.containerd_version = b"containerd example.test/containerd v2.1.4 abc\n"
    image = {"pod_infra_container_image_url": "registry.example.test/pause:3.10"}

    run_all(machine, make_config(kube_binary_config=image))

    assert (
        machine.text("/etc/containerd/config.toml")
        == """\
version = 3
[plugins."io.containerd.cri.v1.images".pinned_images]
sandbox = "registry.example.test/pause:3.10"
[plugins."io.containerd.cri.v1.images".registry]
config_path = "/etc/containerd/certs.d"
[plugins."io.containerd.cri.v1.runtime".containerd]
default_runtime_name = "runc"
[plugins."io.containerd.cri.v1.runtime".containerd.runtimes.runc]
runtime_type = "io.containerd.runc.v2"
[plugins."io.containerd.cri.v1.runtime".containerd.runtimes.runc.options]
SystemdCgroup = true
"""
    )


def test_certificates_are_bundled_once_and_unbundled_when_they_go() -> None:
    machine = Machine.fresh()
    run_all(machine, make_config(custom_ca_certs=[OTHER_CERTIFICATE]))
    assert OTHER_CERTIFICATE in machine.text("/etc/ssl/certs/ca-certificates.crt")

    run_all(machine, make_config())

    assert machine.text("/etc/ssl/certs/ca-certificates.crt") == ""
    assert machine.commands().count("update-ca-certificates") == 2
    assert machine.commands()[-1] == "systemctl restart kubelet.service"


def test_swap_is_made_once_resized_when_asked_and_removed_when_not_wanted() -> None:
    machine = Machine.fresh()

    def swap_commands(**fields: object) -> list[str]:
        machine.started.clear()
        run_all(machine, make_config(custom_linux_os_config=fields))
        words = ("swap", "fallocate", "dd ")
        return [line for line in machine.commands() if any(word in line for word in words)]

    first = swap_commands(enable_swap_config=True, swap_file_size=100)
    second = swap_commands(enable_swap_config=True, swap_file_size=100)
    resized = swap_commands(enable_swap_config=True, swap_file_size=200)
    removed = swap_commands()

    make = ["mkswap /var/swapfile", "systemctl enable --now var-swapfile.swap"]
    assert first == ["fallocate -l 100MiB /var/swapfile", *make]
    assert second == []
    assert resized == [
        "systemctl stop var-swapfile.swap",
        "fallocate -l 200MiB /var/swapfile",
        *make,
    ]
    assert removed == ["systemctl disable --now var-swapfile.swap"]
    assert machine.file_mode("/var/swapfile") is None


def test_huge_page_switches_are_set_once() -> None:
    machine = Machine.fresh()
    fields = {"transparent_hugepage_support": "madvise"}

    first = run_all(machine, make_config(custom_linux_os_config=fields))
    second = run_all(machine, make_config(custom_linux_os_config=fields))

    assert "set the huge page switches" in changes_of(first)
    assert changes_of(second) == []
    switch = "/sys/kernel/mm/transparent_hugepage/enabled"
    assert machine.text(switch) == "always [madvise] never"


def test_a_kernel_that_refuses_a_setting_does_not_stop_the_boot() -> None:
    machine = Machine.fresh()
    machine.kernel_is_stubborn = True

    result = run_all(machine, make_config())

    assert result.error is None
    assert words_of(result)["kernel-settings"] == "skipped"
    causes = {run.name: run.cause for run in result.runs}
    assert causes["kernel-settings"] == "the kernel did not take net.ipv4.ip_forward"


def test_protected_kernel_defaults_are_set_before_the_kubelet_insists_on_them() -> None:
    machine = Machine.fresh()
    settings = {"protect_kernel_defaults": True}

    run_all(machine, make_config(kubelet_config={"kubelet_config_file_config": settings}))

    assert (
        machine.text("/etc/sysctl.d/60-fairlead.conf")
        == """\
kernel.keys.root_maxbytes = 25000000
kernel.keys.root_maxkeys = 1000000
kernel.panic = 10
kernel.panic_on_oops = 1
-net.bridge.bridge-nf-call-ip6tables = 1
-net.bridge.bridge-nf-call-iptables = 1
net.ipv4.ip_forward = 1
vm.overcommit_memory = 1
vm.panic_on_oom = 0
"""
    )


def test_a_kubelet_that_never_gets_healthy_stops_the_boot_after_a_minute() -> None:
    machine = Machine.fresh()
    machine.health = 500

    result = run_all(machine, make_config())

    assert result.stopped_by == "start-kubelet"
    assert str(result.error) == (
        "kubelet.service did not answer at http://127.0.0.1:10248/healthz within 60 s; "
        "systemd says active (running); see journalctl -u kubelet.service"
    )
    assert 60e9 <= result.runs[-1].duration_ns < 61e9


def test_a_service_that_systemd_cannot_start_stops_the_boot_with_systemds_words() -> None:
    from fairlead.agent.process import Finished

    machine = Machine.fresh()
    systemctl = machine.programs["systemctl"]
    complaint = Finished(1, b"...\nJob for containerd.service failed.\n")
    machine.programs["systemctl"] = lambda host, command, environment: (
        complaint if command[1] == "start" else systemctl(host, command, environment)
    )

    result = run_all(machine, make_config())

    assert result.stopped_by == "start-containerd"
    assert str(result.error) == (
        "`systemctl start containerd.service` ended with 1: Job for containerd.service failed."
    )


def test_an_api_server_that_does_not_answer_is_not_waited_for() -> None:
    result = run_all(Machine.fresh(), make_config())

    run = result.runs[-1]
    assert (run.name, run.word) == ("wait-for-node", "done")
    assert run.cause == "not confirmed: https://api.example.test:443 did not answer within 5 s"
    assert 5e9 <= run.duration_ns < 6e9


def test_the_node_object_is_seen_with_the_certificate_of_the_kubelet() -> None:
    machine = Machine.fresh()
    machine.put("/var/lib/kubelet/pki/kubelet-client-current.pem", b"pair", 0o600)
    machine.statuses = {
        "https://api.example.test:443/readyz": 401,
        "https://api.example.test:443/api/v1/nodes/node-1": 200,
    }

    result = run_all(machine, make_config())

    assert result.runs[-1].outcome.already == ["the cluster knows node node-1"]


def test_a_node_that_is_not_registered_in_time_does_not_stop_the_boot() -> None:
    machine = Machine.fresh()
    machine.put("/var/lib/kubelet/pki/kubelet-client-current.pem", b"pair", 0o600)
    machine.statuses = {
        "https://api.example.test:443/readyz": 200,
        "https://api.example.test:443/api/v1/nodes/node-1": 404,
    }

    result = run_all(machine, make_config())

    assert result.error is None
    run = result.runs[-1]
    assert run.word == "done"
    assert run.cause == (
        "not confirmed: "
        "https://api.example.test:443 answers but does not show node node-1 after 30 s"
    )


def test_no_secret_is_in_an_outcome_a_command_or_a_file_that_others_may_read() -> None:
    machine = Machine.fresh()
    proxy = {"http_proxy": "http://user:proxy-password@proxy.example.test:3128"}
    pair = {"kubelet_client_cert_content": CERTIFICATE, "kubelet_client_key": KEY}
    secrets = ["0123456789abcdef", "proxy-password", "c2VjcmV0LWtleQ=="]
    told: list[str] = []

    for fields in ({}, {"bootstrapping_config": {}, "kubelet_config": pair}):
        result = run_all(machine, make_config(http_proxy_config=proxy, **fields))
        assert result.error is None
        for run in result.runs:
            told += [run.cause, *run.outcome.changed, *run.outcome.already]
    told += [word for command in machine.started for word in command]
    for path in machine.files():
        mode = machine.file_mode(path)
        assert mode is not None
        if mode & 0o077:
            told.append(machine.read_file(path).decode())

    assert [secret for secret in secrets if any(secret in text for text in told)] == []
