"""Operator and payload service with rights to some namespaces, as the overlay gives them."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from fairlead.kube.answer import ForbiddenError
from fairlead.kube.client import connect
from fairlead.kube.resource import MACHINES, NODE_POOLS, PLATFORM_CONFIGS, SECRETS
from kube.cluster import TestCluster
from kube.fleet import NAMESPACE, Fleet, wait_until
from kube.processes import (
    HOME,
    PayloadProcess,
    account_of,
    install,
    kubeconfig_of,
    operator_process,
    rendered,
    said_yes,
)
from kube.rights import allows, asked, granted
from kube.test_deployed import token_of
from shared_cases import REPOSITORY

pytestmark = pytest.mark.slow

OVERLAY = REPOSITORY / "deploy/kube/overlays/namespaced"
ACCOUNTS = ("fairlead-operator", "fairlead-payload")
ELSEWHERE = "elsewhere"
EXPECTED = {
    "fairlead-operator": {NAMESPACE, "team-b", HOME},
    "fairlead-payload": {NAMESPACE, "team-b"},
}
WORDS = ("--pools-in", NAMESPACE, "--pools-in", "team-b")


def rights_of(cluster: TestCluster) -> list[dict[str, Any]]:
    """The overlay's rights, with the namespace of these tests in the place of the first team's."""
    found = [one for one in rendered(cluster, OVERLAY) if "Role" in one["kind"]]
    for one in found:
        if one["metadata"].get("namespace") == "team-a":
            one["metadata"]["namespace"] = NAMESPACE
    return found


@pytest.fixture
def namespaced(unmanned: Fleet) -> Iterator[Fleet]:
    """A fleet whose accounts have no right beyond their namespaces."""
    cluster = unmanned.cluster
    install(cluster)
    for name in ("team-b", ELSEWHERE):
        cluster.kubectl("create", "namespace", name)
    rights = yaml.safe_dump_all(rights_of(cluster))
    cluster.kubectl("apply", "--server-side", "--force-conflicts", "-f", "-", said=rights)
    cluster.kubectl("delete", "clusterrolebinding", *ACCOUNTS)
    for account in ACCOUNTS:
        for where, is_given in (("-A", False), (f"--namespace={NAMESPACE}", True)):
            words = ["auth", "can-i", "list", "secrets", where, f"--as={account_of(account)}"]
            wait_until(lambda w=words, given=is_given: said_yes(cluster, w) is given)  # type: ignore[misc]
    yield unmanned
    for namespace in (NAMESPACE, "team-b"):
        cluster.kubectl("-n", namespace, "delete", "rolebinding", *ACCOUNTS)
    install(cluster)


def test_programs_with_rights_to_some_namespaces_do_all_there_and_see_no_other(
    namespaced: Fleet, tmp_path: Path
) -> None:
    fleet = namespaced
    since = fleet.cluster.audit_log.stat().st_size
    place = {"name": "theirs", "namespace": ELSEWHERE}
    fleet.admin.create(SECRETS, {"apiVersion": "v1", "kind": "Secret", "metadata": place})
    fleet.declare("beyond", namespace=ELSEWHERE)

    live_within(fleet, tmp_path)

    assert "status" not in fleet.pool("beyond", ELSEWHERE)
    assert fleet.admin.list_all(MACHINES, ELSEWHERE)[0] == []
    for account in ACCOUNTS:
        check_bounds(fleet.cluster, account, since)
        with_account = connect(kubeconfig_of(fleet.cluster, account))
        with pytest.raises(ForbiddenError, match='cannot get resource "secrets"'):
            with_account.find(SECRETS, "theirs", ELSEWHERE)
        with_account.close()


def live_within(fleet: Fleet, directory: Path) -> None:
    """Let a pool live, from its machines' first question to its end."""
    payload = PayloadProcess(fleet.cluster, directory, WORDS)
    operator = operator_process(fleet.cluster, directory, payload.port, WORDS)
    try:
        payload.wait_until_ready()
        operator.wait_until_ready()
        fleet.declare("within", autoRepair=True)
        fleet.settle("within")
        [machine, _] = fleet.machines("within")
        assert payload.ask(token_of(fleet, "within"), machine)[0] == 200
        declare_platform(fleet)
        wait_until(lambda: fleet.state("within") == "Drifted", operator.log.read_text)
        fleet.admin.delete(NODE_POOLS, "within", NAMESPACE)
        wait_until(lambda: fleet.admin.find(NODE_POOLS, "within", NAMESPACE) is None)
        assert f"pools in {NAMESPACE}, team-b" in operator.log.read_text()
    finally:
        operator.end()
        payload.end()
        fleet.admin.delete(PLATFORM_CONFIGS, "platform", HOME)


def check_bounds(cluster: TestCluster, account: str, since: int) -> None:
    """An account did nothing for the cluster, and was refused nothing in its namespaces."""
    done, refused = asked(cluster, account, since)
    assert refused == set()
    assert {one.namespace for one in done} == EXPECTED[account]
    may = [right for _, right in granted(rights_of(cluster), account)]
    beyond = {one for one in done if not any(allows(right, one) for right in may)}
    # The role for a provider's templates is another overlay's.
    assert {one.group for one in beyond} <= {"infra.test.fairlead.dev"}


def declare_platform(fleet: Fleet) -> None:
    """A platform of the operator's namespace, which counts for pools of others."""
    document = {
        "apiVersion": PLATFORM_CONFIGS.api_version,
        "kind": PLATFORM_CONFIGS.kind,
        "metadata": {"name": "platform", "namespace": HOME},
        "spec": {"proxy": {"image": "registry.example.test/proxy:2"}},
    }
    fleet.admin.create(PLATFORM_CONFIGS, document)
