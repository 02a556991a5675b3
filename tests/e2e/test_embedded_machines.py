"""A real control plane over machines that really boot: what they do right, and wrong on request."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from e2e.running_plane import RunningPlane


@pytest.fixture
def plane(tmp_path: Path) -> Iterator[RunningPlane]:
    with RunningPlane(tmp_path / "state") as running:
        running.settled()
        yield running


def patch(plane: RunningPlane, **spec: Any) -> None:
    plane.client.request("PATCH", "/v1/pools/workers", {"spec": spec})


def machines(plane: RunningPlane) -> list[dict[str, Any]]:
    return list(plane.ask("/v1/machines?pool=workers")["machines"])


def machine(plane: RunningPlane, name: str) -> dict[str, Any]:
    return plane.ask(f"/v1/machines/{name}")


def pool(plane: RunningPlane) -> dict[str, Any]:
    return plane.ask("/v1/pools/workers")


def halted(plane: RunningPlane) -> str:
    return str(plane.until(lambda: pool(plane)["halted"]))


def test_a_machine_boots_from_its_user_data_and_says_where_the_time_went(
    plane: RunningPlane,
) -> None:
    name = sorted(plane.machine_names())[0]

    found = machine(plane, name)

    root = plane.directory.machines / name / "root"
    user_data = (root / "var/lib/cloud/seed/nocloud/user-data").read_text()
    assert "Content-Type: text/cloud-boothook" in user_data
    assert (root / "etc/hostname").read_text().strip() == name
    assert found["phase"] == "ready"
    assert found["booted"] == found["revision"]
    stages = [stage[0] for stage in found["report"]["stages"]]
    assert "fetch-config" in stages
    assert "provision" in stages


def test_labels_taints_and_how_to_join_are_in_what_a_machine_was_given(plane: RunningPlane) -> None:
    patch(
        plane,
        labels={"tier": "web", "example.com/spot": ""},
        taints=[{"key": "k", "effect": "NoSchedule"}],
    )
    before = plane.machine_names()
    plane.until(lambda: not plane.settled()["waits"])
    patch(plane, replicas=4)
    plane.until(lambda: plane.settled()["total"] == 4)

    added = next(iter(plane.machine_names() - before))
    config = plane.directory.machines / added / "root/etc/fairlead/node-config.json"

    text = config.read_text()
    assert '"tier": "web"' in text
    assert '"example.com/spot": ""' in text
    assert "k:NoSchedule" in text
    assert "kubernetes_ca_cert" in text
    assert before < plane.machine_names()


def test_a_machine_has_the_pull_secret_the_bundle_and_the_keys_that_its_pool_names(
    plane: RunningPlane,
) -> None:
    certificate = "-----BEGIN CERTIFICATE-----\nQUFB\n-----END CERTIFICATE-----\n"
    login = '{"auths": {"registry.example.test": {"auth": "cm9ib3Q6aHVudGVyLTItaHVudGVy"}}}'
    (plane.directory.secrets / "login").write_text(login)
    (plane.directory.secrets / "company-ca").write_text(certificate)
    patch(
        plane,
        pullSecret={"name": "login"},
        trustBundle={"name": "company-ca"},
        sshKeys=["ssh-ed25519 AAAA"],
        config=[{"kind": "KubeletConfiguration", "registryPullQPS": 0}],
    )

    plane.until(lambda: not plane.settled()["waits"])

    for name in plane.machine_names():
        root = plane.directory.machines / name / "root"
        found = (root / "var/lib/kubelet/config.json").read_text()
        assert "cm9ib3Q6aHVudGVyLTItaHVudGVy" in found
        trusted = root / "usr/local/share/ca-certificates/fairlead-custom-0.crt"
        assert trusted.read_text() == certificate
        keys = next(root.glob("root/.ssh/*")).read_text()
        assert keys.endswith("ssh-ed25519 AAAA\n")
        assert '"registryPullQPS": 0' in (root / "etc/kubernetes/kubelet-config.json").read_text()
    database = plane.directory.database
    assert b"cm9ib3Q6aHVudGVyLTItaHVudGVy" not in b"".join(
        file.read_bytes() for file in database.parent.glob(f"{database.name}*")
    )


def test_a_login_that_is_renewed_reaches_the_machines_of_a_pool_that_says_so(
    plane: RunningPlane,
) -> None:
    login = plane.directory.secrets / "login"
    login.write_text('{"auths": {"registry.example.test": {"auth": "b25lOm9uZS1wYXNz"}}}')
    patch(plane, pullSecret={"name": "login"}, secretContent="Roll")
    plane.until(lambda: not plane.settled()["waits"])
    before = plane.machine_names()

    login.write_text('{"auths": {"registry.example.test": {"auth": "dHdvOnR3by1wYXNz"}}}')

    plane.until(lambda: not plane.machine_names() & before)
    plane.until(lambda: not plane.settled()["waits"])
    for name in plane.machine_names():
        root = plane.directory.machines / name / "root"
        assert "dHdvOnR3by1wYXNz" in (root / "var/lib/kubelet/config.json").read_text()
    reasons = {one["reason"] for one in plane.ask("/v1/machines?gone=1")["machines"]}
    assert "the pool's owner changed pullSecret.content" in reasons


def test_a_pool_scaled_up_while_a_change_is_held_boots_like_its_siblings(
    plane: RunningPlane,
) -> None:
    before = plane.machine_names()
    plane.client.request("PATCH", "/v1/platform", {"spec": {"proxy": {"image": "haproxy:other"}}})
    patch(plane, replicas=4)

    found = plane.until(lambda: (p := plane.settled())["total"] == 4 and p)

    assert found["state"] == "Drifted"
    assert [held["leaf"] for held in found["held"]] == ["platform.proxy.image"]
    assert before < plane.machine_names()
    assert len({one["booted"] for one in machines(plane)}) == 1


def test_two_machines_that_cannot_boot_halt_a_rollout_and_resume_lets_it_go_on(
    plane: RunningPlane,
) -> None:
    before = plane.machine_names()
    faults = {"faults": ["fail-boot", "fail-boot"]}
    plane.client.request("POST", "/v1/pools/workers/faults", faults)
    patch(plane, release={"version": "1.34.9"}, autoRepair=True)

    cause = halted(plane)

    assert cause.startswith("2 machines failed, among them workers-")
    assert "stage provision" in cause
    survivors = {one["name"] for one in machines(plane) if one["phase"] == "ready"}
    assert survivors == before

    plane.run("pool", "resume", "workers")
    assert plane.settled()["version"] == "1.34.9"
    assert plane.machine_names().isdisjoint(before)


def test_a_machine_that_never_joins_is_named_with_how_far_it_came(plane: RunningPlane) -> None:
    plane.client.request("POST", "/v1/pools/workers/faults", {"faults": ["never-join"]})
    patch(plane, timeouts={"join": "2s"}, rollout={"haltAfter": 1, "estimate": "5s"})
    patch(plane, release={"version": "1.34.9"})

    cause = halted(plane)

    assert "never joined" in cause
    assert sum(one["phase"] == "ready" for one in machines(plane)) == 3


def test_a_drain_that_does_not_end_is_what_a_rollout_says_it_waits_for(plane: RunningPlane) -> None:
    stuck = sorted(plane.machine_names())[0]
    plane.client.request("POST", f"/v1/machines/{stuck}/fault", {"fault": "stuck-drain"})
    patch(plane, release={"version": "1.34.9"})

    wait = plane.until(
        lambda: next((w for w in pool(plane)["waits"] if w["machine"] == stuck), None)
    )

    assert "its drain does not end: a disruption budget allows no eviction" in wait["says"]
    plane.client.request("POST", f"/v1/machines/{stuck}/fault", {"fault": "none"})
    assert plane.settled()["version"] == "1.34.9"


def test_a_broken_machine_is_repaired_if_the_owner_wants_it(plane: RunningPlane) -> None:
    broken = sorted(plane.machine_names())[0]
    plane.client.request("POST", f"/v1/machines/{broken}/fault", {"fault": "break"})
    plane.until(lambda: machine(plane, broken)["phase"] == "failed")
    assert broken in plane.machine_names()

    patch(plane, autoRepair=True)

    plane.until(lambda: broken not in plane.machine_names() and plane.settled())
    assert machine(plane, broken)["reason"] == "repair: it broke, on request"


def test_an_owner_who_deletes_machines_one_by_one_rolls_an_on_delete_pool(
    plane: RunningPlane,
) -> None:
    before = plane.machine_names()
    patch(plane, management={"strategy": "OnDelete"}, release={"version": "1.34.9"})
    plane.until(lambda: any(wait["for"] == "WaitsForOwner" for wait in pool(plane)["waits"]))
    assert plane.machine_names() == before

    for name in sorted(before):
        plane.run("machine", "delete", name, "--yes")
        plane.until(lambda name=name: name not in plane.machine_names())  # type: ignore[misc]

    assert plane.settled()["version"] == "1.34.9"
    assert machine(plane, sorted(before)[0])["reason"] == "deleted by hand"


def test_an_in_place_pool_keeps_its_machines(plane: RunningPlane) -> None:
    document = pool(plane)["document"]
    document["metadata"]["name"] = "steady"
    document["spec"] |= {"management": {"type": "InPlace"}, "replicas": 2}
    plane.client.request("POST", "/v1/apply", {"documents": [document], "plans": None})
    plane.settled("steady")
    before = plane.machine_names("steady")
    revisions = {one["booted"] for one in plane.ask("/v1/machines?pool=steady")["machines"]}

    spec = {"release": {"version": "1.34.9"}}
    plane.client.request("PATCH", "/v1/pools/steady", {"spec": spec})
    plane.until(lambda: plane.settled("steady")["version"] == "1.34.9")

    after = plane.ask("/v1/machines?pool=steady")["machines"]
    assert {one["name"] for one in after} == before
    assert revisions.isdisjoint(one["booted"] for one in after)
    config = plane.directory.machines / min(before) / "root/etc/fairlead/node-config.json"
    assert '"1.34.9"' in config.read_text()


def test_a_deleted_pool_leaves_its_story_and_nothing_else(plane: RunningPlane) -> None:
    names = plane.machine_names()

    plane.run("pool", "delete", "workers", "--yes")

    plane.until(lambda: plane.ask("/v1/pools") == {"pools": []})
    assert list(plane.directory.machines.iterdir()) == []
    assert machine(plane, min(names))["reason"] == "the pool was deleted"
    assert "PoolDeleted" in {e["kind"] for e in plane.ask("/v1/events?pool=workers")["events"]}


def test_a_second_control_plane_on_the_same_state_is_shown_the_first(plane: RunningPlane) -> None:
    said = plane.run("up", "--no-view")

    assert "workers" in said


def test_what_belongs_to_nobody_is_told_and_left_alone(plane: RunningPlane) -> None:
    """A database that was restored from yesterday must not cost today's machines."""
    plane.run("down")
    stranger = plane.directory.machines / "workers-yesterday"
    stranger.mkdir()
    plane.start()

    plane.settled()

    assert stranger.is_dir()
    assert f"{stranger} belongs to no machine that is known here" in plane.log()


def test_down_and_up_again_keep_every_machine(plane: RunningPlane) -> None:
    before = plane.machine_names()
    plane.run("down")
    plane.start()

    plane.settled()

    assert plane.machine_names() == before
