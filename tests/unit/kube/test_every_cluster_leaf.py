"""
Every leaf of a pool on a cluster: applied by Cluster API, by the agent, or told as not applied.

What Cluster API applies changes what it is told. What the agent applies is the same on every edge:
tests/unit/embedded/test_every_leaf.py sees it in what the built-in steps write.
"""

from typing import Any

import pytest

from fairlead.inputs.registry import SETTING_LEAVES, find_row, unapplied
from fairlead.kube.answer import Object
from fairlead.kube.cluster_api.deployment import deployment_spec
from fairlead.kube.cluster_api.infrastructure import NAMED
from fairlead.kube.cluster_api.machines import KubeMachines
from fairlead.rollout.machines import Template
from pool_documents import leaves_of, make_revision, pool_document
from unit.embedded.test_every_leaf import LEAVES, NOT_APPLIED_HERE

CLUSTER_API, NEITHER = "Cluster API", "neither"

# Leaves that no built-in step applies, a document that declares each, and who applies it here.
TOLD: dict[str, tuple[str, dict[str, Any]]] = {
    "release.version": (CLUSTER_API, {"release": {"version": "1.35.0", "digest": "sha256:1111"}}),
    "release.digest": (NEITHER, {"release": {"version": "1.34.2", "digest": "sha256:2222"}}),
    "imageBase": (NEITHER, {"imageBase": "202609.01"}),
    "osStream": (NEITHER, {"osStream": "ubuntu-22.04"}),
    "machineTemplate.apiGroup": (CLUSTER_API, {"machineTemplate": {"apiGroup": "own.example"}}),
    "machineTemplate.kind": (CLUSTER_API, {"machineTemplate": {"kind": "OwnTemplate"}}),
    "machineTemplate.name": (CLUSTER_API, {"machineTemplate": {"name": "large"}}),
    "machineTemplate.vmSize": (NEITHER, {"machineTemplate": {"vmSize": "m5.large"}}),
    "machineTemplate.diskGB": (NEITHER, {"machineTemplate": {"diskGB": 80}}),
    "proxyImage": (NEITHER, {"proxyImage": "haproxy@sha256:cc"}),
}


def told(spec: dict[str, Any]) -> Object:
    """What Cluster API is told of a pool; the name of a revision alone says nothing to it."""
    revision = make_revision(pool_document(**{"machineTemplate": None, **spec}))
    template = Template(
        revision="workers-1",
        version=revision.version,
        machine_template=revision.machine_template,
        replicas=3,
    )
    named = {name: template.machine_template.get(name) for name in NAMED}
    return deployment_spec("a/workers", template, {"cluster": "one", "infrastructure": named})


def not_applied(spec: dict[str, Any]) -> dict[str, str]:
    leaves = leaves_of(pool_document(**{"machineTemplate": None, **spec}))
    return unapplied(leaves, KubeMachines.not_applied)


def leaves_for(who: str) -> list[str]:
    return [leaf for leaf, (found, _) in TOLD.items() if found == who]


def test_every_leaf_that_no_built_in_step_applies_is_in_the_table() -> None:
    rows = {row.path for leaf in TOLD if (row := find_row(leaf))}
    # Those reach a Machine in place: test_deployment_spec.py.
    settings = {row.path for row in SETTING_LEAVES}

    found = {leaf for leaf, (fate, _) in LEAVES.items() if fate == NOT_APPLIED_HERE}
    assert rows == found - settings


@pytest.mark.parametrize("leaf", leaves_for(CLUSTER_API))
def test_what_cluster_api_applies_changes_what_it_is_told(leaf: str) -> None:
    assert told(TOLD[leaf][1]) != told({})
    assert leaf not in not_applied(TOLD[leaf][1])


@pytest.mark.parametrize("leaf", leaves_for(NEITHER))
def test_what_nobody_applies_changes_nothing_and_its_owner_is_told_why(leaf: str) -> None:
    assert told(TOLD[leaf][1]) == told({})
    assert not_applied(TOLD[leaf][1])[leaf]


def test_what_the_agent_applies_is_not_called_unapplied_on_a_cluster() -> None:
    applied = {leaf for leaf, (fate, _) in LEAVES.items() if fate != NOT_APPLIED_HERE}

    assert not applied & set(KubeMachines.not_applied)
