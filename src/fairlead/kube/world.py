"""The world of a cluster: every seam of the controller over one API server."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from dataclasses import replace
from types import MappingProxyType

from fairlead.controller.observe import Code, World
from fairlead.inputs.platform_inputs import Stub
from fairlead.kube.answer import Object
from fairlead.kube.client import KubeClient
from fairlead.kube.cluster_api.control_planes import ControlPlanes, told_version
from fairlead.kube.cluster_api.discovery import Discovery
from fairlead.kube.cluster_api.in_place import heads_elsewhere
from fairlead.kube.cluster_api.infrastructure import Infrastructure
from fairlead.kube.cluster_api.machines import KubeMachines
from fairlead.kube.cluster_api.workload import Workloads
from fairlead.kube.copies import COPIED, Copies
from fairlead.kube.informer import Selection
from fairlead.kube.journal import KubeJournal
from fairlead.kube.names import EVERY_POOL, POOL_LABEL, every_pool_of, owner_of, split
from fairlead.kube.pools import PLATFORM_NAME, KubePools
from fairlead.kube.resource import (
    CLUSTERS,
    MACHINE_DEPLOYMENTS,
    MACHINE_HEALTH_CHECKS,
    MACHINE_SETS,
    MACHINES,
    NODE_POOLS,
    NODE_REVISIONS,
    PLATFORM_CONFIGS,
    SECRETS,
    Resource,
)
from fairlead.kube.revisions import Revisions
from fairlead.kube.secrets import KubeSecrets
from fairlead.zones import find_zone


def _of_namespace(found: Object) -> str:
    return every_pool_of(found["metadata"]["namespace"])


def platform_reaches(home: str) -> Callable[[Object], str]:
    """Return which pools a PlatformConfig may count for; home: the operator's own namespace."""

    def reaches(found: Object) -> str:
        metadata = found["metadata"]
        if metadata["name"] != PLATFORM_NAME:
            return ""
        return EVERY_POOL if metadata["namespace"] == home else _of_namespace(found)

    return reaches


# Besides what every cluster has of ours: what Cluster API has.
CLUSTER_API: dict[Resource, Selection] = {
    MACHINE_DEPLOYMENTS: Selection(labels=POOL_LABEL, group_of=owner_of),
    MACHINE_SETS: Selection(labels=POOL_LABEL, group_of=owner_of),
    MACHINES: Selection(labels=POOL_LABEL, group_of=owner_of, is_marked=heads_elsewhere),
    MACHINE_HEALTH_CHECKS: Selection(labels=POOL_LABEL, group_of=owner_of),
    # Its status changes with every machine.
    CLUSTERS: Selection(group_of=_of_namespace, part_of=told_version),
}


# What the payload service alone looks at: tokens, what they serve, and who may have it.
PAYLOADS: dict[Resource, Selection] = {
    resource: {**COPIED, **CLUSTER_API}[resource]
    for resource in (NODE_REVISIONS, SECRETS, MACHINE_DEPLOYMENTS, MACHINE_SETS, MACHINES)
}


def within(
    copied: Mapping[Resource, Selection], namespaces: Collection[str], home: str
) -> dict[Resource, Selection]:
    """
    Return what is followed if pools of these namespaces alone are looked after; of none, of all.

    home: the operator's own namespace, whose platform counts for all of them.
    """
    found = dict(copied)
    for resource, selection in copied.items() if namespaces else ():
        others = {home} if resource == PLATFORM_CONFIGS else set()
        found[resource] = replace(selection, namespaces=tuple(sorted({*namespaces, *others})))
    return found


class KubeWorld:
    """
    The seams of one operator.

    home: its own namespace. stub: where machines reach the payload service, unless the platform
    says otherwise. wake, tell: see Copies. copied: what of the cluster is known, everything unless
    somebody sees less of it.
    """

    copied: Mapping[Resource, Selection] = MappingProxyType({**COPIED, **CLUSTER_API})

    def __init__(  # noqa: PLR0913, PLR0917 - the last one is for those who see less than all
        self,
        client: KubeClient,
        home: str,
        stub: Stub,
        wake: Callable[[str], None],
        tell: Callable[[str], None],
        copied: Mapping[Resource, Selection] | None = None,
    ) -> None:
        selected = dict(copied or self.copied)
        if PLATFORM_CONFIGS in selected:
            reaches = platform_reaches(home)
            selected[PLATFORM_CONFIGS] = replace(selected[PLATFORM_CONFIGS], group_of=reaches)
        self.copies = Copies(client, selected, wake, tell)
        self.revisions = Revisions(self.copies)
        self.journal = KubeJournal(self.copies)
        self.pools = KubePools(self.copies, self.revisions, self.journal, home, stub)
        self.infrastructure = Infrastructure(client, Discovery(client).find)
        self.secrets = KubeSecrets(self.copies, self.revisions, self.infrastructure.let_go)
        self.workloads = Workloads(client)
        self.control_planes = ControlPlanes(self.copies, self.workloads, wake)
        self.machines = KubeMachines(self.copies, self.infrastructure, self.workloads)
        self.pools.let_go = self.machines.let_go

    def keep_together(self, pool: str) -> None:
        """
        Put right what stands beside a pool's template, if somebody deleted or edited it.

        Nothing is asked of the server while Cluster API has every machine that it is to make.
        """
        self.machines.keep_template(pool)
        self.machines.keep_health_check(pool)
        owner = self.copies.find(NODE_POOLS, *split(pool))
        if owner is None or "deletionTimestamp" in owner["metadata"]:
            return
        for pair in self.machines.list_lacking(pool):
            revision = self.revisions.find(pool, pair)
            if revision is not None:
                self.infrastructure.keep(pool, owner, revision)

    def drop_lost_pairs(self, pool: str) -> bool:
        """Delete the pairs of a pool that nobody can use any more; return whether there was one."""
        template = self.machines.find_template(pool)
        named = self.pools.pointers_of(pool) | {*self.machines.list_references(pool)}
        named |= {template.revision} if template else set()
        for machine in self.machines.list_machines(pool):
            named |= {machine.revision, machine.heading_for}
        return self.secrets.drop_lost(pool, named)

    def world(self) -> World:
        """Return this world as the controller sees it."""
        return World(
            pools=self.pools,
            machines=self.machines,
            secrets=self.secrets,
            journal=self.journal,
            code=Code(find_zone=find_zone),
            read_fixes=self.pools.read_fixes,
        )


class PayloadWorld(KubeWorld):
    """What a payload service sees of a cluster. It makes no passes."""

    copied = MappingProxyType(PAYLOADS)
