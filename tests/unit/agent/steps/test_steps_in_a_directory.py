"""A directory root gets every file of a node and nothing else happens."""

import json
from pathlib import Path
from typing import Any

import pytest

from fairlead.agent.host import RealHost
from fairlead.agent.steps.kernel.sysctl import KERNEL_KEYS
from fairlead.agent.steps.kubelet.config import FIELDS, SETTINGS
from shared_cases import shared_case
from unit.agent.steps.machine import (
    CERTIFICATE,
    KEY,
    OTHER_CERTIFICATE,
    TOKEN,
    changes_of,
    make_config,
    run_all,
    words_of,
)

FULL: dict[str, Any] = {
    "custom_ca_certs": [OTHER_CERTIFICATE],
    "http_proxy_config": {
        "http_proxy": "http://user:pass-word@proxy.example.test:3128",
        "https_proxy": "http://proxy.example.test:3129",
        "no_proxy_entries": ["10.0.0.0/8", ".svc"],
        "proxy_trusted_ca": CERTIFICATE,
    },
    "kube_binary_config": {"pod_infra_container_image_url": "registry.example.test/pause:3.9"},
    "cluster_config": {"cluster_network_config": {"core_dns_service_ip": "10.0.0.10"}},
    "kubelet_config": {
        "kubelet_flags": {"--v": "2", "--register-with-taints": "sku=gpu:NoSchedule"},
        "kubelet_node_labels": {"pool": "one", "example.test/role": "agent"},
        "kubelet_config_file_config": {
            "max_pods": 30,
            "eviction_hard": {"memory.available": "100Mi"},
            "authentication": {"webhook": {"cache_ttl": "2m0s"}},
        },
        "container_data_dir": "/mnt/containers",
    },
    "custom_linux_os_config": {
        "enable_swap_config": True,
        "swap_file_size": 1500,
        "ulimit_config": {"no_file": "1048576", "max_locked_memory": "65536:infinity"},
        "transparent_hugepage_support": "madvise",
        "transparent_defrag": "defer+madvise",
        "sysctl_config": {
            "net_ipv4_tcpkeepalive_intvl": 30,
            "net_ipv4_tcp_tw_reuse": True,
            "net_ipv4_ip_local_port_range": "1024  60000",
            "net_netfilter_nf_conntrack_max": 131072,
            "fs_file_max": 709620,
        },
    },
}

EXPECTED = {
    "etc/containerd/config.toml": """\
version = 2
root = "/mnt/containers"
[plugins."io.containerd.grpc.v1.cri"]
sandbox_image = "registry.example.test/pause:3.9"
[plugins."io.containerd.grpc.v1.cri".containerd]
default_runtime_name = "runc"
[plugins."io.containerd.grpc.v1.cri".containerd.runtimes.runc]
runtime_type = "io.containerd.runc.v2"
[plugins."io.containerd.grpc.v1.cri".containerd.runtimes.runc.options]
SystemdCgroup = true
[plugins."io.containerd.grpc.v1.cri".registry]
config_path = "/etc/containerd/certs.d"
""",
    "etc/fairlead/proxy.env": """\
HTTP_PROXY="http://user:pass-word@proxy.example.test:3128"
http_proxy="http://user:pass-word@proxy.example.test:3128"
HTTPS_PROXY="http://proxy.example.test:3129"
https_proxy="http://proxy.example.test:3129"
NO_PROXY="10.0.0.0/8,.svc"
no_proxy="10.0.0.0/8,.svc"
""",
    "etc/kubernetes/pki/ca.crt": CERTIFICATE,
    "etc/modules-load.d/fairlead.conf": "overlay\nbr_netfilter\nnf_conntrack\n",
    "etc/sysctl.d/60-fairlead.conf": """\
fs.file-max = 709620
-net.bridge.bridge-nf-call-ip6tables = 1
-net.bridge.bridge-nf-call-iptables = 1
net.ipv4.ip_forward = 1
net.ipv4.ip_local_port_range = 1024 60000
net.ipv4.tcp_keepalive_intvl = 30
net.ipv4.tcp_tw_reuse = 1
-net.netfilter.nf_conntrack_max = 131072
""",
    "etc/systemd/system/containerd.service.d/20-fairlead-limits.conf": """\
[Service]
LimitNOFILE=1048576
LimitMEMLOCK=65536:infinity
""",
    "etc/systemd/system/containerd.service.d/20-fairlead-proxy.conf": """\
[Service]
EnvironmentFile=/etc/fairlead/proxy.env
""",
    "etc/systemd/system/kubelet.service.d/20-fairlead-command.conf": """\
[Service]
ExecStart=
ExecStart=/usr/bin/kubelet \\
  "--config=/etc/kubernetes/kubelet-config.json" \\
  "--kubeconfig=/etc/kubernetes/kubelet.conf" \\
  "--bootstrap-kubeconfig=/etc/kubernetes/bootstrap-kubelet.conf" \\
  "--register-with-taints=sku=gpu:NoSchedule" \\
  "--v=2" \\
  "--node-labels=example.test/role=agent,pool=one"
""",
    "etc/systemd/system/kubelet.service.d/20-fairlead-proxy.conf": """\
[Service]
EnvironmentFile=/etc/fairlead/proxy.env
""",
    "etc/systemd/system/var-swapfile.swap": """\
[Unit]
Description=Swap file of this node

[Swap]
What=/var/swapfile

[Install]
WantedBy=swap.target
""",
    "etc/tmpfiles.d/fairlead-huge-pages.conf": """\
w /sys/kernel/mm/transparent_hugepage/enabled - - - - madvise
w /sys/kernel/mm/transparent_hugepage/defrag - - - - defer+madvise
""",
    "usr/local/share/ca-certificates/fairlead-custom-0.crt": OTHER_CERTIFICATE,
    "usr/local/share/ca-certificates/fairlead-proxy.crt": CERTIFICATE,
}

EXPECTED_KUBELET_CONFIG = {
    "kind": "KubeletConfiguration",
    "apiVersion": "kubelet.config.k8s.io/v1beta1",
    "containerRuntimeEndpoint": "unix:///run/containerd/containerd.sock",
    "cgroupDriver": "systemd",
    "staticPodPath": "/etc/kubernetes/manifests",
    "rotateCertificates": True,
    "authentication": {
        "anonymous": {"enabled": False},
        "webhook": {"enabled": True, "cacheTTL": "2m0s"},
        "x509": {"clientCAFile": "/etc/kubernetes/pki/ca.crt"},
    },
    "authorization": {"mode": "Webhook"},
    "clusterDomain": "cluster.local",
    "clusterDNS": ["10.0.0.10"],
    "failSwapOn": False,
    "maxPods": 30,
    "evictionHard": {"memory.available": "100Mi"},
}

EXPECTED_BOOTSTRAP_KUBECONFIG = {
    "apiVersion": "v1",
    "kind": "Config",
    "clusters": [
        {
            "name": "cluster",
            "cluster": {
                "server": "https://api.example.test:443",
                "certificate-authority": "/etc/kubernetes/pki/ca.crt",
            },
        }
    ],
    "users": [{"name": "bootstrap-token", "user": {"token": TOKEN}}],
    "contexts": [{"name": "node", "context": {"cluster": "cluster", "user": "bootstrap-token"}}],
    "current-context": "node",
}


def snapshot(root: Path) -> dict[str, tuple[int, int, int, bytes]]:
    """Every file with its inode, time of change and mode: what a second run must not touch."""
    found = {}
    for path in sorted(root.rglob("*")):
        status = path.stat()
        content = path.read_bytes() if path.is_file() else b""
        name = str(path.relative_to(root))
        found[name] = (status.st_ino, status.st_mtime_ns, status.st_mode, content)
    return found


def test_every_file_of_a_node_is_written_with_the_values_of_the_config(tmp_path: Path) -> None:
    result = run_all(RealHost(str(tmp_path)), make_config(**FULL))

    assert result.error is None
    assert {name: (tmp_path / name).read_text() for name in EXPECTED} == EXPECTED
    kubelet_config = json.loads((tmp_path / "etc/kubernetes/kubelet-config.json").read_text())
    assert kubelet_config == EXPECTED_KUBELET_CONFIG
    bootstrap = json.loads((tmp_path / "etc/kubernetes/bootstrap-kubelet.conf").read_text())
    assert bootstrap == EXPECTED_BOOTSTRAP_KUBECONFIG
    others = {
        "etc/kubernetes/kubelet-config.json",
        "etc/kubernetes/bootstrap-kubelet.conf",
        "etc/systemd/system/containerd.service",
        "etc/systemd/system/kubelet.service",
    }
    files = {str(path.relative_to(tmp_path)) for path in tmp_path.rglob("*") if path.is_file()}
    assert files == set(EXPECTED) | others


def test_every_step_says_that_it_wrote_files_only(tmp_path: Path) -> None:
    result = run_all(RealHost(str(tmp_path)), make_config())

    assert {run.cause for run in result.runs} == {"no systemd here: files only"}
    assert set(words_of(result).values()) == {"done"}
    assert len(result.runs) == 20


def test_a_second_run_changes_nothing(tmp_path: Path) -> None:
    host = RealHost(str(tmp_path))
    run_all(host, make_config(**FULL))
    before = snapshot(tmp_path)

    result = run_all(host, make_config(**FULL))

    assert changes_of(result) == []
    assert snapshot(tmp_path) == before


def test_a_file_whose_mode_was_opened_up_is_written_again(tmp_path: Path) -> None:
    host = RealHost(str(tmp_path))
    run_all(host, make_config())
    token_file = tmp_path / "etc/kubernetes/bootstrap-kubelet.conf"
    token_file.chmod(0o644)

    result = run_all(host, make_config())

    assert changes_of(result) == ["wrote /etc/kubernetes/bootstrap-kubelet.conf"]
    assert token_file.stat().st_mode & 0o777 == 0o600


def test_what_a_later_config_no_longer_asks_for_is_removed(tmp_path: Path) -> None:
    host = RealHost(str(tmp_path))
    run_all(host, make_config(**FULL))

    run_all(host, make_config())

    left = [path.name for path in tmp_path.rglob("*") if path.is_file()]
    assert sorted(left) == [
        "20-fairlead-command.conf",
        "60-fairlead.conf",
        "bootstrap-kubelet.conf",
        "ca.crt",
        "config.toml",
        "containerd.service",
        "fairlead.conf",
        "kubelet-config.json",
        "kubelet.service",
    ]


def test_a_client_certificate_makes_a_kubeconfig_without_a_token(tmp_path: Path) -> None:
    config = make_config(
        bootstrapping_config={},
        api_server_config={"api_server_name": "[fd00::1]:6443"},
        kubelet_config={"kubelet_client_cert_content": CERTIFICATE, "kubelet_client_key": KEY},
    )

    result = run_all(RealHost(str(tmp_path)), config)

    assert result.error is None
    kubeconfig = json.loads((tmp_path / "etc/kubernetes/kubelet.conf").read_text())
    assert kubeconfig["clusters"][0]["cluster"]["server"] == "https://[fd00::1]:6443"
    assert kubeconfig["users"][0]["user"] == {
        "client-certificate": "/etc/kubernetes/pki/kubelet-client.pem",
        "client-key": "/etc/kubernetes/pki/kubelet-client.pem",
    }
    pair = tmp_path / "etc/kubernetes/pki/kubelet-client.pem"
    assert pair.read_text() == CERTIFICATE + KEY
    assert pair.stat().st_mode & 0o777 == 0o600
    assert not (tmp_path / "etc/kubernetes/bootstrap-kubelet.conf").exists()


def test_a_kubeconfig_that_the_kubelet_wrote_is_never_touched(tmp_path: Path) -> None:
    kubelets_own = "clusters:\n- cluster:\n    server: https://x\nusers:\n- user:\n    a: b\n"
    path = tmp_path / "etc/kubernetes/kubelet.conf"
    path.parent.mkdir(parents=True)
    path.write_text(kubelets_own)
    config = make_config(
        bootstrapping_config={},
        kubelet_config={"kubelet_client_cert_content": CERTIFICATE, "kubelet_client_key": KEY},
    )

    result = run_all(RealHost(str(tmp_path)), config)

    assert result.error is None
    assert path.read_text() == kubelets_own


def test_the_cluster_ca_is_also_where_an_aks_config_looks_for_it(tmp_path: Path) -> None:
    x509 = {"client_ca_file": "/etc/kubernetes/certs/ca.crt"}
    settings = {"authentication": {"x509": x509}, "tls_cert_file": "/etc/kubernetes/certs/k.crt"}
    config = make_config(kubelet_config={"kubelet_config_file_config": settings})

    result = run_all(RealHost(str(tmp_path)), config)

    assert (tmp_path / "etc/kubernetes/certs/ca.crt").read_text() == CERTIFICATE
    kubelet_config = json.loads((tmp_path / "etc/kubernetes/kubelet-config.json").read_text())
    assert "tlsCertFile" not in kubelet_config
    causes = {run.name: run.cause for run in result.runs}
    assert causes["kubelet-config"] == (
        "no systemd here: files only; "
        "tls_cert_file is not on this machine: the kubelet makes its own"
    )


def test_flags_that_name_files_of_the_steps_are_replaced_and_reported(tmp_path: Path) -> None:
    flags = {"--kubeconfig": "/var/lib/kubelet/kubeconfig", "--node-labels": "a=b"}
    config = make_config(
        kubelet_config={"kubelet_flags": flags, "kubelet_node_labels": {"pool": "one"}}
    )

    result = run_all(RealHost(str(tmp_path)), config)

    drop_in = tmp_path / "etc/systemd/system/kubelet.service.d/20-fairlead-command.conf"
    assert '"--kubeconfig=/etc/kubernetes/kubelet.conf"' in drop_in.read_text()
    assert '"--node-labels=a=b,pool=one"' in drop_in.read_text()
    causes = {run.name: run.cause for run in result.runs}
    assert causes["kubelet-flags"].endswith(
        "--kubeconfig of the config is not used: the built-in steps set it"
    )


@pytest.mark.parametrize("is_base64", [True, False])
def test_certificates_may_come_as_pem_or_as_base64_of_pem(tmp_path: Path, is_base64: bool) -> None:
    base64_of_certificate = (
        "LS0tLS1CRUdJTiBDRVJUSUZJQ0FURS0tLS0tClFVRkIKLS0tLS1FTkQgQ0VSVElGSUNBVEUtLS0tLQo="
    )
    ca = base64_of_certificate if is_base64 else CERTIFICATE.replace("\n", "\r\n")

    run_all(RealHost(str(tmp_path)), make_config(kubernetes_ca_cert=ca))

    assert (tmp_path / "etc/kubernetes/pki/ca.crt").read_bytes() == CERTIFICATE.encode()


def test_no_field_of_the_contract_is_left_without_its_setting() -> None:
    messages = json.loads(shared_case("aksnodeconfig-v1.json").read_text())["messages"]

    def leaves(message: str, prefix: str) -> list[str]:
        found: list[str] = []
        for field in messages[message]:
            is_message = field["type"] in messages
            path = prefix + field["name"]
            found += leaves(field["type"], path + ".") if is_message else [path]
        return found

    assert FIELDS == "kubelet_config.kubelet_config_file_config"
    fixed = ["kind", "api_version"]
    assert sorted([*SETTINGS, *fixed]) == sorted(leaves("KubeletConfigFileConfig", ""))
    assert sorted(KERNEL_KEYS) == sorted(leaves("SysctlConfig", ""))
