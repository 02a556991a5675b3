"""Machines of Cluster API as the controller sees them."""

from typing import Any

import pytest

from fairlead.answers.words import Phase
from fairlead.kube.cluster_api.deployment import machine_of

SAID = "2026-11-18T01:00:00Z"


def machine(*conditions: tuple[str, str, str], **status: Any) -> dict[str, Any]:
    said = [
        {"type": kind, "status": holds, "message": message, "lastTransitionTime": SAID}
        for kind, holds, message in conditions
    ]
    return {
        "metadata": {"name": "workers-1", "namespace": "a", "creationTimestamp": SAID},
        "spec": {"bootstrap": {"dataSecretName": "user-data-workers-f1e69584360b4327"}},
        "status": {"conditions": said, **status},
    }


@pytest.mark.parametrize(
    ("healthy", "phase"),
    [("True", Phase.READY), ("False", Phase.NOT_READY), ("Unknown", Phase.NOT_READY)],
)
def test_a_node_that_cluster_api_waits_for_is_not_called_ready(healthy: str, phase: Phase) -> None:
    found = machine(("NodeReady", "True", ""), ("NodeHealthy", healthy, "Node.DiskPressure"))

    seen = machine_of(found, "a/workers")

    assert seen.phase is phase
    assert seen.problem == ("" if phase is Phase.READY else "Node.DiskPressure")
    assert seen.revision == "f1e69584360b4327"


def test_what_keeps_a_machine_from_leaving_is_told_in_one_line() -> None:
    found = machine(("Deleting", "True", "Drain not completed:\n* Pod a/b: PDB c blocks"))
    found["metadata"]["deletionTimestamp"] = SAID

    seen = machine_of(found, "a/workers")

    assert (seen.phase, seen.problem) == (
        Phase.LEAVING,
        "Drain not completed: * Pod a/b: PDB c blocks",
    )


@pytest.mark.parametrize(
    ("reason", "problem"),
    [
        ("DrainingNode", "as it says"),
        ("WaitingForVolumeDetach", "as it says"),
        ("WaitingForInfrastructureDeletion", ""),
        ("WaitingForBootstrapDeletion", ""),
        ("DeletingNode", ""),
        ("DeletionCompleted", ""),
    ],
)
def test_a_machine_that_goes_by_itself_needs_nobody(reason: str, problem: str) -> None:
    found = machine(("Deleting", "True", "as it says"))
    found["metadata"]["deletionTimestamp"] = SAID
    found["status"]["conditions"][0]["reason"] = reason

    seen = machine_of(found, "a/workers")

    assert (seen.problem, seen.going) == (problem, "" if problem else "as it says")


def test_what_the_provider_says_of_a_machine_that_does_not_go_is_told_with_it() -> None:
    found = machine(
        ("Deleting", "True", "Waiting for TestMachine to be deleted"),
        ("InfrastructureReady", "False", "the disk is\nlocked"),
    )
    found["metadata"]["deletionTimestamp"] = SAID
    found["status"]["conditions"][0]["reason"] = "WaitingForInfrastructureDeletion"

    going = machine_of(found, "a/workers").going

    assert going == "Waiting for TestMachine to be deleted; the disk is locked"


def test_of_a_long_word_of_a_provider_the_beginning_is_kept() -> None:
    found = machine(("InfrastructureReady", "False", "quota " * 1700), ("NodeReady", "False", ""))

    problem = machine_of(found, "a/workers").problem

    assert len(problem) == 1000
    assert problem.startswith("quota quota ")
    assert problem.endswith("…")
