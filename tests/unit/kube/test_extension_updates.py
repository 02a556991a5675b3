"""What a hook asks of a Machine, over the requests that would go to an API server."""

from copy import deepcopy
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any, cast

import pytest

from fairlead.errors import ConflictError, InputError
from fairlead.kube.client import KubeClient
from fairlead.kube.cluster_api.in_place import Change, ChangeStage, kept_change
from fairlead.kube.extension.updates import UPDATING, Updates
from fairlead.kube.resource import Resource

NOW = datetime(2026, 11, 18, tzinfo=UTC)
HAS, GOES = "fairlead.dev/revision", "fairlead.dev/heading-for"
TOLD = "user-data-workers-b2"


@dataclass
class Server:
    """Objects by kind and name. refuses: what writing an Event ends with."""

    objects: dict[tuple[str, str], Any] = field(default_factory=dict)
    events: list[Any] = field(default_factory=list)
    refuses: Exception | None = None

    def find(self, resource: Resource, name: str, namespace: str = "") -> Any:
        assert namespace == "default"
        return deepcopy(self.objects.get((resource.kind, name)))

    def list_all(self, resource: Resource, namespace: str, labels: str) -> tuple[list[Any], str]:
        assert (resource.kind, namespace, labels) == (
            *("Machine", "default"),
            "fairlead.dev/pool=workers",
        )
        return [one for (kind, _), one in self.objects.items() if kind == "Machine"], "1"

    def replace(self, resource: Resource, changed: Any, subresource: str = "") -> Any:
        key = (resource.kind, changed["metadata"]["name"])
        parts = ("status",) if subresource else ("metadata", "spec")
        self.objects[key] = {**self.objects[key], **{part: changed[part] for part in parts}}
        return self.objects[key]

    def create(self, _resource: Resource, made: Any) -> Any:
        if self.refuses:
            raise self.refuses
        self.events.append(made)
        return made


def machine(pair: str = "b2", **annotations: str) -> Any:
    return {
        "metadata": {
            "name": "m1",
            "namespace": "default",
            "uid": "u1",
            "creationTimestamp": "2026-11-18T00:00:00Z",
            "labels": {"fairlead.dev/pool": "workers"},
            "annotations": {name.replace("__", "/"): text for name, text in annotations.items()},
        },
        "spec": {"clusterName": "c1", "bootstrap": {"dataSecretName": f"user-data-workers-{pair}"}},
    }


def served(
    found: Any = None, surge: Any = 0, only: str = "only"
) -> tuple[Updates, Server, list[str]]:
    server, said = Server(), list[str]()
    if found is not None:
        server.objects["Machine", "m1"] = found
    rollout = {"strategy": {"rollingUpdate": {"maxSurge": surge}}}
    annotations = {"fairlead.dev/in-place": only} if only else {}
    server.objects["MachineDeployment", "workers"] = {
        "metadata": {
            "name": "workers",
            "namespace": "default",
            "uid": "d1",
            "annotations": annotations,
        },
        "spec": {"rollout": rollout},
    }
    return Updates(cast(KubeClient, server), said.append, lambda: NOW), server, said


def annotations_of(server: Server) -> Any:
    return server.objects["Machine", "m1"]["metadata"]["annotations"]


def test_a_machine_that_cluster_api_updates_is_told_where_it_goes_once() -> None:
    updates, server, _ = served(machine())
    annotations_of(server).update({UPDATING: "", HAS: "a1"})

    assert updates.update("default", "m1", TOLD) == "was told to change to b2"
    assert annotations_of(server) == {UPDATING: "", HAS: "a1", GOES: "b2"}
    told = deepcopy(server.objects)
    assert updates.update("default", "m1", TOLD) == "waits for the operator"
    assert server.objects == told


def test_a_machine_of_which_nobody_knows_what_it_has_is_changed() -> None:
    updates, server, _ = served(machine())
    annotations_of(server)[UPDATING] = ""

    assert updates.update("default", "m1", TOLD)
    assert (annotations_of(server)[HAS], annotations_of(server)[GOES]) == ("", "b2")


def test_whoever_asks_moves_no_machine_that_cluster_api_does_not_update() -> None:
    updates, server, _ = served(machine(**{"fairlead.dev__revision": "a1"}))

    with pytest.raises(InputError, match="does not say"):
        updates.update("default", "m1", TOLD)
    assert updates.update("default", "m1", "user-data-workers-c3").endswith("yet")
    assert annotations_of(server) == {HAS: "a1"}


def test_done_is_what_the_operator_confirmed_and_nothing_earlier() -> None:
    updates, server, _ = served(machine())
    for stage in (ChangeStage.DRAIN, ChangeStage.APPLY):
        change = Change(to="b2", stage=stage, since=NOW, problem="waits")
        annotations_of(server).update({HAS: "", GOES: "b2", **kept_change(change)})
        assert updates.update("default", "m1", TOLD) == f"{stage.value}: waits"

    server.objects["Machine", "m1"] = machine(**{"fairlead.dev__revision": "b2"})
    assert updates.update("default", "m1", TOLD) == ""
    # Called off in the moment between two writes: not yet.
    annotations_of(server)[GOES] = "b2"
    assert updates.update("default", "m1", TOLD) != ""


def test_a_change_that_failed_says_the_agents_line_and_how_to_go_on() -> None:
    updates, server, _ = served(machine())
    failed = Change(to="b2", stage=ChangeStage.FAILED, since=NOW, problem="no room (exit 50)")
    annotations_of(server).update({HAS: "", GOES: "b2", **kept_change(failed)})

    with pytest.raises(
        InputError, match=r"no room \(exit 50\) \(to try again, delete the Job fair"
    ):
        updates.update("default", "m1", TOLD)


def test_machines_that_are_gone_leave_or_are_somebody_elses_are_failures() -> None:
    leaving = machine()
    leaving["metadata"]["deletionTimestamp"] = "2026-11-18T00:00:00Z"
    foreign = machine()
    foreign["spec"]["bootstrap"] = {"dataSecretName": "somebodys"}
    for found in (None, leaving, foreign):
        with pytest.raises(InputError):
            served(found)[0].update("default", "m1", TOLD)


def test_before_a_move_each_machine_says_what_it_has() -> None:
    updates, server, _ = served(machine("a1"))

    server.objects["Machine", "m1"]["status"] = {"initialization": {"x": True}, "phase": "Running"}
    updates.prepare("default/workers", "workers")
    assert annotations_of(server) == {HAS: "a1"}
    assert server.objects["Machine", "m1"]["status"] == {
        "initialization": {"x": True, "bootstrapDataSecretCreated": True},
        "phase": "Running",
    }

    # One that is being moved names what it has not got yet.
    updates, server, _ = served(machine("b2"))
    annotations_of(server)[UPDATING] = ""
    updates.prepare("default/workers", "workers")
    assert annotations_of(server) == {UPDATING: ""}


@pytest.mark.parametrize("surge", [1, "1", "25%"])
def test_a_machine_that_would_be_made_on_the_way_is_refused(surge: Any) -> None:
    updates, server, _ = served(machine("a1"), surge)

    with pytest.raises(InputError, match=r"maxSurge: found .* expected 0"):
        updates.prepare("default/workers", "workers")
    assert annotations_of(server) == {}


def test_a_refusal_is_an_event_of_a_deployment_that_asked_for_it() -> None:
    updates, server, _ = served()
    updates.note_refusal("default", "workers", "size: no")
    updates.note_refusal("default", "another", "size: no")
    others, silent, _ = served(only="")
    others.note_refusal("default", "workers", "size: no")

    assert silent.events == []
    (event,) = server.events
    assert (event["note"], event["type"], event["reason"]) == ("size: no", "Warning", "NotInPlace")
    assert event["regarding"]["uid"] == "d1"


def test_an_event_that_cannot_be_written_stops_nothing() -> None:
    updates, server, said = served()
    server.refuses = ConflictError("it is there")
    updates.note_refusal("default", "workers", "size: no")
    assert said == []
    server.refuses = InputError("forbidden")
    updates.note_refusal("default", "workers", "size: no")
    assert said == ["an Event about default/workers cannot be written: forbidden"]
