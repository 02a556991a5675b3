"""Hotfixes are facts of the platform: they move nothing until an owner asks for one."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from fairlead.errors import InputError
from fairlead.proposal.propose import propose
from fairlead.rollout.fixes import Fix, Fixes, fixes_of
from fairlead.sim.deployment_world import DeploymentWorld
from fairlead.sim.world import SimWorld
from transitions.pool_worlds import (
    POOL,
    condition,
    drift,
    edit,
    event_kinds,
    names,
    settled_world,
    state,
)

SINCE = datetime(2026, 7, 1, tzinfo=UTC)
FIX = "202607.02.3"
REASON = f"the pool's owner wants no machine without the fix {FIX}"


@pytest.fixture(params=[SimWorld, DeploymentWorld])
def edge(request: pytest.FixtureRequest) -> type[SimWorld]:
    """Machines are replaced by our own steps, or by their edge as Cluster API does it."""
    found: type[SimWorld] = request.param
    return found


def fix(version: str = FIX, **changed: Any) -> Fix:
    return replace(Fix(version=version, since=SINCE), **changed)


def publish(world: SimWorld, *fixes: Fix) -> None:
    world.fixes = fixes_of(fixes or (fix(),))


def ask(world: SimWorld, version: str = FIX, **rollout: Any) -> None:
    edit(world, rollout={**rollout, "replaceWithout": {"fix": version}})


def agents(world: SimWorld) -> dict[str, str]:
    return {machine.name: machine.agent for machine in world.living.values()}


def half_fixed_world(edge: type[SimWorld], **spec: Any) -> tuple[SimWorld, set[str]]:
    """Four machines, of which two came before the fix; return these."""
    world = settled_world(edge, replicas=2, **spec)
    old = set(names(world))
    publish(world)
    edit(world, replicas=4)
    world.settle()
    return world, old


CATALOGS: list[Fixes] = [
    fixes_of([fix()]),
    fixes_of([fix(), fix("202607.02.4")]),
    fixes_of([fix(stopped="withdrawn: it loops", is_withdrawn=True)]),
    fixes_of([fix(stopped="the region local is off")]),
    fixes_of([fix("202608.01.1")]),
    Fixes(problem="the catalog cannot be read"),
    Fixes(),
]


def test_publishing_promoting_and_withdrawing_write_nothing_at_all(edge: type[SimWorld]) -> None:
    world = settled_world(edge)
    before = world.writes, names(world), world.records[POOL], world.templates[POOL]

    for fixes in CATALOGS:
        world.fixes = fixes
        world.settle()

    assert (world.writes, names(world), world.records[POOL], world.templates[POOL]) == before


def test_machines_with_and_without_a_fix_have_one_revision(edge: type[SimWorld]) -> None:
    world, old = half_fixed_world(edge)

    assert {world.living[name].agent for name in old} == {"202607.02.0"}
    assert sorted(agents(world).values()) == ["202607.02.0"] * 2 + [FIX] * 2
    assert len({machine.revision for machine in world.living.values()}) == 1
    assert state(world) == "Settled"


def test_an_owner_who_asks_gets_those_replaced_that_lack_the_fix_and_no_other(
    edge: type[SimWorld],
) -> None:
    world, old = half_fixed_world(edge)
    kept = set(names(world)) - old
    target = world.records[POOL].target
    ask(world)

    world.settle()

    assert set(world.gone) == old
    assert {world.gone[name].reason for name in old} == {REASON}
    assert kept <= set(names(world))
    assert set(agents(world).values()) == {FIX}
    assert world.records[POOL].target == target, "no hash moved"
    assert world.records[POOL].adoption is None
    assert state(world) == "Settled"
    assert event_kinds(world).count("FixAdoptionStarted") == 1
    assert event_kinds(world).count("FixAdoptionEnded") == 1


def test_budgets_hold_while_machines_are_replaced_for_a_fix(edge: type[SimWorld]) -> None:
    world, _ = half_fixed_world(edge)
    ask(world)
    fewest = most = 4
    for _ in range(12):
        world.one_pass()
        most = max(most, len(world.living))
        fewest = min(fewest, sum(one.is_available for one in world.living.values()))
        world.run_machines()
        world.clock.advance(timedelta(minutes=1))

    assert (fewest, most) == (4, 5)
    assert set(agents(world).values()) == {FIX}


def test_a_fix_that_no_boot_takes_replaces_each_machine_once(edge: type[SimWorld]) -> None:
    world = settled_world(edge)
    old = set(names(world))
    publish(world)
    world.takes = False
    ask(world)

    world.settle()

    assert set(world.gone) == old
    assert set(agents(world).values()) == {"202607.02.0"}
    assert state(world) == "Settled"


def test_a_further_request_is_answered_once_more(edge: type[SimWorld]) -> None:
    world = settled_world(edge)
    publish(world)
    world.takes = False
    ask(world)
    world.settle()
    world.takes = True

    edit(world, rollout={"replaceWithout": {"fix": FIX, "request": "2"}})
    world.settle()

    assert set(agents(world).values()) == {FIX}
    assert len(world.gone) == 6


def test_a_window_holds_replacements_for_a_fix(edge: type[SimWorld]) -> None:
    world = settled_world(edge)
    publish(world)
    window = {"days": ["Sat"], "start": "02:00", "duration": "4h"}
    ask(world, windows=[window])

    world.settle()

    assert not world.gone
    assert state(world) == "Held"
    assert condition(world) == ("True", "OutsideWindow")
    assert world.statuses[POOL].sentence == (
        f"Every input is as recorded; 3 machines without the fix {FIX} are replaced, as the pool's "
        "owner asked. Not now: no window is open long enough to replace a machine."
    )


def test_a_fix_that_is_withdrawn_meanwhile_stops_the_replacements_with_its_reason(
    edge: type[SimWorld],
) -> None:
    world = settled_world(edge)
    publish(world)
    ask(world)
    for _ in range(3):
        world.one_pass()
        world.run_machines()
    before = len(world.gone)
    assert 0 < before < 3

    publish(world, fix(stopped="withdrawn: it loops", is_withdrawn=True))
    world.settle()

    assert len(world.gone) <= before + 1, "only one that had left already"
    assert state(world) == "Settled"
    told = [event.says for event in world.read_events(POOL) if "Adoption" in event.kind.value]
    assert told[-1] == (
        "No further machine is replaced for a fix: "
        f"{FIX} is not given to machines: withdrawn: it loops."
    )


def test_a_catalog_that_cannot_be_read_holds_the_replacements_and_says_so(
    edge: type[SimWorld],
) -> None:
    world = settled_world(edge)
    old = set(names(world))
    publish(world)
    ask(world)
    world.one_pass()

    world.fixes = Fixes(problem="catalog.json cannot be read")
    world.settle()
    assert not world.gone
    waits = [wait.says for wait in _thought(world).waits]
    assert "catalog.json cannot be read" in waits

    publish(world)
    world.settle()
    assert set(world.gone) == old


def test_machines_that_fail_with_the_fix_halt_the_replacements_and_resume_goes_on(
    edge: type[SimWorld],
) -> None:
    world = settled_world(edge)
    publish(world)
    world.fates = ["fail", "fail"]
    ask(world, haltAfter=1)
    world.settle()

    assert state(world) == "Blocked"
    assert not world.gone
    assert world.records[POOL].halted.startswith("1 machine failed, workers-")

    ask(world, haltAfter=1, resume="1")
    world.fates = []
    world._fate_of.clear()
    world.settle()

    assert set(agents(world).values()) == {FIX}
    assert state(world) == "Settled"


def test_a_request_that_is_taken_back_ends_and_replaces_nothing_more(edge: type[SimWorld]) -> None:
    world = settled_world(edge)
    publish(world)
    ask(world, windows=[{"days": ["Sat"], "start": "02:00", "duration": "4h"}])
    world.settle()

    edit(world, rollout=None)
    world.settle()

    assert not world.gone
    assert state(world) == "Settled"
    assert event_kinds(world)[-1] == "FixAdoptionEnded"


def test_a_rollout_takes_the_place_of_replacements_for_a_fix(edge: type[SimWorld]) -> None:
    world, _ = half_fixed_world(edge)
    ask(world)
    world.one_pass()

    edit(world, imageBase="202607.03")
    world.settle()

    assert state(world) == "Settled"
    assert world.records[POOL].adoption is None
    assert len({machine.revision for machine in world.living.values()}) == 1


def test_held_platform_changes_stay_held_while_machines_are_replaced_for_a_fix(
    edge: type[SimWorld],
) -> None:
    world = settled_world(edge)
    drift(world)
    world.settle()
    publish(world)
    ask(world)

    world.settle()

    assert set(agents(world).values()) == {FIX}
    assert state(world) == "Drifted"


def test_a_lost_record_does_not_replace_machines_for_an_old_request(edge: type[SimWorld]) -> None:
    world = settled_world(edge)
    publish(world)
    world.takes = False
    ask(world)
    world.settle()
    before = names(world)

    del world.records[POOL]
    world.settle()

    assert names(world) == before


def test_a_plan_shows_the_machines_that_lack_the_fix_in_the_order_they_go(
    edge: type[SimWorld],
) -> None:
    world, old = half_fixed_world(edge)
    document = _asking(world)

    plan = propose(world.world(), [document], world.clock.now).plans[0]

    assert set(plan.machines) == old
    assert plan.because == REASON
    assert plan.change.value == "replace"
    assert plan.estimate_s == 1200.0
    assert not plan.removed


@pytest.mark.parametrize(
    ("fixes", "says"),
    [
        (Fixes(), f"{FIX} is not published here"),
        (fixes_of([fix(stopped="withdrawn: bad")]), f"{FIX} is not given to machines: withdrawn"),
        (Fixes(problem="catalog.json: not JSON"), "catalog.json: not JSON"),
    ],
)
def test_asking_for_a_fix_that_no_machine_would_get_is_refused(
    edge: type[SimWorld], fixes: Fixes, says: str
) -> None:
    world = settled_world(edge)
    world.fixes = fixes

    with pytest.raises(InputError, match=says) as refused:
        propose(world.world(), [_asking(world)], world.clock.now)

    assert refused.value.field == "spec.rollout.replaceWithout.fix"


def test_a_machine_that_was_not_shown_is_not_replaced(edge: type[SimWorld]) -> None:
    world = settled_world(edge)
    publish(world)
    proposal = propose(world.world(), [_asking(world)], world.clock.now)
    shown = proposal.rollouts[POOL]
    world.plans[POOL] = shown.but(machines=shown.machines[:2])
    ask(world)

    world.settle()

    assert set(world.gone) == set(shown.machines[:2])


def test_a_pool_that_changes_in_place_cannot_ask_for_machines_with_a_fix(
    edge: type[SimWorld],
) -> None:
    world = settled_world(edge, management={"type": "InPlace"})
    publish(world)

    with pytest.raises(InputError, match="has no meaning for InPlace"):
        propose(world.world(), [_asking(world)], world.clock.now)


def _asking(world: SimWorld) -> Any:
    document: Any = world.documents[POOL].pool
    spec = {**document["spec"], "rollout": {"replaceWithout": {"fix": FIX}}}
    return {**document, "spec": spec}


def _thought(world: SimWorld) -> Any:
    from fairlead.controller.reconcile import preview

    return preview(POOL, world.world(), world.clock.now)
