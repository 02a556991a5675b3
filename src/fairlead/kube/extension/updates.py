"""
What the hooks do in the cluster: tell a Machine where it goes, and look how far it came.

The operator that leads changes the node, as it does for pools that change in place: see
cluster_api/updater.py. Whoever reaches the port may ask, so a request names a Machine and decides
nothing: where it goes, and that Cluster API is updating it, is read from the API server.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from hashlib import sha256

from fairlead.errors import ConflictError, FairleadError, InputError
from fairlead.kube.answer import Object
from fairlead.kube.client import KubeClient
from fairlead.kube.cluster_api.change_job import NAMESPACE, job_name
from fairlead.kube.cluster_api.deployment import machine_of
from fairlead.kube.cluster_api.in_place import (
    CHANGE,
    HEADING_FOR,
    REVISION,
    ChangeStage,
    annotations_of,
    change_of,
)
from fairlead.kube.extension.claim import IN_PLACE
from fairlead.kube.names import POOL_LABEL, owner_of, pair_of, split
from fairlead.kube.resource import EVENTS, MACHINE_DEPLOYMENTS, MACHINES

# What Cluster API writes on a Machine for as long as it updates it in place.
UPDATING = "in-place-updates.internal.cluster.x-k8s.io/update-in-progress"

# Cluster API 1.14 updates no Machine without it, and writes it for bootstrap providers of its own
# contract only. Of these machines we are the one who made the user data.
USER_DATA_IS_THERE = "bootstrapDataSecretCreated"

REPORTER = "fairlead.dev/extension"

# Bytes of what an Event says.
LONGEST_NOTE = 1024

SURGE = "spec.rollout.strategy.rollingUpdate.maxSurge"
NO_SURGE = (0, "0", "0%")


class Updates:
    """The changes of one cluster. tell: takes what goes wrong and stops nothing."""

    def __init__(
        self,
        client: KubeClient,
        tell: Callable[[str], None],
        now: Callable[[], datetime] = lambda: datetime.now(UTC),
    ) -> None:
        self._client = client
        self._tell = tell
        self._now = now

    def prepare(self, pool: str, deployment: str) -> None:
        """
        Let Cluster API move machines of this pool in place.

        Each is given its revision first: a move copies the new user data's name onto it. And it is
        said that its user data is there. Raises InputError if a machine would be made on the way,
        for then another one is deleted.
        """
        namespace, name = split(pool)
        found = self._client.find(MACHINE_DEPLOYMENTS, deployment, namespace)
        if found is None:
            raise InputError(f"there is no MachineDeployment {deployment!r} in {namespace}")
        rollout = found["spec"].get("rollout") or {}
        amounts = (rollout.get("strategy") or {}).get("rollingUpdate") or {}
        if amounts.get("maxSurge", 1) not in NO_SURGE:
            raise InputError(
                f"found {amounts.get('maxSurge', 1)!r}, expected 0: Cluster API would make a "
                "machine, and delete another one for it",
                field=SURGE,
                hint="set maxSurge: 0 and maxUnavailable: 1",
            )
        for machine in self._client.list_all(MACHINES, namespace, f"{POOL_LABEL}={name}")[0]:
            self._make_ready(pool, machine)

    def _make_ready(self, pool: str, machine: Object) -> None:
        known = annotations_of(machine)
        if REVISION not in known and UPDATING not in known:
            machine = self._annotate(machine, {REVISION: machine_of(machine, pool).revision})
        status = machine.get("status") or {}
        begun = status.get("initialization") or {}
        if not begun.get(USER_DATA_IS_THERE):
            begun = {**begun, USER_DATA_IS_THERE: True}
            status = {**status, "initialization": begun}
            self._client.replace(MACHINES, {**machine, "status": status}, "status")

    def update(self, namespace: str, name: str, told: str) -> str:
        """
        Return what the change of a Machine is at, or '' once its node is as it should be.

        told: the name of the user data. Raises InputError if the change failed, or cannot begin.
        """
        found = self._client.find(MACHINES, name, namespace)
        if found is None or "deletionTimestamp" in found["metadata"]:
            raise InputError(f"the Machine {name} is not there any more, or leaves")
        target = _target_of(found)
        if target != pair_of(told, owner_of(found)):
            return f"the Machine does not name {told} yet"
        known = annotations_of(found)
        if known.get(REVISION) == target and not {HEADING_FOR, CHANGE} & {*known}:
            return ""
        if known.get(HEADING_FOR) != target:
            return self._begin(found, target)
        return _progress_of(found, target)

    def _begin(self, found: Object, target: str) -> str:
        known = annotations_of(found)
        if UPDATING not in known:
            raise InputError("Cluster API does not say of this Machine that it is being updated")
        # What is not known to be there is not there: then the change is carried out.
        self._annotate(found, {REVISION: known.get(REVISION, ""), HEADING_FOR: target})
        return f"was told to change to {target}"

    def note_refusal(self, namespace: str, deployment: str, message: str) -> None:
        """
        Write an Event about a MachineDeployment: Cluster API itself says why only in its log.

        An Event has one name for each message, and goes after an hour: the next refusal writes it
        again. One that cannot be written is told, and refused is refused.
        """
        try:
            found = self._client.find(MACHINE_DEPLOYMENTS, deployment, namespace)
            # Of others nothing is refused; and whoever reaches the port writes no Events at will.
            if found is not None and IN_PLACE in annotations_of(found):
                self._client.create(EVENTS, refusal_event(found, message, self._now()))
        except ConflictError:
            return  # it is there
        except FairleadError as error:
            self._tell(f"an Event about {namespace}/{deployment} cannot be written: {error}")

    def _annotate(self, found: Object, annotations: Mapping[str, str]) -> Object:
        metadata = {**found["metadata"], "annotations": {**annotations_of(found), **annotations}}
        return self._client.replace(MACHINES, {**found, "metadata": metadata})


def _target_of(found: Object) -> str:
    pool, bootstrap = owner_of(found), found["spec"].get("bootstrap") or {}
    told = bootstrap.get("dataSecretName", "")
    target = pair_of(told, pool) if pool else ""
    if not target:
        raise InputError(
            f"the Machine boots from {told!r}, which is of no pool of Fairlead: nothing of it was "
            "changed",
            hint="delete the Machine to have it replaced",
        )
    return target


def _progress_of(found: Object, target: str) -> str:
    change = change_of(found)
    if change is None or change.to != target:
        return "waits for the operator"
    if change.stage is ChangeStage.FAILED:
        uid, name = found["metadata"]["uid"], found["metadata"]["name"]
        raise InputError(
            change.problem or "its change failed",
            hint=f"to try again, delete the Job {job_name(uid, target)} in {NAMESPACE} of its "
            f"cluster and the annotation {CHANGE} of the Machine {name}; delete the Machine to "
            "have it replaced",
        )
    return f"{change.stage.value}: {change.problem}" if change.problem else change.stage.value


def refusal_event(found: Object, message: str, now: datetime) -> Object:
    """Return the Event that tells why a MachineDeployment is not rolled out."""
    metadata = found["metadata"]
    namespace, name, uid = metadata["namespace"], metadata["name"], metadata["uid"]
    digest = sha256(f"{uid} {message}".encode()).hexdigest()[:16]
    return {
        "apiVersion": EVENTS.api_version,
        "kind": EVENTS.kind,
        "metadata": {"name": f"{name}.{digest}", "namespace": namespace},
        "eventTime": now.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%S.%fZ"),
        "reportingController": REPORTER,
        "reportingInstance": "extension",
        "action": "CanUpdateMachineSet",
        "reason": "NotInPlace",
        "type": "Warning",
        "note": message.encode()[:LONGEST_NOTE].decode(errors="ignore"),
        "regarding": {
            "apiVersion": MACHINE_DEPLOYMENTS.api_version,
            "kind": MACHINE_DEPLOYMENTS.kind,
            "namespace": namespace,
            "name": name,
            "uid": uid,
        },
    }
