"""Which Cluster the machines of a pool are in, and why none can be made there now."""

from __future__ import annotations

from fairlead.errors import InputError
from fairlead.kube.answer import Object
from fairlead.kube.cluster_api.deployment import CLUSTER_LABEL
from fairlead.kube.copies import Copies
from fairlead.kube.resource import CLUSTERS, MACHINE_DEPLOYMENTS, MACHINE_SETS

LABEL_FIELD = f"metadata.labels.{CLUSTER_LABEL}"


def cluster_of(copies: Copies, owner: Object, known: Object | None) -> str:
    """
    Return the name of a pool's Cluster. known: what its machines are made from already, if any.

    A pool stays in its Cluster, whatever other ones come to its namespace. Raises InputError if
    that cannot have machines, or if it is not clear which one is meant.
    """
    metadata = owner["metadata"]
    named = str((metadata.get("labels") or {}).get(CLUSTER_LABEL, ""))
    stays = str(known["spec"]["clusterName"]) if known else ""
    if named and stays and named != stays:
        raise InputError(
            f"found {named}, and the pool's machines are in the Cluster {stays}, where they stay",
            field=LABEL_FIELD,
            hint="make another pool for the other Cluster",
        )
    namespace = metadata["namespace"]
    name = stays or named or _only_one(copies, namespace)
    found = copies.find(CLUSTERS, namespace, name)
    if found is None:
        raise InputError(f"there is no Cluster {name} in {namespace}", field=LABEL_FIELD)
    if "deletionTimestamp" in found["metadata"]:
        raise InputError(
            f"the Cluster {name} in {namespace} is being deleted, and its machines with it",
            hint="delete the pool as well",
        )
    return name


def made_from(copies: Copies, owner: Object) -> Object | None:
    """Return the object that a pool's machines are made from, or None if there is none yet."""
    key = owner["metadata"]["namespace"], owner["metadata"]["name"]
    return copies.find(MACHINE_DEPLOYMENTS, *key) or copies.find(MACHINE_SETS, *key)


def _only_one(copies: Copies, namespace: str) -> str:
    found = [name for place, name in copies.list_keys(CLUSTERS) if place == namespace]
    if len(found) != 1:
        raise InputError(
            f"found {len(found)} Clusters in {namespace}, expected one",
            field=LABEL_FIELD,
            hint="name the Cluster in this label",
        )
    return found[0]
