"""What commands are shown of a pool: literal views of small worlds."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta
from typing import Any

from fairlead.answers.text import plain
from fairlead.controller.observe import Snapshot, observe
from fairlead.controller.think import think
from fairlead.controller.thought import Thought
from fairlead.proposal.plan import plan_of as plan_told
from fairlead.rollout.machines import Machine
from fairlead.rollout.step import CreateToken
from fairlead.sim.world import SimWorld
from fairlead.telling.machine import differences_of, machine_answer, sentence_about
from fairlead.telling.platform import platform_answer
from fairlead.telling.pool import pool_answer, pool_detail
from pool_documents import platform_document, pool_document
from transitions.pool_worlds import (
    POOL,
    approve,
    declare,
    drift,
    edit,
    edit_platform,
    settled_world,
)


def fields(answer: object) -> Any:
    """An answer as the JSON that it is sent as."""
    return plain(answer)


def read(world: SimWorld) -> tuple[Snapshot, Thought]:
    seen = observe(POOL, world.world())
    return seen, think(seen, world.clock.now)


def pool_of(world: SimWorld) -> Any:
    return fields(pool_answer(*read(world), world.clock.now))


def detail_of(world: SimWorld) -> Any:
    return fields(pool_detail(*read(world), world.clock.now, ()))


def plan_of(world: SimWorld) -> Any:
    return fields(plan_told(*read(world)))


def differences_told(machine: Machine, seen: Snapshot, thought: Thought) -> Any:
    return fields(differences_of(machine, seen, thought))


def sentence_of(world: SimWorld, name: str) -> str:
    return sentence_about(world.living[name], *read(world), world.clock.now)


def proposed(world: SimWorld, **spec: Any) -> Any:
    """The plan of an edit that was not carried out yet."""
    before = world.documents[POOL]
    edit(world, **spec)
    return fields(plan_told(*read(world), before))


IMAGE_BASE = {
    "leaf": "imageBase",
    "class": "intent",
    "owner": "pool owner",
    "before": "202607.02",
    "after": "202608.01",
}
CONTROL_PLANE_IMAGE = {
    "leaf": "platform.controlPlaneImage",
    "class": "platform",
    "owner": "control plane",
    "before": None,
    "after": "cp@sha256:bb",
}


def test_a_settled_pool_holds_nothing_and_waits_for_nothing() -> None:
    assert pool_of(settled_world()) == {
        "name": "workers",
        "state": "Settled",
        "sentence": "Up to date: every input is as recorded; no machine will be replaced.",
        "version": "1.34.2",
        "desired": 3,
        "updated": 3,
        "available": 3,
        "total": 3,
        "held": [],
        "waits": [],
        "strategy": "RollingUpdate",
        "is_paused": False,
        "halted": "",
        "rollout": None,
        "adoption": None,
        "summary": "settled: every machine has what is declared, no machine will be replaced",
    }


def test_the_plan_of_a_settled_pool_is_empty() -> None:
    plan = plan_of(settled_world())

    assert (plan["change"], plan["leaves"], plan["machines"]) == ("none", [], [])
    assert (plan["creates"], plan["removes"], plan["is_new"]) == (0, 0, False)
    assert plan["because"] == "Up to date: every input is as recorded; no machine will be replaced."


def test_a_pool_that_was_just_declared_shows_what_the_first_pass_does() -> None:
    world = SimWorld()
    declare(world, pool_document())

    plan, pool = plan_of(world), pool_of(world)

    assert (plan["is_new"], plan["creates"], plan["change"]) == (True, 3, "in-place")
    [made] = [step.id for step in read(world)[1].steps if isinstance(step, CreateToken)]
    assert plan["because"] == f"New pool: machines are made from revision {made}."
    assert (pool["state"], pool["desired"], pool["available"]) == ("RollingOut", 3, 0)


def test_a_held_change_is_shown_with_what_it_changes() -> None:
    world = settled_world()
    drift(world)
    world.one_pass()

    assert pool_of(world)["held"] == [
        {
            "id": "pc-a524d2fc",
            "leaf": "platform.controlPlaneImage",
            "owner": "control plane",
            "severity": "routine",
            "since": "2026-11-16T12:03:00.000Z",
            "before": None,
            "after": "cp@sha256:bb",
        }
    ]


def test_what_stays_out_of_an_approved_rollout_is_shown_with_what_it_changes() -> None:
    world = settled_world(rollout={"windows": [{"start": "22:00", "duration": "4h"}]})
    edit(world, imageBase="202608.01")
    approve(world)
    drift(world)
    world.settle()

    (held,) = pool_of(world)["held"]
    assert (held["leaf"], held["before"], held["after"]) == (
        "platform.controlPlaneImage",
        None,
        "cp@sha256:bb",
    )

    drift(world, "cp@sha256:cc")
    assert pool_of(world)["held"][0]["after"] == "cp@sha256:cc", "before a pass has seen it, too"


def test_a_held_change_is_in_the_plan_and_disturbs_nothing() -> None:
    world = settled_world()
    drift(world)

    plan = plan_of(world)

    assert (plan["change"], plan["machines"]) == ("none", [])
    assert plan["leaves"] == [CONTROL_PLANE_IMAGE]


def test_a_change_of_intent_names_the_leaf_its_owner_and_both_values() -> None:
    world = settled_world()

    plan = proposed(world, imageBase="202608.01")

    assert plan["change"] == "replace"
    assert plan["because"] == "the pool's owner changed imageBase"
    assert plan["leaves"] == [IMAGE_BASE]
    assert plan["machines"] == ["workers-2", "workers-3", "workers-4"]
    assert plan["estimate_s"] == 1800.0
    assert (plan["creates"], plan["removes"]) == (1, 0)


def test_leaves_that_cause_come_first_then_those_that_go_along_then_those_in_place() -> None:
    world = settled_world()
    drift(world)
    world.one_pass()

    plan = proposed(world, imageBase="202608.01", labels={"team": "a"})

    assert plan["leaves"] == [
        IMAGE_BASE,
        CONTROL_PLANE_IMAGE,
        {
            "leaf": "labels.team",
            "class": "in-place",
            "owner": "pool owner",
            "before": None,
            "after": "a",
        },
    ]


def test_what_is_applied_in_place_replaces_nothing_and_says_so() -> None:
    plan = proposed(settled_world(), rollout={"soak": "10m"})

    assert (plan["change"], plan["machines"]) == ("in-place", [])
    assert plan["leaves"] == [
        {
            "leaf": "rollout.soak",
            "class": "in-place",
            "owner": "pool owner",
            "before": None,
            "after": 600,
        }
    ]


def test_a_machine_that_a_rollout_removes_at_once_is_replaced_and_not_removed() -> None:
    world = settled_world(management={"maxSurge": 0, "maxUnavailable": 1})

    plan = proposed(world, imageBase="202608.01")

    assert plan["machines"] == ["workers-2", "workers-3", "workers-4"]
    assert (plan["removes"], plan["removed"], plan["creates"]) == (0, [], 0)


def test_a_machine_that_leaves_anyway_is_not_counted_as_replaced() -> None:
    world = settled_world()

    plan = proposed(world, imageBase="202608.01", replicas=1, paused=True)

    assert plan["removed"] == ["workers-2", "workers-3"]
    assert plan["machines"] == ["workers-4"]


def test_machines_that_leave_because_the_pool_shrinks_are_named_apart() -> None:
    plan = proposed(settled_world(), replicas=2)

    assert (plan["change"], plan["machines"]) == ("in-place", [])
    assert (plan["removes"], plan["removed"], plan["creates"]) == (1, ["workers-2"], 0)


def test_the_content_of_a_secret_is_a_leaf_of_its_own_class_and_only_a_digest() -> None:
    world = SimWorld()
    declare(world, pool_document(secretContent="Roll"), pull_secret="sha256:aa")
    world.settle()
    declare(world, pull_secret="sha256:bb")

    assert plan_of(world)["leaves"] == [
        {
            "leaf": "pullSecret.content",
            "class": "content",
            "owner": "pool owner",
            "before": "sha256:aa",
            "after": "sha256:bb",
        }
    ]


def test_a_leaf_that_nobody_registered_is_shown_as_unknown() -> None:
    world = settled_world()
    edit_platform(world, surprise="x")

    assert plan_of(world)["leaves"] == [
        {
            "leaf": "platform.unknown.platform.surprise",
            "class": "unknown",
            "owner": "unregistered",
            "before": None,
            "after": "x",
        }
    ]


def test_the_platforms_own_settings_are_in_place_too() -> None:
    world = settled_world()
    before = world.documents[POOL]
    edit_platform(world, stopEverything=True)

    assert fields(plan_told(*read(world), before))["leaves"] == [
        {
            "leaf": "platform.stopEverything",
            "class": "in-place",
            "owner": "infrastructure",
            "before": None,
            "after": True,
        }
    ]


def test_a_rollout_shows_from_what_to_what_and_the_plan_that_binds_it() -> None:
    world = settled_world()
    edit(world, imageBase="202608.01")
    world.one_pass()

    pool = pool_of(world)

    assert pool["state"] == "RollingOut"
    rollout = pool["rollout"]
    assert rollout["reason"] == "the pool's owner changed imageBase"
    assert rollout["started_at"] == "2026-11-16T12:03:00.000Z"
    assert [sorted(rollout[end]) for end in ("from", "to")] == [["id", "version"]] * 2
    assert rollout["plan"]["machines"] == ["workers-2", "workers-3", "workers-4"]
    assert rollout["plan"]["leaves"] == [IMAGE_BASE]
    assert pool["waits"] == [
        {
            "for": "BudgetSpent",
            "says": "3 machines wait for their turn",
            "machine": "",
            "until": None,
        },
        {
            "for": "MachineNotJoined",
            "says": "1 machine boots",
            "machine": "",
            "until": "2026-11-16T12:23:00.000Z",
        },
    ]


def test_the_plan_of_a_rollout_under_way_holds_what_is_left_of_it() -> None:
    world = settled_world()
    edit(world, imageBase="202608.01")
    for _ in range(2):
        world.one_pass()
        world.run_machines()
    world.one_pass()

    plan = plan_of(world)

    assert plan["machines"] == ["workers-3", "workers-4"]
    assert (plan["change"], plan["because"]) == ("replace", "the pool's owner changed imageBase")
    assert plan["leaves"] == [IMAGE_BASE]


def test_a_further_platform_change_is_no_part_of_the_rollout_under_way() -> None:
    world = settled_world()
    edit(world, imageBase="202608.01")
    world.one_pass()
    drift(world)

    assert plan_of(world)["leaves"] == [IMAGE_BASE]
    assert [held["leaf"] for held in pool_of(world)["held"]] == ["platform.controlPlaneImage"]


def test_a_paused_pool_shows_the_plan_and_what_it_waits_for() -> None:
    world = settled_world()
    edit(world, imageBase="202608.01", paused=True)

    pool, plan = pool_of(world), plan_of(world)

    assert (pool["is_paused"], pool["state"], pool["rollout"]) == (True, "Held", None)
    assert plan["machines"] == ["workers-2", "workers-3", "workers-4"]
    assert [wait["for"] for wait in plan["waits"]] == ["Paused"]


def test_a_change_between_two_passes_is_seen_before_the_pass() -> None:
    world = settled_world()
    edit(world, replicas=5)

    pool = pool_of(world)

    assert (pool["desired"], pool["available"]) == (5, 3)


def test_an_in_place_pool_changes_machines_and_replaces_none() -> None:
    world = settled_world(management={"type": "InPlace"})

    plan = proposed(world, imageBase="202608.01")

    assert (plan["change"], plan["machines"]) == (
        "in-place",
        ["workers-2", "workers-3", "workers-4"],
    )
    assert plan["removed"] == []


def test_a_pool_that_was_deleted_removes_every_machine() -> None:
    world = settled_world()
    world.delete_pool()

    plan = plan_of(world)

    assert (plan["change"], plan["machines"]) == ("delete", [])
    assert plan["removed"] == ["workers-2", "workers-3", "workers-4"]
    assert plan["leaves"] == []


def test_inputs_that_cannot_be_used_disturb_nothing_and_say_why() -> None:
    world = settled_world()
    declare(world, problem="the pull secret is away")

    plan = plan_of(world)

    assert plan["change"] == "none"
    assert plan["because"] == (
        "Unknown: spec.release: the pull secret is away; no machine will be replaced."
    )


def test_the_detail_holds_document_conditions_and_pointers() -> None:
    detail = detail_of(settled_world())

    assert detail["document"] == pool_document()
    assert detail["applied"] == detail["target"]
    assert detail["target"]["version"] == "1.34.2"
    assert detail["plan"]["change"] == "none"
    ready = next(row for row in detail["conditions"] if row["type"] == "Ready")
    assert ready == {
        "type": "Ready",
        "status": "True",
        "reason": "AsExpected",
        "message": "",
        "since": "2026-11-16T12:01:00.000Z",
    }


def test_no_view_holds_a_token() -> None:
    world = settled_world()
    edit(world, imageBase="202608.01")
    world.one_pass()
    tokens = [secret.token for secret in world.tokens.values()]
    views = [
        detail_of(world),
        *(differences_told(machine, *read(world)) for machine in world.living.values()),
    ]

    assert len(tokens) == 2
    assert not any(repr(token) in repr(views) for token in tokens)


def test_a_machine_is_shown_with_what_its_edge_knows() -> None:
    machine = settled_world().living["workers-2"]

    view = fields(machine_answer(machine).but(kind="directory"))

    assert view == {
        "name": "workers-2",
        "pool": "workers",
        "phase": "ready",
        "revision": machine.revision,
        "booted": machine.revision,
        "heading_for": "",
        "created_at": "2026-11-16T12:00:00.000Z",
        "ready_at": "2026-11-16T12:00:00.000Z",
        "problem": "",
        "reason": "",
        "version": "",
        "since": None,
        "kind": "directory",
        "fault": "none",
        "gone_at": None,
        "boot_ms": None,
        "ignored": [],
        "agent": "202607.02.0",
    }


def test_a_machine_of_a_settled_pool_stays() -> None:
    world = settled_world()

    assert sentence_of(world, "workers-2") == ("workers-2 stays: it has what its pool is told.")
    assert differences_told(world.living["workers-2"], *read(world)) == []


def test_a_machine_of_a_pool_that_holds_a_change_stays_and_is_told_what_it_lacks() -> None:
    world = settled_world()
    drift(world)
    world.one_pass()

    assert sentence_of(world, "workers-2") == (
        "workers-2 stays: platform.controlPlaneImage waits for the next rollout."
    )


def test_a_machine_that_booted_with_held_changes_is_told_apart_from_its_siblings() -> None:
    world = settled_world(platformChanges={"newNodes": "Refresh"})
    drift(world)
    edit(world, replicas=4)
    world.settle()
    youngest = max(world.living.values(), key=lambda machine: machine.created_at)

    assert sentence_of(world, youngest.name) == (
        f"{youngest.name} stays: it booted with platform changes that its siblings wait for."
    )
    assert differences_told(youngest, *read(world)) == [
        {**CONTROL_PLANE_IMAGE, "before": "cp@sha256:bb", "after": None}
    ]


def test_a_machine_whose_turn_has_not_come_is_told_why_and_what_differs() -> None:
    world = settled_world()
    edit(world, imageBase="202608.01")
    world.one_pass()

    assert sentence_of(world, "workers-4") == (
        "workers-4 will be replaced because the pool's owner changed imageBase; "
        "3 machines wait for their turn."
    )
    assert differences_told(world.living["workers-4"], *read(world)) == [IMAGE_BASE]


def test_a_machine_of_a_paused_pool_is_told_what_it_waits_for_and_what_differs() -> None:
    world = settled_world()
    edit(world, imageBase="202608.01", paused=True)
    world.one_pass()

    assert sentence_of(world, "workers-4") == (
        "workers-4 will be replaced because the pool's owner changed imageBase; the pool is paused."
    )
    assert differences_told(world.living["workers-4"], *read(world)) == [IMAGE_BASE]


def test_a_machine_that_leaves_says_why_and_what_it_waits_for() -> None:
    world = settled_world()
    world.delete("workers-3")
    world.living["workers-3"] = replace(world.living["workers-3"], problem="a pod stays")

    assert sentence_of(world, "workers-3") == (
        "workers-3 leaves: deleted by hand. It waits: a pod stays. "
        "fairlead machine delete workers-3 --force waits no longer."
    )


def test_a_machine_that_failed_says_of_what_and_who_acts() -> None:
    world = settled_world()
    world.fail("workers-3", "disk is gone")
    assert sentence_of(world, "workers-3") == (
        "workers-3 failed: disk is gone; nothing replaces it, and autoRepair is off. "
        "fairlead machine delete workers-3 lets its pool make another."
    )

    edit(world, autoRepair=True)
    assert sentence_of(world, "workers-3") == ("workers-3 is about to leave: repair: disk is gone.")


def test_a_machine_that_is_changed_in_place_says_so() -> None:
    world = settled_world(management={"type": "InPlace"})
    edit(world, imageBase="202608.01")
    world.one_pass()
    moving = [machine.name for machine in world.living.values() if machine.is_in_flight]

    assert sentence_of(world, moving[0]) == (
        f"{moving[0]} is being changed in place because the pool's owner changed imageBase."
    )


def test_an_event_is_told_as_it_was_written() -> None:
    world = settled_world()
    first = world.templates[POOL].revision

    assert fields(world.read_events(POOL)[0]) == {
        "kind": "PoolAdopted",
        "pool": "workers",
        "machine": "",
        "at": "2026-11-16T12:00:00.000Z",
        "says": f"Revision {first} is the first.",
        "key": f"PoolAdopted:{first}:0",
        "actor": "the control plane",
        "asked_by": "",
    }


def test_the_platform_lists_each_leaf_with_the_pools_that_lack_it() -> None:
    world = settled_world()
    drift(world)
    edit_platform(world, loadBalancerAddress=None)
    world.one_pass()
    document = platform_document(controlPlaneImage="cp@sha256:bb", loadBalancerAddress=None)

    view = fields(platform_answer(document, {"renderer": 1}, world.records))

    rows = {
        row["leaf"]: (row["owner"], row["severity"], row["value"], row["held_by"])
        for row in view["leaves"]
    }
    assert view["document"] == document
    assert rows == {
        "platform.code.renderer": ("fairlead", "routine", 1, []),
        "platform.controlPlaneImage": ("control plane", "routine", "cp@sha256:bb", ["workers"]),
        "platform.loadBalancerAddress": ("infrastructure", "connectivity", None, ["workers"]),
        "platform.noProxy": ("networking", "routine", [".cluster.local", ".svc"], []),
        "platform.proxy.image": ("networking", "routine", "haproxy@sha256:aa", []),
        "platform.proxy.template": ("networking", "routine", "v1", []),
    }


def test_a_window_is_waited_for_until_it_opens() -> None:
    world = settled_world(rollout={"windows": [{"start": "22:00", "duration": "2h"}]})
    edit(world, imageBase="202608.01")

    waits = pool_of(world)["waits"]

    assert [(wait["for"], wait["until"]) for wait in waits] == [
        ("OutsideWindow", "2026-11-16T22:00:00.000Z")
    ]
    world.clock.advance(timedelta(hours=10))
    assert plan_of(world)["creates"] == 1
