"""What a Machine's own annotations say of its change in place, and the Job that makes it."""

from datetime import UTC, datetime
from typing import Any

from fairlead.answers.words import Phase
from fairlead.inputs.platform_inputs import Stub
from fairlead.kube.cluster_api.change_job import (
    change_job,
    document_secret,
    end_of,
    job_name,
    problem_of,
)
from fairlead.kube.cluster_api.deployment import machine_of
from fairlead.kube.cluster_api.in_place import Change, ChangeStage, kept_change
from fairlead.rollout.secrets import UserData

SAID = "2026-11-18T01:00:00Z"
SINCE = datetime(2026, 11, 18, 2, 0, tzinfo=UTC)
POOL = "a/workers"


def machine(**annotations: str) -> dict[str, Any]:
    """A machine that was made from `old`, and whose set names `new` by now."""
    ready = {"type": "NodeReady", "status": "True", "message": "", "lastTransitionTime": SAID}
    named = {f"fairlead.dev/{name.replace('_', '-')}": one for name, one in annotations.items()}
    return {
        "metadata": {
            "name": "workers-1",
            "namespace": "a",
            "creationTimestamp": SAID,
            "annotations": named,
        },
        "spec": {"bootstrap": {"dataSecretName": "user-data-workers-new"}},
        "status": {"conditions": [ready]},
    }


def changing(stage: ChangeStage, problem: str = "", **annotations: str) -> dict[str, Any]:
    found = machine(heading_for="new", **annotations)
    change = Change(to="new", stage=stage, since=SINCE, problem=problem)
    found["metadata"]["annotations"] |= kept_change(change)
    return found


def test_a_secret_that_its_set_names_by_now_says_nothing_of_what_a_machine_has() -> None:
    seen = machine_of(machine(revision="old"), POOL)

    assert (seen.revision, seen.heading_for, seen.is_available) == ("old", "", True)


def test_a_new_machine_has_what_it_was_made_from() -> None:
    assert machine_of(machine(), POOL).revision == "new"


def test_a_machine_that_heads_elsewhere_is_not_available_although_its_node_is_ready() -> None:
    seen = machine_of(machine(revision="old", heading_for="new"), POOL)

    assert (seen.phase, seen.is_in_flight, seen.is_available) == (Phase.READY, True, False)


def test_a_drain_has_its_own_limit_and_tells_what_blocks_it() -> None:
    seen = machine_of(changing(ChangeStage.DRAIN, "its drain waits", revision="old"), POOL)

    assert (seen.since, seen.problem) == (None, "its drain waits")


def test_between_two_revisions_a_machine_has_neither() -> None:
    seen = machine_of(changing(ChangeStage.APPLY, revision=""), POOL)

    assert (seen.revision, seen.heading_for, seen.since) == ("", "new", SINCE)
    assert seen.is_in_flight


def test_a_change_that_failed_is_a_machine_that_failed() -> None:
    seen = machine_of(changing(ChangeStage.FAILED, "no room", revision=""), POOL)

    assert (seen.phase, seen.problem, seen.heading_for) == (Phase.FAILED, "no room", "new")


def test_what_is_known_of_an_earlier_change_says_nothing_of_the_next() -> None:
    found = changing(ChangeStage.FAILED, "no room", revision="")
    found["metadata"]["annotations"]["fairlead.dev/heading-for"] = "newer"

    seen = machine_of(found, POOL)

    assert (seen.phase, seen.problem, seen.heading_for) == (Phase.READY, "", "newer")


def test_a_job_runs_the_agent_of_the_node_itself_and_nothing_else() -> None:
    job = change_job("fairlead-change-1", "workers-1", "node-1", "image:1")

    pod = job["spec"]["template"]["spec"]
    (container,) = pod["containers"]
    assert pod["nodeName"] == "node-1"
    assert container["command"] == [
        "chroot", "/host", "/usr/lib/fairlead/fairlead-node", "change",
        "--from", "/run/fairlead-change/boot-document.json",
    ]  # fmt: skip
    mounts = {one["name"]: one["mountPath"] for one in container["volumeMounts"]}
    assert mounts == {"host": "/host", "document": "/host/run/fairlead-change"}
    assert pod["automountServiceAccountToken"] is False


def test_every_machine_and_revision_has_a_job_of_its_own() -> None:
    names = {job_name(uid, revision) for uid in ("1", "2") for revision in ("old", "new")}

    assert len(names) == 4
    assert max(map(len, names)) <= 63


def test_the_boot_document_goes_with_its_job_and_holds_the_token_of_the_revision() -> None:
    job = change_job("fairlead-change-1", "workers-1", "node-1", "image:1")
    job["metadata"]["uid"] = "0815"
    ca = "-----BEGIN CERTIFICATE-----\n"
    stub = Stub(endpoint="https://payload.example.test/v1/node-config", ca=ca)

    secret = document_secret(job, UserData(pool=POOL, id="new", token="dHdv", stub=stub))

    (owner,) = secret["metadata"]["ownerReferences"]
    assert (owner["kind"], owner["uid"]) == ("Job", "0815")
    assert '"token": "dHdv"' in secret["stringData"]["boot-document.json"]


def test_a_job_that_failed_is_told_in_the_words_of_the_agent() -> None:
    failed = {"type": "Failed", "status": "True", "message": "Pod failed"}
    job = {"status": {"conditions": [failed]}}
    log = '{"time":"2026-11-18T12:00:00.000Z","level":"INFO","msg":"this document had its run"}'
    message = f"{log}\nfairlead-node:  no room\n\n"
    died = {"terminated": {"exitCode": 50, "message": message}}
    pod = {"status": {"containerStatuses": [{"state": died}]}}

    assert end_of(job) == "Failed"
    assert problem_of(job, [pod]) == "its change failed: fairlead-node: no room (exit 50)"
    assert problem_of(job, []) == "its change failed: Pod failed"


def test_a_pod_that_cannot_start_says_what_it_waits_for() -> None:
    waits = {"waiting": {"reason": "ErrImagePull", "message": "image:1 was not found"}}
    pod = {"status": {"containerStatuses": [{"state": waits}]}}

    assert end_of({}) == ""
    assert problem_of({}, [pod]) == "the pod that changes it waits: image:1 was not found"
