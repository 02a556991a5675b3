"""What must happen to a pool in each case of its life, with Cluster API's own controllers."""

from collections.abc import Iterator
from datetime import timedelta
from functools import partial
from typing import Any

import pytest

from fairlead.kube.answer import Object
from fairlead.kube.resource import MACHINES, PLATFORM_CONFIGS, SECRETS
from kube.cluster_api import BOOTED_FROM, TEST_MACHINES
from kube.fleet import NAMESPACE, Fleet, wait_until
from kube.invariants import kept_of
from kube.unrest import MovedClock

pytestmark = pytest.mark.slow

FIRST, SECOND, THIRD = "202607.01", "202607.02", "202607.03"


@pytest.fixture
def clock() -> MovedClock:
    return MovedClock()


@pytest.fixture
def fleet(clock: MovedClock, unmanned: Fleet) -> Iterator[Fleet]:
    unmanned.now = clock.now
    unmanned.start_operator()
    yield unmanned
    unmanned.provider.is_silent = False
    unmanned.admin.delete(PLATFORM_CONFIGS, "platform", NAMESPACE)


def start_again(fleet: Fleet) -> None:
    """As after an update of the operator, or at another hour."""
    fleet.stop_operators()
    fleet.start_operator()


def drift(fleet: Fleet, image: str = "registry.example.test/proxy:2") -> None:
    document = {
        "apiVersion": PLATFORM_CONFIGS.api_version,
        "kind": "PlatformConfig",
        "metadata": {"name": "platform", "namespace": NAMESPACE},
        "spec": {"proxy": {"image": image}},
    }
    fleet.admin.apply(PLATFORM_CONFIGS, document, manager="owner")


def told(fleet: Fleet, name: str) -> str:
    """The revision that a pool's template names."""
    spec = fleet.deployment(name)["spec"]["template"]["spec"]
    return str(spec["bootstrap"]["dataSecretName"]).removeprefix(f"user-data-{name}-")


def generation(fleet: Fleet, name: str) -> int:
    return int(fleet.deployment(name)["metadata"]["generation"])


def pairs(fleet: Fleet, name: str) -> list[str]:
    """The pairs of a pool, each Secret of them once."""
    return sorted(one.rpartition("-")[2] for one in fleet.secrets(name))


def twice(*revisions: str) -> list[str]:
    """What pairs are of these revisions: a token and user data of each."""
    return sorted([*revisions, *revisions])


def token_of(fleet: Fleet, name: str, pair: str) -> Any:
    found = fleet.admin.find(SECRETS, f"token-{name}-{pair}", NAMESPACE)
    assert found is not None
    return kept_of(found)


def token_in_user_data(fleet: Fleet, name: str, pair: str) -> str:
    found = fleet.admin.find(SECRETS, f"user-data-{name}-{pair}", NAMESPACE)
    assert found is not None
    return str(kept_of(found)["token"])


def booted_from(fleet: Fleet, name: str) -> dict[str, str]:
    """Which user data each machine of a pool was given when it had power."""
    machines = set(fleet.machines(name))
    found: list[Object] = fleet.admin.list_all(TEST_MACHINES, NAMESPACE)[0]
    return {
        one["metadata"]["name"]: one["metadata"]["annotations"][BOOTED_FROM].split()[0]
        for one in found
        if one["metadata"]["name"] in machines and BOOTED_FROM in one["metadata"]["annotations"]
    }


def is_condition(fleet: Fleet, name: str, kind: str, *expected: str) -> bool:
    found = fleet.condition(name, kind)
    return (found["status"], found["reason"]) == expected


def wait_for(fleet: Fleet, name: str, kind: str, *expected: str) -> None:
    wait_until(
        lambda: is_condition(fleet, name, kind, *expected), lambda: fleet.pool(name)["status"]
    )


def events_of(fleet: Fleet, name: str) -> str:
    return " ".join(fleet.pool(name)["status"]["journal"])


def test_an_intent_change_replaces_all_and_the_first_secrets_go_after_their_grace(
    fleet: Fleet, clock: MovedClock
) -> None:
    fleet.declare("intent", imageBase=FIRST)
    fleet.settle("intent")
    first = told(fleet, "intent")
    fleet.provider.is_silent = True
    fleet.declare("intent", imageBase=SECOND)

    wait_for(fleet, "intent", "UpdatingConfig", "True", "RolloutInProgress")
    assert is_condition(fleet, "intent", "ConfigUpdatePending", "False", "RolloutInProgress")
    assert is_condition(fleet, "intent", "UpdatingVersion", "False", "AsExpected")
    second = told(fleet, "intent")
    assert pairs(fleet, "intent") == twice(first, second)
    record = fleet.pool("intent")["status"]["record"]
    assert (record["applied"], record["target"]) == (first, second)

    fleet.provider.is_silent = False
    fleet.settle("intent")
    record = fleet.pool("intent")["status"]["record"]
    assert (record["applied"], record["target"]) == (second, second)
    assert set(booted_from(fleet, "intent").values()) == {f"user-data-intent-{second}"}
    assert generation(fleet, "intent") == 2
    assert pairs(fleet, "intent") == twice(first, second)

    clock.ahead = timedelta(hours=2, minutes=1)
    start_again(fleet)
    wait_until(lambda: pairs(fleet, "intent") == twice(second), lambda: pairs(fleet, "intent"))


def test_a_platform_change_during_a_rollout_waits_until_it_is_over(fleet: Fleet) -> None:
    fleet.declare("during", imageBase=FIRST)
    fleet.settle("during")
    fleet.provider.is_silent = True
    fleet.declare("during", imageBase=SECOND)
    wait_for(fleet, "during", "UpdatingConfig", "True", "RolloutInProgress")
    target = told(fleet, "during")

    drift(fleet)
    wait_until(
        lambda: "queued" in fleet.condition("during", "ConfigUpdatePending")["message"],
        lambda: fleet.pool("during")["status"],
    )
    assert told(fleet, "during") == target
    fleet.provider.is_silent = False

    wait_for(fleet, "during", "ConfigUpdatePending", "True", "ManagementConfigDrift")
    assert fleet.state("during") == "Drifted"
    assert set(booted_from(fleet, "during").values()) == {f"user-data-during-{target}"}
    assert fleet.pool("during")["status"]["record"]["applied"] == target
    assert generation(fleet, "during") == 2


def test_an_intent_change_during_a_rollout_retargets_it_and_the_middle_is_never_applied(
    fleet: Fleet, clock: MovedClock
) -> None:
    fleet.declare("retarget", imageBase=FIRST)
    fleet.settle("retarget")
    first = told(fleet, "retarget")
    fleet.provider.is_silent = True
    fleet.declare("retarget", imageBase=SECOND)
    wait_for(fleet, "retarget", "UpdatingConfig", "True", "RolloutInProgress")
    wait_until(lambda: told(fleet, "retarget") != first)
    middle = told(fleet, "retarget")

    fleet.declare("retarget", imageBase=THIRD)
    wait_until(lambda: told(fleet, "retarget") not in (first, middle), lambda: fleet.said[-5:])
    newest = told(fleet, "retarget")
    wait_until(lambda: pairs(fleet, "retarget") == twice(first, middle, newest))
    fleet.provider.is_silent = False
    fleet.settle("retarget")

    assert set(booted_from(fleet, "retarget").values()) == {f"user-data-retarget-{newest}"}
    assert len(fleet.machines("retarget")) == 2
    completed = [
        one for one in fleet.pool("retarget")["status"]["journal"] if '"RolloutCompleted"' in one
    ]
    assert len(completed) == 2  # the first machines, and the newest
    assert not any(middle in one for one in completed)
    assert generation(fleet, "retarget") == 3
    clock.ahead = timedelta(hours=2, minutes=1)
    start_again(fleet)
    wait_until(lambda: pairs(fleet, "retarget") == twice(newest), lambda: pairs(fleet, "retarget"))


def test_an_intent_change_while_drifted_is_one_rollout_to_the_latest_of_both(
    fleet: Fleet,
) -> None:
    fleet.declare("both", imageBase=FIRST)
    fleet.settle("both")
    drift(fleet)
    wait_until(lambda: fleet.state("both") == "Drifted")

    fleet.declare("both", imageBase=SECOND)
    fleet.settle("both")

    assert generation(fleet, "both") == 2
    assert is_condition(fleet, "both", "ConfigUpdatePending", "False", "AsExpected")


def test_reverting_within_the_grace_brings_the_first_secrets_back_to_life(fleet: Fleet) -> None:
    fleet.declare("revert", imageBase=FIRST, replicas=1)
    fleet.settle("revert")
    first = told(fleet, "revert")
    token = token_of(fleet, "revert", first)["token"]
    fleet.declare("revert", imageBase=SECOND, replicas=1)
    fleet.settle("revert")
    wait_until(lambda: token_of(fleet, "revert", first).get("expires_at") is not None)

    fleet.declare("revert", imageBase=FIRST, replicas=1)
    fleet.settle("revert")

    assert told(fleet, "revert") == first
    wait_until(lambda: token_of(fleet, "revert", first).get("expires_at") is None)
    assert token_of(fleet, "revert", first)["token"] == token


def test_scaling_up_while_drifted_after_rotations_and_a_restart_boots_with_a_valid_token(
    fleet: Fleet, clock: MovedClock
) -> None:
    fleet.declare("grown", replicas=1)
    fleet.settle("grown")
    revision, before = told(fleet, "grown"), fleet.deployment("grown")["spec"]["template"]
    drift(fleet)
    wait_until(lambda: fleet.state("grown") == "Drifted")
    for _ in range(3):
        token = token_in_user_data(fleet, "grown", revision)
        clock.ahead += timedelta(hours=5, minutes=31)
        start_again(fleet)
        wait_until(partial(is_rotated, fleet, "grown", token))

    fleet.declare("grown", replicas=3)
    wait_until(lambda: len(booted_from(fleet, "grown")) == 3)
    wait_until(lambda: fleet.pool("grown")["status"]["available"] == 3)

    assert set(booted_from(fleet, "grown").values()) == {f"user-data-grown-{revision}"}
    token = token_of(fleet, "grown", revision)
    assert token_in_user_data(fleet, "grown", revision) == token["token"]
    assert token.get("expires_at") is None
    assert fleet.deployment("grown")["spec"]["template"] == before
    assert is_condition(fleet, "grown", "ConfigUpdatePending", "True", "ManagementConfigDrift")


def test_a_pinned_secret_that_was_deleted_comes_back_under_its_name(fleet: Fleet) -> None:
    fleet.declare("pinned", replicas=1)
    fleet.settle("pinned")
    revision, before = told(fleet, "pinned"), generation(fleet, "pinned")
    drift(fleet)
    wait_until(lambda: fleet.state("pinned") == "Drifted")

    for kind in ("token", "user-data"):
        name = f"{kind}-pinned-{revision}"
        found = fleet.admin.find(SECRETS, name, NAMESPACE)
        assert found is not None
        fleet.admin.delete(SECRETS, name, NAMESPACE)
        gone = found["metadata"]["uid"]
        wait_until(partial(is_made_anew, fleet, name, gone))

    wait_until(
        lambda: (
            token_in_user_data(fleet, "pinned", revision)
            == token_of(fleet, "pinned", revision)["token"]
        )
    )
    wait_until(lambda: "SecretRecreated" in events_of(fleet, "pinned"))
    assert (generation(fleet, "pinned"), told(fleet, "pinned")) == (before, revision)


def is_rotated(fleet: Fleet, name: str, before: str) -> bool:
    return token_in_user_data(fleet, name, told(fleet, name)) != before


def is_made_anew(fleet: Fleet, name: str, uid: str) -> bool:
    found = fleet.admin.find(SECRETS, name, NAMESPACE)
    return found is not None and found["metadata"]["uid"] != uid


def test_a_paused_pool_shows_drift_and_scales_and_repairs_and_replaces_nothing(
    fleet: Fleet,
) -> None:
    fleet.declare("paused", imageBase=FIRST)
    fleet.settle("paused")
    revision, machines = told(fleet, "paused"), fleet.machines("paused")

    fleet.declare("paused", imageBase=SECOND, paused=True, replicas=3)
    drift(fleet)
    wait_until(lambda: len(fleet.machines("paused")) == 3, lambda: fleet.pool("paused")["status"])
    wait_until(lambda: fleet.pool("paused")["status"]["available"] == 3)
    fleet.admin.delete(MACHINES, machines[0], NAMESPACE)  # as a repair does
    wait_until(lambda: machines[0] not in fleet.machines("paused"))
    wait_until(lambda: fleet.pool("paused")["status"]["available"] == 3)

    assert fleet.state("paused") == "Held"
    assert is_condition(fleet, "paused", "UpdatingConfig", "True", "Paused")
    assert is_condition(fleet, "paused", "ReconciliationActive", "False", "Paused")
    assert "proxy.image" in fleet.pool("paused")["status"]["record"]["text"]
    assert set(booted_from(fleet, "paused").values()) == {f"user-data-paused-{revision}"}
    assert machines[1] in fleet.machines("paused")

    fleet.declare("paused", imageBase=SECOND, replicas=3)
    fleet.settle("paused")
    assert f"user-data-paused-{revision}" not in booted_from(fleet, "paused").values()


def test_a_pool_without_machines_adopts_at_once(fleet: Fleet) -> None:
    fleet.declare("empty", replicas=0, imageBase=FIRST)
    fleet.settle("empty")
    first = told(fleet, "empty")

    drift(fleet)
    wait_until(lambda: told(fleet, "empty") != first)
    fleet.settle("empty")

    record = fleet.pool("empty")["status"]["record"]
    assert record["applied"] == record["target"] == told(fleet, "empty")
    assert is_condition(fleet, "empty", "ConfigUpdatePending", "False", "AsExpected")


def test_new_machines_refreshed_by_the_platform_boot_from_the_same_name(fleet: Fleet) -> None:
    fleet.declare("fresh", replicas=1, platformChanges={"newNodes": "Refresh"})
    fleet.settle("fresh")
    revision, before = told(fleet, "fresh"), generation(fleet, "fresh")

    drift(fleet)
    wait_until(lambda: token_of(fleet, "fresh", revision)["served"] != revision)
    start_again(fleet)
    fleet.declare("fresh", replicas=2, platformChanges={"newNodes": "Refresh"})
    wait_until(
        lambda: fleet.pool("fresh")["status"]["available"] == 2,
        lambda: (fleet.pool("fresh")["status"], fleet.said[-5:]),
    )

    assert told(fleet, "fresh") == revision
    assert set(booted_from(fleet, "fresh").values()) == {f"user-data-fresh-{revision}"}
    assert generation(fleet, "fresh") == before + 1  # how many there are to be
