"""
Every leaf that a pool may declare is delivered, refused, or told as not applied. Each is tried.

What reaches a machine is seen in what the agent's built-in steps write: a leaf that is delivered
changes it, one that is not applied does not. What the control plane carries out changes its policy.
"""

import json
from pathlib import Path
from typing import Any

import pytest

from builders import BUILT_IN_CONFIG
from fairlead.agent.host import RealHost
from fairlead.answers.words import LeafClass
from fairlead.contract.node_parse import parse_node_config
from fairlead.embedded.not_applied import NOT_APPLIED
from fairlead.inputs.leaf import Unusable
from fairlead.inputs.parse import parse_node_pool, pool_rows
from fairlead.inputs.registry import NOT_CARRIED_OUT, find_row
from fairlead.inputs.user_intent import INTENT_LEAVES
from fairlead.proposal.judge import judge
from fairlead.revision.hashing import revision_of
from fairlead.rollout.policy import policy_of
from fairlead.rollout.served.pool_secrets import PoolSecrets, put_secrets
from fairlead.rollout.window import utc_only
from pool_documents import leaves_of, platform_document, pool_document
from unit.agent.steps.machine import run_all

DELIVERED, REFUSED, NOT_APPLIED_HERE = "delivered", "refused", "not applied"
CARRIED_OUT, JUDGED, NOTED = "carried out", "judged", "noted"


def config(kind: str, **fields: Any) -> dict[str, Any]:
    return {"config": [{"kind": kind, **fields}]}


# leaf of the registry: what becomes of it on this edge, and a document that declares it
LEAVES: dict[str, tuple[str, dict[str, Any]]] = {
    "release.version": (NOT_APPLIED_HERE, {"release": {"version": "1.35.0"}}),
    "release.digest": (
        NOT_APPLIED_HERE, {"release": {"version": "1.34.2", "digest": "sha256:2222"}},
    ),
    "imageBase": (NOT_APPLIED_HERE, {"imageBase": "202609.01"}),
    "osStream": (NOT_APPLIED_HERE, {"osStream": "ubuntu-22.04"}),
    "config.kubelet.*": (DELIVERED, config("KubeletConfiguration", maxPods=50)),
    "config.containerd.*": (
        DELIVERED, config("ContainerdConfiguration", settings={"debug": {"level": "warn"}}),
    ),
    "config.sysctl.*": (DELIVERED, config("Sysctl", settings={"vm.swappiness": 10})),
    "config.files.*": (DELIVERED, config("Files", files=[{"path": "/etc/motd", "content": "hi"}])),
    "config.mirrors.*": (
        DELIVERED, config("Mirrors", mirrors=[{"source": "docker.io", "mirrors": ["m.example"]}]),
    ),
    "pullSecret.name": (DELIVERED, {"pullSecret": {"name": "other"}}),
    "trustBundle.name": (DELIVERED, {"trustBundle": {"name": "bundle"}}),
    "proxy.http": (DELIVERED, {"proxy": {"http": "http://p.example"}}),
    "proxy.https": (DELIVERED, {"proxy": {"https": "http://p.example"}}),
    "proxy.noProxy": (DELIVERED, {"proxy": {"http": "http://p", "noProxy": [".own"]}}),
    "imagePolicy.*": (REFUSED, {"imagePolicy": {"default": "Reject"}}),
    "tlsProfile": (REFUSED, {"tlsProfile": "Modern"}),
    "sshKeys": (DELIVERED, {"sshKeys": ["ssh-ed25519 AAAA"]}),
    "fips": (REFUSED, {"fips": True}),
    "endpoint.access": (REFUSED, {"endpoint": {"access": "Public"}}),
    "endpoint.port": (REFUSED, {"endpoint": {"port": 6443}}),
    "endpoint.advertiseAddress": (DELIVERED, {"endpoint": {"advertiseAddress": "10.1.1.1"}}),
    "endpoint.name": (DELIVERED, {"endpoint": {"name": "api.example:6443"}}),
    "machineTemplate.*": (NOT_APPLIED_HERE, {"machineTemplate": {"diskType": "fast"}}),
    "proxyImage": (NOT_APPLIED_HERE, {"proxyImage": "haproxy@sha256:cc"}),
    "release.allow": (JUDGED, {"release": {"version": "1.34.2", "allow": ["Skew"]}}),
    "replicas": (CARRIED_OUT, {"replicas": 7}),
    "autoscaling.min": (CARRIED_OUT, {"replicas": None, "autoscaling": {"min": 2, "max": 9}}),
    "autoscaling.max": (CARRIED_OUT, {"replicas": None, "autoscaling": {"max": 9}}),
    "labels.*": (CARRIED_OUT, {"labels": {"team": "a"}}),
    "taints": (CARRIED_OUT, {"taints": [{"key": "gpu", "effect": "NoSchedule"}]}),
    "timeouts.drain": (CARRIED_OUT, {"timeouts": {"drain": "9m"}}),
    "timeouts.detach": (NOT_APPLIED_HERE, {"timeouts": {"detach": "9m"}}),
    "timeouts.join": (CARRIED_OUT, {"timeouts": {"join": "9m"}}),
    "timeouts.ready": (CARRIED_OUT, {"timeouts": {"ready": "9m"}}),
    "autoRepair": (CARRIED_OUT, {"autoRepair": True}),
    "maxUnhealthy": (CARRIED_OUT, {"maxUnhealthy": 3}),
    "management.type": (CARRIED_OUT, {"management": {"type": "InPlace"}}),
    "management.strategy": (CARRIED_OUT, {"management": {"strategy": "OnDelete"}}),
    "management.maxSurge": (CARRIED_OUT, {"management": {"maxSurge": 2}}),
    "management.maxUnavailable": (CARRIED_OUT, {"management": {"maxUnavailable": 2}}),
    "rollout.windows": (
        CARRIED_OUT, {"rollout": {"windows": [{"start": "22:00", "duration": "4h"}]}},
    ),
    "rollout.canary": (CARRIED_OUT, {"rollout": {"canary": [1]}}),
    "rollout.soak": (CARRIED_OUT, {"rollout": {"canary": [1], "soak": "9m"}}),
    "rollout.haltAfter": (CARRIED_OUT, {"rollout": {"haltAfter": 9}}),
    "rollout.estimate": (CARRIED_OUT, {"rollout": {"estimate": "9m"}}),
    "rollout.resume": (CARRIED_OUT, {"rollout": {"resume": "again"}}),
    "rollout.replaceWithout.fix": (
        CARRIED_OUT,
        {"rollout": {"replaceWithout": {"fix": "202607.02.3"}}},
    ),
    "rollout.replaceWithout.request": (
        CARRIED_OUT,
        {"rollout": {"replaceWithout": {"fix": "202607.02.3", "request": "again"}}},
    ),
    "platformChanges.newNodes": (CARRIED_OUT, {"platformChanges": {"newNodes": "Refresh"}}),
    "platformChanges.maximumAge.routine": (
        CARRIED_OUT, {"platformChanges": {"maximumAge": {"routine": "9d"}}},
    ),
    "platformChanges.maximumAge.security": (
        CARRIED_OUT, {"platformChanges": {"maximumAge": {"security": "9d"}}},
    ),
    "platformChanges.maximumAge.connectivity": (
        CARRIED_OUT, {"platformChanges": {"maximumAge": {"connectivity": "9d"}}},
    ),
    "secretContent": (CARRIED_OUT, {"secretContent": "Roll"}),
    "paused": (CARRIED_OUT, {"paused": True}),
    "force": (CARRIED_OUT, {"force": "once"}),
    "description": (NOTED, {"description": "a note"}),
}  # fmt: skip

PEM = b"-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n"
PULL_SECRETS: dict[object, bytes] = {
    "registry-login": b'{"auths": {}}',
    "other": b'{"auths": {"r": {"auth": "x"}}}',
}
BUNDLES: dict[object, bytes] = {"bundle": PEM}


def leaves_with(fate: str) -> list[str]:
    return [leaf for leaf, (found, _) in LEAVES.items() if found == fate]


def machine_with(spec: dict[str, Any], root: Path) -> dict[str, tuple[int, bytes]]:
    """All that the built-in steps write for a pool: modes and bytes by path."""
    platform = platform_document(loadBalancerAddress=None, proxy=None)
    leaves = leaves_of(pool_document(**spec), platform)
    document = json.loads(revision_of(leaves).node_config)
    secrets = PoolSecrets(
        pull_secret=PULL_SECRETS.get(leaves.get("pullSecret.name")),
        trust_bundle=BUNDLES.get(leaves.get("trustBundle.name")),
    )
    put_secrets(document, secrets)
    whole = parse_node_config(json.dumps(BUILT_IN_CONFIG | document).encode()).config
    root.mkdir()
    assert run_all(RealHost(str(root)), whole).error is None
    files = (path for path in sorted(root.rglob("*")) if path.is_file() and not path.is_symlink())
    return {str(path.relative_to(root)): (path.stat().st_mode, path.read_bytes()) for path in files}


def test_every_leaf_of_a_pool_is_in_the_table_and_no_other() -> None:
    rows = {row.path for row in (*pool_rows(), *INTENT_LEAVES)}

    assert set(LEAVES) == rows


@pytest.mark.parametrize("leaf", LEAVES)
def test_a_document_of_the_table_declares_its_leaf(leaf: str) -> None:
    pool = parse_node_pool(pool_document(**LEAVES[leaf][1]))

    assert not isinstance(pool.intent, Unusable)
    assert not isinstance(pool.settings, Unusable)
    declared = {*pool.intent.leaves, *pool.settings}
    rows = {row.path for path in declared if (row := find_row(path))}
    assert leaf in rows or LEAVES[leaf][0] == NOTED


def baseline_of(leaf: str) -> dict[str, Any]:
    """The document without the leaf; a list of exceptions needs the proxy that it is about."""
    return {"proxy": {"http": "http://p"}} if leaf == "proxy.noProxy" else {}


@pytest.mark.parametrize("leaf", leaves_with(DELIVERED))
def test_what_is_delivered_changes_what_a_machine_has(leaf: str, tmp_path: Path) -> None:
    before = machine_with(baseline_of(leaf), tmp_path / "before")
    after = machine_with(LEAVES[leaf][1], tmp_path / "after")

    assert after != before
    assert judge(pool_document(**LEAVES[leaf][1]), utc_only) == ()


@pytest.mark.parametrize("leaf", leaves_with(NOT_APPLIED_HERE))
def test_what_is_not_applied_changes_nothing_and_has_a_reason(leaf: str, tmp_path: Path) -> None:
    before = machine_with({}, tmp_path / "before")
    after = machine_with(LEAVES[leaf][1], tmp_path / "after")

    assert after == before
    assert NOT_APPLIED[leaf]
    assert judge(pool_document(**LEAVES[leaf][1]), utc_only) == ()


def test_nothing_is_called_not_applied_that_is() -> None:
    assert set(NOT_APPLIED) == set(leaves_with(NOT_APPLIED_HERE))
    assert set(NOT_CARRIED_OUT) == set(leaves_with(REFUSED))


@pytest.mark.parametrize("leaf", leaves_with(REFUSED))
def test_what_is_refused_is_refused_with_the_reason(leaf: str) -> None:
    [complaint] = judge(pool_document(**LEAVES[leaf][1]), utc_only)

    assert complaint.field.startswith("spec." + leaf.removesuffix(".*"))
    assert complaint.problem.startswith("no kind of machine ")


@pytest.mark.parametrize("leaf", leaves_with(CARRIED_OUT))
def test_what_the_control_plane_carries_out_changes_its_policy(leaf: str) -> None:
    settings = parse_node_pool(pool_document(**LEAVES[leaf][1])).settings
    assert not isinstance(settings, Unusable)
    row = find_row(leaf.replace("*", "any"))
    assert row is not None
    assert row.leaf_class is LeafClass.IN_PLACE
    rest = {path: value for path, value in settings.items() if find_row(path) is not row}

    assert policy_of(settings, utc_only) != policy_of(rest, utc_only)
    assert judge(pool_document(**LEAVES[leaf][1]), utc_only) == ()
