"""
Machines by Cluster API: a MachineDeployment for each pool, or a MachineSet if it changes in place.

Cluster API makes and removes machines, and replaces those of a MachineDeployment: for them only
templates are written here. What changes in place is told where it goes; updater.py takes it there.
A template is written over exactly the one that the pass looked at. The infrastructure template that
the owner names is copied for each revision, so that a change of it moves no machine by itself.
"""

from __future__ import annotations

from typing import Any

from fairlead.errors import InputError, InvariantError
from fairlead.inputs.bounds import MOST_MACHINES
from fairlead.kept_text import render_value
from fairlead.kube.answer import Object
from fairlead.kube.cluster_api.deployment import (
    ASKED_BY,
    GOES_FIRST,
    REASON,
    SETTINGS,
    TEMPLATE_KEPT,
    bare_template_of,
    deployment_annotations,
    deployment_spec,
    health_check_spec,
    kept_place,
    machine_of,
    pause_of,
    place_of,
    template_of,
)
from fairlead.kube.cluster_api.in_place import HEADING_FOR, REVISION, annotations_of
from fairlead.kube.cluster_api.infrastructure import Infrastructure
from fairlead.kube.cluster_api.not_applied import NOT_APPLIED
from fairlead.kube.cluster_api.which_cluster import cluster_of
from fairlead.kube.cluster_api.workload import (
    FIRST_SILENT_S,
    LONGEST_SILENT_S,
    NoNodeError,
    UnreachedError,
    Workloads,
    put_settings,
)
from fairlead.kube.copies import Copies
from fairlead.kube.names import owned, owner_of, pair_of, split
from fairlead.kube.resource import (
    MACHINE_DEPLOYMENTS,
    MACHINE_HEALTH_CHECKS,
    MACHINE_SETS,
    MACHINES,
    NODE_POOLS,
    Resource,
)
from fairlead.rollout.machines import Capacity, Machine, NodeSettings, Template


class KubeMachines:
    """The Machines seam over Cluster API."""

    makes_by_itself = True
    not_applied = NOT_APPLIED
    # Quotas and clouds have limits of their own; they say so when they are reached.
    capacity = Capacity(MOST_MACHINES, "as many as a pool may have anywhere")

    def __init__(
        self, copies: Copies, infrastructure: Infrastructure, workloads: Workloads
    ) -> None:
        self._copies = copies
        self._infrastructure = infrastructure
        self._workloads = workloads
        self._unreached: dict[str, UnreachedError] = {}
        # By pool, uid and generation of the template that was last compared with what it is to be.
        self._compared: dict[str, tuple[str, int]] = {}

    def list_machines(self, pool: str) -> tuple[Machine, ...]:
        """Return the pool's machines, those that leave included. Raises InputError by name."""
        return tuple(self._read(one, pool) for one in self._copies.list_of(MACHINES, pool))

    def list_references(self, pool: str) -> tuple[str, ...]:
        """Return the pairs of sets that would make machines."""
        named = {
            pair_of(_told(one), pool)
            for one in self._copies.list_of(MACHINE_SETS, pool)
            if one["spec"].get("replicas")
        }
        return tuple(sorted(named - {""}))

    def list_lacking(self, pool: str) -> tuple[str, ...]:
        """Return the pairs that Cluster API is to make machines of, and has not made yet."""
        lacking, known = set(), set()
        for one in self._copies.list_of(MACHINE_SETS, pool):
            known.add(pair_of(_told(one), pool))
            if one["spec"].get("replicas", 0) > (one.get("status") or {}).get("replicas", 0):
                lacking.add(pair_of(_told(one), pool))
        found = self._copies.find(MACHINE_DEPLOYMENTS, *split(pool))
        # Without a status Cluster API has not looked at it yet.
        if found is not None and found["spec"].get("replicas") and found.get("status"):
            lacking |= {pair_of(_told(found), pool)} - known
        return tuple(sorted(lacking - {""}))

    def find_template(self, pool: str) -> Template | None:
        """Return the pool's template, or None. Raises InputError if another owns its name."""
        found = self._find(pool)
        if found is None:
            return None
        template = self._copies.read_if_stays(pool, lambda: template_of(found[1], pool))
        if template is None and self._is_ours(found[1], pool):
            return bare_template_of(found[1], pool)
        return template

    def point_template(self, pool: str, template: Template) -> None:
        """Name another revision."""
        self._write(pool, template)

    def apply_template(self, pool: str, template: Template) -> None:
        """Change replicas, settings and pacing; machines stay."""
        self._write(pool, template)

    def create_machine(self, pool: str, name: str, revision: str) -> None:
        """Refuse: Cluster API makes machines."""
        raise InvariantError(f"{name} of {pool} at {revision} is for Cluster API to make")

    def remove_machine(self, name: str, reason: str, asked_by: str = "") -> None:
        """Tell a machine to drain and go; the reason stays with it."""
        found = self._machine(name)
        if found is None or "deletionTimestamp" in found["metadata"]:
            return
        self._annotate(found, {REASON: reason, ASKED_BY: asked_by})
        self._copies.delete(MACHINES, found)

    def mark_machine(self, name: str, reason: str, asked_by: str = "") -> None:
        """Let Cluster API take this machine before others once there are to be fewer."""
        found = self._machine(name)
        if found is None or "deletionTimestamp" in found["metadata"]:
            return
        self._annotate(found, {GOES_FIRST: "true", REASON: reason, ASKED_BY: asked_by})

    def change_machine(self, name: str, revision: str) -> None:
        """Say at the machine where it goes; what it has stays written there until it left it."""
        found = self._machine(name)
        if found is None or "deletionTimestamp" in found["metadata"]:
            return
        has = machine_of(found, owner_of(found)).revision
        self._annotate(found, {REVISION: has, HEADING_FOR: revision})

    def apply_settings(self, name: str, settings: NodeSettings) -> None:
        """
        Give a running machine its labels, taints and timeouts.

        One that has not joined yet gets them with its config, and again here once it has. A cluster
        that does not answer, or takes none of it, keeps nothing else of a pass waiting: see
        take_unreached.
        """
        found = self._machine(name)
        node = ((found or {}).get("status") or {}).get("nodeRef", {}).get("name", "")
        if found is None or not node:
            return
        namespace, before = found["metadata"]["namespace"], machine_of(found, "").settings
        try:
            with self._workloads.asking(namespace, str(found["spec"]["clusterName"])) as workload:
                put_settings(workload, node, before, settings)
        except UnreachedError as error:
            self._unreached[owner_of(found)] = error
        except NoNodeError as error:
            self._unreached[owner_of(found)] = UnreachedError(str(error), FIRST_SILENT_S)
        except InputError as error:
            says = f"the cluster {found['spec']['clusterName']} refuses labels or taints: {error}"
            self._unreached[owner_of(found)] = UnreachedError(
                says, LONGEST_SILENT_S, reason="Refused"
            )
        else:
            self._annotate(found, {SETTINGS: render_value(settings)})

    def take_unreached(self, pool: str) -> UnreachedError | None:
        """Return, once, why settings of a pool's nodes wait for the cluster that these are in."""
        return self._unreached.pop(pool, None)

    def find_pause(self, pool: str) -> str:
        """Return why Cluster API does nothing for a pool, whatever we tell it, or ''."""
        found = self._find(pool)
        return "" if found is None else pause_of(found[1])

    def keep_template(self, pool: str) -> None:
        """
        Put right what somebody edited of a pool's template; write only if something differs.

        An object that did not change since it was compared is not compared again.
        """
        found = self._find(pool)
        if found is None or self._copies.is_leaving(pool):
            return
        metadata = found[1]["metadata"]
        mark = metadata["uid"], metadata.get("generation", 0)
        if self._compared.get(pool) == mark:
            return
        template = template_of(found[1], pool)
        wanted = deployment_spec(pool, template, kept_place(found[1], pool, template))
        if not _holds(found[1]["spec"], wanted):
            self._write(pool, template)
        self._compared[pool] = mark

    def keep_health_check(self, pool: str) -> None:
        """
        Let the pool's MachineHealthCheck be what its template asks for; write only what differs.

        It is an object beside the template: a pass may end between the two, and people delete and
        edit it.
        """
        found, owner = self._find(pool), self._copies.find(NODE_POOLS, *split(pool))
        if found is None or owner is None or "deletionTimestamp" in owner["metadata"]:
            return
        pacing = template_of(found[1], pool).pacing
        known = self._copies.find(MACHINE_HEALTH_CHECKS, *split(pool))
        if pacing is None or pacing.unhealthy is None:
            if known is not None:
                self._copies.delete(MACHINE_HEALTH_CHECKS, known)
            return
        wanted = owned(MACHINE_HEALTH_CHECKS, owner, split(pool)[1])
        wanted["spec"] = health_check_spec(pool, pacing, str(found[1]["spec"]["clusterName"]))
        if known is None or not _holds(known["spec"], wanted["spec"]):
            self._copies.apply(MACHINE_HEALTH_CHECKS, wanted)

    def let_go(self, pool: str) -> None:
        """
        Delete what Cluster API made machines of a pool from: nobody else does.

        It made the Cluster an owner beside the NodePool, so they would outlive the pool.
        """
        found = self._find(pool)
        if found is not None and self._is_ours(found[1], pool):
            self._copies.delete(*found)
        self._compared.pop(pool, None)
        check = self._copies.find(MACHINE_HEALTH_CHECKS, *split(pool))
        if check is not None:
            self._copies.delete(MACHINE_HEALTH_CHECKS, check)

    def _write(self, pool: str, template: Template) -> None:
        in_place = template.pacing is not None and template.pacing.in_place
        resource = MACHINE_SETS if in_place else MACHINE_DEPLOYMENTS
        namespace, name = split(pool)
        owner, known = self._copies.find(NODE_POOLS, namespace, name), self._find(pool)
        if owner is None:
            raise InputError(f"there is no pool {pool!r}")
        if known is not None and self._copies.is_leaving(pool):
            # Its number alone matters now: nothing that it was made from need be there any more.
            resource, place = known[0], place_of(known[1])
        else:
            _refuse_other_kind(known, resource)
            place = {
                "cluster": cluster_of(self._copies, owner, known[1] if known else None),
                "infrastructure": self._infrastructure.reference(pool, owner, template),
                "replicas": known[1]["spec"].get("replicas") if known else None,
            }
        wanted = owned(resource, owner, name)
        wanted["metadata"]["annotations"] = deployment_annotations(template)
        wanted["spec"] = deployment_spec(pool, template, place)
        if in_place:
            self._stamp_machines(pool)
        self._copies.apply(resource, wanted)
        self.keep_health_check(pool)

    def _stamp_machines(self, pool: str) -> None:
        """Write at each machine what it has, before a set that names something else copies that."""
        for found in self._copies.list_of(MACHINES, pool):
            if REVISION not in annotations_of(found):
                self._annotate(found, {REVISION: machine_of(found, pool).revision})

    def _find(self, pool: str) -> tuple[Resource, Object] | None:
        for resource in (MACHINE_DEPLOYMENTS, MACHINE_SETS):
            found = self._copies.find(resource, *split(pool))
            if found is not None and owner_of(found) == pool:
                return resource, found
        return None

    def _is_ours(self, found: Object, pool: str) -> bool:
        """Say whether we made this: who collects garbage may have taken the owner away by now."""
        owner = self._copies.find(NODE_POOLS, *split(pool))
        owners = [one["uid"] for one in found["metadata"].get("ownerReferences") or ()]
        is_owned = owner is not None and owner["metadata"]["uid"] in owners
        return is_owned or TEMPLATE_KEPT in annotations_of(found)

    def _read(self, found: Object, pool: str) -> Machine:
        """Return a machine; of a pool that leaves also one that somebody damaged."""
        machine = self._copies.read_if_stays(pool, lambda: _machine_of(found, pool))
        if machine is None:
            bare = {**found, "metadata": {**found["metadata"], "annotations": {}}}
            return machine_of(bare, pool)
        return machine

    def _machine(self, name: str) -> Object | None:
        """Return a machine of the pool that this pass is about; names are a namespace's own."""
        return self._copies.find_listed(MACHINES, name)

    def _annotate(self, found: Object, annotations: dict[str, str]) -> None:
        metadata = found["metadata"]
        kept = {**(metadata.get("annotations") or {}), **annotations}
        self._copies.replace(MACHINES, {**found, "metadata": {**metadata, "annotations": kept}})


def _refuse_other_kind(known: tuple[Resource, Object] | None, resource: Resource) -> None:
    if known is not None and known[0] != resource:
        raise InputError(
            f"a pool that exists cannot change from or to InPlace: it has a {known[0].kind}",
            field="spec.management.type",
            hint="make another pool, then delete this one",
        )


def _machine_of(found: Object, pool: str) -> Machine:
    try:
        return machine_of(found, pool)
    except InputError as error:
        raise InputError(f"Machine {found['metadata']['name']} cannot be read: {error}") from error


def _told(found: Object) -> str:
    told: str = found["spec"]["template"]["spec"]["bootstrap"].get("dataSecretName", "")
    return told


def _holds(known: Any, wanted: Any) -> bool:
    """Say whether what is wanted is there already; the server may have filled in more."""
    if isinstance(wanted, dict):
        return isinstance(known, dict) and all(
            name in known and _holds(known[name], value) for name, value in wanted.items()
        )
    if isinstance(wanted, list):
        return (
            isinstance(known, list)
            and len(known) == len(wanted)
            and all(_holds(one, other) for one, other in zip(known, wanted, strict=True))
        )
    return bool(known == wanted)
