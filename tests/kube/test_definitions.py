"""The real API server takes our definitions, and says what is wrong with a document."""

import json
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import yaml

from fairlead.errors import InputError
from fairlead.kube.client import KubeClient
from fairlead.kube.definitions.crd import definitions, manifest_of
from fairlead.kube.resource import NODE_POOLS, NODE_REVISIONS, PLATFORM_CONFIGS, Resource
from fairlead.proposal.judge import judge
from fairlead.rollout.window import utc_only
from kube.cluster import TestCluster
from shared_cases import REPOSITORY

pytestmark = pytest.mark.slow

FILES = REPOSITORY / "deploy" / "kube" / "crds"
CRDS = Resource(
    "apiextensions.k8s.io",
    "v1",
    "customresourcedefinitions",
    "CustomResourceDefinition",
    is_namespaced=False,
)


def install(admin: KubeClient) -> None:
    for definition in definitions():
        admin.apply(CRDS, manifest_of(definition))
    for definition in definitions():
        name = f"{definition.resource.plural}.{definition.resource.group}"
        wait_until(lambda name=name: is_established(admin, name))  # type: ignore[misc]


def is_established(admin: KubeClient, name: str) -> bool:
    found = admin.find(CRDS, name) or {}
    conditions = found.get("status", {}).get("conditions", [])
    return {"Established": "True", "NamesAccepted": "True"}.items() <= {
        one["type"]: one["status"] for one in conditions
    }.items()


def wait_until(holds: Callable[[], bool]) -> None:
    end = time.monotonic() + 60
    while not holds():
        assert time.monotonic() < end, "it did not become true in time"
        time.sleep(0.05)


@pytest.fixture
def installed(admin: KubeClient) -> KubeClient:
    install(admin)
    return admin


def pool(namespace: str, name: str = "workers", **spec: Any) -> dict[str, Any]:
    return {
        "apiVersion": "fairlead.dev/v1alpha1",
        "kind": "NodePool",
        "metadata": {"name": name, "namespace": namespace},
        "spec": {"release": {"version": "1.34.2"}, **spec},
    }


def test_the_files_are_what_the_types_say(tmp_path: Path) -> None:
    for definition in definitions():
        file = FILES / f"{definition.resource.plural}.yaml"
        assert yaml.safe_load(file.read_text()) == manifest_of(definition)


def test_every_definition_is_structural_and_accepted(installed: KubeClient) -> None:
    for definition in definitions():
        name = f"{definition.resource.plural}.{definition.resource.group}"
        found = installed.find(CRDS, name)
        assert found is not None
        problems = [
            one
            for one in found["status"]["conditions"]
            if one["type"] == "NonStructuralSchema" and one["status"] == "True"
        ]
        assert problems == []


def test_the_example_pool_is_taken_as_it_is(
    installed: KubeClient, cluster: TestCluster, namespace: str
) -> None:
    documents = (REPOSITORY / "examples" / "pool.yaml").read_text()

    cluster.kubectl(
        "apply", "--namespace", namespace, "--validate=strict", "-f", "-", said=documents
    )

    declared = next(one for one in yaml.safe_load_all(documents) if one["kind"] == "NodePool")
    found = installed.find(NODE_POOLS, declared["metadata"]["name"], namespace)
    assert found is not None
    assert found["spec"] == declared["spec"]  # nothing pruned, nothing filled in


@pytest.mark.parametrize(
    ("spec", "says"),
    [
        ({"replicas": 5, "autoscaling": {"min": 1, "max": 4}}, "within the bounds of autoscaling"),
        ({"replicas": 0, "autoscaling": {"min": 1, "max": 4}}, "within the bounds of autoscaling"),
        ({"autoscaling": {"min": 4, "max": 1}}, "min must not be greater than max"),
        ({"autoscaling": {"min": 4}}, "max must be at least 1"),
        ({"autoscaling": {"max": 0}}, "max must be at least 1"),
        ({"labels": {"team": "the blue one"}}, r"spec\.labels\.team"),
        ({"taints": [{"key": "a b", "effect": "NoSchedule"}]}, r"spec\.taints\[0\]\.key"),
        (
            {"taints": [{"key": "a", "value": "b c", "effect": "NoSchedule"}]},
            r"spec\.taints\[0\]\.value",
        ),
        (
            {
                "management": {"type": "InPlace"},
                "rollout": {"replaceWithout": {"fix": "202604.01.3"}},
            },
            "replaceWithout has no meaning for InPlace",
        ),
        ({"management": {"maxSurge": 0, "maxUnavailable": "0%"}}, "must not both be 0"),
        ({"management": {"maxSurge": "000%", "maxUnavailable": "00%"}}, "must not both be 0"),
        ({"management": {"maxSurge": 0}}, "must not both be 0"),
        ({"replicas": 20_000_000}, "less than or equal to"),
        ({"replicas": -1}, "greater than or equal to"),
        ({"release": {"version": "latest"}}, "spec.release.version"),
        ({"management": {"type": "Sometimes"}}, "Unsupported value"),
        ({"management": {"type": "InPlace", "maxSurge": 1}}, "have no meaning for InPlace"),
        ({"management": {"type": "InPlace", "strategy": "OnDelete"}}, "have no meaning for In"),
    ],
)
def test_what_a_pool_may_not_say_is_refused_with_the_reason(
    installed: KubeClient, namespace: str, spec: dict[str, Any], says: str
) -> None:
    with pytest.raises(InputError, match=says):
        installed.create(NODE_POOLS, pool(namespace, **spec))


@pytest.mark.parametrize(
    "spec",
    [
        {"replicas": 4, "autoscaling": {"min": 1, "max": 4}},
        {"autoscaling": {"min": 1, "max": 4}},
        {"management": {"strategy": "OnDelete", "maxSurge": 0, "maxUnavailable": 0}},
        {"management": {"maxSurge": 0, "maxUnavailable": "100%"}},
        {
            "labels": {"example.com/team": "Blue_1.x"},
            "taints": [{"key": "example.com/gpu", "value": "a-1", "effect": "NoExecute"}],
        },
    ],
)
def test_what_the_judge_lets_pass_is_taken(
    installed: KubeClient, namespace: str, spec: dict[str, Any]
) -> None:
    document = pool(namespace, **spec)

    installed.create(NODE_POOLS, document)

    assert judge(document, utc_only) == ()


def test_kubectl_scales_an_autoscaled_pool_within_its_bounds(
    installed: KubeClient, cluster: TestCluster, namespace: str
) -> None:
    installed.create(NODE_POOLS, pool(namespace, autoscaling={"min": 1, "max": 4}))

    cluster.kubectl("-n", namespace, "scale", "np/workers", "--replicas=4")

    found = installed.find(NODE_POOLS, "workers", namespace)
    assert found is not None
    assert found["spec"]["replicas"] == 4
    with pytest.raises(AssertionError, match="replicas must be within the bounds of autoscaling"):
        cluster.kubectl("-n", namespace, "scale", "np/workers", "--replicas=5")


def test_a_name_that_is_too_long_for_machines_is_refused(
    installed: KubeClient, namespace: str
) -> None:
    with pytest.raises(InputError, match="a name has at most 51 characters"):
        installed.create(NODE_POOLS, pool(namespace, "w" * 52))
    installed.create(NODE_POOLS, pool(namespace, "w" * 51))


def test_a_name_that_no_machine_could_have_is_refused(
    installed: KubeClient, namespace: str
) -> None:
    with pytest.raises(InputError, match="and no dot: machines are called by it"):
        installed.create(NODE_POOLS, pool(namespace, "a.b"))


def test_a_field_that_nobody_knows_is_told_by_kubectl(
    installed: KubeClient, cluster: TestCluster, namespace: str
) -> None:
    with pytest.raises(AssertionError, match=r'unknown field "spec\.replica"'):
        cluster.kubectl("apply", "-f", "-", said=json.dumps(pool(namespace, replica=3)))


def test_a_revision_never_changes(installed: KubeClient, namespace: str) -> None:
    made = {
        "apiVersion": "fairlead.dev/v1alpha1",
        "kind": "NodeRevision",
        "metadata": {"name": "workers-1", "namespace": namespace},
        "spec": {"pool": "workers", "id": "1", "revision": "{}"},
    }
    installed.apply(NODE_REVISIONS, made)
    changed = {**made, "spec": {**made["spec"], "revision": '{"other": true}'}}  # type: ignore[dict-item]

    with pytest.raises(InputError, match="a revision never changes"):
        installed.apply(NODE_REVISIONS, changed)


def test_kubectl_scales_explains_and_lists_pools_by_their_short_name(
    installed: KubeClient, cluster: TestCluster, namespace: str
) -> None:
    installed.create(NODE_POOLS, pool(namespace, replicas=3))

    cluster.kubectl("-n", namespace, "scale", "np/workers", "--replicas=5")

    found = installed.find(NODE_POOLS, "workers", namespace)
    assert found is not None
    assert found["spec"]["replicas"] == 5
    listed = cluster.kubectl("-n", namespace, "get", "np")
    assert listed.split()[:7] == [
        "NAME", "STATE", "VERSION", "DESIRED", "UPDATED", "AVAILABLE", "AGE"
    ]  # fmt: skip
    explained = cluster.kubectl("explain", "nodepool.spec.replicas")
    assert "how many machines" in explained
    explained = cluster.kubectl("explain", "nodepool.spec.timeouts")
    assert "how long parts of a machine's life may take" in explained


def test_kubectl_lists_what_the_platform_adds(
    installed: KubeClient, cluster: TestCluster, namespace: str
) -> None:
    document = {
        "apiVersion": "fairlead.dev/v1alpha1",
        "kind": "PlatformConfig",
        "metadata": {"name": "platform", "namespace": namespace},
        "spec": {
            "proxy": {"image": "registry.example.test/proxy:2"},
            "controlPlaneVersion": "1.35.0",
            "stopEverything": True,
        },
    }
    installed.apply(PLATFORM_CONFIGS, document)

    names, *rows = cluster.kubectl("-n", namespace, "get", "pfc").splitlines()

    assert names.split() == ["NAME", "PROXY", "CONTROL", "PLANE", "STOPPED", "AGE"]
    assert [row.split()[:4] for row in rows] == [
        ["platform", "registry.example.test/proxy:2", "1.35.0", "true"]
    ]


def test_kubectl_waits_for_a_condition_of_this_generation_only(
    installed: KubeClient, cluster: TestCluster, namespace: str
) -> None:
    made = installed.create(NODE_POOLS, pool(namespace, replicas=3))
    generation = made["metadata"]["generation"]
    condition = {
        "type": "Ready",
        "status": "True",
        "reason": "AsExpected",
        "message": "all is well",
        "lastTransitionTime": "2026-11-18T00:00:00Z",
        "observedGeneration": generation,
    }
    status = {"observedGeneration": generation, "conditions": [condition]}
    header = {"apiVersion": made["apiVersion"], "kind": made["kind"]}
    metadata = {"name": "workers", "namespace": namespace}
    installed.apply(NODE_POOLS, {**header, "metadata": metadata, "status": status}, "status")
    wait = ["-n", namespace, "wait", "--for=condition=Ready", "np/workers", "--timeout=1s"]

    cluster.kubectl(*wait)
    cluster.kubectl("-n", namespace, "scale", "np/workers", "--replicas=5")

    with pytest.raises(AssertionError, match="timed out"):
        cluster.kubectl(*wait)
