"""Every leaf has a class, and one only."""

import re

import pytest

from fairlead.answers.words import LeafClass, Severity
from fairlead.inputs.registry import REGISTRY, class_of, find_row, owner_of, severity_of
from fairlead.revision.node_config_text import API_SERVER, NO_PROXY, PLACES, PROXY_IMAGE
from shared_cases import REPOSITORY

# The table of spec/rollouts.md section 1, row by row.
CLASSES = {
    "release.version": "intent",
    "release.digest": "intent",
    "config.kubelet.maxPods": "intent",
    "config.containerd.plugins": "intent",
    "config.sysctl.vm.max_map_count": "intent",
    "config.files./etc/chrony.conf": "intent",
    "config.mirrors.docker.io": "intent",
    "pullSecret.name": "intent",
    "trustBundle.name": "intent",
    "pullSecret.content": "content",
    "trustBundle.content": "content",
    "proxy.http": "intent",
    "proxy.noProxy": "intent",
    "imagePolicy.default": "intent",
    "tlsProfile": "intent",
    "osStream": "intent",
    "sshKeys": "intent",
    "endpoint.access": "intent",
    "endpoint.port": "intent",
    "endpoint.advertiseAddress": "intent",
    "machineTemplate.vmSize": "intent",
    "proxyImage": "intent",
    "platform.proxy.image": "platform",
    "platform.proxy.template": "platform",
    "platform.registryOverrides.docker.io": "platform",
    "platform.controlPlaneImage": "platform",
    "platform.noProxy": "platform",
    "platform.loadBalancerAddress": "platform",
    "platform.machineTemplateDefaults.diskType": "platform",
    "platform.components.tuning": "platform",
    "platform.cloudConfig": "platform",
    "platform.hotfix.202607.02": "platform",
    "platform.code.renderer": "platform",
    "replicas": "in-place",
    "autoscaling.max": "in-place",
    "labels.team": "in-place",
    "taints": "in-place",
    "timeouts.drain": "in-place",
    "management.maxSurge": "in-place",
    "autoRepair": "in-place",
    "paused": "in-place",
    "rollout.resume": "in-place",
    "platform.stub.endpoint": "in-place",
    "platform.stub.ca": "in-place",
    "platform.stub.proxy": "in-place",
    "platform.stub.report": "in-place",
    "description": "ignored",
}


@pytest.mark.parametrize("leaf", CLASSES)
def test_a_leaf_has_the_class_of_the_specification(leaf: str) -> None:
    assert class_of(leaf).value == CLASSES[leaf]


def test_no_two_rows_claim_one_leaf() -> None:
    paths = [row.path for row in REGISTRY]

    assert len(paths) == len(set(paths))
    for path in paths:
        prefix = path.removesuffix("*")
        others = [other for other in paths if other != path and other.startswith(prefix)]
        assert not path.endswith(".*") or others == [], path


def test_every_row_says_what_it_is_and_an_ignored_one_why() -> None:
    for row in REGISTRY:
        assert len(row.says) > 3, row.path
        assert row.leaf_class is not LeafClass.IGNORED or ";" in row.says, row.path


def test_every_leaf_that_the_code_names_is_registered() -> None:
    for path in (*PLACES, *API_SERVER, *NO_PROXY, *PROXY_IMAGE):
        assert find_row(path), f"{path} has no class: add a row to the registry"


def test_every_leaf_that_any_source_file_spells_is_registered() -> None:
    # A leaf enters through the tables; code that reads one spells its path.
    spelled = re.compile(
        r"""["']((?:platform|release|config|pullSecret|trustBundle|endpoint|machineTemplate|"""
        r"""management|rollout|platformChanges|timeouts|autoscaling|proxy)\.[A-Za-z.]+[A-Za-z])["']"""
    )
    for package in ("inputs", "revision", "decision", "rollout", "timeline", "controller"):
        for path in (REPOSITORY / "src/fairlead" / package).rglob("*.py"):
            for leaf in spelled.findall(path.read_text()):
                known = (
                    any(
                        row.path == leaf or row.path.startswith((leaf + ".", leaf + "*"))
                        for row in REGISTRY
                    )
                    or find_row(leaf)
                    or find_row("platform." + leaf)
                )
                assert known, f"{path.name} names {leaf}, which has no class"


def test_an_unknown_leaf_is_the_platforms_and_says_so() -> None:
    assert find_row("platform.unknown.spec.flux") is None
    assert class_of("platform.unknown.spec.flux") is LeafClass.PLATFORM
    assert owner_of("platform.unknown.spec.flux") == "unregistered"


def test_the_load_balancer_address_is_connectivity() -> None:
    assert severity_of("platform.loadBalancerAddress") is Severity.CONNECTIVITY
    assert severity_of("platform.proxy.image") is Severity.ROUTINE
