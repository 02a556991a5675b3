"""Secrets that a pool names, and the pair that is made for it: what is kept where in a cluster."""

import base64
import gzip
import json
import time
from hashlib import sha256
from typing import Any

import pytest

from fairlead.kube.resource import NODE_REVISIONS, SECRETS
from fairlead.rollout.secrets import hashed
from kube.fleet import NAMESPACE, Fleet, wait_until
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


@pytest.fixture
def attentive(unmanned: Fleet) -> Fleet:
    """An operator that looks at Secrets every second."""
    unmanned.secrets_s = 1.0
    unmanned.start_operator()
    return unmanned


def test_a_changed_pull_secret_rolls_by_itself_where_its_owner_said_so(attentive: Fleet) -> None:
    fleet = attentive
    for name, means in (("rolls", "Roll"), ("drifts", "Drift"), ("ignores", "Ignore")):
        keep_pull_secret(fleet, f"{name}-login", FIRST)
        fleet.declare(name, pullSecret={"name": f"{name}-login"}, secretContent=means, replicas=1)
        fleet.settle(name)
    before = {name: fleet.machines(name) for name in ("rolls", "drifts", "ignores")}
    check_quiet_passes(fleet)

    for name in before:
        keep_pull_secret(fleet, f"{name}-login", SECOND)

    wait_until(lambda: fleet.machines("rolls") not in ([], before["rolls"]), lambda: fleet.said)
    wait_until(lambda: fleet.state("drifts") == "Drifted")
    fleet.settle("rolls")
    assert fleet.machines("drifts") == before["drifts"]
    assert fleet.machines("ignores") == before["ignores"]
    assert fleet.state("ignores") == "Settled"


def check_quiet_passes(fleet: Fleet) -> None:
    """While nothing happens, passes are made and none of them writes a pool."""
    [(operator, _)] = fleet.running
    versions = {name: version_of(fleet, name) for name in ("rolls", "drifts", "ignores")}
    begun = operator.counted.passes
    wait_until(lambda: operator.counted.passes >= begun + 4)
    assert {name: version_of(fleet, name) for name in versions} == versions


def version_of(fleet: Fleet, pool: str) -> str:
    return str(fleet.pool(pool)["metadata"]["resourceVersion"])


def test_a_pool_whose_pull_secret_is_missing_goes_on_once_it_is_there(attentive: Fleet) -> None:
    fleet = attentive
    fleet.declare("waits", pullSecret={"name": "late-login"}, replicas=1)
    wait_until(lambda: fleet.state("waits") == "Blocked")
    assert "there is no Secret late-login" in fleet.pool("waits")["status"]["sentence"]

    time.sleep(4)  # longer than its own writes wake it
    keep_pull_secret(fleet, "late-login", FIRST)

    fleet.settle("waits")
    assert len(fleet.machines("waits")) == 1
