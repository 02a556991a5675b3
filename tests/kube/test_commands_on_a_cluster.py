"""`fairlead --kube`: the commands of a laptop, asked of a real API server with a real operator."""

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml

from fairlead.kube.answer import Object
from fairlead.kube.cluster_api.deployment import FEWEST
from fairlead.kube.resource import NODE_POOLS, PLATFORM_CONFIGS, ROLLOUT_PLANS
from kube.cluster import TestCluster
from kube.fleet import NAMESPACE, Fleet, wait_until
from kube.person import ROLES, Person

pytestmark = pytest.mark.slow

NOT_GOING = "it drained, and does not go: Waiting for TestMachine to be deleted"


@pytest.fixture(scope="module", autouse=True)
def roles(bare: tuple[TestCluster, Any]) -> None:
    bare[0].kubectl("apply", "--server-side", "-k", str(ROLES))


@pytest.fixture
def owner(fleet: Fleet) -> Person:
    return Person(fleet.cluster, "olga", "fairlead-pool-owner")


def pool_file(name: str, **spec: Any) -> str:
    """A file as its owner writes it: without a namespace."""
    template = {"apiGroup": "infra.test.fairlead.dev", "kind": "TestMachineTemplate"}
    document = {
        "apiVersion": NODE_POOLS.api_version,
        "kind": "NodePool",
        "metadata": {"name": name},
        "spec": {
            "release": {"version": "1.34.2"},
            "replicas": 2,
            "machineTemplate": {**template, "name": "small"},
            **spec,
        },
    }
    return yaml.safe_dump(document)


def test_the_story_of_a_pool_is_told_as_on_a_laptop(fleet: Fleet, owner: Person) -> None:
    admin = Person(fleet.cluster, "petra", "fairlead-platform", is_everywhere=True)
    owner.says("apply", "-f", "-", "--yes", "--timeout", "90", said=pool_file("story"))
    [listed] = [one for one in owner.reads("pool", "list")["pools"] if one["name"] == "story"]
    assert (listed["state"], listed["available"], listed["version"]) == ("Settled", 2, "1.34.2")
    first = fleet.machines("story")

    changed = admin.says("platform", "set", "proxy.image=registry.example.test/proxy:2")
    assert "story" in changed
    assert "held" in owner.says("explain", "story")
    wait_until(lambda: fleet.state("story") == "Drifted")
    assert fleet.machines("story") == first

    owner.says("pool", "scale", "story", "3")
    wait_until(lambda: len(fleet.machines("story")) == 3)
    owner.says("rollout", "watch", "story", "--timeout", "90")

    newer = pool_file("story", replicas=3, release={"version": "1.34.3"})
    plan = owner.reads("plan", "-f", "-", said=newer, code=10)["plans"][0]
    assert (plan["change"], sorted(plan["machines"])) == ("replace", fleet.machines("story"))
    assert fleet.pool("story")["spec"]["release"]["version"] == "1.34.2"
    assert set(first) <= set(fleet.machines("story"))

    owner.says("apply", "-f", "-", "--yes", "--timeout", "90", said=newer)
    assert not set(first) & set(fleet.machines("story"))
    pool = owner.reads("pool", "show", "story")
    assert (pool["state"], pool["version"], pool["held"]) == ("Settled", "1.34.3", [])

    assert "olga" in owner.says("timeline", "story")
    events = owner.reads("events", "story")["events"]
    wanted = [(one["kind"], one["asked_by"] or one["actor"]) for one in events]
    assert ("PoolDeclared", "olga") in wanted
    assert ("RolloutCompleted", "olga") in wanted
    everything = owner.reads("events", "--limit", "1000")["events"]
    assert ("PlatformDeclared", "petra") in [(one["kind"], one["actor"]) for one in everything]
    fleet.admin.delete(PLATFORM_CONFIGS, "platform", NAMESPACE)


def test_a_plan_that_no_longer_holds_is_refused_and_writes_nothing(
    fleet: Fleet, owner: Person, tmp_path: Path
) -> None:
    fleet.declare("stale")
    fleet.settle("stale")
    file, saved = tmp_path / "pool.yaml", tmp_path / "plan.json"
    file.write_text(pool_file("stale", release={"version": "1.34.3"}))
    owner.says("plan", "-f", str(file), "--save", str(saved), code=10)

    owner.says("pool", "scale", "stale", "1", "--yes")
    fleet.settle("stale")
    before = fleet.pool("stale")["spec"]
    says = owner.is_refused("apply", str(saved), "--yes", code=5)

    assert "nothing was written, plan again" in says
    assert "olga" in says
    assert fleet.pool("stale")["spec"] == before
    assert plans_of(fleet, "stale") == []


def test_an_autoscaled_pool_is_scaled_by_hand_within_its_bounds_and_given_back(
    fleet: Fleet, owner: Person
) -> None:
    fleet.declare("bounds", autoscaling={"min": 1, "max": 3})
    fleet.settle("bounds")
    let_an_autoscaler_say(fleet, "bounds")
    assert len(fleet.machines("bounds")) == 2

    owner.says("pool", "scale", "bounds", "3", "--yes")
    fleet.settle("bounds")
    assert len(fleet.machines("bounds")) == 3
    says = owner.is_refused("pool", "scale", "bounds", "4", "--yes")
    assert "found 4, expected 1 to 3, the bounds of autoscaling" in says
    assert FEWEST not in fleet.deployment("bounds")["metadata"]["annotations"]

    let_an_autoscaler_say(fleet, "bounds")
    assert len(fleet.machines("bounds")) == 3


def let_an_autoscaler_say(fleet: Fleet, pool: str) -> None:
    """Take the number out of the document."""
    patch = json.dumps({"spec": {"replicas": None}})
    fleet.cluster.kubectl("patch", f"np/{pool}", "--type=merge", "-p", patch)
    wait_until(lambda: FEWEST in fleet.deployment(pool)["metadata"]["annotations"])


def plans_of(fleet: Fleet, pool: str) -> list[Object]:
    found, _ = fleet.admin.list_all(ROLLOUT_PLANS, NAMESPACE)
    return [one for one in found if one["spec"]["pool"] == pool]


def test_what_was_shown_binds_the_operator_until_a_rollout_used_it_up(
    fleet: Fleet, owner: Person, tmp_path: Path
) -> None:
    fleet.declare("bound")
    fleet.settle("bound")
    saved = tmp_path / "plan.json"
    newer = pool_file("bound", release={"version": "1.34.3"}, paused=True)
    owner.says("plan", "-f", "-", "--save", str(saved), said=newer, code=10)
    owner.says("apply", str(saved), "--yes", "--no-wait")

    [plan] = plans_of(fleet, "bound")
    assert (plan["spec"]["pool"], plan["spec"]["approved"]) == ("bound", True)
    assert sorted(plan["spec"]["plan"]["machines"]) == fleet.machines("bound")
    assert "paused" in owner.says("explain", "bound")

    way_out = owner.reads("pool", "show", "bound")["verdict"]["command"]
    assert (
        way_out
        == f"fairlead --kube -n {NAMESPACE} --operator-namespace {NAMESPACE} pool resume bound"
    )
    assert f"{way_out}  ends the pause" in owner.says("explain", "bound")
    owner.pastes(way_out)
    assert plans_of(fleet, "bound") == [plan]
    owner.says("rollout", "watch", "bound", "--timeout", "90")
    assert fleet.pool("bound")["status"]["version"] == "1.34.3"
    owner.says("pool", "delete", "bound", "--yes")
    wait_until(lambda: fleet.admin.find(NODE_POOLS, "bound", NAMESPACE) is None)
    wait_until(lambda: plans_of(fleet, "bound") == [])


def test_a_new_pool_of_many_machines_is_asked_about(fleet: Fleet, owner: Person) -> None:
    many = pool_file("many", replicas=60)

    assert owner.reads("plan", "-f", "-", said=many)["plans"][0]["creates"] == 60
    says = owner.is_refused("apply", "-f", "-", said=many)

    assert "create 60 machines for many?" in says
    assert fleet.admin.find(NODE_POOLS, "many", NAMESPACE) is None


def test_a_role_may_what_it_is_for_and_nothing_else(fleet: Fleet, owner: Person) -> None:
    fleet.declare("roles")
    fleet.settle("roles")
    viewer = Person(fleet.cluster, "vera", "fairlead-viewer")
    nobody = Person(fleet.cluster, "nemo", "view")

    assert viewer.reads("whoami")["role"] == "fairlead-viewer"
    assert owner.reads("whoami")["role"] == "fairlead-pool-owner"
    assert "nemo has no role in the namespace default" in nobody.is_refused("whoami")
    assert viewer.reads("pool", "show", "roles")["state"] == "Settled"
    newer = pool_file("roles", release={"version": "1.34.3"})
    assert viewer.says("plan", "-f", "-", said=newer, code=10)
    before = fleet.pool("roles")["metadata"]["resourceVersion"]

    says = viewer.is_refused("apply", "-f", "-", "--yes", said=newer)
    assert "vera may not create rolloutplans in the namespace default" in says
    assert "that needs fairlead-pool-owner" in says
    says = viewer.is_refused("pool", "scale", "roles", "3")
    assert "vera may not update nodepools in the namespace default" in says
    [machine, _] = fleet.machines("roles")
    assert "fairlead-pool-owner" in viewer.is_refused("machine", "delete", machine, "--yes")
    says = owner.is_refused("platform", "set", "proxy.image=registry.example.test/proxy:9")
    assert "in all namespaces, and that needs fairlead-viewer" in says
    says = nobody.is_refused("pool", "list")
    assert "nemo may not list" in says
    assert "kubectl create rolebinding NAME -n default --clusterrole=fairlead-viewer" in says
    assert fleet.pool("roles")["metadata"]["resourceVersion"] == before


def test_a_machine_that_is_deleted_by_hand_says_by_whom(fleet: Fleet, owner: Person) -> None:
    fleet.declare("picked", rollout={"estimate": "1s"})
    fleet.settle("picked")
    [machine, other] = fleet.machines("picked")

    listed = owner.says("machine", "list", "picked", "-o", "name")
    assert listed.split() == [machine, other]
    assert owner.reads("machine", "show", machine)["version"] == "1.34.2"
    keep_infrastructure(fleet, machine, is_kept=True)
    line = ("fairlead", "--kube", "-n", NAMESPACE, "machine", "show", "")
    offered = owner.types("completion", "--names", "pools+machines", *line).stdout.split()
    assert {"picked", machine, other} <= set(offered)
    assert f"{machine} has sent no boot report" in owner.says("timeline", machine)
    owner.says("machine", "delete", machine, "--yes")
    wait_until(lambda: NOT_GOING in owner.says("explain", "picked"), fleet.said.copy)
    assert "It drained: Waiting for TestMachine to be deleted" in owner.says("explain", machine)
    keep_infrastructure(fleet, machine, is_kept=False)
    wait_until(lambda: machine not in fleet.machines("picked"))
    fleet.settle("picked")

    told = [
        one for one in owner.reads("events", "picked")["events"] if one["kind"] == "MachineLeaves"
    ]
    assert [(one["machine"], one["asked_by"]) for one in told] == [(machine, "olga")]
    says = owner.is_refused("timeline", machine)
    assert f"{machine}: this machine is gone, and the report of its boot with it" in says
    owner.pastes(says[says.index("fairlead --kube") :].partition(" has what")[0])
    said = owner.run("machine", "list", "picked", "--gone").stderr
    assert "a cluster keeps no machine that is gone; fairlead --kube" in said


def keep_infrastructure(fleet: Fleet, machine: str, *, is_kept: bool) -> None:
    """Let a provider not be able to take a machine away; or let it."""
    change = "/metadata/finalizers/-" if is_kept else "/metadata/finalizers"
    patch = {"op": "add", "path": change, "value": "test.fairlead.dev/kept" if is_kept else []}
    named = ("testmachine", machine, "-n", NAMESPACE)
    fleet.cluster.kubectl("patch", *named, "--type=json", "-p", json.dumps([patch]))


def test_a_document_that_was_declared_before_comes_back(fleet: Fleet, owner: Person) -> None:
    fleet.declare("undone")
    fleet.settle("undone")
    newer = pool_file("undone", release={"version": "1.34.3"})
    owner.says("apply", "-f", "-", "--yes", "--timeout", "90", said=newer)

    kept = owner.reads("pool", "history", "undone")["documents"]
    versions = [one["document"]["spec"]["release"]["version"] for one in kept]
    assert (versions, [one["actor"] for one in kept]) == (["1.34.2", "1.34.3"], ["", "olga"])
    owner.says("rollout", "undo", "undone", "--yes", "--timeout", "90")

    assert fleet.pool("undone")["spec"]["release"]["version"] == "1.34.2"
    shown = owner.says("pool", "show", "undone", "--yaml")
    assert yaml.safe_load(shown)["metadata"] == {"name": "undone", "namespace": NAMESPACE}
    assert owner.says("diff", "-f", "-", said=shown) is not None
    assert owner.says("plan", "-f", "-", said=shown)


def test_answers_have_the_same_form_as_those_of_a_laptop(
    fleet: Fleet, owner: Person, tmp_path: Path
) -> None:
    fleet.declare("formed")
    fleet.settle("formed")
    more = owner.run("apply", "-f", "-", "--timeout", "90", said=pool_file("formed", replicas=3))
    assert (more.returncode, "3 of 3" in more.stderr) == (0, True), more.stderr
    state = ["--state", str(tmp_path / "state")]

    def here(*words: str) -> Any:
        command = [sys.executable, "-m", "fairlead", *words, *state]
        ran = subprocess.run(command, capture_output=True, text=True, timeout=90, check=False)
        assert ran.returncode in (0, 10), ran.stderr
        return json.loads(ran.stdout) if "json" in words else None

    here("up", "--detach")
    try:
        for words in (
            ("pool", "list"),
            ("pool", "show", "{}"),
            ("explain", "{}"),
            ("machine", "list"),
            ("platform", "list"),
            ("events", "{}"),
            ("timeline", "{}"),
            ("pool", "history", "{}"),
            ("pool", "scale", "{}", "3", "--dry-run"),
            ("whoami",),
        ):
            own = here(*(word.format("workers") for word in words), "-o", "json")
            found = owner.reads(*(word.format("formed") for word in words))
            assert names_in(found, own) == names_in(own, found), words
    finally:
        here("down", "--purge", "--yes")


def names_in(answer: Any, other: Any) -> Any:
    """The names of fields in an answer, and in those of its lists that neither has empty."""
    if isinstance(answer, list) and isinstance(other, list) and answer and other:
        return [names_in(answer[0], other[0])]
    if not isinstance(answer, dict) or not isinstance(other, dict):
        return ""
    return {
        name: "" if name == "document" else names_in(one, other.get(name))
        for name, one in answer.items()
    }
