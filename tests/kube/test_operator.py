"""NodePools on a real API server, their machines by Cluster API's own controllers."""

import time
from typing import Any

import pytest

from fairlead.kube.resource import (
    MACHINE_DEPLOYMENTS,
    MACHINE_HEALTH_CHECKS,
    NODE_POOLS,
    PLATFORM_CONFIGS,
    SECRETS,
)
from kube.cluster import TestCluster
from kube.cluster_api import CLUSTER, TEST_CONTROL_PLANES, Provider, log_of
from kube.fleet import NAMESPACE, Fleet, wait_until

pytestmark = pytest.mark.slow


def test_a_pool_becomes_machines_that_boot_from_its_user_data(fleet: Fleet) -> None:
    fleet.declare("first")
    fleet.settle("first")

    assert len(fleet.machines("first")) == 2
    told = fleet.deployment("first")["spec"]["template"]["spec"]["bootstrap"]["dataSecretName"]
    assert told.startswith("user-data-first-")
    pair = told.removeprefix("user-data-first-")
    assert fleet.secrets("first") == [f"token-first-{pair}", told]
    status = fleet.pool("first")["status"]
    assert (status["version"], status["desired"], status["replicas"]) == ("1.34.2", 2, 2)


def test_a_platform_change_is_held_and_writes_no_template(fleet: Fleet) -> None:
    fleet.declare("held")
    fleet.settle("held")
    before = fleet.deployment("held")["metadata"]["generation"]
    platform = {
        "apiVersion": PLATFORM_CONFIGS.api_version,
        "kind": "PlatformConfig",
        "metadata": {"name": "platform", "namespace": NAMESPACE},
        "spec": {"proxy": {"image": "registry.example.test/proxy:2"}},
    }
    fleet.admin.apply(PLATFORM_CONFIGS, platform, manager="owner")

    wait_until(lambda: fleet.state("held") == "Drifted", lambda: fleet.pool("held")["status"])

    assert fleet.deployment("held")["metadata"]["generation"] == before
    fleet.admin.delete(PLATFORM_CONFIGS, "platform", NAMESPACE)
    fleet.settle("held")
    assert fleet.deployment("held")["metadata"]["generation"] == before


def test_another_version_replaces_every_machine_and_old_secrets_expire(fleet: Fleet) -> None:
    fleet.declare("rolled")
    fleet.settle("rolled")
    before = fleet.machines("rolled")

    fleet.declare("rolled", release={"version": "1.34.3"})
    fleet.settle("rolled")

    after = fleet.machines("rolled")
    assert len(after) == 2
    assert not set(before) & set(after)
    assert fleet.pool("rolled")["status"]["version"] == "1.34.3"


def test_scaling_writes_no_other_revision(fleet: Fleet) -> None:
    fleet.declare("scaled")
    fleet.settle("scaled")
    told = fleet.deployment("scaled")["spec"]["template"]

    fleet.cluster.kubectl("scale", "np/scaled", "--replicas=3")
    wait_until(lambda: len(fleet.machines("scaled")) == 3)
    fleet.settle("scaled")

    assert fleet.deployment("scaled")["spec"]["template"] == told


def test_an_operator_that_starts_again_writes_nothing_when_nothing_changed(fleet: Fleet) -> None:
    fleet.declare("quiet")
    fleet.settle("quiet")
    time.sleep(2)
    fleet.stop_operators()
    before = fleet.pool("quiet")["metadata"]["resourceVersion"]
    template = fleet.deployment("quiet")["metadata"]["resourceVersion"]

    operator = fleet.start_operator("two")
    wait_until(lambda: operator.counted.passes > 0 and operator.queue.is_idle)
    time.sleep(2)

    assert fleet.pool("quiet")["metadata"]["resourceVersion"] == before
    assert fleet.deployment("quiet")["metadata"]["resourceVersion"] == template


def test_a_deleted_pool_goes_with_its_machines_and_secrets(fleet: Fleet) -> None:
    fleet.declare("gone", autoRepair=True, autoscaling={"min": 1, "max": 4})
    by_autoscaler = '[{"op": "remove", "path": "/spec/replicas"}]'
    fleet.cluster.kubectl("patch", "np/gone", "--type=json", f"--patch={by_autoscaler}")
    fleet.settle("gone")

    # Others delete what belongs to the pool at the same time: its revisions are gone at once.
    fleet.cluster.kubectl("delete", "np/gone", "--cascade=foreground", "--wait=false")

    wait_until(
        lambda: fleet.admin.find(NODE_POOLS, "gone", NAMESPACE) is None, lambda: fleet.said[-5:]
    )
    assert fleet.machines("gone") == []
    wait_until(lambda: fleet.secrets("gone") == [])
    for resource in (MACHINE_DEPLOYMENTS, MACHINE_HEALTH_CHECKS):
        wait_until(lambda found=resource: fleet.admin.find(found, "gone", NAMESPACE) is None)  # type: ignore[misc]


def test_a_pull_secret_that_goes_bad_replaces_nobody_and_is_named(fleet: Fleet) -> None:
    login = {
        "apiVersion": "v1",
        "kind": "Secret",
        "metadata": {"name": "login", "namespace": NAMESPACE},
    }
    key = ".dockerconfigjson"
    fleet.admin.apply(SECRETS, {**login, "stringData": {key: '{"auths": {}}'}}, manager="owner")
    named: dict[str, Any] = {"pullSecret": {"name": "login"}, "secretContent": "Roll"}
    fleet.declare("login", **named)
    fleet.settle("login")
    before = fleet.deployment("login")["spec"]["template"]

    fleet.admin.apply(SECRETS, {**login, "stringData": {key: "not-json"}}, manager="owner")
    fleet.declare("login", **named, labels={"a": "b"})  # a pass is made for it

    said = "the Secret login in default, the pool's pull secret, is no JSON (expected a Docker"
    wait_until(lambda: said in fleet.pool("login")["status"]["sentence"])
    assert fleet.state("login") == "Blocked"
    assert fleet.deployment("login")["spec"]["template"] == before


def test_a_template_that_nobody_has_is_named_in_the_status(fleet: Fleet) -> None:
    template = {"apiGroup": "infra.test.fairlead.dev", "kind": "TestMachineTemplate", "name": "no"}
    fleet.declare("lost", machineTemplate=template)

    wait_until(lambda: fleet.state("lost") == "Blocked", lambda: fleet.said[-5:])

    pool = fleet.pool("lost")
    condition = fleet.condition("lost", "ReconciliationActive")
    assert (condition["status"], condition["reason"]) == ("False", "Refused")
    assert "there is no TestMachineTemplate no in default" in condition["message"]
    assert condition["observedGeneration"] == pool["status"]["observedGeneration"] == 1

    time.sleep(3)  # tried again three times meanwhile, and said once
    assert fleet.pool("lost")["metadata"]["resourceVersion"] == pool["metadata"]["resourceVersion"]

    fleet.provider.declare_template("no", size="small")
    fleet.settle("lost", deadline_s=20)
    assert fleet.condition("lost", "ReconciliationActive")["status"] == "True"


def test_a_version_that_the_cluster_is_too_old_for_makes_no_machine(fleet: Fleet) -> None:
    fleet.declare("early", release={"version": "1.37.0"})

    wait_until(lambda: fleet.state("early") == "Blocked", lambda: fleet.said[-5:])

    assert fleet.condition("early", "ValidRelease")["message"] == (
        "spec.release.version: found 1.37.0, newer than the control plane, which is at 1.36.4 "
        "(to have it anyway: release.allow: [Skew])"
    )
    assert fleet.machines("early") == []
    # So the API server said. A provider that tells versions is heard by Cluster API, and so by us.
    tell_versions(fleet, "v1.37.2", "v1.38.0")
    try:
        wait_until(lambda: fleet.condition("early", "ValidRelease")["status"] == "True")
        assert fleet.pool("early")["status"]["controlPlaneVersion"] == "1.37.2"
        assert fleet.condition("early", "SupportedVersionSkew")["status"] == "True"
    finally:
        tell_versions(fleet)
        fleet.admin.delete(NODE_POOLS, "early", NAMESPACE)


def tell_versions(fleet: Fleet, *versions: str) -> None:
    """Let the provider of the control plane tell which versions its API servers have."""
    found = fleet.admin.find(TEST_CONTROL_PLANES, CLUSTER, NAMESPACE)
    assert found is not None
    told = {"versions": [{"version": version} for version in versions]} if versions else {}
    status = {name: one for name, one in found["status"].items() if name != "versions"}
    fleet.admin.replace(TEST_CONTROL_PLANES, {**found, "status": {**status, **told}}, "status")


def test_a_pool_without_a_cluster_is_blocked_and_stops_nobody(fleet: Fleet) -> None:
    fleet.cluster.kubectl("create", "namespace", "empty")
    fleet.declare("alone", namespace="empty")
    fleet.declare("beside")

    fleet.settle("beside")
    wait_until(lambda: fleet.state("alone", "empty") == "Blocked", lambda: fleet.said[-5:])
    says = fleet.pool("alone", "empty")["status"]["sentence"]
    assert "found 0 Clusters in empty, expected one" in says


def test_kubectl_waits_for_a_condition_of_this_generation(fleet: Fleet) -> None:
    fleet.declare("awaited")
    fleet.cluster.kubectl("wait", "--for=condition=Ready", "np/awaited", "--timeout=60s")

    fleet.declare("awaited", replicas=1)
    fleet.cluster.kubectl("wait", "--for=jsonpath={.status.desired}=1", "np/awaited")
    fleet.settle("awaited")

    status = fleet.pool("awaited")["status"]
    assert {one["observedGeneration"] for one in status["conditions"]} == {2}


def test_nothing_was_written_that_cluster_api_complained_about(
    bare: tuple[TestCluster, Provider],
) -> None:
    assert "panic" not in log_of(bare[0]).read_text()
