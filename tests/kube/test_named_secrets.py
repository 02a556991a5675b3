"""Secrets that a pool names, and the pair that is made for it: what is kept where in a cluster."""

import base64
import gzip
import json
from hashlib import sha256
from typing import Any

import pytest

from fairlead.kube.resource import NODE_REVISIONS, SECRETS
from fairlead.rollout.secrets import hashed
from kube.fleet import NAMESPACE, Fleet
from kube.invariants import kept_of

pytestmark = pytest.mark.slow

FIRST = '{"auths": {"registry.example.test": {"auth": "Zmlyc3Q6Zmlyc3Q="}}}'
SECOND = '{"auths": {"registry.example.test": {"auth": "c2Vjb25kOnNlY29uZA=="}}}'


def keep_pull_secret(fleet: Fleet, name: str, text: str) -> None:
    secret = {
        "apiVersion": "v1",
        "kind": "Secret",
        "metadata": {"name": name, "namespace": NAMESPACE},
        "data": {".dockerconfigjson": base64.b64encode(text.encode()).decode()},
    }
    fleet.admin.apply(SECRETS, secret, manager="owner")


def revision_text(fleet: Fleet, pool: str) -> str:
    """All that the pool's one NodeRevision holds, unpacked."""
    [found], _ = fleet.admin.list_all(NODE_REVISIONS, NAMESPACE, f"fairlead.dev/pool={pool}")
    revision = gzip.decompress(base64.b64decode(found["spec"]["revision"])).decode()
    return json.dumps(found) + revision


def test_a_revision_holds_digests_of_named_secrets_and_no_token(fleet: Fleet) -> None:
    keep_pull_secret(fleet, "kept-login", FIRST)
    fleet.declare("kept", pullSecret={"name": "kept-login"})
    fleet.settle("kept")

    told = revision_text(fleet, "kept")
    assert "registry.example.test" not in told
    assert '"node_config":' in told

    name = next(one for one in fleet.secrets("kept") if one.startswith("token-"))
    found = fleet.admin.find(SECRETS, name, NAMESPACE)
    assert found is not None
    kept: Any = kept_of(found)
    assert len(base64.b64decode(kept["token"])) == 32
    for secret in (kept["token"], hashed(kept["token"]), "Zmlyc3Q6Zmlyc3Q="):
        assert secret not in told
    assert f"sha256:{sha256(FIRST.encode()).hexdigest()}" in told
