"""
The runtime extension with the real Cluster API core, its alpha gates on: in place or not at all.

Which MachineDeployments: those that the operator makes for pools, with the annotation.
"""

import base64
import re
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from fairlead.errors import FairleadError
from fairlead.kube.answer import Object
from fairlead.kube.resource import EVENTS, MACHINE_DEPLOYMENTS, MACHINES, NODES, Resource
from kube.cluster import LOOPBACK, running_cluster
from kube.cluster_api import install_all, log_of, running_provider
from kube.fleet import NAMESPACE, Fleet, wait_until
from kube.job_nodes import Asked, Ended, running_nodes
from kube.processes import ExtensionProcess, install
from kube.rights import check_rights
from shared_cases import REPOSITORY

pytestmark = pytest.mark.slow

GATES = "--feature-gates=ReconcilerRateLimiting=false,RuntimeSDK=true,InPlaceUpdates=true"
CONFIGS = Resource(
    "runtime.cluster.x-k8s.io",
    "v1beta2",
    "extensionconfigs",
    "ExtensionConfig",
    is_namespaced=False,
)
ONE_BY_ONE: dict[str, Any] = {"management": {"maxSurge": 0, "maxUnavailable": 1}}
SETTING = {"kind": "Sysctl", "settings": {"vm.max_map_count": 262144}}
# Seconds in which a roll of two is over, here: long enough to see that there is none.
A_ROLL_S = 15


@pytest.fixture
def gated(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Fleet]:
    """A fleet whose Cluster API knows changes in place; nobody answers its hooks yet."""
    with running_cluster(tmp_path_factory.mktemp("cluster")) as cluster:
        install_all(cluster, GATES)
        with running_provider(cluster, NAMESPACE) as provider:
            provider.declare_template("small", size="small")
            provider.declare_template("large", size="large")
            fleet = Fleet(cluster, provider)
            install(cluster, ("fairlead-extension",))
            fleet.start_operator()
            yield fleet
            fleet.stop_operators()
            fleet.admin.close()


def test_machines_change_in_place_or_not_at_all(gated: Fleet, tmp_path: Path) -> None:
    fleet = gated
    extension = ExtensionProcess(fleet.cluster, tmp_path)
    try:
        extension.wait_until_ready()
        register(fleet, extension)
        declare(fleet, **ONE_BY_ONE)
        fleet.settle("workers")
        fleet.cluster.kubectl(
            "annotate", "machinedeployment", "workers", "fairlead.dev/in-place=only"
        )
        before = uids(fleet, "workers")
        with running_nodes(fleet.cluster) as nodes:
            nodes.run = lambda asked: upgraded(fleet, asked, "v1.34.3")
            declare(fleet, **ONE_BY_ONE, release={"version": "1.34.3"})
            wait_until(lambda: versions(fleet) == {"v1.34.3"}, lambda: seen(fleet, extension), 120)
            wait_until(lambda: not updating(fleet), lambda: seen(fleet, extension), 120)
            fleet.settle("workers")
            assert uids(fleet, "workers") == before
            assert sorted(one.node for one in nodes.ran) == fleet.machines("workers")

            refuse_another_size(fleet, before)
            refuse_surge(fleet, before)
            wait_without_an_extension(fleet, extension, tmp_path, before)
            nodes.run = lambda _asked: (50, "no room on the device")
            show_a_failure(fleet, before)
            nodes.run = lambda asked: upgraded(fleet, asked, "v1.34.6")
            go_on_after_a_failure(fleet, before)
    finally:
        extension.kill()


def refuse_another_size(fleet: Fleet, before: set[str]) -> None:
    """What no agent can do replaces nothing, and the field is told; taken back, all goes on."""
    large = {"apiGroup": "infra.test.fairlead.dev", "kind": "TestMachineTemplate", "name": "large"}
    release: dict[str, Any] = {"release": {"version": "1.34.3"}}
    declare(fleet, **ONE_BY_ONE, **release, machineTemplate=large)
    field = "infrastructureMachineTemplate.spec.template.spec.size"
    wait_until(lambda: field in told(fleet), lambda: log_of(fleet.cluster).read_text()[-3000:])
    time.sleep(A_ROLL_S)
    assert uids(fleet, "workers") == before
    assert "to have its machines replaced" in told(fleet)
    declare(fleet, **ONE_BY_ONE, **release)
    fleet.settle("workers")


def refuse_surge(fleet: Fleet, before: set[str]) -> None:
    """A machine that is made on the way would be another one's end."""
    surging: dict[str, Any] = {"management": {"maxSurge": 1, "maxUnavailable": 0}}
    declare(fleet, **surging, release={"version": "1.34.4"})
    wait_until(lambda: "maxSurge" in told(fleet))
    time.sleep(A_ROLL_S)
    assert uids(fleet, "workers") == before
    declare(fleet, **ONE_BY_ONE, release={"version": "1.34.3"})
    fleet.settle("workers")


def wait_without_an_extension(
    fleet: Fleet, extension: ExtensionProcess, directory: Path, before: set[str]
) -> None:
    """Where nobody answers, nothing moves; once somebody does, it goes on."""
    assert extension.end() == 0
    assert "Traceback" not in extension.log.read_text()
    declare(fleet, **ONE_BY_ONE, release={"version": "1.34.5"})
    time.sleep(A_ROLL_S)
    assert uids(fleet, "workers") == before
    assert versions(fleet) == {"v1.34.3"}
    again = ExtensionProcess(fleet.cluster, directory)
    extension.__dict__.update(again.__dict__)  # whoever holds it ends the one that runs
    again.wait_until_ready()
    register(fleet, again)
    wait_until(lambda: versions(fleet) == {"v1.34.5"}, lambda: seen(fleet, again), 180)
    wait_until(lambda: not updating(fleet), lambda: seen(fleet, again), 120)
    fleet.settle("workers")
    assert uids(fleet, "workers") == before


def show_a_failure(fleet: Fleet, before: set[str]) -> None:
    """A change that fails stays where it is; what its agent said last is in the core's log."""
    declare(fleet, **ONE_BY_ONE, release={"version": "1.34.6"})
    log = log_of(fleet.cluster)
    wait_until(lambda: "no room on the device (exit 50)" in log.read_text(), log.read_text, 120)
    reasons = {one["reason"] for one in conditions(fleet, "Updating")}
    assert "InPlaceUpdateFailed" in reasons
    wait_until(lambda: "no room on the device" in fleet.pool("workers")["status"]["sentence"])
    assert uids(fleet, "workers") == before


def go_on_after_a_failure(fleet: Fleet, before: set[str]) -> None:
    """What the message says is to be deleted makes another try."""
    said = re.findall(
        r"delete the Job (\S+) in (\S+) of its cluster"
        r" and the annotation (\S+) of the Machine (\S+);",
        log_of(fleet.cluster).read_text(),
    )
    for job, namespace, annotation, machine in sorted(set(said)):
        fleet.cluster.kubectl("-n", namespace, "delete", "job", job, "--ignore-not-found")
        fleet.cluster.kubectl("annotate", "machine", machine, f"{annotation}-")
    wait_until(
        lambda: versions(fleet) == {"v1.34.6"},
        lambda: (fleet.pool("workers")["status"], fleet.said[-5:]),
        180,
    )
    fleet.settle("workers", 120)
    assert uids(fleet, "workers") == before


def test_machines_of_others_are_replaced_and_every_right_is_used(
    gated: Fleet, tmp_path: Path
) -> None:
    fleet = gated
    extension = ExtensionProcess(fleet.cluster, tmp_path)
    try:
        extension.wait_until_ready()
        register(fleet, extension)
        fleet.declare("usual", **ONE_BY_ONE)
        fleet.settle("usual")
        before = uids(fleet, "usual")

        # Nothing that Cluster API compares: the user data alone is another.
        fleet.declare("usual", **ONE_BY_ONE, config=[SETTING])
        fleet.settle("usual", 120)
        assert uids(fleet, "usual") & before == set()

        fleet.cluster.kubectl("annotate", "machinedeployment", "usual", "fairlead.dev/in-place=yes")
        after = uids(fleet, "usual")
        fleet.declare("usual", **ONE_BY_ONE, config=[SETTING], release={"version": "1.34.4"})
        wait_until(lambda: "expected 'only'" in told(fleet, "usual"))
        with running_nodes(fleet.cluster) as nodes:
            nodes.run = lambda asked: upgraded(fleet, asked, "v1.34.4")
            fleet.cluster.kubectl(
                *("annotate", "--overwrite", "machinedeployment", "usual"),
                "fairlead.dev/in-place=only",
            )
            wait_until(lambda: versions(fleet, "usual") == {"v1.34.4"}, deadline_s=180)
            fleet.settle("usual", 120)
        assert uids(fleet, "usual") == after
        metrics = extension.get("/metrics")[1]
        assert 'fairlead_extension_answers_total{hook="UpdateMachine",status="Success"}' in metrics
        assert extension.end() == 0
        check_rights(fleet.cluster, "fairlead-extension")
    finally:
        extension.kill()


def declare(fleet: Fleet, **spec: Any) -> None:
    fleet.declare("workers", **spec)


def register(fleet: Fleet, extension: ExtensionProcess) -> None:
    """The manifest, with a loopback address in the place of the Service."""
    file = REPOSITORY / "deploy/kube/extension/extension-config.yaml"
    document = yaml.safe_load(file.read_text())
    assert document["spec"]["clientConfig"]["service"]["name"] == "fairlead-extension"
    authority = base64.b64encode(fleet.cluster.authority.text.encode()).decode()
    url = f"https://{LOOPBACK}:{extension.port}"
    document["metadata"].pop("annotations")
    document["spec"]["clientConfig"] = {"url": url, "caBundle": authority}
    fleet.cluster.kubectl(
        "label", "--overwrite", "namespace", NAMESPACE, "fairlead.dev/in-place=true"
    )

    def is_discovered() -> bool:
        try:
            found = fleet.admin.apply(CONFIGS, document, manager="owner")
        except FairleadError:
            return False  # the webhooks of the core answer after a moment
        status = found.get("status") or {}
        handlers = {one["name"] for one in status.get("handlers") or ()}
        observed = found["metadata"]["generation"]
        return "update-machine.fairlead" in handlers and all(
            one.get("observedGeneration") == observed and one["status"] == "True"
            for one in status["conditions"]
            if one["type"] == "Discovered"
        )

    wait_until(is_discovered, log_of(fleet.cluster).read_text)


def upgraded(fleet: Fleet, asked: Asked, version: str) -> Ended:
    """What a kubelet of the version that was asked for reports."""
    node = fleet.admin.find(NODES, asked.node)
    assert node is not None
    info = {**node["status"]["nodeInfo"], "kubeletVersion": version}
    fleet.admin.replace(NODES, {**node, "status": {**node["status"], "nodeInfo": info}}, "status")
    return 0, ""


def machines(fleet: Fleet, pool: str = "workers") -> list[Object]:
    return fleet.admin.list_all(MACHINES, NAMESPACE, f"fairlead.dev/pool={pool}")[0]


def uids(fleet: Fleet, pool: str) -> set[str]:
    return {one["metadata"]["uid"] for one in machines(fleet, pool)}


def versions(fleet: Fleet, pool: str = "workers") -> set[str]:
    return {one["spec"]["version"] for one in machines(fleet, pool)}


def updating(fleet: Fleet) -> bool:
    annotations = [one["metadata"].get("annotations") or {} for one in machines(fleet)]
    return any("update-in-progress" in name for one in annotations for name in one)


def conditions(fleet: Fleet, kind: str) -> list[Object]:
    return [
        one
        for machine in machines(fleet)
        for one in (machine.get("status") or {}).get("conditions") or ()
        if one["type"] == kind
    ]


def told(fleet: Fleet, name: str = "workers") -> str:
    """What Events say of a MachineDeployment."""
    found = fleet.admin.list_all(EVENTS, NAMESPACE)[0]
    deployment = fleet.admin.find(MACHINE_DEPLOYMENTS, name, NAMESPACE)
    assert deployment is not None
    uid = deployment["metadata"]["uid"]
    return "\n".join(one.get("note", "") for one in found if one["regarding"].get("uid") == uid)


def seen(fleet: Fleet, extension: ExtensionProcess) -> object:
    annotations = [one["metadata"].get("annotations") for one in machines(fleet)]
    lines = log_of(fleet.cluster).read_text().splitlines()[-25:]
    return annotations, extension.log.read_text(), told(fleet), fleet.said[-5:], "\n".join(lines)
