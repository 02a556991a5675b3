"""A NodePool that is too large to be served: what `kubectl get` shows, and how it ends."""

from __future__ import annotations

import base64
from collections.abc import Iterator
from typing import Any

import pytest

from fairlead.answering.pools import PoolAnswers
from fairlead.kube.front.plane import SeenEdge
from fairlead.kube.front.scope import Scope
from fairlead.kube.front.seen import SeenCluster
from fairlead.kube.resource import SECRETS
from unit.kube.object_server import NAMESPACE
from unit.kube.one_operator import POOL, OneOperator, one_operator
from unit.kube.small_server import Reply

FILES = [{"kind": "Files", "files": [{"path": "/etc/big", "content": "x" * 300_000}]}]


@pytest.fixture
def one() -> Iterator[OneOperator]:
    """A pool that was carried out, with a small pull secret."""
    with one_operator() as operator:
        write_login(operator, 1)
        operator.declare(replicas=0, pullSecret={"name": "login"}, config=FILES)
        operator.passes(3)
        assert operator.status()["state"] == "Settled"
        yield operator


def write_login(one: OneOperator, numbers: int) -> None:
    """Write a pull secret of 2 bytes for each number, of which each takes 89 once it is served."""
    nested = "[" * 40 + ",".join("1" * numbers) + "]" * 40
    text = f'{{"auths": {{}}, "numbers": {nested}}}'
    data = {".dockerconfigjson": base64.b64encode(text.encode()).decode()}
    one.server.put(SECRETS, "login", data=data)


def told(one: OneOperator, kind: str) -> tuple[Any, Any, str]:
    found = one.condition(kind)
    return found["status"], found["reason"], found["message"].partition(": ")[0]


TOO_LARGE = "the node config has 4253524 bytes, at most 4161536 can be served"


def test_a_pool_whose_secret_grew_says_so_and_goes_on_once_it_is_smaller(one: OneOperator) -> None:
    before = one.status()["record"]
    write_login(one, 43_250)
    one.passes(2)

    assert one.status()["state"] == "Blocked"
    assert told(one, "ValidGeneratedPayload") == ("False", "InvalidConfig", TOO_LARGE)
    assert one.condition("ValidConfig")["message"].startswith(f"spec.pullSecret.name: {TOO_LARGE}")
    assert one.condition("ValidConfig")["message"].endswith("config.files./etc/big 400025")
    assert one.status()["record"]["target"] == before["target"]
    assert one.passes() == []

    write_login(one, 1)
    assert one.operator.world.pools.secrets.move(POOL), "a blocked pool is looked at again"
    one.passes(2)

    assert one.status()["state"] == "Settled"
    assert told(one, "ValidGeneratedPayload") == ("True", "AsExpected", "")


def test_a_document_that_kubectl_applies_and_that_is_too_large_is_not_carried_out(
    one: OneOperator,
) -> None:
    write_login(one, 41_000)
    one.passes(2)
    target = one.status()["record"]["target"]
    assert one.status()["state"] == "Settled"

    larger = [{"kind": "Files", "files": [{"path": "/etc/big", "content": "x" * 450_000}]}]
    one.declare(2, replicas=0, pullSecret={"name": "login"}, config=larger)
    one.passes(2)

    assert (one.status()["state"], one.status()["record"]["target"]) == ("Blocked", target)
    status, reason, says = told(one, "ValidConfig")
    assert (status, reason, says) == ("False", "ValidationFailed", "spec.pullSecret.name")
    assert told(one, "ValidGeneratedPayload")[0] == "True", "what machines have can be served"

    one.declare(3, replicas=0, pullSecret={"name": "login"}, config=FILES)
    one.passes(2)

    assert one.status()["state"] == "Settled"


def test_whoever_may_not_read_secrets_hears_what_the_operator_found(one: OneOperator) -> None:
    write_login(one, 43_250)
    one.passes(2)

    def refused(_method: str, path: str, _headers: dict[str, str]) -> Reply:
        is_secret = path.partition("?")[0].endswith("/secrets/login")
        return (403, {"message": "not yours"}, False) if is_secret else (200, {}, False)

    one.server.reply = refused
    scope = Scope(namespace=NAMESPACE, home="home")
    edge = SeenEdge(SeenCluster(one.client, scope, lambda: one.now))

    found = PoolAnswers(edge).listed("workers")

    assert found.state.value == "Blocked"
    assert found.summary.startswith(f"blocked: {TOO_LARGE}: the pull secret has 3853046 bytes")
