"""
The thirteen invariants of predictable rollouts, over random histories of one pool.

Every write is watched as it happens (pool_history.py); I-12, that every leaf has a class, is in
tests/unit/inputs/test_registry.py.
"""

from datetime import timedelta
from typing import Any

import pytest
from hypothesis import HealthCheck, seed, settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    initialize,
    invariant,
    precondition,
    rule,
    run_state_machine_as_test,
)

from properties.pool_accidents import (
    break_machine,
    forget_record,
    leave,
    lose_secret,
    resize,
    reword,
    spoil_payload,
    with_label,
)
from properties.pool_history import POOL, WatchedWorld

FEW = settings(
    max_examples=25,
    stateful_step_count=30,
    deadline=None,
    report_multiple_bugs=False,
    suppress_health_check=list(HealthCheck),
)
# Two thousand in four parts, so that two cores share them. Seeded, since Hypothesis would
# otherwise go through the same histories in every part when it runs in CI.
PARTS = 4
MANY = settings(FEW, max_examples=2000 // PARTS, stateful_step_count=40, derandomize=False)

LETTERS = st.sampled_from("abc")


class PoolHistory(RuleBasedStateMachine):
    """One pool, and everything that may happen to it."""

    world: WatchedWorld

    @initialize(in_place=st.booleans(), after=st.none() | st.integers(0, 12))
    def begin(self, in_place: bool, after: int | None) -> None:
        self.world = WatchedWorld(in_place=in_place)
        if after is not None:
            self.world.crashed_pass(after)
        self.world.watched_pass()

    @rule(field=st.sampled_from(["imageBase", "vmSize"]), value=LETTERS)
    def edit_intent(self, field: str, value: str) -> None:
        self.world.spec[field] = value
        self.world.declare()

    @rule(value=st.integers(0, 2))
    def edit_configuration(self, value: int) -> None:
        self.world.spec["maxPods"] = value
        self.world.declare()

    @rule(field=st.sampled_from(["image", "address"]), value=LETTERS)
    def edit_platform(self, field: str, value: str) -> None:
        self.world.platform[field] = value
        self.world.declare()

    @rule(replicas=st.integers(0, 5))
    def scale(self, replicas: int) -> None:
        resize(self.world, replicas)

    @rule(value=LETTERS)
    def label(self, value: str) -> None:
        with_label(self.world, value)

    @rule()
    def write_it_another_way(self) -> None:
        reword(self.world)

    @rule(pause=st.sampled_from([None, None, True, {"scalingToo": True}]))
    def pause(self, pause: Any) -> None:
        self.world.settings.pop("paused", None)
        if pause is not None:
            self.world.settings["paused"] = pause
        self.world.declare()

    @rule(value=st.sampled_from(["v1", "v2"]))
    def force(self, value: str) -> None:
        self.world.settings["force"] = value
        self.world.declare()

    @rule(
        surge=st.sampled_from([0, 1, 2, "34%"]), unavailable=st.sampled_from([0, 1, "40%", "10%"])
    )
    def budget(self, surge: int | str, unavailable: int | str) -> None:
        if self.world.in_place:
            self.world.management["maxUnavailable"] = unavailable
        elif surge != 0 or unavailable != 0:
            self.world.management |= {"maxSurge": surge, "maxUnavailable": unavailable}
        self.world.declare()

    @precondition(lambda self: not self.world.in_place)
    @rule(on_delete=st.booleans())
    def strategy(self, on_delete: bool) -> None:
        self.world.management["strategy"] = "OnDelete" if on_delete else "RollingUpdate"
        self.world.declare()

    @rule(canary=st.sampled_from([[], [1], [1, "50%"]]), soak=st.sampled_from(["0s", "30m"]))
    def batches(self, canary: list[Any], soak: str) -> None:
        self.world.rollout |= {"canary": canary, "soak": soak, "haltAfter": 2}
        self.world.declare()

    @rule(value=st.sampled_from(["r1", "r2", "r3"]))
    def resume(self, value: str) -> None:
        self.world.rollout["resume"] = value
        self.world.declare()
        self.world.watched_pass()

    @rule(letter=LETTERS)
    def fail_a_release(self, letter: str) -> None:
        self.world.fail_next_release(letter)

    @precondition(lambda self: self.world.is_halted)
    @rule(value=st.sampled_from(["r4", "r5", "r6", "r7"]))
    def resume_a_halt(self, value: str) -> None:
        is_fresh = value not in self.world.given_resume and not self.world.is_leaving
        self.world.rollout["resume"] = value
        self.world.declare()
        self.world.watched_pass()
        assert not (is_fresh and self.world.is_halted), "a fresh request did not end the halt"

    @rule()
    def spoil_payload(self) -> None:
        if POOL in self.world.templates:
            spoil_payload(self.world)
            self.world.watched_pass()

    @rule(stopped=st.booleans())
    def kill_switch(self, stopped: bool) -> None:
        self.world.is_stopped = stopped
        self.world.declare()

    @rule()
    def delete_pool(self) -> None:
        leave(self.world)

    @rule()
    def restart_service(self) -> None:
        self.world.restart_service()

    @rule(refresh=st.booleans(), repair=st.booleans())
    def policies(self, refresh: bool, repair: bool) -> None:
        mode = "Refresh" if refresh else "Hold"
        self.world.settings |= {"platformChanges": {"newNodes": mode}, "autoRepair": repair}
        self.world.declare()

    @rule(broken=st.booleans())
    def break_the_configuration(self, broken: bool) -> None:
        self.world.is_broken = broken
        self.world.declare()

    @rule(scheme=st.sampled_from([1, 2, 3]), default=st.booleans())
    def release_code(self, scheme: int, default: bool) -> None:
        self.world.release_code(scheme, default)

    @rule(which=st.sampled_from(["token", "user data"]))
    def lose_secret(self, which: str) -> None:
        if POOL in self.world.templates and POOL in self.world.records:
            lose_secret(self.world, which)
            self.world.watched_pass()

    @rule()
    def upgrade_from_a_controller_without_records(self) -> None:
        if POOL in self.world.templates:
            forget_record(self.world)
            self.world.watched_pass()

    @rule(
        which=st.integers(0, 5),
        how=st.sampled_from(["fail", "lose", "delete", "stick", "problem"]),
    )
    def break_machine(self, which: int, how: str) -> None:
        break_machine(self.world, which, how)

    @rule(fate=st.sampled_from(["ready", "ready", "fail", "silent"]))
    def next_machine(self, fate: str) -> None:
        self.world.fates.append(fate)

    @rule()
    def run_machines(self) -> None:
        self.world.run_machines()

    @rule(minutes=st.sampled_from([1, 25, 60, 331, 800]))
    def time_passes(self, minutes: int) -> None:
        self.world.clock.advance(timedelta(minutes=minutes))
        self.world.watched_pass()

    @rule()
    def one_pass(self) -> None:
        self.world.watched_pass()

    @rule(rounds=st.sampled_from([1, 2, 4, 12]))
    def some_passes(self, rounds: int) -> None:
        for _ in range(rounds):
            self.world.watched_pass()
            self.world.run_machines()

    @rule(after=st.integers(0, 12))
    def crash(self, after: int) -> None:
        self.world.crashed_pass(after)

    @invariant()
    def no_name_is_lost(self) -> None:
        if hasattr(self, "world"):
            assert all(machine.reason for machine in self.world.gone.values())

    def teardown(self) -> None:
        if hasattr(self, "world"):
            self.world.come_to_rest()


def test_the_invariants_hold_over_some_histories() -> None:
    run_state_machine_as_test(PoolHistory, settings=FEW)


@pytest.mark.slow
@pytest.mark.parametrize("part", range(PARTS))
def test_the_invariants_hold_over_two_thousand_histories(part: int) -> None:
    seeded = seed(part)(type("PoolHistory", (PoolHistory,), {}))
    run_state_machine_as_test(seeded, settings=MANY)
