"""One table: how a pool stands, and the words that every screen and condition has for it."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest

from fairlead.answers.pool import PoolDetail
from fairlead.cli.screens.overview import overview_blocks
from fairlead.cli.screens.pool import explain_blocks, pool_grid
from fairlead.cli.screens.rollout import rollout_blocks
from fairlead.cli.screens.show import draw_plain
from fairlead.controller.observe import observe
from fairlead.controller.think import think
from fairlead.sim.world import SimWorld
from fairlead.telling.machine import machine_answer
from fairlead.telling.pool import pool_detail
from transitions.pool_worlds import POOL, approve, edit, edit_platform, fresh_world, settled_world

NIGHT = {"windows": [{"start": "22:00", "duration": "4h"}]}


def told(world: SimWorld) -> PoolDetail:
    seen, now = observe(POOL, world.world()), world.clock.now
    machines = [machine_answer(machine) for machine in world.list_machines(POOL)]
    return pool_detail(seen, think(seen, now), now, machines)


def new() -> SimWorld:
    world = fresh_world(rollout=NIGHT)
    world.one_pass()
    return world


def growing() -> SimWorld:
    world = settled_world()
    edit(world, replicas=4)
    world.one_pass()
    return world


def broken() -> SimWorld:
    world = settled_world()
    world.fail("workers-2", "disk is gone")
    world.one_pass()
    return world


def given_up() -> SimWorld:
    world = settled_world(autoRepair=True, maxUnhealthy=0)
    world.fail("workers-2", "disk is gone")
    world.one_pass()
    return world


def held(**spec: Any) -> SimWorld:
    world = settled_world()
    edit(world, imageBase="202607.03", **spec)
    world.one_pass()
    return world


def stopped() -> SimWorld:
    world = held()
    edit_platform(world, stopEverything=True)
    world.one_pass()
    return world


def unapproved() -> SimWorld:
    world = settled_world()
    edit(world, imageBase="202607.03")
    world.plans[POOL] = approve(world).but(machines=())
    world.one_pass()
    return world


def rolling() -> SimWorld:
    return held()


def halted() -> SimWorld:
    world = settled_world(management={"maxSurge": 2})
    world.fates = ["fail", "fail"]
    edit(world, imageBase="202607.03")
    world.settle()
    return world


def degraded() -> SimWorld:
    world = settled_world(management={"type": "InPlace"})
    world._fate_of["workers-2"] = "fail"
    edit(world, imageBase="202607.03")
    world.settle()
    return world


def never_joined() -> SimWorld:
    world = settled_world()
    world.fates = ["silent"]
    edit(world, imageBase="202607.03")
    world.settle()
    world.clock.advance(timedelta(minutes=20))
    world.settle()
    return world


def draining() -> SimWorld:
    world = settled_world()
    world.stuck = {"workers-2"}
    edit(world, imageBase="202607.03")
    world.settle()
    world.clock.advance(timedelta(hours=1))
    world.one_pass()
    return world


def leaving() -> SimWorld:
    world = settled_world()
    world.stuck = {"workers-2"}
    world.delete_pool()
    world.settle()
    world.clock.advance(timedelta(hours=1))
    return world


RESUME = "fairlead pool resume workers"
APPLY = "fairlead apply -f FILE"
IN_PROGRESS = "False/RolloutInProgress"

# How it stands: state, how the summary begins, ConfigUpdatePending, AllNodesHealthy, the command.
Row = tuple[Callable[[], SimWorld], str, str, str, str, str]
TABLE: list[Row] = [
    (settled_world, "Settled", "settled: every machine has", "False/AsExpected", "True", ""),
    (new, "RollingOut", "rolling out: 0 of 3", IN_PROGRESS, "False", ""),
    (growing, "Unsettled", "coming up: 3 of 4", "False/AsExpected", "False", ""),
    (broken, "Unsettled", "not settled: 2 of 3", "False/AsExpected", "False",
     "fairlead machine delete workers-2"),
    (given_up, "Blocked", "blocked: 1 machine is unhealthy", "False/AsExpected", "False",
     "fairlead machine delete workers-2"),
    (rolling, "RollingOut", "rolling out: 0 of 3", IN_PROGRESS, "False", ""),
    (lambda: held(paused=True), "Held", "waiting: 3 machines", "True/Paused", "True", RESUME),
    (lambda: held(rollout=NIGHT), "Held", "waiting: 3 machines", "True/OutsideWindow", "True", ""),
    (unapproved, "Held", "waiting: 3 machines", "True/PlanExceeded", "True", APPLY),
    (stopped, "Held", "stopped: 0 of 3", "True/EverythingStopped", "False",
     "fairlead platform set stopEverything=false"),
    (halted, "Blocked", "halted: 0 of 3", "True/Halted", "False", RESUME),
    (degraded, "Blocked", "halted: 0 of 3", "True/Halted", "False", RESUME),
    (never_joined, "RollingOut", "rolling out: 0 of 3", IN_PROGRESS, "False",
     "fairlead machine delete workers-6"),
    (draining, "RollingOut", "rolling out: 1 of 3", IN_PROGRESS, "True",
     "fairlead machine delete workers-2 --force"),
    (leaving, "Leaving", "leaving: 1 machine left to go", "False/PoolDeleted", "False",
     "fairlead machine delete workers-2 --force"),
]  # fmt: skip


@pytest.mark.parametrize("row", TABLE, ids=lambda row: f"{row[1]}, {row[2]}")
def test_every_screen_has_the_words_of_the_situation(row: Row) -> None:
    make, state, summary, pending, healthy, command = row
    world = make()

    pool = told(world)

    found = {row.type: row for row in pool.conditions}
    drift = found["ConfigUpdatePending"]
    listed = draw_plain([pool_grid([pool])])
    explained = draw_plain(explain_blocks(pool, world.clock.now))
    watched = draw_plain(rollout_blocks(pool, pool.machines, 100, world.clock.now))
    assert pool.state.value == state
    assert pool.summary.startswith(summary)
    assert f"{drift.status}/{drift.reason}" == pending
    assert found["AllNodesHealthy"].status == healthy
    assert pool.verdict.command == command
    assert state in listed
    assert state in watched
    assert explained.startswith(summary)
    assert (f"way out    {command}" in explained) is bool(command)
    for wait in pool.waits:
        assert all(wait.says in screen for screen in (listed, explained, watched))
    assert state == "RollingOut" or "left" not in watched.splitlines()[0], "no countdown"


def test_a_sentence_about_what_is_held_says_by_what() -> None:
    assert told(held(paused=True)).sentence == (
        "Machines are replaced because the pool's owner changed imageBase. "
        "Not now: the pool is paused."
    )


def test_a_pool_outside_its_window_with_nothing_to_replace_waits_for_no_window() -> None:
    assert [wait.says for wait in told(new()).waits] == ["3 machines boot"]
    assert told(settled_world(rollout=NIGHT)).waits == ()


def test_machines_show_their_versions_during_a_rollout() -> None:
    world = settled_world()
    edit(world, release={"version": "1.34.9"})
    world.one_pass()

    pool = told(world)

    assert [machine.version for machine in pool.machines] == ["1.34.2"] * 3 + ["1.34.9"]
    watched = draw_plain(rollout_blocks(pool, pool.machines, 100, world.clock.now))
    assert "workers-6  booting  1.34.9" in watched


def test_a_screen_that_leaves_machines_out_says_how_many() -> None:
    world = settled_world(replicas=14)
    pool = told(world)

    for blocks in (
        overview_blocks([pool], pool.machines, [], 100, world.clock.now),
        rollout_blocks(pool, pool.machines, 100, world.clock.now),
    ):
        assert "and 2 more machines" in draw_plain(blocks)
