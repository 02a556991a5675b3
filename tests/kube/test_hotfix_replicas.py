"""Replicas of the hotfix service on a real API server: one campaign, whoever is asked."""

import json
import shutil
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from fairlead.hotfix.publish.depot import Depot
from fairlead.hotfix.published_fixes import PublishedFixes
from fairlead.hotfix.service.attestation.join import Joining, issue_token
from fairlead.hotfix.service.ledger import Asker
from fairlead.kube.client import KubeClient
from fairlead.kube.front.published import CATALOG
from fairlead.kube.ledger.kube_ledger import KubeLedger
from fairlead.kube.resource import HOTFIX_LEDGERS, HOTFIXES
from fairlead.kube.shown.hotfixes import Around, HotfixCopies
from kube.cluster import TestCluster
from kube.fleet import wait_until
from kube.hotfix_replica import AKS, HotfixReplica
from kube.person import ROLES, Person
from kube.processes import HOME, install
from kube.rights import check_rights
from ledger_boots import boot, count, counted
from served_hotfixes import (
    BASE,
    FIX,
    machines_in_reach,
    make_catalog,
    make_depot,
    make_fix,
    report_text,
)

pytestmark = pytest.mark.slow

KEY = b"k" * 32
IN_FIRST_WAVE = machines_in_reach(FIX, 0.01, 60)
START = datetime.now(UTC).replace(microsecond=0)


@pytest.fixture
def depot(tmp_path: Path) -> Depot:
    """A depot as its installer copies it: without keys."""
    made = make_depot(tmp_path / "depot", [make_fix(published_at=START)], now=START)
    shutil.rmtree(made.keys)
    return made


@pytest.fixture
def started(cluster: TestCluster, depot: Depot, tmp_path: Path) -> Iterator[list[HotfixReplica]]:
    """Two replicas over a ledger in which nothing is; a test may add more."""
    install(cluster, ["fairlead-hotfix"])
    cluster.kubectl("-n", HOME, "delete", "hotfixledgers", "--all")
    (tmp_path / "join.key").write_bytes(KEY)
    both = [HotfixReplica(cluster, depot, tmp_path) for _ in range(2)]
    for one in both:
        one.wait_until_ready()
    yield both
    for one in both:
        one.kill()


def token_of(machine: str, uses: int = 0) -> str:
    until = datetime.now(UTC) + timedelta(hours=1)
    joining = Joining(machine=machine, region="local", until=until, nonce=machine, uses=uses)
    return issue_token(joining, KEY)


def offered(replica: HotfixReplica, machine: str) -> bool:
    status, body = replica.ask(token_of(machine), machine)
    assert status == 200, body
    return bool(json.loads(body)["hotfixes"].get(BASE) == FIX)


def report(replica: HotfixReplica, machine: str, *, run: str = "1", good: bool = True) -> None:
    body = report_text(run=run, used=FIX if good else "", wanted=FIX)
    assert replica.report(token_of(machine), machine, body) == 204


def ask_at_once(replicas: list[HotfixReplica], machines: list[str]) -> list[str]:
    """Which of these machines are offered the fix, if all ask at the same time."""
    with ThreadPoolExecutor(len(machines)) as pool:
        asking = [
            pool.submit(offered, replicas[number % len(replicas)], machine)
            for number, machine in enumerate(machines)
        ]
        return [name for name, one in zip(machines, asking, strict=True) if one.result()]


def test_two_boots_have_an_unproven_fix_though_forty_machines_ask_two_replicas(
    cluster: TestCluster, depot: Depot, started: list[HotfixReplica], tmp_path: Path
) -> None:
    first, second = started

    given = ask_at_once(started, IN_FIRST_WAVE[:40])

    assert len(given) == 2
    # Who asks again is told the same, whoever is asked, and takes no more room.
    assert sorted(ask_at_once([second, first], IN_FIRST_WAVE[:40])) == sorted(given)

    # A boot that ends well makes room for two: its own, and one more. Told to one, known to all.
    report(first, given[0])
    fresh = [name for name in IN_FIRST_WAVE[:40] if name not in given]
    wait_until(lambda: len(ask_at_once([second], fresh[:4])) == 2)
    assert len(ask_at_once(started, fresh[4:])) == 0

    # One is killed in the midst of questions; another takes its place, and nothing is forgotten.
    with ThreadPoolExecutor(8) as pool:
        asking = [pool.submit(ask_quietly, first, name) for name in fresh[4:12]]
        first.kill()
        assert not any(one.result() for one in asking)
    started[0] = HotfixReplica(cluster, depot, tmp_path)
    started[0].wait_until_ready()
    assert len(ask_at_once(started, fresh[4:])) == 0
    assert len(ask_at_once(started, [*given[1:], *fresh[:4]])) == 3


def ask_quietly(replica: HotfixReplica, machine: str) -> bool:
    """Ask one that may die meanwhile."""
    try:
        return offered(replica, machine)
    except OSError:
        return False


def test_a_bad_fix_is_halted_by_all_and_a_proof_that_was_used_proves_nothing_to_another(
    cluster: TestCluster, admin: KubeClient, depot: Depot, started: list[HotfixReplica]
) -> None:
    first, second = started
    given = ask_at_once(started, IN_FIRST_WAVE[:8])
    assert len(given) == 2

    report(first, given[0], good=False)
    report(second, given[1], good=False)
    # The same run told to another is not a second voice, and changes nothing.
    report(second, given[0], good=False)

    for replica in started:
        wait_until(lambda it=replica: not offered(it, given[0]))  # type: ignore[misc]
        assert ask_at_once([replica], IN_FIRST_WAVE) == []
    assert shown_status(admin, depot) == {
        "observedGeneration": 1,
        "state": "published, halted: 2 of 2 boots with it failed, 0 of 0 without it",
        "reach": "nobody",
        "have": 0,
        "lack": 0,
        "lacking": [],
        "region": "local",
    }

    once = token_of("once", uses=1)
    assert first.ask(once, "once")[0] == 200
    for replica in (second, first):
        assert replica.ask(once, "once")[0] == 401
    twice = token_of("twice", uses=2)
    statuses = [replica.ask(twice, "twice")[0] for replica in (first, second, first, second)]
    assert statuses == [200, 200, 401, 401]

    for replica in started:
        assert replica.end() == 0
        assert "Traceback" not in replica.log.read_text()
    check_rights(cluster, "fairlead-hotfix")
    kept = cluster.kubectl("-n", HOME, "get", "hotfixledgers", "-o", "name").split()
    assert f"hotfixledger.fairlead.dev/fairlead-node-{BASE}" in kept


def shown_status(admin: KubeClient, depot: Depot) -> object:
    """What an operator writes about the fix."""
    around = Around(
        published=PublishedFixes(depot.directory),
        machines=lambda: (),
        acts=lambda: True,
        changed=lambda: None,
        tell=pytest.fail,
    )
    HotfixCopies(admin, HOME, around).look()
    found = admin.find(HOTFIXES, FIX, HOME)
    return found and found["status"]


def test_room_is_one_for_questions_over_grpc_and_https_and_a_proof_counts_for_both(
    cluster: TestCluster, started: list[HotfixReplica]
) -> None:
    first, second = started

    def offered_by(number: int, machine: str) -> bool:
        replica = started[number % 4 // 2]
        return offered_by_grpc(replica, machine) if number % 2 else offered(replica, machine)

    with ThreadPoolExecutor(40) as pool:
        given = list(pool.map(offered_by, range(40), IN_FIRST_WAVE[:40]))
    assert sum(given) == 2
    # Who asks again is told the same over the other wire, by the other replica.
    again = list(pool_map(offered_by_grpc, second, IN_FIRST_WAVE[:40]))
    assert again == given == list(pool_map(offered, first, IN_FIRST_WAVE[:40]))

    # An agent of AKS names no version, and gets the pointer without signed metadata.
    code, answer = first.ask_by_grpc(token_of("aks"))
    assert (code, answer[:19], config_in(answer)) == ("OK", AKS, {"hotfixes": {}})
    assert first.ask_by_grpc("join1.e30.AAAA")[0] == "UNAUTHENTICATED"
    once = token_of("once", uses=1)
    assert first.ask_by_grpc(once)[0] == "OK"
    assert second.ask(once, "once")[0] == 401
    assert second.ask_by_grpc(once)[0] == "UNAUTHENTICATED"

    cluster.kill_server()
    try:
        assert not offered_by_grpc(first, IN_FIRST_WAVE[50])
    finally:
        cluster.start_server()
    for replica in started:
        replica.wait_until_ready()
        assert replica.end() == 0
        assert "Traceback" not in replica.log.read_text()


def pool_map(
    ask: Callable[[HotfixReplica, str], bool], replica: HotfixReplica, machines: list[str]
) -> list[bool]:
    with ThreadPoolExecutor(len(machines)) as pool:
        return list(pool.map(ask, [replica] * len(machines), machines))


def offered_by_grpc(replica: HotfixReplica, machine: str) -> bool:
    code, answer = replica.ask_by_grpc(token_of(machine), machine, f"{BASE}.0")
    assert code == "OK", answer
    return bool(config_in(answer)["hotfixes"].get(BASE) == FIX)


def config_in(answer: bytes) -> Any:
    """The JSON in a response of protobuf, which is its last field."""
    return json.loads(answer[answer.index(b"{") :])


def test_people_are_told_of_a_cluster_what_they_are_told_of_a_depot(
    cluster: TestCluster, depot: Depot, started: list[HotfixReplica]
) -> None:
    cluster.kubectl("apply", "--server-side", "-k", str(ROLES))
    viewer = Person(cluster, "vera", "fairlead-viewer", home=HOME)
    cluster.kubectl("-n", HOME, "delete", "configmap", CATALOG, "--ignore-not-found")
    says = viewer.is_refused("hotfix", "status")
    assert f"{HOME} has no ConfigMap {CATALOG}" in says
    file = f"--from-file=catalog.json={depot.catalog}"
    cluster.kubectl("-n", HOME, "create", "configmap", CATALOG, file)
    given = ask_at_once(started, IN_FIRST_WAVE[:8])
    report(started[0], given[0])
    report(started[1], given[1], good=False)
    report(started[1], "plain-1", run="plain")
    for number in range(2, 5):
        body = report_text(run="1", exit_code=0 if number % 2 else 6)
        assert started[0].report(token_of(f"plain-{number}"), f"plain-{number}", body) == 204
    for replica in started:
        assert replica.end() == 0

    told = viewer.reads("hotfix", "status", FIX)

    assert told == {
        "name": FIX,
        "component": "fairlead-node",
        "base": BASE,
        "state": "published",
        "schedule": "emergency",
        "everyone": False,
        "wave": 0,
        "reach": 0.01,
        "halted": "",
        "under_way": 0,
        "have": 2,
        "lack": 4,
        "regions": [
            {
                "region": "local",
                "have": 2,
                "lack": 4,
                "with": {"good": 2, "failed": 1},
                "without": {"good": 1, "failed": 2},
            }
        ],
        "causes": [{"cause": "exit 0", "machines": 1}],
        "lacking": sorted([given[1], "plain-2", "plain-3", "plain-4"]),
        "having": sorted([given[0], "plain-1"]),
    }
    assert viewer.reads("hotfix", "status") == {
        "fixes": [{name: one for name, one in told.items() if name not in ("lacking", "having")}]
    }
    shown = " ".join(viewer.says("hotfix", "status", FIX).split())
    assert f"lack it 4 machines: {', '.join(told['lacking'])}" in shown
    assert "MACHINES CAUSE 1 exit 0" in shown
    here = ("--depot", str(depot.directory))
    for words in (("list",), ("bases", "list"), ("region", "list")):
        assert viewer.says("hotfix", *words) == viewer.types("hotfix", *words, *here).stdout
    assert "expected --kube or --depot" in viewer.is_refused("hotfix", "list", *here)
    says = viewer.is_refused("hotfix", "bases", "-o", "json", "add", "202612.01")
    assert "a catalog is changed in its depot" in says
    nobody = Person(cluster, "nemo", "view", home="default")
    says = nobody.types("--kube", "hotfix", "list").stderr
    assert f"nemo may not get configmaps in the namespace {HOME}" in says
    assert f"kubectl create rolebinding NAME -n {HOME} --clusterrole=fairlead-viewer" in says


def test_questions_without_an_offer_cost_no_write_each(
    admin: KubeClient, depot: Depot, started: list[HotfixReplica]
) -> None:
    fix = replace(make_fix(published_at=START), everyone=True)
    depot.write_catalog(make_catalog([fix]))
    for replica in started:
        wait_until(lambda it=replica: len(ask_at_once([it], IN_FIRST_WAVE[:4])) == 4)  # type: ignore[misc]
    before = writes_of(admin)

    given = ask_at_once(started, [f"plain-{number}" for number in range(100)])

    assert len(given) == 100
    # Each replica writes what waited for company once in five seconds.
    assert writes_of(admin) - before <= 4


def writes_of(admin: KubeClient) -> int:
    """How often the ledger of the base was written: its generation."""
    found = admin.find(HOTFIX_LEDGERS, f"fairlead-node-{BASE}", HOME)
    return int(found["metadata"]["generation"]) if found else 0


def test_a_replica_without_an_api_server_offers_nothing_unproven_and_answers_the_rest(
    cluster: TestCluster, started: list[HotfixReplica]
) -> None:
    first = started[0]
    cluster.kill_server()
    try:
        assert first.get("/readyz")[0] == 503
        assert not offered(first, IN_FIRST_WAVE[0])
        assert not offered(first, IN_FIRST_WAVE[1])
    finally:
        cluster.start_server()
    for replica in started:
        replica.wait_until_ready()
    wait_until(lambda: offered(first, IN_FIRST_WAVE[0]))


def test_two_who_write_the_same_at_once_both_count(cluster: TestCluster, admin: KubeClient) -> None:
    install(cluster, ["fairlead-hotfix"])
    cluster.kubectl("-n", HOME, "delete", "hotfixledgers", "--all")
    fix = replace(make_fix(published_at=START), wave=4)

    def offers_of(number: int) -> int:
        ledger, now = KubeLedger(admin, HOME), datetime.now(UTC)
        machines = [f"r{number}-{one}" for one in range(10)]
        return sum(ledger.offer(fix, asker_of(name), now) for name in machines)

    with ThreadPoolExecutor(4) as pool:
        assert sum(pool.map(offers_of, range(4))) == 2
    assert KubeLedger(admin, HOME).standings([fix])[FIX].fixed.under_way == 2


def test_what_sixty_threads_count_at_once_is_a_few_writes(
    cluster: TestCluster, admin: KubeClient
) -> None:
    install(cluster, ["fairlead-hotfix"])
    cluster.kubectl("-n", HOME, "delete", "hotfixledgers", "--all")
    ledger, fix = KubeLedger(admin, HOME), make_fix(published_at=START)

    def count_one(number: int) -> bool:
        return count(ledger, boot(f"m{number}", fixed=True), datetime.now(UTC), fix)

    with ThreadPoolExecutor(60) as pool:
        assert all(pool.map(count_one, range(60)))

    assert counted(ledger, fix)[0].good == 60
    assert writes_of(admin) <= 12


def asker_of(machine: str) -> Asker:
    return Asker(component="fairlead-node", machine=machine, region="local", base=BASE)
