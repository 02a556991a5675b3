"""Versions of pools against the control plane that their cluster says it has."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest

from fairlead.errors import InputError
from fairlead.inputs.versions import ControlPlane
from fairlead.kube.cluster_api.control_planes import ControlPlanes, bare_version, told_version
from fairlead.kube.front.scope import Scope
from fairlead.kube.front.seen import SeenCluster
from fairlead.kube.resource import (
    CLUSTERS,
    MACHINE_DEPLOYMENTS,
    NODE_POOLS,
    PLATFORM_CONFIGS,
    SECRETS,
)
from fairlead.proposal.propose import propose
from unit.kube.object_server import NAMESPACE
from unit.kube.one_operator import SPEC, OneOperator, one_operator
from unit.kube.small_server import SmallServer, small_server

NEWER = (
    "found 1.34.2, newer than the control plane, which is at 1.33.4 "
    "(to have it anyway: release.allow: [Skew])"
)
UNKNOWN = (
    "the version of its control plane is not known: the cluster c cannot be asked: "
    "there is no Secret c-kubeconfig in a yet"
)


@pytest.fixture
def one() -> Iterator[OneOperator]:
    with one_operator() as one:
        yield one


@contextmanager
def answering(one: OneOperator, version: Any) -> Iterator[SmallServer]:
    """A workload cluster whose API server says that it has this version."""
    server = SmallServer()
    server.reply = lambda *_: (200, {"gitVersion": version}, False)
    with small_server(server) as address:
        one.join(address)
        yield server
        one.operator.world.workloads.close()


def tell(one: OneOperator, *versions: str) -> None:
    """Let Cluster API say of the Cluster which versions its API servers have."""
    told = [{"version": version} for version in versions]
    one.server.put(CLUSTERS, "c", spec={}, status={"controlPlane": {"versions": told}})


def template(one: OneOperator) -> dict[str, Any] | None:
    """What machines of the pool are made from."""
    found = one.server.get(MACHINE_DEPLOYMENTS, "workers")
    return dict(found["spec"]["template"]["spec"]) if found else None


def skew(one: OneOperator) -> tuple[str, str, str]:
    found = one.condition("SupportedVersionSkew")
    return found["status"], found["reason"], found["message"]


def test_a_pool_newer_than_its_control_plane_is_refused_by_the_operator(one: OneOperator) -> None:
    one.declare()
    with answering(one, "v1.33.4-eks-0a1b2c") as server:
        one.passes(3)

    status = one.status()
    assert (status["state"], status["controlPlaneVersion"]) == ("Blocked", "1.33.4")
    refused = one.condition("ValidRelease")
    assert (refused["status"], refused["reason"]) == ("False", "ValidationFailed")
    assert refused["message"] == f"spec.release.version: {NEWER}"
    assert skew(one)[:2] == ("False", "BeyondPolicy")
    assert template(one) is None
    assert server.asked == [("GET", "/version")]


def test_an_owner_who_says_so_has_it_and_sees_it(one: OneOperator) -> None:
    one.declare(release={"version": "1.34.2", "allow": ["Skew"]})
    tell(one, "v1.33.4")
    one.passes(2)

    assert template(one) is not None
    assert one.condition("ValidRelease")["status"] == "True"
    assert skew(one)[0] == "False"


def test_a_control_plane_that_nobody_knows_refuses_nothing_and_is_told(one: OneOperator) -> None:
    one.declare(release={"version": "1.99.0"})
    one.passes(2)

    assert template(one) is not None
    assert skew(one) == ("Unknown", "ControlPlaneUnknown", UNKNOWN)
    assert "controlPlaneVersion" not in {name for name, told in one.status().items() if told}


def test_cluster_api_is_believed_before_anybody_is_asked(one: OneOperator) -> None:
    one.declare()
    tell(one, "v1.35.0", "v1.34.1")
    with answering(one, "v1.20.0") as server:
        one.passes(3)

    assert (server.asked, one.status()["controlPlaneVersion"]) == ([], "1.34.1")
    assert skew(one)[0] == "True"


def test_a_refused_version_leaves_what_runs_scaled_and_as_it_is(one: OneOperator) -> None:
    one.declare()
    tell(one, "v1.34.1")
    one.passes(2)
    before = template(one)

    one.declare(2, release={"version": "1.35.0"}, replicas=5)
    one.passes(2)

    assert one.status()["state"] == "Blocked"
    assert template(one) == before
    deployment = one.server.get(MACHINE_DEPLOYMENTS, "workers")
    assert deployment is not None
    assert deployment["spec"]["replicas"] == 5


def test_what_runs_goes_on_and_is_told_when_its_control_plane_moves_away(one: OneOperator) -> None:
    one.declare()
    tell(one, "v1.34.1")
    one.passes(2)
    before = template(one)

    tell(one, "v1.38.0")
    one.passes(2)

    assert template(one) == before
    assert one.condition("ValidRelease")["status"] == "True"
    assert skew(one) == (
        "False",
        "BeyondPolicy",
        "found 1.34.2, more than 3 minor versions behind the control plane, which is at 1.38.0",
    )

    one.declare(2, config=[{"kind": "Sysctl", "settings": {"vm.max_map_count": "262144"}}])
    one.passes(2)

    assert template(one) != before


def test_an_older_minor_version_is_refused_unless_its_owner_says_so(one: OneOperator) -> None:
    one.declare()
    one.passes(2)
    before = template(one)

    one.declare(2, release={"version": "1.33.9"})
    one.passes(2)
    assert one.condition("ValidRelease")["message"] == (
        "spec.release.version: found 1.33.9, older than the 1.34 that the pool has "
        "(to have it anyway: release.allow: [Downgrade])"
    )
    assert template(one) == before

    one.declare(3, release={"version": "1.34.1"})
    one.passes(2)
    patched = template(one)
    assert patched != before

    one.declare(4, release={"version": "1.33.9", "allow": ["Downgrade"]})
    one.passes(2)
    assert template(one) != patched
    one.declare(5, release={"version": "1.33.9"})
    one.passes(2)
    assert one.condition("ValidRelease")["status"] == "True"


def test_a_refused_pool_goes_on_once_its_control_plane_has_the_version(one: OneOperator) -> None:
    one.declare()
    tell(one, "v1.33.4")
    one.passes(2)
    assert template(one) is None

    tell(one, "v1.34.0", "v1.34.0")
    one.passes(2)

    assert template(one) is not None
    assert one.condition("ValidRelease")["status"] == "True"


def test_what_the_platform_says_of_the_control_plane_comes_first(one: OneOperator) -> None:
    one.server.put(PLATFORM_CONFIGS, "platform", spec={"controlPlaneVersion": "1.33.4"})
    one.declare()
    tell(one, "v1.34.1")
    one.passes(2)

    assert one.condition("ValidRelease")["message"] == f"spec.release.version: {NEWER}"


def test_a_cluster_is_asked_every_ten_minutes_and_its_pools_are_woken(one: OneOperator) -> None:
    clock, woken, world = [0.0], list[str](), one.operator.world
    one.declare()
    world.copies.look()
    found = one.server.get(NODE_POOLS, "workers")
    assert found is not None
    asking = ControlPlanes(world.copies, world.workloads, woken.append, lambda: clock[0])

    with answering(one, "v1.34.0") as server:
        assert [asking.find(found).version for _ in range(3)] == ["1.34.0"] * 3
        assert (len(server.asked), asking.look_again(found)) == (1, 600)
        server.reply = lambda *_: (200, {"gitVersion": "v1.35.0"}, False)
        clock[0] = 599
        assert (asking.find(found), woken) == (ControlPlane("1.34.0"), [])
        clock[0] = 600
        assert (asking.find(found), woken) == (ControlPlane("1.35.0"), ["a/"])
        assert len(server.asked) == 2

        # What it said last counts while it does not answer, also in another process.
        server.reply = lambda *_: (503, {"message": "it is down"}, False)
        clock[0] = 1200
        known = asking.find(found)
        assert (known.version, asking.look_again(found)) == ("1.35.0", 60)
        assert "it is down" in known.problem
        assert known.problem.endswith("it was 1.35.0 when it answered last")
        restarted = ControlPlanes(world.copies, world.workloads, woken.append)
        noted = {**found, "status": {"controlPlaneVersion": "1.35.0"}}
        assert restarted.find(noted).version == "1.35.0"


def test_one_pool_of_a_cluster_asks_again_and_wakes_the_others(one: OneOperator) -> None:
    world, woken, clock = one.operator.world, list[str](), [0.0]
    asking = ControlPlanes(world.copies, world.workloads, woken.append, lambda: clock[0])
    one.passes()
    first, second = ({"metadata": {"namespace": "a", "name": name}} for name in ("one", "two"))

    with answering(one, "v1.34.0") as server:
        server.reply = lambda *_: (200, {}, False)
        assert asking.find(first).version == asking.find(second).version == ""
        assert (asking.look_again(first), asking.look_again(second)) == (60, None)
        server.reply = lambda *_: (200, {"gitVersion": "v1.34.0"}, False)
        clock[0] = 60

        assert asking.find(first) == ControlPlane("1.34.0")

    assert woken == ["a/"]


def test_a_cluster_that_goes_is_not_asked_for_the_sake_of_a_pool_that_goes(
    one: OneOperator,
) -> None:
    leaving = {"metadata": {"namespace": "a", "name": "workers", "deletionTimestamp": "now"}}

    assert one.operator.world.control_planes.find(leaving) == ControlPlane()
    assert SECRETS.path("a", "c-kubeconfig") not in [path for _, path in one.server.asked]


@pytest.mark.parametrize(
    ("told", "version"),
    [
        ("v1.34.1", "1.34.1"),
        ("1.34.1", "1.34.1"),
        ("v1.34.1+k3s1", "1.34.1"),
        ("v1.33.5-gke.1080000", "1.33.5"),
        ("v1.35.0-rc.1+abc", "1.35.0"),
        ("v1.34", ""),
        ("v01.34.1", ""),
        ("1.34.1\n", ""),
        ("1.34." + "9" * 5_000, ""),
        ("", ""),
        (1.34, ""),
        (None, ""),
        ({"v": 1}, ""),
    ],
)
def test_a_version_is_taken_from_what_control_planes_say(told: Any, version: str) -> None:
    assert bare_version(told) == version


@pytest.mark.parametrize(
    "status",
    [
        None,
        [],
        {},
        {"controlPlane": None},
        {"controlPlane": []},
        {"controlPlane": {"versions": "1.34.1"}},
        {"controlPlane": {"versions": ["1.34.1", {"version": 1}, {"version": "new"}]}},
    ],
)
def test_a_cluster_that_says_nothing_usable_says_nothing(status: Any) -> None:
    assert told_version({"status": status}) == ""


def seen_by_a_viewer(one: OneOperator) -> SeenCluster:
    return SeenCluster(one.client, Scope(namespace=NAMESPACE, home="home"), lambda: one.now)


@pytest.mark.parametrize("name", ["workers", "others"])
def test_a_plan_refuses_what_the_operator_would_by_what_it_noted(
    one: OneOperator, name: str
) -> None:
    one.declare()
    tell(one, "v1.34.1")
    one.passes(2)
    asked = len(one.server.asked)
    spec = {**SPEC, "release": {"version": "1.35.0"}}
    document = {
        "apiVersion": NODE_POOLS.api_version,
        "kind": "NodePool",
        "metadata": {"name": name, "namespace": NAMESPACE},
        "spec": spec,
    }

    with pytest.raises(InputError) as refused:
        propose(seen_by_a_viewer(one).world(), [document], one.now)

    assert str(refused.value) == (
        "spec.release.version: found 1.35.0, newer than the control plane, which is at 1.34.1 "
        "(to have it anyway: release.allow: [Skew])"
    )
    paths = [path.partition("?")[0] for _, path in one.server.asked[asked:]]
    assert not [path for path in paths if "/secrets" in path or "/clusters" in path]

    spec["release"] = {"version": "1.35.0", "allow": ["Skew"]}
    assert propose(seen_by_a_viewer(one).world(), [document], one.now).plans
