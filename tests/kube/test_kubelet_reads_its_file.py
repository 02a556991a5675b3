"""
The real kubelet reads the file that our step writes, by its strict rules.

It is started with kubeconfigs that are not there: it decodes and validates its file first, and
ends when it misses them. What its strict decoder refuses, it logs, and goes on with the rest.
"""

import json
import subprocess
from pathlib import Path
from typing import Any

import pytest

from fairlead.agent.host import RealHost
from kube.built_tools import built_tool
from pool_documents import make_revision, pool_document
from unit.agent.steps.machine import make_config, run_all

pytestmark = pytest.mark.slow

# Reading a file takes 0.1 s; a machine that builds something else gets longer.
DEADLINE_S = 60

MISSES_ITS_KUBECONFIG = "unable to load bootstrap kubeconfig"

# A kubelet of 1.36 does not start on a host with the first kind of control groups otherwise.
HERE = {"failCgroupV1": False}

DOCUMENTS: list[dict[str, Any]] = [
    {},
    {
        "shutdownGracePeriod": "30s",
        "shutdownGracePeriodCriticalPods": "10s",
        "serializeImagePulls": False,
        "maxParallelImagePulls": 5,
        "imageMaximumGCAge": "72h",
        "registryPullQPS": 0,
        "memorySwap": {"swapBehavior": "LimitedSwap"},
        "failSwapOn": False,
        "logging": {"format": "text", "verbosity": 2, "flushFrequency": "5s"},
        "tlsMinVersion": "VersionTLS13",
        "enforceNodeAllocatable": ["none"],
        "evictionHard": {"memory.available": "0%"},
    },
    {
        "enforceNodeAllocatable": [],
        "evictionHard": {},
        "resolvConf": "",
        "logging": {"format": "text", "options": {"text": {}}},
        "registerWithTaints": [{"key": "a", "value": "", "effect": "NoSchedule"}],
    },
    {
        "cgroupDriver": "cgroupfs",
        "rotateCertificates": False,
        "serverTLSBootstrap": True,
        "clusterDNS": ["10.1.0.10"],
        "authentication": {"webhook": {"cacheTTL": "30s"}},
        "authorization": {"mode": "AlwaysAllow"},
        "maxPods": "50",
        "podPidsLimit": 4096.0,
        "featureGates": {"NodeSwap": True},
        "systemReserved": {"memory": "200Mi"},
        "kubeReserved": {"cpu": "100m"},
        "evictionSoft": {"memory.available": "300Mi"},
        "evictionSoftGracePeriod": {"memory.available": "1m30s"},
        "topologyManagerPolicy": "best-effort",
        "readOnlyPort": 0,
        "eventRecordQPS": 0,
    },
]


@pytest.fixture(scope="module")
def kubelet() -> Path:
    return built_tool("kubelet")


def words_of(kubelet: Path, file: Path, scratch: Path) -> str:
    """What the kubelet says to this file before it ends."""
    found = subprocess.run(
        [
            *(str(kubelet), "--config", str(file), "--root-dir", str(scratch / "root")),
            *("--cert-dir", str(scratch / "pki"), "--kubeconfig", str(scratch / "none")),
            *("--bootstrap-kubeconfig", str(scratch / "no-bootstrap-either")),
        ],
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        timeout=DEADLINE_S,
        check=False,
    )
    assert found.returncode == 1
    return found.stdout.decode()


@pytest.mark.parametrize("document", DOCUMENTS)
def test_the_kubelet_takes_the_file_of_a_pool(
    kubelet: Path, tmp_path: Path, document: dict[str, Any]
) -> None:
    written = [{"kind": "KubeletConfiguration", **HERE, **document}]
    rendered = json.loads(make_revision(pool_document(config=written)).node_config)
    kept = {name: rendered.get(name, {}) for name in ("kubelet_config", "fairlead")}
    config = make_config(**kept)
    result = run_all(RealHost(str(tmp_path / "node")), config)
    file = _made_local(tmp_path / "node")

    words = words_of(kubelet, file, tmp_path)

    assert result.error is None
    assert "strict decoding" not in words
    assert MISSES_ITS_KUBECONFIG in words


def test_the_kubelet_takes_the_file_of_an_aks_config(kubelet: Path, tmp_path: Path) -> None:
    fields = {
        "max_pods": 30,
        "eviction_hard": {"memory.available": "100Mi"},
        "seccomp_default": True,
    }
    config = make_config(
        kubelet_config={"kubelet_config_file_config": fields},
        fairlead={"config.kubelet.failCgroupV1": False},
    )
    run_all(RealHost(str(tmp_path / "node")), config)

    words = words_of(kubelet, _made_local(tmp_path / "node"), tmp_path)

    assert "strict decoding" not in words
    assert MISSES_ITS_KUBECONFIG in words


def test_a_name_that_the_kubelet_does_not_know_would_be_seen(kubelet: Path, tmp_path: Path) -> None:
    config = make_config(
        fairlead={"config.kubelet.maxPod": 5, "config.kubelet.failCgroupV1": False}
    )
    run_all(RealHost(str(tmp_path / "node")), config)

    words = words_of(kubelet, _made_local(tmp_path / "node"), tmp_path)

    assert 'strict decoding error: unknown field \\"maxPod\\"' in words


def _made_local(node: Path) -> Path:
    """The file with the one path in it that must exist where the kubelet looks."""
    file = node / "etc/kubernetes/kubelet-config.json"
    ca = "/etc/kubernetes/pki/ca.crt"
    file.write_text(file.read_text().replace(ca, f"{node}{ca}"))
    return file
