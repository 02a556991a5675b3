"""I-13 over a real store: what `plan` names is what `apply` and the passes after it disturb."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from example_counts import examples
from fairlead.answers.text import plain
from fairlead.embedded.serve.apply import apply
from fairlead.proposal.patch import merged
from fairlead.proposal.propose import Shown, propose
from fairlead.rollout.machines import Machine
from pool_documents import platform_document, pool_document
from service.stored_plane import StoredPlane

# What keeps machines from being replaced until somebody does something else.
HOLDS = {"EverythingStopped", "Paused", "WaitsForOwner"}

POOL_EDITS = st.fixed_dictionaries(
    {},
    optional={
        "imageBase": st.sampled_from(["202607.02", "202608.01", "202609.01"]),
        "replicas": st.integers(0, 5),
        "labels": st.sampled_from([{"team": "a"}, {"team": "b"}, {"team": None}]),
        "machineTemplate": st.sampled_from([{"vmSize": "m5.large"}, {"vmSize": "m5.huge"}]),
        "force": st.sampled_from(["1", "2", "3"]),
        "paused": st.booleans(),
        "description": st.sampled_from(["a note", "another"]),
        "platformChanges": st.sampled_from([{"newNodes": "Hold"}, {"newNodes": "Refresh"}]),
        "config": st.lists(
            st.sampled_from(
                [
                    {"kind": "KubeletConfiguration", "maxPods": 100},
                    {"kind": "Sysctl", "settings": {"vm.swappiness": "10"}},
                    {"kind": "Sysctl", "text": "# the same\nvm.swappiness=10\n"},
                ]
            ),
            max_size=2,
        ),
    },
)
ROLLING_EDITS = st.fixed_dictionaries(
    {},
    optional={
        "maxSurge": st.sampled_from([0, 1, 2, "50%"]),
        "maxUnavailable": st.sampled_from([0, 1, "40%"]),
        "strategy": st.sampled_from(["RollingUpdate", "OnDelete"]),
    },
)
PLATFORM_EDITS = st.fixed_dictionaries(
    {},
    optional={
        "controlPlaneImage": st.sampled_from(["cp@sha256:aa", "cp@sha256:bb", None]),
        "noProxy": st.lists(st.sampled_from([".svc", ".a", ".b"]), max_size=3),
        "stopEverything": st.booleans(),
        "stub": st.sampled_from([{"endpoint": "https://a.test/"}, {"ca": "OTHER"}]),
    },
)
EDITS = st.tuples(POOL_EDITS, ROLLING_EDITS, PLATFORM_EDITS)


@contextmanager
def settled_plane(management: dict[str, Any]) -> Iterator[StoredPlane]:
    memory = Path("/dev/shm")  # where a commit does not wait for a disk
    place = str(memory) if memory.is_dir() else None
    with tempfile.TemporaryDirectory(dir=place) as directory:
        plane = StoredPlane(Path(directory))
        try:
            documents = [pool_document(management=management), platform_document()]
            apply(plane.world, documents, Shown(), plane.now())
            plane.settle()
            yield plane
        finally:
            plane.close()


def machines_of(plane: StoredPlane) -> dict[str, Machine]:
    return {machine.name: machine for machine in plane.world.machines.list_machines("workers")}


def apply_as_shown(plane: StoredPlane, documents: list[Any]) -> dict[str, Any]:
    """Show the plan, apply exactly that; the plan that apply finds is the one that was shown."""
    proposal = propose(plane.world.world(), documents, plane.now())
    [shown] = proposal.plans
    seen = Shown(plans=[shown], bases=proposal.bases)
    [found] = apply(plane.world, documents, seen, plane.now()).plans
    assert found == shown
    fields = plain(shown)
    assert isinstance(fields, dict)
    return fields


def watch(plane: StoredPlane, documents: list[Any]) -> None:
    before = machines_of(plane)
    plan = apply_as_shown(plane, documents)

    plane.one_pass()
    after = machines_of(plane)
    leaving = {name for name, machine in after.items() if machine.is_leaving}
    assert len(after.keys() - before.keys()) == plan["creates"], "the next pass creates others"
    assert set(plan["removed"]) <= leaving, "somebody stays who was to leave"
    assert leaving <= {*plan["removed"], *plan["machines"]}, "somebody leaves who was not named"

    plane.settle()
    rest = machines_of(plane)
    gone = before.keys() - rest.keys()
    changed = {name for name in before.keys() & rest.keys() if moved(before[name], rest[name])}
    holds = HOLDS & {wait["for"] for wait in plan["waits"]}
    expected = set() if holds else set(plan["machines"])
    assert gone | changed == expected | set(plan["removed"]), plan
    assert not changed or plan["change"] == "in-place"
    if plan["change"] == "none":
        assert rest.keys() == before.keys()


def moved(before: Machine, after: Machine) -> bool:
    return before.revision != after.revision


def run(plane: StoredPlane, edits: list[Any]) -> None:
    for pool_edit, rolling_edit, platform_edit in edits:
        pools = plane.world.pools
        patch = {"spec": {**pool_edit, "management": rolling_edit}}
        document = merged(pools.read_documents("workers").pool, patch)
        if is_stuck(document):
            continue
        documents = [document]
        if platform_edit:
            documents.append(merged(pools.read_platform(), {"spec": platform_edit}))
        watch(plane, documents)


def is_stuck(document: Any) -> bool:
    """A pool that may neither surge nor miss a machine is refused; that is another test's."""
    management = document["spec"].get("management", {})
    return (management.get("maxSurge", 1), management.get("maxUnavailable", 0)) == (0, 0)


@settings(max_examples=examples(100), deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(st.lists(EDITS, min_size=1, max_size=5))
def test_the_machines_of_the_plan_are_the_machines_that_are_replaced(edits: list[Any]) -> None:
    with settled_plane({}) as plane:
        run(plane, edits)


@settings(max_examples=examples(40), deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(st.lists(st.tuples(POOL_EDITS, st.just({}), PLATFORM_EDITS), min_size=1, max_size=4))
def test_the_machines_of_the_plan_are_the_machines_that_are_changed_in_place(
    edits: list[Any],
) -> None:
    with settled_plane({"type": "InPlace", "maxUnavailable": 1}) as plane:
        run(plane, edits)
