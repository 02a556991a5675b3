"""Leader election, watching and writing, on a real API server."""

import subprocess
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from fairlead.errors import ConflictError, InputError
from fairlead.kube.answer import ExpiredError
from fairlead.kube.client import KubeClient, connect
from fairlead.kube.informer import Informer, Selection
from fairlead.kube.lease import Elector, Place
from fairlead.kube.resource import LEASES, SECRETS
from kube.cluster import TestCluster, running_cluster

pytestmark = pytest.mark.slow

DEADLINE_S = 30


def secret(namespace: str, name: str, **values: str) -> dict[str, Any]:
    return {
        "apiVersion": "v1",
        "kind": "Secret",
        "metadata": {"name": name, "namespace": namespace, "labels": {"of": "test"}},
        "stringData": values,
    }


def wait_until(holds: Callable[[], bool]) -> None:
    end = time.monotonic() + DEADLINE_S
    while not holds():
        assert time.monotonic() < end, "it did not become true in time"
        time.sleep(0.02)


class Seen:
    """What an informer told."""

    def __init__(self) -> None:
        self.names: list[str] = []
        self.problems: list[str] = []

    def take(self, changed: dict[str, Any]) -> None:
        self.names.append(changed["metadata"]["name"])


@pytest.fixture
def informer(admin: KubeClient, namespace: str) -> Iterator[tuple[Informer, Seen]]:
    seen = Seen()
    following = Informer(admin, SECRETS, seen.take, seen.problems.append, Selection(namespace))
    following.start()
    assert following.wait_until_synced(DEADLINE_S)
    yield following, seen
    following.stop()


def test_a_list_comes_in_pages_and_whole(
    admin: KubeClient, namespace: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    for number in range(7):
        admin.create(SECRETS, secret(namespace, f"s-{number}"))
    monkeypatch.setattr("fairlead.kube.client.PAGE", 3)

    found, version = admin.list_all(SECRETS, namespace)

    assert [one["metadata"]["name"] for one in found] == [f"s-{n}" for n in range(7)]
    assert version.isdigit()


def test_making_what_is_there_is_a_conflict(admin: KubeClient, namespace: str) -> None:
    admin.create(SECRETS, secret(namespace, "one"))

    with pytest.raises(ConflictError, match="already exists"):
        admin.create(SECRETS, secret(namespace, "one"))


def test_applying_with_an_older_version_is_refused_although_it_is_forced(
    admin: KubeClient, namespace: str
) -> None:
    first = admin.apply(SECRETS, secret(namespace, "one", a="1"))
    admin.apply(SECRETS, secret(namespace, "one", a="2"))
    stale = secret(namespace, "one", a="3")
    stale["metadata"]["resourceVersion"] = first["metadata"]["resourceVersion"]

    with pytest.raises(ConflictError):
        admin.apply(SECRETS, stale)


def test_applying_to_an_object_that_was_made_anew_is_refused(
    admin: KubeClient, namespace: str
) -> None:
    first = admin.apply(SECRETS, secret(namespace, "one"))
    assert admin.delete(SECRETS, "one", namespace)
    admin.apply(SECRETS, secret(namespace, "one"))
    stale = secret(namespace, "one")
    stale["metadata"]["uid"] = first["metadata"]["uid"]

    with pytest.raises((ConflictError, InputError)):
        admin.apply(SECRETS, stale)


def test_deleting_another_object_of_the_same_name_is_refused(
    admin: KubeClient, namespace: str
) -> None:
    first = admin.create(SECRETS, secret(namespace, "one"))
    admin.delete(SECRETS, "one", namespace)
    admin.create(SECRETS, secret(namespace, "one"))

    with pytest.raises(ConflictError):
        admin.delete(SECRETS, "one", namespace, {"uid": first["metadata"]["uid"]})
    assert admin.find(SECRETS, "one", namespace) is not None


def test_deleting_what_is_not_there_is_no_error(admin: KubeClient, namespace: str) -> None:
    assert admin.delete(SECRETS, "never", namespace) is False


def test_a_value_that_the_server_refuses_is_named(admin: KubeClient, namespace: str) -> None:
    with pytest.raises(InputError, match=r"metadata\.name"):
        admin.create(SECRETS, secret(namespace, "No_Such_Name"))


def test_changes_of_others_are_told_and_seen(
    admin: KubeClient, namespace: str, informer: tuple[Informer, Seen]
) -> None:
    following, seen = informer
    admin.create(SECRETS, secret(namespace, "one"))
    wait_until(lambda: following.find(namespace, "one") is not None)

    admin.delete(SECRETS, "one", namespace)

    wait_until(lambda: following.find(namespace, "one") is None)
    assert seen.names == ["one", "one"]
    assert (following.lists, seen.problems) == (1, [])


def test_a_read_sees_what_was_just_written(admin: KubeClient, namespace: str) -> None:
    seen = Seen()
    behind = Informer(admin, SECRETS, seen.take, seen.problems.append, Selection(namespace))
    written = admin.create(SECRETS, secret(namespace, "one"))  # it follows nothing yet

    behind.note_written(written)

    assert behind.find(namespace, "one") == written
    behind.note_deleted(namespace, "one", written["metadata"]["uid"])
    assert behind.find(namespace, "one") is None
    assert behind.list_all() == []


def test_a_write_that_leads_to_nothing_is_not_told_and_the_next_is(
    admin: KubeClient, namespace: str
) -> None:
    seen = Seen()
    following = Informer(admin, SECRETS, seen.take, seen.problems.append, Selection(namespace))
    following.look()  # what is written from here on comes by the watch, once that has begun
    following.note_written(admin.create(SECRETS, secret(namespace, "known")), is_known=True)
    following.note_written(admin.create(SECRETS, secret(namespace, "leads-on")))
    following.start()
    try:
        wait_until(lambda: seen.names == ["leads-on"])
        found = following.find(namespace, "known")
        assert found is not None
        admin.replace(SECRETS, {**found, "stringData": {"a": "b"}})
        wait_until(lambda: seen.names == ["leads-on", "known"])
    finally:
        following.stop()


def test_a_server_that_restarts_and_forgets_is_followed_again(tmp_path: Path) -> None:
    with running_cluster(tmp_path / "own") as cluster:
        admin = connect(cluster.admin)
        seen = Seen()
        following = Informer(admin, SECRETS, seen.take, seen.problems.append, Selection("default"))
        following.start()
        assert following.wait_until_synced(DEADLINE_S)

        cluster.kill_server()
        cluster.start_server()
        admin.create(SECRETS, secret("default", "after-a-restart"))
        wait_until(lambda: following.find("default", "after-a-restart") is not None)
        assert seen.problems  # that it was gone was told

        following._version = "1"  # as after a night without a connection
        made = admin.create(SECRETS, secret("default", "before-the-end"))
        cluster.forget_history(made["metadata"]["resourceVersion"])
        following._version = "1"
        admin.create(SECRETS, secret("default", "after-all"))
        wait_until(lambda: following.find("default", "after-all") is not None)

        with pytest.raises(ExpiredError, match="too old"):
            next(iter(admin.watch(SECRETS, "1", "default")))
        following.stop()
        admin.close()


def elector(client: KubeClient, namespace: str, holder: str, **more: Any) -> Elector:
    place = Place(namespace=namespace, name="operator", holder=holder)
    return Elector(client, place, lambda _: None, **more)


def test_one_holds_the_lease_and_the_other_waits(admin: KubeClient, namespace: str) -> None:
    one, other = (elector(admin, namespace, name) for name in ("one", "other"))

    assert (one.try_once(), other.try_once()) == (True, False)
    assert (one.is_leader, other.is_leader) == (True, False)


def test_a_holder_that_goes_in_order_lets_the_other_begin_at_once(
    admin: KubeClient, namespace: str
) -> None:
    one, other = (elector(admin, namespace, name) for name in ("one", "other"))
    one.try_once()

    one.release()

    assert (one.is_leader, other.try_once()) == (False, True)
    found = admin.find(LEASES, "operator", namespace)
    assert found is not None
    assert found["spec"]["holderIdentity"] == "other"


def test_a_holder_that_stops_renewing_stops_before_the_other_begins(
    admin: KubeClient, namespace: str
) -> None:
    now = [0.0]
    one = elector(admin, namespace, "one", clock=lambda: now[0])
    other = elector(admin, namespace, "other", clock=lambda: now[0])
    one.try_once()
    leaders = []
    for second in range(1, 20):
        now[0] = float(second)
        other.try_once()
        leaders.append((one.is_leader, other.is_leader))

    assert (True, True) not in leaders
    assert leaders[8] == (True, False)  # nine seconds later
    assert leaders[10] == (False, False)
    assert leaders[-1] == (False, True)


def test_a_clock_that_runs_fast_takes_no_lease_that_is_renewed(
    admin: KubeClient, namespace: str
) -> None:
    now = [0.0]
    one = elector(admin, namespace, "one", clock=lambda: now[0])
    fast = elector(admin, namespace, "fast", clock=lambda: now[0] * 20)
    taken = []
    for second in range(0, 20, 2):
        now[0] = float(second)
        one.try_once()
        taken.append(fast.try_once())

    assert taken == [False] * 10  # forty of its seconds passed each time, and each saw a renewal


def test_a_holder_whose_clock_runs_slow_stops_at_its_first_look(
    admin: KubeClient, namespace: str
) -> None:
    now = [0.0]
    slow = elector(admin, namespace, "slow", clock=lambda: now[0] / 20)
    other = elector(admin, namespace, "other", clock=lambda: now[0])
    slow.try_once()
    other.try_once()
    now[0] = 16.0
    assert other.try_once()
    assert slow.is_leader  # by its own clock: why writes carry the version they were decided from

    assert not slow.try_once()
    assert (slow.is_leader, other.is_leader) == (False, True)


def test_of_many_that_try_at_once_one_gets_it(cluster: TestCluster, namespace: str) -> None:
    clients = [connect(cluster.admin) for _ in range(6)]
    electors = [elector(one, namespace, f"holder-{n}") for n, one in enumerate(clients)]
    threads = [threading.Thread(target=one.try_once) for one in electors]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(DEADLINE_S)

    assert sum(one.is_leader for one in electors) == 1
    for client in clients:
        client.close()


def test_kubectl_reads_the_same_server(cluster: TestCluster, namespace: str) -> None:
    assert namespace in cluster.kubectl("get", "namespaces", "-o", "name")


def test_without_a_kubeconfig_the_way_out_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("KUBECONFIG", str(tmp_path / "none"))

    with pytest.raises(InputError, match="--kubeconfig"):
        connect()


def test_nothing_of_a_cluster_runs_on_after_it(tmp_path: Path) -> None:
    with running_cluster(tmp_path / "own") as cluster:
        directory = str(cluster.directory)
    running = subprocess.run(["ps", "-eo", "args"], capture_output=True, text=True, check=True)
    assert directory not in running.stdout
