"""
The Job that changes one node in place, as objects of the node's own cluster. Pure.

Its one program is the agent that the node has: it puts the boot document of the revision in place
and lets the node's own service boot from it. Killed at any moment, the service goes on, and a
second run ends as the first did.
"""

from __future__ import annotations

from datetime import datetime
from hashlib import sha256

from fairlead.contract.boot_document import BootDocument, render_boot_document
from fairlead.contract.node_paths import document_path
from fairlead.kube.answer import Object
from fairlead.kube.resource import GROUP, JOBS, SECRETS
from fairlead.kube.secrets import FETCH_DEADLINE_S
from fairlead.rollout.secrets import UserData

# Where privileged pods may run in every cluster.
NAMESPACE = "kube-system"

CHANGES = f"{GROUP}/changes"

DOCUMENT = "boot-document.json"
HOST, DOCUMENT_DIRECTORY = "/host", "/run/fairlead-change"

# Seconds. Scripts give themselves a quarter of an hour, their unit half of one.
LONGEST_S = 3600
# Seconds for which a Job that nobody deleted can be looked at.
KEPT_S = 3600

# How a container ends that was killed: it says nothing of the change, and is started again.
KILLED = [137, 143]
MOST_KILLED = 3


def job_name(machine_uid: str, revision: str) -> str:
    """Return the name of the Job: another one for each machine and revision."""
    return f"fairlead-change-{sha256(f'{machine_uid} {revision}'.encode()).hexdigest()[:16]}"


def change_command() -> list[str]:
    """Return what the Job's container runs."""
    agent = document_path("baked_agent", "fairlead")
    document = f"{DOCUMENT_DIRECTORY}/{DOCUMENT}"
    return ["chroot", HOST, agent, "change", "--from", document]


def change_job(name: str, machine: str, node: str, image: str) -> Object:
    """Return the Job that changes this node."""
    labels = {CHANGES: machine}
    killed = {"operator": "NotIn", "values": KILLED}
    return {
        "apiVersion": JOBS.api_version,
        "kind": JOBS.kind,
        "metadata": {"name": name, "namespace": NAMESPACE, "labels": labels},
        "spec": {
            "backoffLimit": MOST_KILLED,
            "activeDeadlineSeconds": LONGEST_S,
            "ttlSecondsAfterFinished": KEPT_S,
            "podFailurePolicy": {"rules": [{"action": "FailJob", "onExitCodes": killed}]},
            "template": {"metadata": {"labels": labels}, "spec": _pod_spec(name, node, image)},
        },
    }


def _pod_spec(name: str, node: str, image: str) -> Object:
    container = {
        "name": "change",
        "image": image,
        "command": change_command(),
        # What the agent says last is why it failed.
        "terminationMessagePolicy": "FallbackToLogsOnError",
        "securityContext": {"privileged": True, "runAsUser": 0},
        "volumeMounts": [
            {"name": "host", "mountPath": HOST},
            {"name": "document", "mountPath": f"{HOST}{DOCUMENT_DIRECTORY}", "readOnly": True},
        ],
    }
    return {
        "restartPolicy": "Never",
        # Named, not scheduled: the node takes nothing else at this time.
        "nodeName": node,
        "tolerations": [{"operator": "Exists"}],
        "priorityClassName": "system-node-critical",
        "automountServiceAccountToken": False,
        # systemctl asks the init process of the host; a network of its own is not needed.
        "hostPID": True,
        "hostNetwork": True,
        "containers": [container],
        "volumes": [
            {"name": "host", "hostPath": {"path": "/"}},
            {"name": "document", "secret": {"secretName": name, "defaultMode": 0o400}},
        ],
    }


def document_secret(job: Object, user_data: UserData) -> Object:
    """Return the Secret that a Job's pod reads the boot document from; it goes with the Job."""
    metadata, stub = job["metadata"], user_data.stub
    document = BootDocument(
        stub.endpoint, stub.ca, user_data.token, FETCH_DEADLINE_S, report=stub.report
    )
    owner = {"apiVersion": JOBS.api_version, "kind": JOBS.kind, "name": metadata["name"]}
    return {
        "apiVersion": SECRETS.api_version,
        "kind": SECRETS.kind,
        "metadata": {
            "name": metadata["name"],
            "namespace": NAMESPACE,
            "ownerReferences": [{**owner, "uid": metadata["uid"]}],
        },
        "stringData": {DOCUMENT: render_boot_document(document).decode()},
    }


def end_of(job: Object) -> str:
    """Return 'Complete' or 'Failed', or '' while a Job runs."""
    for one in (job.get("status") or {}).get("conditions") or ():
        if one["type"] in ("Complete", "Failed") and one["status"] == "True":
            return str(one["type"])
    return ""


def ended_at(job: Object) -> datetime:
    """Return when a Job was complete."""
    status = job.get("status") or {}
    moments = [
        one["lastTransitionTime"]
        for one in status.get("conditions") or ()
        if one["type"] == "Complete" and one.get("lastTransitionTime")
    ]
    told = status.get("completionTime") or next(iter(moments), job["metadata"]["creationTimestamp"])
    return datetime.fromisoformat(told)


def problem_of(job: Object, pods: list[Object]) -> str:
    """Return what the pods of a Job wait for or died of, in one line; '' if nobody says."""
    for pod in pods:
        for container in (pod.get("status") or {}).get("containerStatuses") or ():
            state = container.get("state") or {}
            died, waits = state.get("terminated") or {}, state.get("waiting") or {}
            if died.get("exitCode"):
                said = _last_line(died.get("message", "")) or "it said nothing"
                return f"its change failed: {said} (exit {died['exitCode']})"
            if waits.get("message"):
                return f"the pod that changes it waits: {_one_line(waits['message'])}"
    for one in (job.get("status") or {}).get("conditions") or ():
        if one["type"] == "Failed" and one["status"] == "True":
            return f"its change failed: {_one_line(one.get('message', ''))}"
    return ""


def _last_line(text: str) -> str:
    """Return what a program said last: before it come the lines of its log."""
    lines = [line for line in map(_one_line, text.splitlines()) if line]
    return lines[-1] if lines else ""


def _one_line(text: str) -> str:
    return " ".join(text.split())
