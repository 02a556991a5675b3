"""
What objects of a pool are called, and how they are known to be its own.

A pool is NAMESPACE/NAME. Its Secrets and revisions carry its name in a label, and belong to the
NodePool: whatever the operator does not take away goes with it.
"""

from __future__ import annotations

from fairlead.kube.answer import Object
from fairlead.kube.resource import GROUP, NODE_POOLS, Resource

POOL_LABEL = f"{GROUP}/pool"
FINALIZER = f"{GROUP}/pool"

# In the place of a pool, where something concerns more than one.
EVERY_POOL = "*"

TOKEN, USER_DATA = "token", "user-data"  # noqa: S105 - how names begin


def pool_of(namespace: str, name: str) -> str:
    """Return how the controller calls a pool."""
    return f"{namespace}/{name}"


def every_pool_of(namespace: str) -> str:
    """Return what stands for all pools of a namespace."""
    return pool_of(namespace, "")


def concerns(named: str, pool: str) -> bool:
    """Say whether a pool is the one that is named, or one of those."""
    is_in_namespace = named.endswith("/") and pool.startswith(named)
    return named in (EVERY_POOL, pool) or is_in_namespace


def split(pool: str) -> tuple[str, str]:
    """Return namespace and name of a pool."""
    namespace, _, name = pool.partition("/")
    return namespace, name


def owner_of(found: Object) -> str:
    """Return the pool that an object is labelled with, or ''."""
    metadata = found.get("metadata", {})
    name = (metadata.get("labels") or {}).get(POOL_LABEL, "")
    return pool_of(metadata.get("namespace", ""), name) if name else ""


def secret_name(kind: str, pool: str, pair: str) -> str:
    """Return the name of one of the two Secrets of a pair."""
    return f"{kind}-{split(pool)[1]}-{pair}"


def pair_of(data_secret_name: str, pool: str) -> str:
    """Return the pair whose user data a machine was told, or '' if it is none of this pool's."""
    start = f"{USER_DATA}-{split(pool)[1]}-"
    return data_secret_name.removeprefix(start) if data_secret_name.startswith(start) else ""


def revision_name(pool: str, revision: str) -> str:
    """Return the name of the NodeRevision."""
    return f"{split(pool)[1]}-{revision}"


def owned(resource: Resource, pool: Object, name: str) -> Object:
    """Return the beginning of an object that belongs to this NodePool."""
    metadata = pool["metadata"]
    return {
        "apiVersion": resource.api_version,
        "kind": resource.kind,
        "metadata": {
            "name": name,
            "namespace": metadata["namespace"],
            "labels": {POOL_LABEL: metadata["name"]},
            "ownerReferences": [
                {
                    "apiVersion": NODE_POOLS.api_version,
                    "kind": NODE_POOLS.kind,
                    "name": metadata["name"],
                    "uid": metadata["uid"],
                    "controller": True,
                    "blockOwnerDeletion": True,
                }
            ],
        },
    }
