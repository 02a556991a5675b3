"""Runtime hooks of Cluster API as it sends them, word by word, and what it is answered."""

import base64
import json
from dataclasses import dataclass, field
from typing import Any

import pytest

from fairlead.errors import InputError, UnavailableError
from fairlead.kube.extension.answers import Answers
from fairlead.kube.extension.wire import HOOKS, LONGEST_MESSAGE, Hook

VERSION = "hooks.runtime.cluster.x-k8s.io/v1alpha1"


@dataclass
class Cluster:
    """What is done about machines. says: of an update; problem: what everything ends with."""

    says: str = ""
    problem: Exception | None = None
    prepared: list[tuple[str, str]] = field(default_factory=list)
    refusals: list[tuple[str, str, str]] = field(default_factory=list)
    updated: list[tuple[str, str, str]] = field(default_factory=list)

    def prepare(self, pool: str, deployment: str) -> None:
        if self.problem:
            raise self.problem
        self.prepared.append((pool, deployment))

    def update(self, namespace: str, name: str, told: str) -> str:
        if self.problem:
            raise self.problem
        self.updated.append((namespace, name, told))
        return self.says

    def note_refusal(self, namespace: str, deployment: str, message: str) -> None:
        self.refusals.append((namespace, deployment, message))


def side(pair: str = "a1", only: str | None = "only", **spec: Any) -> Any:
    """One side of a CanUpdateMachineSetRequest, as the core writes it."""
    annotations = {"machinedeployment.clusters.x-k8s.io/revision": "1"}
    return {
        "machineSet": {
            "apiVersion": "cluster.x-k8s.io/v1beta2",
            "kind": "MachineSet",
            "metadata": {
                "name": "workers-x7k2p",
                "namespace": "default",
                "labels": {
                    "cluster.x-k8s.io/deployment-name": "workers",
                    "fairlead.dev/pool": "workers",
                },
                "annotations": annotations | ({"fairlead.dev/in-place": only} if only else {}),
            },
            "spec": {
                "clusterName": "c1",
                "replicas": 2,
                "template": {
                    "metadata": {"labels": {"fairlead.dev/pool": "workers"}},
                    "spec": {
                        "clusterName": "c1",
                        "bootstrap": {"dataSecretName": f"user-data-workers-{pair}"},
                        "infrastructureRef": {"kind": "TestMachineTemplate", "name": pair},
                        "version": "v1.34.2",
                        "deletion": {"nodeDrainTimeoutSeconds": 60},
                        **spec,
                    },
                },
            },
        },
        "infrastructureMachineTemplate": {
            "apiVersion": "infra.test.fairlead.dev/v1beta2",
            "kind": "TestMachineTemplate",
            "metadata": {"name": pair, "namespace": "default"},
            "spec": {"template": {"spec": {"size": "small"}}},
        },
    }


def ask(hook: Hook, request: Any, cluster: Cluster | None = None) -> Any:
    defects: list[Exception] = []
    body = request if isinstance(request, bytes) else json.dumps(request).encode()
    answer = Answers(cluster or Cluster(), defects.append).answer(hook, body)
    assert json.loads(json.dumps(answer)) == answer
    return answer


def can(current: Any, desired: Any, cluster: Cluster | None = None) -> Any:
    request = {
        "apiVersion": VERSION,
        "kind": "CanUpdateMachineSetRequest",
        "settings": {},
        "current": current,
        "desired": desired,
    }
    return ask(Hook.CAN_UPDATE_MACHINE_SET, request, cluster)


def patch_in(answer: Any, name: str) -> Any:
    assert answer[name]["patchType"] == "JSONMergePatch"
    return json.loads(base64.b64decode(answer[name]["patch"], validate=True))


def test_discovery_names_three_hooks_of_which_no_failure_is_passed_over() -> None:
    answer = ask(Hook.DISCOVERY, {"apiVersion": VERSION, "kind": "DiscoveryRequest"})

    assert {name: answer[name] for name in ("apiVersion", "kind", "status")} == {
        "apiVersion": "hooks.runtime.cluster.x-k8s.io/v1alpha1",
        "kind": "DiscoveryResponse",
        "status": "Success",
    }
    assert answer["handlers"][1] == {
        "name": "can-update-machine-set",
        "requestHook": {
            "apiVersion": "hooks.runtime.cluster.x-k8s.io/v1alpha1",
            "hook": "CanUpdateMachineSet",
        },
        "timeoutSeconds": 30,
        "failurePolicy": "Fail",
    }
    assert [one["failurePolicy"] for one in answer["handlers"]] == ["Fail"] * 3
    assert sorted(HOOKS) == [
        "/hooks.runtime.cluster.x-k8s.io/v1alpha1/canupdatemachine/can-update-machine",
        "/hooks.runtime.cluster.x-k8s.io/v1alpha1/canupdatemachineset/can-update-machine-set",
        "/hooks.runtime.cluster.x-k8s.io/v1alpha1/discovery",
        "/hooks.runtime.cluster.x-k8s.io/v1alpha1/updatemachine/update-machine",
    ]


def test_a_version_that_an_agent_brings_is_claimed_and_nothing_else_is_written() -> None:
    cluster = Cluster()

    answer = can(side("a1"), side("b2", version="v1.34.3"), cluster)

    assert answer == {
        "apiVersion": "hooks.runtime.cluster.x-k8s.io/v1alpha1",
        "kind": "CanUpdateMachineSetResponse",
        "status": "Success",
        "machineSetPatch": {
            "patchType": "JSONMergePatch",
            "patch": base64.b64encode(
                b'{"spec":{"template":{"spec":{"version":"v1.34.3"}}}}'
            ).decode(),
        },
    }
    assert cluster.prepared == [("default/workers", "workers")]
    assert cluster.refusals == []


def test_user_data_alone_needs_no_patch_since_it_is_not_compared() -> None:
    desired = side("b2", minReadySeconds=9, taints=[], deletion={"nodeDeletionTimeoutSeconds": 1})

    answer = can(side("a1"), desired)

    assert (answer["status"], "machineSetPatch" in answer) == ("Success", False)


@pytest.mark.parametrize(
    ("changed", "field"),
    [
        ({"failureDomain": "b"}, "machineSet.spec.template.spec.failureDomain"),
        ({"later": {"x": 1}}, "machineSet.spec.template.spec.later"),
        ({"deletion": {"other": 1}}, "machineSet.spec.template.spec.deletion.other"),
    ],
)
def test_what_no_agent_brings_is_refused_with_its_field_and_the_way_out(
    changed: Any, field: str
) -> None:
    cluster = Cluster()

    answer = can(side("a1"), side("b2", version="v1.34.3", **changed), cluster)

    assert answer["status"] == "Failure"
    assert answer["message"] == (
        f"{field}: cannot be changed in place (take it back, or take the annotation "
        "fairlead.dev/in-place from the MachineDeployment to have its machines replaced)"
    )
    assert cluster.prepared == []
    assert cluster.refusals == [("default", "workers", answer["message"])]


def test_another_machine_template_is_refused() -> None:
    desired = side("b2")
    desired["infrastructureMachineTemplate"]["spec"]["template"]["spec"] = {"size": "large"}

    answer = can(side("a1"), desired)

    assert answer["status"] == "Failure"
    assert answer["message"].startswith("infrastructureMachineTemplate.spec.template.spec.size:")


def test_user_data_of_somebody_else_or_none_that_is_another_is_refused() -> None:
    foreign = side("b2", bootstrap={"dataSecretName": "somebodys"})
    ours = side("b2", version="v1.34.3")
    for current, desired in ((side(), foreign), (foreign, ours), (side("b2"), ours)):
        answer = can(current, desired)
        assert answer["status"] == "Failure"
        assert "bootstrap.dataSecretName: " in answer["message"]


def test_one_side_that_says_in_place_is_enough_and_a_word_nobody_knows_is_refused() -> None:
    large = side("b2", only=None, failureDomain="b")
    assert can(side("a1"), large)["status"] == "Failure"
    assert "expected 'only'" in can(side("a1", only="yes"), large)["message"]


def test_machines_of_others_are_not_claimed_where_something_differs() -> None:
    answer = can(side("a1", only=None), side("b2", only=None, version="v1.34.3"))

    assert answer == {
        "apiVersion": "hooks.runtime.cluster.x-k8s.io/v1alpha1",
        "kind": "CanUpdateMachineSetResponse",
        "status": "Success",
    }


def test_machines_of_others_are_told_apart_where_an_empty_answer_would_claim_them() -> None:
    """Equal but for the user data: the core would call that covered, and have us change them."""
    answer = can(side("a1", only=None), side("b2", only=None))

    assert patch_in(answer, "machineSetPatch") == {
        "spec": {"template": {"spec": {"failureDomain": "fairlead-does-not-change-this-in-place"}}}
    }


def test_a_machine_alone_is_asked_about_by_its_own_spec() -> None:
    def machine(version: str) -> Any:
        one = side("a1" if version == "v1" else "b2", version=version)
        spec = one["machineSet"]["spec"]["template"]["spec"]
        return {"machine": {**one["machineSet"], "spec": spec}}

    request = {"current": machine("v1"), "desired": machine("v2")}

    answer = ask(Hook.CAN_UPDATE_MACHINE, request)

    assert answer["kind"] == "CanUpdateMachineResponse"
    assert patch_in(answer, "machinePatch") == {"spec": {"version": "v2"}}


@pytest.mark.parametrize("problem", [UnavailableError("no answer"), ValueError("a defect")])
def test_whatever_goes_wrong_is_a_failure(problem: Exception) -> None:
    cluster = Cluster(problem=problem)

    assert can(side("a1"), side("b2"), cluster)["status"] == "Failure"
    assert ask(Hook.UPDATE_MACHINE, UPDATE, cluster)["status"] == "Failure"


UPDATE = {
    "apiVersion": VERSION,
    "kind": "UpdateMachineRequest",
    "desired": {
        "machine": {
            "metadata": {"name": "workers-x7k2p-abcde", "namespace": "default"},
            "spec": {"bootstrap": {"dataSecretName": "user-data-workers-b2"}},
        }
    },
}


def test_an_update_goes_on_until_it_is_confirmed() -> None:
    cluster = Cluster(says="drain: web-0 may not leave")
    begun = ask(Hook.UPDATE_MACHINE, UPDATE, cluster)
    cluster.says = ""
    done = ask(Hook.UPDATE_MACHINE, UPDATE, cluster)

    assert begun == {
        "apiVersion": "hooks.runtime.cluster.x-k8s.io/v1alpha1",
        "kind": "UpdateMachineResponse",
        "status": "Success",
        "message": "drain: web-0 may not leave",
        "retryAfterSeconds": 5,
    }
    assert (done["status"], done["retryAfterSeconds"]) == ("Success", 0)
    assert cluster.updated == [("default", "workers-x7k2p-abcde", "user-data-workers-b2")] * 2


def test_an_update_that_failed_says_why() -> None:
    cluster = Cluster(problem=InputError("its change failed: no room (exit 50)"))

    answer = ask(Hook.UPDATE_MACHINE, UPDATE, cluster)

    assert answer["status"] == "Failure"
    assert answer["message"] == "its change failed: no room (exit 50)"
    assert answer["retryAfterSeconds"] == 0


def test_a_message_has_one_line_and_an_end() -> None:
    answer = ask(Hook.UPDATE_MACHINE, UPDATE, Cluster(problem=InputError("a\nb " * 9999)))

    assert "\n" not in answer["message"]
    assert len(answer["message"]) == LONGEST_MESSAGE
