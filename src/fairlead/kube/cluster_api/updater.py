"""
The hands of pools that change in place: takes each machine to the revision that it heads for.

A pass says which machine goes where and keeps the budget; here its node is drained, changed by a
Job and given back to the scheduler. Every move starts from what the API servers say, and may be
made twice. What a stage waits for is told at the machine, and so wakes the pass that tells it on.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, replace
from datetime import datetime, timedelta

from fairlead.controller.attempt import says_of
from fairlead.errors import ConflictError, FairleadError, InputError, UnavailableError
from fairlead.kube.answer import Object
from fairlead.kube.cluster_api.change_job import (
    NAMESPACE,
    change_job,
    document_secret,
    end_of,
    ended_at,
    job_name,
    problem_of,
)
from fairlead.kube.cluster_api.deployment import machine_of
from fairlead.kube.cluster_api.drain import cordon, drain, is_ready_since, uncordon
from fairlead.kube.cluster_api.in_place import (
    CHANGE,
    HEADING_FOR,
    REVISION,
    Change,
    ChangeStage,
    annotations_of,
    change_of,
    failure_of_change,
    kept_change,
)
from fairlead.kube.cluster_api.workload import Workload, Workloads
from fairlead.kube.copies import Copies
from fairlead.kube.names import owner_of
from fairlead.kube.resource import JOBS, MACHINES, PODS, SECRETS
from fairlead.kube.secrets import KubeSecrets
from fairlead.rollout.machines import Machine

# How long a kubelet may be silent after a change until that is told.
SILENT_FOR = timedelta(minutes=1)


@dataclass(frozen=True, slots=True)
class _Node:
    """One machine that is being changed, and the node that it became."""

    found: Object
    machine: Machine
    name: str
    workload: Workload

    @property
    def job(self) -> str:
        """The Job that takes it where it heads for."""
        return self.job_for(self.machine.heading_for)

    def job_for(self, revision: str) -> str:
        """The Job that takes it to this revision."""
        return job_name(self.found["metadata"]["uid"], revision)


@dataclass(frozen=True, slots=True)
class Reach:
    """What nodes are changed through: objects of both clusters, and the user data of revisions."""

    copies: Copies
    workloads: Workloads
    secrets: KubeSecrets


class Updater:
    """
    Changes nodes in place. What it remembers may be lost at any time.

    image: of the pods that start the agent of a node; '' changes none. tell: takes what goes wrong.
    """

    def __init__(
        self,
        reach: Reach,
        image: str,
        tell: Callable[[str], None],
        now: Callable[[], datetime],
    ) -> None:
        self._copies = reach.copies
        self._workloads = reach.workloads
        self._secrets = reach.secrets
        self._image = image
        self._now = now
        self._tell = tell
        self._problems: dict[str, str] = {}  # that are told nowhere else, by machine

    def tick(self) -> None:
        """
        Let every machine that heads for another revision make its next move. Never raises.

        One that cannot be moved, nor told so, is tried again, and keeps no other from its move.
        """
        problems: dict[str, str] = {}
        for found in self._copies.list_marked(MACHINES):
            try:
                self._try_move(found)
            except ConflictError:
                continue  # somebody else wrote first: it is looked at again
            except Exception as error:  # noqa: BLE001 - door 2: a machine's failure is its own
                where = f"{owner_of(found)}: {found['metadata']['name']}"
                problems[where] = says_of(error)
        for where, says in problems.items():
            if self._problems.get(where) != says:
                self._tell(f"{where}: {says}")
        self._problems = problems

    def _try_move(self, found: Object) -> None:
        """Make the next move; what keeps it from being made is told at the machine."""
        try:
            self._move(found)
        except ConflictError:
            raise
        except FairleadError as error:
            heading = annotations_of(found)[HEADING_FOR]
            begun = Change(to=heading, stage=ChangeStage.DRAIN, since=self._now())
            change = change_of(found) or begun
            if change.to == heading and change.problem != str(error):
                self._tell(f"{owner_of(found)}: {found['metadata']['name']}: {error}")
                self._annotate(found, kept_change(replace(change, problem=str(error))))

    def _move(self, found: Object) -> None:
        if not self._image:
            raise InputError("this operator was started without --in-place-image: it changes none")
        node = self._node_of(found)
        change = change_of(found)
        if not node.machine.is_in_flight:
            self._call_off(node)
        elif change is None or change.to != node.machine.heading_for:
            self._begin(node, change)
        elif change.stage is ChangeStage.DRAIN:
            self._drain(node, change)
        elif change.stage is ChangeStage.APPLY:
            self._apply(node, change)

    def _node_of(self, found: Object) -> _Node:
        name = ((found.get("status") or {}).get("nodeRef") or {}).get("name", "")
        if not name:
            raise UnavailableError("it has no node yet")
        cluster = str(found["spec"]["clusterName"])
        workload = self._workloads.find(found["metadata"]["namespace"], cluster)
        return _Node(found, machine_of(found, owner_of(found)), name, workload)

    def _call_off(self, node: _Node) -> None:
        """Its target is again what it has, and nothing of it was changed yet."""
        uncordon(node.workload.client, node.name)
        self._annotate(node.found, {HEADING_FOR: None, CHANGE: None})

    def _begin(self, node: _Node, before: Change | None) -> None:
        """Head for a revision; what heads for another one already has drained, or drains."""
        change = Change(to=node.machine.heading_for, stage=ChangeStage.DRAIN, since=self._now())
        if before is not None and before.stage is ChangeStage.DRAIN:
            change = replace(change, since=before.since)
        elif before is not None:
            node.workload.client.delete(JOBS, node.job_for(before.to), NAMESPACE)
            change = replace(change, stage=ChangeStage.APPLY)
        self._annotate(node.found, kept_change(change))

    def _drain(self, node: _Node, change: Change) -> None:
        client, limit = node.workload.client, node.machine.settings.drain_timeout
        cordon(client, node.name, change.to)
        is_over = limit is not None and self._now() >= change.since + limit
        drained = drain(client, node.name)
        if drained.left and not is_over:
            self._tell_at(node, change, drained.blocked)
            return
        applying = Change(to=change.to, stage=ChangeStage.APPLY, since=self._now())
        self._annotate(node.found, {**kept_change(applying), REVISION: ""})

    def _apply(self, node: _Node, change: Change) -> None:
        client = node.workload.client
        job = client.find(JOBS, node.job, NAMESPACE)
        if job is None:
            job = client.create(
                JOBS, change_job(node.job, node.machine.name, node.name, self._image)
            )
        if "deletionTimestamp" in job["metadata"]:
            return  # of an earlier change; it goes first
        end = end_of(job)
        if end == "Complete":
            self._finish(node, change, job)
            return
        if not end:
            self._give_document(node, job)
        pods, _ = client.list_all(PODS, NAMESPACE, f"batch.kubernetes.io/job-name={node.job}")
        problem = problem_of(job, pods)
        # What the agent itself said is final. A node whose kubelet the change ended says nothing of
        # its pods, and its Job never ends.
        if said := failure_of_change(node.found):
            problem = f"its change failed: {said}"
        if end or said:
            failed = Change(
                to=change.to, stage=ChangeStage.FAILED, since=self._now(), problem=problem
            )
            self._annotate(node.found, kept_change(failed))
        else:
            self._tell_at(node, change, problem)

    def _give_document(self, node: _Node, job: Object) -> None:
        client, pool = node.workload.client, node.machine.pool
        if client.find(SECRETS, node.job, NAMESPACE) is not None:
            return
        for user_data in self._secrets.list_user_data(pool):
            if user_data.id == node.machine.heading_for:
                with suppress(ConflictError):
                    client.create(SECRETS, document_secret(job, user_data))
                return
        raise UnavailableError(f"its user data {node.machine.heading_for} is not there yet")

    def _finish(self, node: _Node, change: Change, job: Object) -> None:
        """Give the node back, then say that the machine has what it headed for."""
        client, ended = node.workload.client, ended_at(job)
        if not is_ready_since(client, node.name, ended):
            if self._now() >= ended + SILENT_FOR:
                self._tell_at(node, change, "its kubelet has not been ready since its change ended")
            return
        uncordon(client, node.name)
        done = {REVISION: node.machine.heading_for, HEADING_FOR: None, CHANGE: None}
        self._annotate(node.found, done)
        client.delete(JOBS, node.job, NAMESPACE)

    def _tell_at(self, node: _Node, change: Change, problem: str) -> None:
        if problem != change.problem:
            self._annotate(node.found, kept_change(replace(change, problem=problem)))

    def _annotate(self, found: Object, annotations: Mapping[str, str | None]) -> None:
        """Write annotations over exactly the machine that was looked at; None takes one away."""
        wanted = {**annotations_of(found), **annotations}
        kept = {name: value for name, value in wanted.items() if value is not None}
        metadata = {**found["metadata"], "annotations": kept}
        self._copies.replace(MACHINES, {**found, "metadata": metadata})
