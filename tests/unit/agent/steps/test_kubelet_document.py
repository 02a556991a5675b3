"""The owner's KubeletConfiguration is the kubelet's: every field, as it was written."""

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fairlead.agent.host import RealHost
from fairlead.agent.steps.kubelet.config import kubelet_settings
from fairlead.contract.node_parse import parse_node_config
from fairlead.contract.node_settings import KUBELET_OURS
from fairlead.sim.host import SimHost
from pool_documents import make_revision, pool_document
from unit.agent.steps.machine import Machine, make_config, run_all, words_of

DOCUMENT: dict[str, Any] = {
    "shutdownGracePeriod": "30s",
    "shutdownGracePeriodCriticalPods": "10s",
    "serializeImagePulls": False,
    "maxParallelImagePulls": 5,
    "imageMaximumGCAge": "72h",
    "registryPullQPS": 0,
    "memorySwap": {"swapBehavior": "LimitedSwap"},
    "logging": {
        "format": "json",
        "verbosity": 2,
        "vmodule": [{"filePattern": "a", "verbosity": 1}],
    },
    "tlsMinVersion": "VersionTLS13",
    "enforceNodeAllocatable": ["none"],
    "evictionHard": {"memory.available": "0%"},
    "failCgroupV1": False,
    "readOnlyPort": 0,
}

OURS = {
    "kind": "KubeletConfiguration",
    "apiVersion": "kubelet.config.k8s.io/v1beta1",
    "containerRuntimeEndpoint": "unix:///run/containerd/containerd.sock",
    "cgroupDriver": "systemd",
    "staticPodPath": "/etc/kubernetes/manifests",
    "rotateCertificates": True,
    "authentication": {
        "anonymous": {"enabled": False},
        "webhook": {"enabled": True},
        "x509": {"clientCAFile": "/etc/kubernetes/pki/ca.crt"},
    },
    "authorization": {"mode": "Webhook"},
    "clusterDomain": "cluster.local",
}


def written_for(document: dict[str, Any]) -> dict[str, Any]:
    """What the kubelet is given on a machine of a pool with this KubeletConfiguration."""
    pool = pool_document(config=[{"kind": "KubeletConfiguration", **document}])
    config = parse_node_config(make_revision(pool).node_config.encode()).config
    return kubelet_settings(SimHost(), config)


def test_every_field_of_the_document_is_in_the_kubelets_file() -> None:
    assert written_for(DOCUMENT) == {**OURS, **DOCUMENT}


def test_what_is_empty_in_the_document_is_empty_in_the_kubelets_file() -> None:
    document = {
        "enforceNodeAllocatable": [],
        "evictionHard": {},
        "resolvConf": "",
        "logging": {"format": "json", "options": {"text": {}}},
        "registerWithTaints": [{"key": "a", "value": "", "effect": "NoSchedule"}],
    }

    assert written_for(document) == {**OURS, **document}


def test_the_owner_has_the_last_word_about_our_defaults() -> None:
    document = {
        "cgroupDriver": "cgroupfs",
        "rotateCertificates": False,
        "clusterDNS": ["10.1.0.10"],
        "authentication": {"webhook": {"cacheTTL": "30s"}, "anonymous": {"enabled": True}},
        "authorization": {"mode": "AlwaysAllow"},
    }

    assert written_for(document) == {
        **OURS,
        **document,
        "authentication": {
            "anonymous": {"enabled": True},
            "webhook": {"enabled": True, "cacheTTL": "30s"},
            "x509": {"clientCAFile": "/etc/kubernetes/pki/ca.crt"},
        },
    }


@pytest.mark.parametrize(("found", "expected"), [("50", 50), (50.0, 50), (50, 50)])
def test_a_number_is_spelled_as_the_kubelet_reads_it(found: object, expected: int) -> None:
    written = written_for({"maxPods": found})["maxPods"]

    assert (written, type(written)) == (expected, int)


def test_fields_that_a_node_cannot_join_without_stay_ours_and_the_boot_says_so(
    tmp_path: Path,
) -> None:
    settings = {f"config.kubelet.{name}": "other" for name in KUBELET_OURS}

    result = run_all(RealHost(str(tmp_path)), make_config(fairlead=settings))

    text = (tmp_path / "etc/kubernetes/kubelet-config.json").read_text()
    assert json.loads(text) == OURS
    (run,) = [run for run in result.runs if run.name == "kubelet-config"]
    assert run.cause.endswith(
        "apiVersion, containerRuntimeEndpoint, healthzBindAddress, healthzPort, kind, registerNode "
        "of the pool is not used: the built-in steps set it"
    )


def test_a_path_with_a_line_break_stops_the_boot_and_is_named(tmp_path: Path) -> None:
    settings = {"config.kubelet.staticPodPath": "/etc/\0x"}

    result = run_all(RealHost(str(tmp_path)), make_config(fairlead=settings))

    assert words_of(result)["kubelet-config"] == "stopped"
    assert str(result.error).startswith("fairlead[config.kubelet.staticPodPath]: control character")


def test_a_changed_field_restarts_the_kubelet_alone() -> None:
    machine = Machine.fresh()
    run_all(machine, make_config(fairlead={"config.kubelet.registryPullQPS": 5}))
    machine.started.clear()

    run_all(machine, make_config(fairlead={"config.kubelet.registryPullQPS": 6}))

    restarts = [line for line in machine.commands() if "restart" in line]
    assert restarts == ["systemctl restart kubelet.service"]


VALUES = st.recursive(
    st.booleans() | st.integers(-(2**31), 2**31 - 1) | st.text(min_size=1),
    lambda inner: (
        st.lists(inner, min_size=1, max_size=3)
        | st.dictionaries(st.text(min_size=1), inner, min_size=1, max_size=3)
    ),
    max_leaves=6,
)


@given(st.dictionaries(st.from_regex("later[A-Za-z]{1,8}", fullmatch=True), VALUES, max_size=4))
def test_fields_of_later_kubelets_go_through_whole(document: dict[str, Any]) -> None:
    assert written_for(document) == {**OURS, **document}
