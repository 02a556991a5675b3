"""Replicas of the payload service on a real API server: one fleet, whoever is asked."""

import base64
import json
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from fairlead.kube.resource import SECRETS
from kube.fleet import NAMESPACE, Fleet, wait_until
from kube.processes import HOME, PayloadProcess, install, said_yes

pytestmark = pytest.mark.slow

REPORT = b'{"run": "1", "agent": "202611.17.0", "layout": "fairlead", "started": "n", "exit": 0}'
UNKNOWN = base64.b64encode(b"nobody's").decode()


@pytest.fixture
def replicas(fleet: Fleet, tmp_path: Path) -> Iterator[list[PayloadProcess]]:
    install(fleet.cluster)
    both = [PayloadProcess(fleet.cluster, tmp_path) for _ in range(2)]
    for one in both:
        one.wait_until_ready()
    yield both
    for one in both:
        one.kill()


def token_of(fleet: Fleet, pool: str) -> str:
    found, _ = fleet.admin.list_all(SECRETS, NAMESPACE, f"fairlead.dev/pool={pool}")
    kept = [one["data"]["kept"] for one in found if one["type"] == "fairlead.dev/token"]
    return str(json.loads(base64.b64decode(kept[0]))["token"])


def bootstrap_tokens(fleet: Fleet, machine: str) -> int:
    label = f"fairlead.dev/joins-for={machine}"
    return len(fleet.admin.list_all(SECRETS, "kube-system", label)[0])


def test_replicas_serve_one_fleet_and_one_that_is_killed_is_not_missed(
    fleet: Fleet, replicas: list[PayloadProcess]
) -> None:
    first, second = replicas
    fleet.declare("shared", replicas=1)
    fleet.settle("shared")
    token, (machine,) = token_of(fleet, "shared"), fleet.machines("shared")

    wait_until(lambda: first.ask(token, machine)[0] == 200)
    wait_until(lambda: second.ask(token, machine)[0] == 200)
    assert bootstrap_tokens(fleet, machine) == 1

    first.kill()
    assert second.report(token, machine, REPORT) == 204
    assert bootstrap_tokens(fleet, machine) == 0
    assert second.ask(token, machine)[0] == 410

    # One that comes later knows what those before it were told.
    third = PayloadProcess(fleet.cluster, first.log.parent)
    try:
        third.wait_until_ready()
        assert third.report(token, machine, REPORT) == 204
        assert third.ask(token, machine)[0] == 410
    finally:
        third.kill()


def test_a_pod_without_the_token_cannot_read_another_pools_payload(
    fleet: Fleet, replicas: list[PayloadProcess]
) -> None:
    for pool in ("mine", "theirs"):
        fleet.declare(pool, replicas=1)
    for pool in ("mine", "theirs"):
        fleet.settle(pool)
    (victim,) = fleet.machines("theirs")
    pod = fleet.cluster.kubectl("-n", NAMESPACE, "create", "token", "default").strip()

    for replica in replicas:
        wait_until(lambda it=replica: it.ask(token_of(fleet, "theirs"), victim)[0] == 200)  # type: ignore[misc]
        assert replica.ask("", victim)[0] == 401
        assert replica.ask(pod, victim)[0] == 401
        assert replica.ask(UNKNOWN, victim)[0] == 511
        assert replica.ask(token_of(fleet, "mine"), victim) == (
            511,
            b'{"error":"no machine of this name boots with this token, not yet or no longer"}\n',
        )
    for account in (f"{NAMESPACE}:default", f"{HOME}:default"):
        asked = ["auth", "can-i", "get", "secrets", "-A", f"--as=system:serviceaccount:{account}"]
        assert not said_yes(fleet.cluster, asked)


def test_a_renewed_certificate_is_shown_without_a_restart(replicas: list[PayloadProcess]) -> None:
    replica = replicas[0]
    before = replica.shown()
    replica.renew()

    wait_until(lambda: replica.shown() != before)

    assert replica.ask(UNKNOWN, "any")[0] == 511
    assert "certificate: loaded anew" in replica.log.read_text()


def test_a_silent_api_server_holds_up_only_those_who_need_it(
    fleet: Fleet, replicas: list[PayloadProcess]
) -> None:
    replica = replicas[0]
    fleet.declare("patient", replicas=1)
    fleet.settle("patient")
    token, (machine,) = token_of(fleet, "patient"), fleet.machines("patient")
    wait_until(lambda: replica.ask(token, machine)[0] == 200)
    answered: list[int] = []
    asking = threading.Thread(target=lambda: answered.append(replica.ask(token, machine)[0]))

    with fleet.cluster.silent_server():
        asking.start()
        wait_until(lambda: "fairlead_payload_requests 1\n" in replica.get("/metrics")[1])
        begun = time.monotonic()
        assert replica.ask(UNKNOWN, machine)[0] == 511
        assert time.monotonic() - begun < 2
        assert answered == []

    asking.join(30)
    assert answered == [200]


def test_a_replica_without_an_api_server_says_that_it_is_not_ready(
    fleet: Fleet, replicas: list[PayloadProcess]
) -> None:
    fleet.cluster.kill_server()
    try:
        status, says = replicas[0].get("/readyz")
        assert (status, "no answer from" in says) == (503, True)
        assert replicas[0].get("/healthz") == (200, "ok\n")
    finally:
        fleet.cluster.start_server()
    for replica in replicas:
        replica.wait_until_ready()
