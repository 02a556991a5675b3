"""Facts about machines by name, and about people: who did it, who asked, told once."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

from fairlead.answers.event import Event
from fairlead.answers.words import EventKind, Phase
from fairlead.rollout.machines import Machine
from fairlead.rollout.policy import Policy
from fairlead.rollout.record import PoolRecord
from fairlead.timeline.command import (
    deletion_asked,
    fault_asked,
    platform_declared,
    pool_declared,
    stop_asked,
)
from fairlead.timeline.event import Cause, Passed, cause_of, creations_of, departure_of, events_of
from pool_documents import make_revision

NOW = datetime(2026, 11, 16, 12, tzinfo=UTC)
REVISION = make_revision()
RECORD = PoolRecord(
    pool="workers",
    applied=REVISION,
    target=REVISION,
    reason="the pool's owner changed version",
    asked_by="alice",
)


def machine(name: str, phase: Phase = Phase.READY, **fields: Any) -> Machine:
    whole = {"pool": "workers", "revision": REVISION.id, "created_at": NOW, **fields}
    return Machine(name=name, phase=phase, **whole)


def whose(event: Event) -> tuple[str, str]:
    return event.actor, event.asked_by


def test_machines_that_were_made_are_told_by_name_with_why_and_who_asked() -> None:
    first, second = creations_of("workers", ("a", "b"), Cause("the pool declares 2", "bob"), NOW)

    assert (first.key, second.key) == ("MachineCreated:a", "MachineCreated:b")
    assert (first.machine, first.says) == ("a", "a was made: the pool declares 2.")
    assert whose(first) == ("the control plane", "bob")


def test_a_machine_whose_making_was_not_told_is_told_while_it_boots() -> None:
    passed = Passed(
        before=RECORD,
        after=RECORD,
        now=NOW,
        seen=(machine("a", Phase.BOOTING), machine("b")),
        cause=Cause("the pool declares 2", ""),
    )

    assert [event.key for event in events_of(passed)] == ["MachineCreated:a"]


def test_a_machine_that_failed_is_told_by_name_also_if_it_leaves_at_once() -> None:
    failed = machine("a", Phase.FAILED, problem="stage provision: exit 50")
    leaving = replace(failed, phase=Phase.LEAVING, reason="repair: stage provision: exit 50")
    passed = Passed(before=RECORD, after=RECORD, now=NOW, seen=(failed,), machines=(leaving,))

    told, leaves = events_of(passed)
    again = events_of(replace(passed, now=NOW + timedelta(hours=1)))

    assert told.key == again[0].key == f"MachineFailed:a:{REVISION.id}"
    assert told.says == "a failed: stage provision: exit 50."
    assert whose(told) == whose(leaves) == ("the control plane", ""), "nobody asked for a repair"


def failures_told(seen: Machine, after: timedelta) -> list[tuple[str, str]]:
    """Key and text of what is told of a machine, so long after noon, where 5 minutes are much."""
    patience = timedelta(minutes=5)
    policy = Policy(join_timeout=patience, ready_timeout=patience)
    passed = Passed(before=RECORD, after=RECORD, now=NOW + after, seen=(seen,), policy=policy)
    told = [event for event in events_of(passed) if event.kind is EventKind.MACHINE_FAILED]
    return [(event.key, event.says) for event in told]


def test_a_machine_that_never_joined_failed_and_is_told_once_with_its_name_and_cause() -> None:
    lost = machine("a", Phase.BOOTING, problem="no power")

    assert failures_told(lost, timedelta(minutes=4)) == []
    key = f"MachineFailed:a:{REVISION.id}:2026-11-16T12:00:00+00:00"
    told = [(key, "a failed: never joined; no power.")]
    assert failures_told(lost, timedelta(minutes=5)) == told
    assert failures_told(lost, timedelta(hours=9)) == told
    died = replace(lost, phase=Phase.FAILED, problem="exit 50")
    assert failures_told(died, timedelta(hours=9)) == [
        (f"MachineFailed:a:{REVISION.id}", "a failed: exit 50.")
    ]


def test_a_machine_that_is_not_ready_for_too_long_is_told_each_time_that_it_is() -> None:
    sick = machine("a", Phase.NOT_READY, since=NOW)
    again = replace(sick, since=NOW + timedelta(hours=1))

    (first,) = failures_told(sick, timedelta(minutes=6))
    (second,) = failures_told(again, timedelta(hours=2))

    assert first[1] == second[1] == "a failed: not ready for too long; it says nothing."
    assert first[0] != second[0]
    assert failures_told(again, timedelta(minutes=64)) == []


def test_a_change_in_place_that_never_ended_is_told_for_what_it_was_to_become() -> None:
    changing = machine("a", heading_for="next", since=NOW)

    assert failures_told(changing, timedelta(minutes=6)) == [
        (
            "MachineFailed:a:next:2026-11-16T12:00:00+00:00",
            "a failed: its change never ended; it says nothing.",
        )
    ]


def test_a_machine_that_leaves_says_who_asked() -> None:
    leaving = machine("a", Phase.LEAVING, reason="deleted by hand", asked_by="alice")

    (by_a_pass,) = departure_of(leaving, NOW)
    by_hand, skipped = departure_of(replace(leaving, skips_drain=True), NOW, "alice")

    assert whose(by_a_pass) == ("the control plane", "alice")
    assert whose(by_hand) == whose(skipped) == ("alice", "alice")
    assert by_hand.key == by_a_pass.key == "MachineLeaves:a"


def test_machines_are_made_for_the_rollout_under_way_or_for_the_number_that_is_declared() -> None:
    stale, fresh = machine("a", revision="old"), machine("b")

    assert cause_of(RECORD, (stale, fresh), 3, "bob") == Cause(RECORD.reason, "alice")
    assert cause_of(RECORD, (fresh,), 3, "bob") == Cause("the pool declares 3", "bob")


def test_the_facts_of_a_target_say_who_asked_for_it_and_held_changes_nobody() -> None:
    before = PoolRecord(pool="workers")
    told = events_of(Passed(before=before, after=RECORD, now=NOW, declared_by="bob"))

    assert {(event.kind.value, *whose(event)) for event in told} == {
        ("PoolAdopted", "the control plane", "alice"),
        ("RolloutCompleted", "the control plane", "alice"),
    }


def test_who_declares_a_pool_is_told_with_the_fields_that_changed() -> None:
    before = {"spec": {"replicas": 3, "labels": {"team": "a"}, "version": "1.34.2"}}
    after = {"spec": {"replicas": 4, "labels": {"team": "b"}, "taints": [], "version": "1.34.2"}}

    first = pool_declared("workers", None, before, "alice", NOW)
    second = pool_declared("workers", before, after, "bob", NOW)

    assert (first.says, first.actor) == ("Declared for the first time.", "alice")
    assert second.says == "Declared anew: spec.labels.team, spec.replicas, spec.taints."
    assert second.key == "PoolDeclared:2026-11-16T12:00:00+00:00"


def test_whatever_somebody_asks_for_has_their_name() -> None:
    told = (
        platform_declared({"spec": {}}, {"spec": {"proxy": 1}}, "alice", NOW),
        deletion_asked("workers", "alice", NOW),
        fault_asked("workers", "a", ["break"], "alice", NOW),
        stop_asked("alice", NOW),
    )

    assert {event.actor for event in told} == {"alice"}
    assert [event.pool for event in told] == ["", "workers", "workers", ""]
    assert told[2].machine == "a"
