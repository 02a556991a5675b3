"""
What is told about a pool, over random histories: no two screens contradict each other or the world.

The world is looked at here, not the code under test: which machines are ready and of which
revision, and whether anything still moves when a day passes.
"""

from __future__ import annotations

import re
import shlex
from datetime import timedelta
from typing import Any

from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import invariant, rule, run_state_machine_as_test

from fairlead.answers.pool import PoolAnswer, PoolDetail
from fairlead.answers.words import Phase, PoolState
from fairlead.cli.main import make_parser, whole_words
from fairlead.cli.screens.overview import overview_blocks
from fairlead.cli.screens.pool import explain_blocks, pool_blocks, pool_grid
from fairlead.cli.screens.rollout import progress_line, rollout_blocks
from fairlead.cli.screens.show import draw_plain
from fairlead.controller.observe import observe
from fairlead.controller.reconcile import preview
from fairlead.controller.think import think
from fairlead.decision.decision import ReplaceMachines
from fairlead.revision.revision import means_the_same
from fairlead.rollout.machines import Machine
from fairlead.rollout.step import RemoveMachine
from fairlead.telling.machine import machine_answer
from fairlead.telling.pool import pool_answer, pool_detail
from fairlead.telling.told_pools import told_of
from properties.pool_history import POOL, WatchedWorld
from properties.test_rollout_invariants import PoolHistory

FEW = settings(
    max_examples=25,
    stateful_step_count=20,
    deadline=None,
    report_multiple_bugs=False,
    suppress_health_check=list(HealthCheck),
)
NIGHT = {"windows": [{"start": "22:00", "duration": "4h"}]}
HELD = (PoolState.HELD, PoolState.BLOCKED)
SHORT, LONG = timedelta(seconds=5), timedelta(days=1000)


def told(world: WatchedWorld) -> PoolDetail:
    """What commands are answered: the pool as it is once the next pass was made."""
    seen, now = observe(POOL, world.world()), world.clock.now
    machines = [machine_answer(machine) for machine in world.list_machines(POOL)]
    return pool_detail(seen, think(seen, now), now, machines)


def screens_of(pool: PoolDetail, world: WatchedWorld) -> dict[str, str]:
    now = world.clock.now
    return {
        "pool list": draw_plain([pool_grid([pool])]),
        "pool show": draw_plain(pool_blocks(pool, now)),
        "explain": draw_plain(explain_blocks(pool, now)),
        "watch": draw_plain(rollout_blocks(pool, pool.machines, 100, now)),
        "watch in a pipe": progress_line(pool),
        "up": draw_plain(overview_blocks([pool], pool.machines, [], 100, now)),
        "conditions": "\n".join(row.message for row in pool.conditions),
    }


def wanted_ids(world: WatchedWorld, target: str) -> set[str]:
    """The revisions that machines are to have: another than the target, while a gate holds it."""
    seen = observe(POOL, world.world())
    decision, known = think(seen, world.clock.now).decision, seen.record
    if not isinstance(decision, ReplaceMachines):
        return {target}
    applied = known.applied if known else None
    same = {applied.id} if applied and means_the_same(applied, decision.wanted) else set()
    return {decision.wanted.id, *same}


def serves(machine: Machine) -> bool:
    return machine.phase is Phase.READY and not machine.heading_for


def watch_words(world: WatchedWorld) -> None:
    """No word that the machines of the world give the lie to."""
    pool = told(world)
    machines = world.list_machines(POOL)
    target = pool.target.id if pool.target else ""
    wanted = wanted_ids(world, target)
    current = sum(
        machine.revision in wanted and not machine.heading_for
        for machine in machines
        if machine.phase in (Phase.READY, Phase.NOT_READY)
    )
    is_well = all(serves(machine) and machine.revision == target for machine in machines)
    for name, text in screens_of(pool, world).items():
        if not is_well:
            assert not re.search(r"(?<!not )(?<!un)settled", text.lower()), (name, text)
            assert "Up to date" not in text, (name, text)
        for count in re.findall(r"(\d+) of \d+ (?:machines )?up to date", text):
            assert int(count) <= current, (name, text)
        if pool.state in HELD:
            assert not re.search(r"about \d+ \w+ left", text), (name, text)
    watch_conditions(pool, staying_machines(world), is_well=is_well)


def watch_kept(world: WatchedWorld) -> None:
    """What is told again without a thought is what a thought at that moment would tell."""
    seen, now = observe(POOL, world.world()), world.clock.now
    thought = think(seen, now)
    kept = told_of(pool_answer(seen, thought, now), thought)
    span = min(kept.kept_until(now), now + LONG) - now
    for part in (0.4, 0.999):
        later = now + span * part
        again = pool_answer(seen, think(seen, later), later)
        if span > SHORT:
            assert without_age(again) == without_age(kept.answer)


def without_age(pool: PoolAnswer) -> PoolAnswer:
    """The pool without how long something is so, which may be told a sixtieth too short."""
    return pool.but(summary=re.sub(r"since \d+ \w+", "since", pool.summary))


def staying_machines(world: WatchedWorld) -> list[Machine]:
    """Those that the next pass does not tell to leave."""
    steps = preview(POOL, world.world(), world.clock.now).steps
    leaving = {step.machine for step in steps if isinstance(step, RemoveMachine)}
    return [
        machine
        for machine in world.list_machines(POOL)
        if machine.phase is not Phase.LEAVING and machine.name not in leaving
    ]


def watch_conditions(pool: PoolDetail, staying: list[Machine], *, is_well: bool) -> None:
    found = {row.type: (row.status, row.reason) for row in pool.conditions}
    for kind in ("AllMachinesReady", "AllNodesHealthy"):
        if found[kind][0] == "True":
            assert staying, kind
            assert all(serves(machine) for machine in staying), kind
    # A pool whose new documents cannot be used still goes on with those before.
    if pool.state is PoolState.HELD or pool.halted:
        assert "RolloutInProgress" not in {reason for _, reason in found.values()}, found
    assert not (pool.verdict.is_complete and not is_well)
    if pool.verdict.is_complete:
        assert pool.state in (PoolState.SETTLED, PoolState.DRIFTED), pool.state


def watch_ways(pool: PoolDetail) -> None:
    """Whatever needs somebody names commands, and the command line has every one of them."""
    verdict = pool.verdict
    assert bool(verdict.needs) == bool(verdict.command) == bool(verdict.ways)
    for way in verdict.ways:
        program, *words = shlex.split(way.command)
        assert program == "fairlead"
        words = whole_words(words)
        make_parser(words).parse_args(words)


def moves(world: WatchedWorld) -> bool:
    """Let more than a day pass, and say whether anything became of the pool."""
    before = world.summary()
    for minutes in (0, 10, 25, 60, *[180] * 9):
        world.clock.advance(timedelta(minutes=minutes))
        world.one_pass()
        world.run_machines()
        if POOL not in world.documents or world.summary() != before:
            return True
    return False


class ToldHistory(PoolHistory):
    """A history that is looked at through every screen."""

    @rule(windows=st.booleans())
    def windows(self, windows: bool) -> None:
        self.world.rollout.pop("windows", None)
        self.world.rollout |= NIGHT if windows else {}
        self.world.declare()

    @rule(most=st.sampled_from([0, 1, "50%"]), drain=st.sampled_from(["0s", "30m"]))
    def limits(self, most: Any, drain: str) -> None:
        self.world.settings |= {"maxUnhealthy": most, "timeouts": {"drain": drain}}
        self.world.declare()

    @invariant()
    def the_tellings_agree(self) -> None:
        if hasattr(self, "world"):
            watch_words(self.world)
            watch_ways(told(self.world))
            watch_kept(self.world)

    def teardown(self) -> None:
        if not hasattr(self, "world"):
            return
        for _ in range(12):
            self.world.one_pass()
            if POOL not in self.world.documents:
                return
            self.world.run_machines()
            self.world.clock.advance(timedelta(minutes=10))
        if not moves(self.world):
            pool = told(self.world)
            assert pool.verdict.is_complete or pool.verdict.needs, (pool.state, pool.waits)


def test_no_telling_contradicts_another_or_the_world() -> None:
    run_state_machine_as_test(ToldHistory, settings=FEW)
