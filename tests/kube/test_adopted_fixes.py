"""An owner asks for machines with a fix: Cluster API's machines are replaced, and only those."""

import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from fairlead.kube.operator import Operator
from fairlead.kube.resource import CONFIG_MAPS, HOTFIXES, MACHINES
from fairlead.kube.serve.payloads import KubePayloads
from fairlead.whole_file import write_whole
from kube.cluster import TestCluster
from kube.fleet import NAMESPACE, Fleet, wait_until
from kube.hotfix_catalog import BAKED, FIX, catalog_text
from kube.person import ROLES, Person
from kube.test_hotfixes import operator_of, report_of

pytestmark = pytest.mark.slow

POOL = "adopting"
DEADLINE_S = 90


@pytest.fixture(scope="module", autouse=True)
def roles(bare: tuple[TestCluster, Any]) -> None:
    bare[0].kubectl("apply", "--server-side", "-k", str(ROLES))


def tell_published(fleet: Fleet, depot: Path, *, everyone: bool) -> None:
    """Let the operator have this catalog, and people who look."""
    text = catalog_text(everyone=everyone)
    write_whole(depot / "catalog.json", text)
    wanted = {
        "apiVersion": CONFIG_MAPS.api_version,
        "kind": CONFIG_MAPS.kind,
        "metadata": {"name": "fairlead-hotfix-catalog", "namespace": NAMESPACE},
        "data": {"catalog.json": text.decode()},
    }
    fleet.admin.apply(CONFIG_MAPS, wanted)


def report(operator: Operator, machine: str, agent: str) -> None:
    """Let a machine say what it booted with."""
    KubePayloads(operator.world).record_report(f"{NAMESPACE}/{POOL}", machine, report_of(agent))


@pytest.fixture
def adopting(unmanned: Fleet, tmp_path: Path) -> Iterator[tuple[Fleet, Operator, Person]]:
    """Three machines, of which the last one booted with the fix, before anybody heard of it."""
    operator = operator_of(unmanned, tmp_path)
    unmanned.declare(POOL, replicas=3)
    unmanned.settle(POOL)
    for machine, agent in zip(unmanned.machines(POOL), (BAKED, BAKED, FIX), strict=True):
        report(operator, machine, agent)
    yield unmanned, operator, Person(unmanned.cluster, "olga", "fairlead-pool-owner")
    # Whoever counts machines with this fix next shares the server.
    unmanned.cluster.kubectl("delete", f"np/{POOL}")


def test_machines_without_a_fix_are_replaced_on_request_and_no_other(
    adopting: tuple[Fleet, Operator, Person], tmp_path: Path
) -> None:
    fleet, operator, owner = adopting
    first, before = fleet.machines(POOL), fleet.deployment(POOL)["spec"]["template"]
    tell_published(fleet, tmp_path, everyone=False)
    wait_until(lambda: fleet.admin.find(HOTFIXES, FIX, NAMESPACE) is not None)
    wait_until(lambda: "status" in (fleet.admin.find(HOTFIXES, FIX, NAMESPACE) or {}))
    says = owner.is_refused("pool", "adopt", POOL, "--fix", FIX, "--yes")
    assert f"{FIX} is given to 1% of machines so far" in says

    tell_published(fleet, tmp_path, everyone=True)
    assert f"It would have booted with {FIX}" in owner.says("explain", first[0])
    assert "2 machines lack the fix" in owner.says("explain", POOL)
    assert owner.reads("pool", "adopt", POOL, "--dry-run")["plan"]["machines"] == first[:2]
    assert fleet.machines(POOL) == first

    owner.says("pool", "adopt", POOL, "--yes")
    assert counted_meanwhile(fleet, operator, first[:2]) == (3, 4), "one more, never one fewer"

    assert (first[2] in fleet.machines(POOL), len(fleet.machines(POOL))) == (True, 3)
    after = fleet.deployment(POOL)["spec"]
    assert (after["replicas"], after["template"]) == (3, before)
    kinds = [event["kind"] for event in owner.reads("events", POOL)["events"]]
    assert [kinds.count(f"FixAdoption{word}") for word in ("Started", "Ended")] == [1, 1]
    assert owner.reads("pool", "show", POOL)["fixes"] == []


def counted_meanwhile(fleet: Fleet, operator: Operator, leaving: list[str]) -> tuple[int, int]:
    """Wait until these are gone and the pool rests; the fewest that ran, the most there were."""
    reported = set(fleet.machines(POOL))
    fewest = most = len(reported)
    end = time.monotonic() + DEADLINE_S
    while set(leaving) & set(fleet.machines(POOL)) or fleet.state(POOL) != "Settled":
        assert time.monotonic() < end, (fleet.pool(POOL)["status"], fleet.said)
        there = fleet.machines(POOL)
        for machine in {*there} - reported:
            report(operator, machine, FIX)
        reported.update(there)
        fewest, most = min(fewest, running(fleet)), max(most, len(there))
        time.sleep(0.2)
    return fewest, most


def running(fleet: Fleet) -> int:
    found, _ = fleet.admin.list_all(MACHINES, NAMESPACE, f"fairlead.dev/pool={POOL}")
    phases = [(one.get("status") or {}).get("phase") for one in found]
    return phases.count("Running")
