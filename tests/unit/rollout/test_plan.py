"""Machines and policy to the next steps, or why there are none."""

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from fairlead.answers.plan import Plan
from fairlead.answers.words import ChangeClass, Phase, Strategy, WaitFor
from fairlead.rollout.machines import Machine, NodeSettings
from fairlead.rollout.plan import plan_machines, rollout_plan_of
from fairlead.rollout.policy import Budget, Pause, Policy
from fairlead.rollout.situation import Situation
from fairlead.rollout.step import ChangeMachine, CreateMachine, RemoveMachine

NOW = datetime(2026, 11, 16, 12, tzinfo=UTC)
HOUR = timedelta(hours=1)


def machine(name: str, revision: str = "old", phase: Phase = Phase.READY, **rest: Any) -> Machine:
    ready_at = NOW - HOUR if phase is Phase.READY else None
    fields: dict[str, Any] = {
        "created_at": NOW - HOUR,
        "booted": revision,
        "ready_at": ready_at,
    } | rest
    return Machine(name=name, pool="workers", revision=revision, phase=phase, **fields)


def situation(*machines: Machine, desired: int = 3, **rest: Any) -> Situation:
    known: dict[str, Any] = {"policy": Policy(), "reason": "because", "applied": "old"} | rest
    return Situation(machines=machines, target="new", desired=desired, now=NOW, **known)


def planned(*machines: Machine, **rest: Any) -> list[object]:
    return list(plan_machines(situation(*machines, **rest)).steps)


def waits(*machines: Machine, **rest: Any) -> list[WaitFor]:
    return [wait.wait_for for wait in plan_machines(situation(*machines, **rest)).waits]


STALE = (machine("a"), machine("b"), machine("c"))
IN_PLACE = Policy(strategy=Strategy.IN_PLACE, max_unavailable=Budget(1))


def test_a_rollout_starts_with_one_more_machine() -> None:
    assert planned(*STALE) == [CreateMachine("new")]


def test_a_ready_surge_lets_the_oldest_go() -> None:
    older = machine("b", created_at=NOW - 2 * HOUR)

    steps = planned(machine("a"), older, machine("c"), machine("d", "new"))

    assert steps == [RemoveMachine("b", "because")]


def test_without_surge_one_goes_first() -> None:
    policy = Policy(max_surge=Budget(0), max_unavailable=Budget(1))

    assert planned(*STALE, policy=policy) == [RemoveMachine("a", "because")]


def test_a_failed_machine_uses_up_the_budget() -> None:
    policy = Policy(max_surge=Budget(0), max_unavailable=Budget(1))
    machines = (machine("a"), machine("b"), machine("c", "new", Phase.FAILED))

    assert planned(*machines, policy=policy) == []


def test_a_stale_machine_that_serves_nobody_goes_first() -> None:
    machines = (machine("a"), machine("b", phase=Phase.NOT_READY), machine("c"))

    assert RemoveMachine("b", "because") in planned(*machines)


def test_scaling_down_takes_what_serves_least() -> None:
    machines = (
        machine("a", "new"),
        machine("b", "new", created_at=NOW - timedelta(minutes=5)),
        machine("c", "new", Phase.BOOTING, created_at=NOW),
        machine("d", "new"),
    )

    steps = planned(*machines, desired=2)

    assert [step.machine for step in steps if isinstance(step, RemoveMachine)] == ["c", "b"]


@pytest.mark.parametrize(
    ("rest", "reason"),
    [
        ({"policy": Policy(pause=Pause())}, WaitFor.PAUSE),
        ({"is_stopped": True}, WaitFor.STOP),
        ({"halted": "2 machines failed"}, WaitFor.HALT),
        ({"policy": Policy(strategy=Strategy.ON_DELETE)}, WaitFor.OWNER),
        ({"bound": Plan(pool="workers", change=ChangeClass.REPLACE, intent_hash="",
                               platform_hash="", because="", machines=("a", "b"))}, WaitFor.PLAN),
    ],
)  # fmt: skip
def test_a_held_rollout_replaces_nothing_and_says_why(
    rest: dict[str, Any], reason: WaitFor
) -> None:
    assert planned(*STALE, **rest) == []
    assert reason in waits(*STALE, **rest)


def test_the_kill_switch_stops_scaling_too() -> None:
    assert planned(desired=3, is_stopped=True) == []
    assert planned(desired=3) == [CreateMachine("new")] * 3


def test_stale_machines_beyond_the_wanted_number_leave_without_a_successor() -> None:
    down = [RemoveMachine(name, "the pool was scaled down") for name in ("a", "b")]

    assert planned(*STALE, machine("d"), desired=2) == down
    boots = machine("d", "new", Phase.BOOTING)
    assert planned(*STALE, machine("e"), boots, desired=2) == down, "not the one that comes"


def test_what_leaves_without_a_successor_costs_no_time() -> None:
    shown = rollout_plan_of(
        situation(*STALE, machine("d"), desired=2), Plan(pool="workers", change=ChangeClass.NONE)
    )

    assert shown.machines == ("a", "b", "c", "d")
    assert shown.estimate_s == 2 * 600


def test_a_held_pool_still_scales() -> None:
    steps = planned(*STALE, desired=5, policy=Policy(pause=Pause()))

    assert steps == [CreateMachine("new")] * 2


def test_on_delete_replaces_what_its_owner_removed() -> None:
    policy = Policy(strategy=Strategy.ON_DELETE)

    assert planned(machine("a"), machine("b"), policy=policy) == [CreateMachine("new")]


def test_a_canary_batch_holds_back_the_rest() -> None:
    policy = Policy(max_surge=Budget(3), canary=(Budget(1),), soak=timedelta(hours=2))
    canary = machine("d", "new", ready_at=NOW - HOUR)

    assert planned(*STALE, policy=policy) == [CreateMachine("new")]
    found = plan_machines(situation(*STALE, canary, policy=policy))
    assert list(found.steps) == [RemoveMachine("a", "because")]
    assert found.waits[0].wait_for is WaitFor.SOAK
    assert found.waits[0].until == NOW + HOUR


def test_after_the_soak_the_budgets_alone_decide() -> None:
    policy = Policy(max_surge=Budget(3), canary=(Budget(1),), soak=HOUR)
    machines = (machine("b"), machine("c"), machine("d", "new", ready_at=NOW - HOUR))

    assert planned(*machines, policy=policy) == [CreateMachine("new")] * 2


SOAKING = Policy(max_surge=Budget(1), soak=HOUR, strategy=Strategy.ROLLING)


def test_without_listed_batches_each_soaks_that_the_budgets_let_go() -> None:
    fresh = machine("d", "new", ready_at=NOW - HOUR / 2)

    found = plan_machines(situation(*STALE[1:], fresh, policy=SOAKING))

    assert list(found.steps) == []
    assert [(wait.says, wait.until) for wait in found.waits] == [
        ("batch 1 soaks", NOW + HOUR / 2),
    ]


def test_a_batch_that_has_soaked_lets_the_next_begin() -> None:
    held = machine("d", "new", ready_at=NOW - HOUR)

    assert planned(*STALE[1:], held, policy=SOAKING) == [CreateMachine("new")]


def test_the_last_batch_does_not_soak_for_anybody() -> None:
    held = (machine("d", "new", ready_at=NOW - HOUR), machine("e", "new", ready_at=NOW - HOUR))
    fresh = machine("f", "new", ready_at=NOW)

    assert planned(machine("c"), *held, fresh, policy=SOAKING) == [RemoveMachine("c", "because")]


def test_a_plan_counts_the_soaks_between_batches() -> None:
    shown = Plan(pool="workers", change=ChangeClass.NONE)

    plan = rollout_plan_of(situation(*STALE, policy=SOAKING), shown)

    assert plan.estimate_s == 3 * 600 + 2 * 3600


def test_in_place_the_oldest_is_changed_first_as_the_plan_shows() -> None:
    machines = (
        machine("a", created_at=NOW - HOUR),
        machine("b", created_at=NOW - 3 * HOUR),
        machine("c", created_at=NOW - 2 * HOUR, phase=Phase.NOT_READY),
    )
    policy = Policy(strategy=Strategy.IN_PLACE, max_unavailable=Budget(3))

    shown = rollout_plan_of(
        situation(*machines, policy=policy), Plan(pool="workers", change=ChangeClass.NONE)
    )

    assert planned(*machines, policy=policy) == [
        ChangeMachine(name, "new") for name in ("c", "b", "a")
    ]
    assert shown.machines == ("c", "b", "a")


def test_replaced_machines_go_in_the_order_of_the_plan() -> None:
    machines = (
        machine("a", created_at=NOW - HOUR),
        machine("b", created_at=NOW - 3 * HOUR),
        machine("c", phase=Phase.FAILED, created_at=NOW),
    )
    policy = Policy(max_surge=Budget(0), max_unavailable=Budget(3))

    shown = rollout_plan_of(
        situation(*machines, policy=policy), Plan(pool="workers", change=ChangeClass.NONE)
    )

    assert planned(*machines, policy=policy) == [
        RemoveMachine(name, "because") for name in ("c", "b", "a")
    ]
    assert shown.machines == ("c", "b", "a")


def test_repair_removes_a_dead_machine_and_says_what_it_died_of() -> None:
    machines = (
        machine("a", "new"),
        machine("b", "new", Phase.FAILED, problem="disk is gone"),
        machine("c", "new", Phase.BOOTING, problem="stage fetch: 511"),
    )

    assert planned(*machines, policy=Policy(auto_repair=True)) == [
        RemoveMachine("b", "repair: disk is gone"),
        RemoveMachine("c", "repair: never joined; stage fetch: 511"),
        CreateMachine("new"),
    ]


def test_repair_stops_where_the_cause_is_not_the_machines() -> None:
    machines = tuple(machine(name, "new", Phase.FAILED) for name in "abc")

    assert planned(*machines, policy=Policy(auto_repair=True)) == []


@pytest.mark.parametrize(
    ("unavailable", "expected"), [(1, ["a"]), (2, ["a", "b"]), (7, ["a", "b", "c"])]
)
def test_in_place_changes_as_many_as_may_be_missing(unavailable: int, expected: list[str]) -> None:
    policy = Policy(strategy=Strategy.IN_PLACE, max_unavailable=Budget(unavailable))

    assert planned(*STALE, policy=policy) == [ChangeMachine(name, "new") for name in expected]


def test_in_place_redirects_what_is_in_flight_even_at_the_limit() -> None:
    machines = (machine("a", heading_for="middle"), machine("b"), machine("c"))

    assert planned(*machines, policy=IN_PLACE) == [ChangeMachine("a", "new")]


def test_in_place_at_the_limit_nothing_more_starts() -> None:
    machines = (machine("a", heading_for="new"), machine("b"), machine("c"))

    assert planned(*machines, policy=IN_PLACE) == []
    assert WaitFor.CHANGE in waits(*machines, policy=IN_PLACE)


def test_in_place_a_machine_that_serves_nobody_waits_for_its_turn_too() -> None:
    machines = (machine("a", heading_for="new"), machine("b", phase=Phase.NOT_READY), machine("c"))

    assert planned(*machines, policy=IN_PLACE) == []


def test_in_place_a_degraded_machine_stops_the_pool() -> None:
    machines = (
        machine("a", phase=Phase.FAILED, heading_for="new", problem="drain failed"),
        machine("b"),
        machine("c"),
    )

    assert (
        planned(*machines, policy=Policy(strategy=Strategy.IN_PLACE, max_unavailable=Budget(2)))
        == []
    )


def test_machines_that_wait_for_their_turn_are_counted() -> None:
    found = plan_machines(situation(*STALE))

    assert [wait.says for wait in found.waits] == [
        "3 machines wait for their turn",
        "1 machine boots",
    ]


def test_a_machine_that_waits_says_for_what() -> None:
    leaving = machine("a", phase=Phase.LEAVING, problem="blocked by budget web")

    found = plan_machines(situation(leaving, *STALE[1:], machine("d", "new")))

    assert [wait.says for wait in found.waits if wait.machine] == ["a: blocked by budget web"]


@pytest.mark.parametrize(
    ("minutes", "says"),
    [
        (9, "1 machine drains"),
        (11, "a: it drained, and does not go: Waiting for TestMachine to be deleted"),
    ],
)
def test_the_end_of_a_machine_is_called_stuck_once_it_takes_longer_than_a_replacement(
    minutes: int, says: str
) -> None:
    leaving = machine(
        "a",
        phase=Phase.LEAVING,
        since=NOW - timedelta(minutes=minutes),
        going="Waiting for TestMachine to be deleted",
    )

    found = plan_machines(situation(leaving, *STALE[1:], machine("d", "new")))

    assert says in [wait.says for wait in found.waits]


def test_a_drain_with_a_limit_is_no_part_of_the_end_that_follows() -> None:
    policy = Policy(settings=NodeSettings(drain_timeout=timedelta(minutes=5)))
    leaving = machine("a", phase=Phase.LEAVING, since=NOW - timedelta(minutes=14), going="it goes")

    assert waits(leaving, *STALE[1:], machine("d", "new"), policy=policy)[-1] is WaitFor.LEAVE


def test_a_plan_names_machines_in_order_and_how_long_it_takes() -> None:
    shown = Plan(
        pool="workers", change=ChangeClass.NONE, intent_hash="i", platform_hash="p", because="why"
    )

    plan = rollout_plan_of(situation(*STALE), shown)

    assert plan.change is ChangeClass.REPLACE
    assert plan.machines == ("a", "b", "c")
    assert plan.estimate_s == 1800.0


def test_a_plan_for_ten_thousand_machines_is_linear() -> None:
    policy = Policy(max_surge=Budget(10, is_percent=True))
    machines = tuple(machine(f"m{number:05}") for number in range(10_000))

    steps = planned(*machines, desired=10_000, policy=policy)

    assert steps == [CreateMachine("new")] * 1000


def test_a_surplus_of_a_superseded_target_is_not_called_scaled_down() -> None:
    middle = machine("d", "middle", Phase.BOOTING)
    reason = "its target was superseded, and the pool has machines enough"

    assert planned(*STALE, middle, asked_by="bob") == [RemoveMachine("d", reason, "bob")]

    down = planned(*STALE, middle, desired=2, asked_by="bob", declared_by="alice")
    told = [(step.reason, step.asked_by) for step in down if isinstance(step, RemoveMachine)]
    assert told == [("the pool was scaled down", "alice")] * 2


def test_a_machine_with_two_reasons_to_leave_is_told_once() -> None:
    policy = Policy(auto_repair=True)
    machines = (*STALE[:2], machine("d", "old", Phase.FAILED))

    steps = planned(*machines, desired=1, policy=policy, is_stopped=False)

    assert [step for step in steps if step == RemoveMachine("d", "the pool was scaled down")]
    assert len({step.machine for step in steps if isinstance(step, RemoveMachine)}) == len(steps)


def test_a_forgiven_machine_leaves_and_holds_nothing() -> None:
    dead = machine("c", "old", Phase.FAILED, heading_for="new", problem="disk")
    machines = (machine("a"), machine("b"), dead)

    assert waits(*machines, policy=IN_PLACE) == [WaitFor.HALT, WaitFor.BUDGET, WaitFor.CHANGE]

    steps = planned(*machines, policy=IN_PLACE, forgiven=("c",))

    assert steps[0] == RemoveMachine("c", "the rollout was resumed after: disk")
    assert WaitFor.HALT not in waits(*machines, policy=IN_PLACE, forgiven=("c",))


def test_every_machine_of_a_deleted_pool_leaves_at_once_the_oldest_first() -> None:
    younger = machine("a", created_at=NOW)
    leaving = machine("d", phase=Phase.LEAVING, reason="scaled down")

    steps = planned(younger, machine("b"), machine("c", "new"), leaving, is_leaving=True)

    assert steps == [RemoveMachine(name, "the pool was deleted") for name in ("b", "c", "a")]


def test_no_machine_of_a_deleted_pool_leaves_while_everything_is_stopped() -> None:
    assert planned(*STALE, is_leaving=True, is_stopped=True) == []
    assert waits(*STALE, is_leaving=True, is_stopped=True) == [WaitFor.STOP]
