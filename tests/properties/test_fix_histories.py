"""Whatever becomes of hotfixes: no hash moves, and who is replaced for one was shown before."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Any

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from example_counts import examples
from fairlead.errors import InputError
from fairlead.proposal.propose import propose
from fairlead.rollout.fixes import Fix, Fixes, fixes_of
from transitions.pool_worlds import POOL, edit, settled_world

SINCE = datetime(2026, 7, 1, tzinfo=UTC)
VERSIONS = ["202607.02.1", "202607.02.2", "202608.01.1"]
STATES = ["", "it was withdrawn: it loops", "the region local is off", "it was halted: 3 of 4"]
FOR_A_FIX = "the pool's owner wants no machine without the fix"

Act = tuple[Callable[..., None], Any]


class FixHistory:
    """One pool, its depot and its owner. shown: machines that an owner agreed to replace."""

    def __init__(self) -> None:
        self.world = settled_world(replicas=3)
        self.shown: set[str] = set()
        self.asked = 0
        self.target = self._target()

    def publish(self, states: dict[str, str]) -> None:
        self.world.fixes = fixes_of(
            Fix(
                version=version,
                since=SINCE,
                stopped=stopped,
                is_withdrawn=stopped.startswith("it was withdrawn"),
            )
            for version, stopped in states.items()
        )

    def damage(self, _: None) -> None:
        self.world.fixes = Fixes(problem="the catalog cannot be read")

    def refuse_fixes(self, takes: bool) -> None:
        self.world.takes = takes

    def scale(self, replicas: int) -> None:
        edit(self.world, replicas=replicas)

    def pause(self, paused: bool) -> None:
        edit(self.world, paused=paused or None)

    def fail(self, which: int) -> None:
        staying = sorted(self.world.living)
        if staying:
            self.world.fail(staying[which % len(staying)], "its disk is gone")

    def ask(self, version: str) -> None:
        self.asked += 1
        document: Any = self.world.documents[POOL].pool
        rollout = {"replaceWithout": {"fix": version, "request": str(self.asked)}}
        document = {**document, "spec": {**document["spec"], "rollout": rollout}}
        try:
            proposal = propose(self.world.world(), [document], self.world.clock.now)
        except InputError:
            return
        self.shown |= set(proposal.plans[0].machines)
        self.world.plans.pop(POOL, None)
        if POOL in proposal.rollouts:
            self.world.plans[POOL] = proposal.rollouts[POOL]
        edit(self.world, rollout=rollout)

    def disappoint(self, rounds: int) -> None:
        """The owner asks for a fix that no boot takes."""
        self.world.takes = False
        self.publish({"202607.02.2": ""})
        self.ask("202607.02.2")
        self.pass_over(rounds)

    def take_back(self, _: None) -> None:
        edit(self.world, rollout=None)

    def pass_over(self, rounds: int) -> None:
        for _ in range(rounds):
            self.world.one_pass()
            before = self.world.writes
            self.world.one_pass()
            assert self.world.writes == before, "a second pass wrote"
            self.check()
            self.world.run_machines()
            self.world.clock.advance(timedelta(minutes=1))

    def check(self) -> None:
        assert self._target() == self.target, "a hash moved"
        for machine in [*self.world.living.values(), *self.world.gone.values()]:
            if machine.is_leaving and machine.reason.startswith(FOR_A_FIX):
                assert machine.name in self.shown, f"{machine.name} was not shown"

    def come_to_rest(self) -> None:
        self.world.takes = True
        self.publish({"202607.02.2": ""})
        edit(self.world, paused=None, autoRepair=True, maxUnhealthy=9, replicas=3)
        self.world.settle()
        self.ask("202607.02.2")
        self.world.settle()
        self.check()
        assert {machine.agent for machine in self.world.living.values()} == {"202607.02.2"}

    def _target(self) -> object:
        return self.world.records[POOL].target, self.world.templates[POOL].revision


def act(does: Callable[..., None], argument: st.SearchStrategy[Any]) -> st.SearchStrategy[Act]:
    return st.tuples(st.just(does), argument)


ACTS = st.one_of(
    act(FixHistory.publish, st.dictionaries(st.sampled_from(VERSIONS), st.sampled_from(STATES))),
    act(FixHistory.publish, st.just({"202607.02.1": ""})),
    act(FixHistory.damage, st.none()),
    act(FixHistory.refuse_fixes, st.booleans()),
    act(FixHistory.scale, st.integers(0, 4)),
    act(FixHistory.pause, st.booleans()),
    act(FixHistory.fail, st.integers(0, 3)),
    act(FixHistory.ask, st.sampled_from(VERSIONS)),
    act(FixHistory.disappoint, st.integers(1, 6)),
    act(FixHistory.take_back, st.none()),
    act(FixHistory.pass_over, st.integers(1, 5)),
)


@settings(max_examples=examples(60), deadline=None, suppress_health_check=list(HealthCheck))
@given(acts=st.lists(ACTS, min_size=3, max_size=14))
def test_nothing_but_an_owners_word_replaces_machines_for_a_fix(acts: list[Act]) -> None:
    history = FixHistory()
    for does, argument in acts:
        does(history, argument)
        history.check()
    history.come_to_rest()
