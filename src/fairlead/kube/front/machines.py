"""Machines of Cluster API as they are told, and the end of one that its owner deletes."""

from __future__ import annotations

import re
from dataclasses import replace
from datetime import datetime

from fairlead.answering.machines import standing_of
from fairlead.answers.machine import MachineAnswer, MachineDetail
from fairlead.contract.boot_report import ignored_in
from fairlead.contract.hotfix.fact import hotfix_in
from fairlead.kube.answer import Object
from fairlead.kube.client import KubeClient
from fairlead.kube.cluster_api.deployment import ASKED_BY, BOOT_MS, REASON, machine_of
from fairlead.kube.cluster_api.in_place import annotations_of
from fairlead.kube.front.keep import BY_COMMAND
from fairlead.kube.front.reports import read_report
from fairlead.kube.front.seen import SeenCluster
from fairlead.kube.names import owner_of
from fairlead.kube.resource import MACHINES
from fairlead.rollout.machines import Machine
from fairlead.telling.fix import machine_fix
from fairlead.telling.machine import machine_answer

BY_HAND = "deleted by hand"

_NUMBER = re.compile(r"[0-9]{1,12}(\.[0-9]{1,6})?", re.ASCII)

# Cluster API's own words: such a machine goes without its drain.
UNDRAINED = "machine.cluster.x-k8s.io/exclude-node-draining"


def list_objects(cluster: SeenCluster, pool: str = "") -> list[Object]:
    """Return the Machines of one pool, or of all that count."""
    cluster.world()
    if pool:
        return cluster.kube.copies.list_of(MACHINES, cluster.scope.whole(pool))
    pools = {cluster.scope.whole(one) for one in cluster.list_pools()}
    return [one for one in cluster.kube.copies.list_all(MACHINES) if owner_of(one) in pools]


def seen_machine(cluster: SeenCluster, found: Object) -> Machine:
    """Return a Machine as the controller sees it, by the names of the scope."""
    whole = owner_of(found)
    return replace(machine_of(found, whole), pool=cluster.scope.told(whole))


def told_machine(cluster: SeenCluster, found: Object) -> MachineAnswer:
    """Return a Machine with what only its edge knows of it."""
    machine, whole = seen_machine(cluster, found), owner_of(found)
    revision = cluster.kube.revisions.find(whole, machine.revision) if machine.revision else None
    kind = str((found["spec"].get("infrastructureRef") or {}).get("kind", ""))
    return machine_answer(machine).but(
        kind=kind,
        version=revision.version if revision else "",
        boot_ms=_boot_ms(annotations_of(found).get(BOOT_MS, "")),
    )


def machine_detail(cluster: SeenCluster, found: Object, now: datetime) -> MachineDetail:
    """Return a Machine in full, with the report of its last boot if this user may read it."""
    machine, name = seen_machine(cluster, found), found["metadata"]["name"]
    world = cluster.world()
    difference, sentence = standing_of(machine, world, now)
    events = world.journal.read_events(machine.pool)
    seen = read_report(cluster.client, found)
    told = MachineDetail(
        **told_machine(cluster, found).parts(),
        report=seen.sent,
        events=tuple(event for event in events if event.machine == name),
        difference=difference,
        sentence=sentence,
        report_problem=seen.problem,
    )
    if seen.report is None:
        return told
    fix = machine_fix(hotfix_in(seen.report), world.read_fixes(), name, machine.pool)
    return told.but(boot_ms=seen.report.took_ms, ignored=ignored_in(seen.report), fix=fix)


def _boot_ms(text: str) -> float | None:
    """Return how long a boot took, as the payload service noted it; None if that is no number."""
    return float(text) if _NUMBER.fullmatch(text) else None


def delete_object(client: KubeClient, found: Object, actor: str, *, force: bool) -> None:
    """Tell a machine to leave, and let it say why and who asked."""
    metadata = found["metadata"]
    annotations = {**(metadata.get("annotations") or {}), REASON: BY_HAND, ASKED_BY: actor}
    if force:
        annotations[UNDRAINED] = "true"
    changed = {**found, "metadata": {**metadata, "annotations": annotations}}
    client.replace(MACHINES, changed, how=BY_COMMAND)
    client.delete(MACHINES, metadata["name"], metadata["namespace"], {"uid": metadata["uid"]})
