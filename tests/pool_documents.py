"""NodePool and PlatformConfig documents that are valid by default; a test changes one thing."""

from __future__ import annotations

import copy
from typing import Any

from fairlead.inputs.leaf import Leaves, Unusable
from fairlead.inputs.parse import parse_node_pool, parse_platform_config
from fairlead.inputs.platform_inputs import CODE_DEFAULTS, with_code_defaults
from fairlead.revision.hashing import revision_of
from fairlead.revision.revision import Revision, SecretContent

POOL_SPEC: dict[str, Any] = {
    "replicas": 3,
    "release": {"version": "1.34.2", "digest": "sha256:1111"},
    "imageBase": "202607.02",
    "pullSecret": {"name": "registry-login"},
    "machineTemplate": {"vmSize": "m5.large"},
}

PLATFORM_SPEC: dict[str, Any] = {
    "proxy": {"image": "haproxy@sha256:aa", "template": "v1"},
    "loadBalancerAddress": "10.0.0.4",
    "noProxy": [".svc", ".cluster.local"],
    "stub": {"endpoint": "https://payload.example.test/v1/config", "ca": "CA"},
}


def pool_document(name: str = "workers", **spec: Any) -> dict[str, Any]:
    """A pool of three. A value of None removes the field."""
    return _document("NodePool", name, POOL_SPEC, spec)


def platform_document(**spec: Any) -> dict[str, Any]:
    """What the platform adds. A value of None removes the field."""
    return _document("PlatformConfig", "platform", PLATFORM_SPEC, spec)


def _document(
    kind: str, name: str, valid: dict[str, Any], changed: dict[str, Any]
) -> dict[str, Any]:
    spec = copy.deepcopy(valid) | changed
    return {
        "apiVersion": "fairlead.dev/v1alpha1",
        "kind": kind,
        "metadata": {"name": name},
        "spec": {key: value for key, value in spec.items() if value is not None},
    }


def leaves_of(pool: dict[str, Any] | None = None, platform: dict[str, Any] | None = None) -> Leaves:
    """All leaves of two documents, as a pass would join them."""
    parsed = parse_node_pool(pool or pool_document())
    inputs = parse_platform_config(platform or platform_document())
    assert not isinstance(parsed.intent, Unusable), parsed.intent
    return {
        **parsed.intent.leaves,
        **parsed.unknown,
        **with_code_defaults(inputs, CODE_DEFAULTS).leaves,
    }


def make_revision(
    pool: dict[str, Any] | None = None,
    platform: dict[str, Any] | None = None,
    *,
    content: SecretContent = SecretContent.IGNORE,
    force: str = "",
) -> Revision:
    """The revision of two documents."""
    return revision_of(leaves_of(pool, platform), content=content, force=force)
