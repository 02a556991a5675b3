"""Facts to conditions, events and stories."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta

from fairlead.answers.pool import Condition
from fairlead.answers.words import Phase
from fairlead.decision.decision import Keep
from fairlead.rollout.machines import Machine
from fairlead.rollout.progress import Progress
from fairlead.rollout.record import PoolRecord
from fairlead.timeline.conditions import PoolFacts, conditions_of
from fairlead.timeline.event import Passed, events_of
from pool_documents import make_revision

NOW = datetime(2026, 11, 16, 12, tzinfo=UTC)
REVISION = make_revision()
RECORD = PoolRecord(pool="workers", applied=REVISION, target=REVISION)


def machine(name: str, phase: Phase, problem: str = "") -> Machine:
    return Machine(
        name=name,
        pool="workers",
        revision=REVISION.id,
        phase=phase,
        created_at=NOW,
        problem=problem,
    )


def facts(*machines: Machine) -> PoolFacts:
    available = sum(one.is_available for one in machines)
    return PoolFacts(
        decision=Keep(REVISION),
        record=RECORD,
        progress=Progress(
            updated=len(machines),
            available=available,
            total=len(machines),
            desired=len(machines),
            failed=(),
            is_complete=False,
        ),
        machines=machines,
    )


def row(conditions: tuple[Condition, ...], kind: str) -> Condition:
    return next(condition for condition in conditions if condition.type == kind)


def test_the_conditions_are_those_of_the_specification() -> None:
    found = conditions_of(facts(machine("a", Phase.READY)), "", (), NOW)

    assert [condition.type for condition in found] == [
        "AllApplied", "AllMachinesReady", "AllNodesHealthy", "AutorepairEnabled",
        "ConfigUpdatePending",
        "ReachedPayloadEndpoint", "Ready", "ReconciliationActive", "Seeded", "UpdatingConfig",
        "UpdatingPlatformMachineTemplate", "UpdatingVersion", "ValidConfig",
        "ValidGeneratedPayload", "ValidRelease",
    ]  # fmt: skip


def test_a_moment_moves_only_with_the_status() -> None:
    first = conditions_of(facts(machine("a", Phase.BOOTING)), "", (), NOW)
    later = NOW + timedelta(hours=1)

    same = conditions_of(facts(machine("a", Phase.NOT_READY, "kubelet stopped")), "", first, later)
    other = conditions_of(facts(machine("a", Phase.READY)), "", same, later)

    assert row(same, "AllMachinesReady").since == NOW
    assert row(same, "AllMachinesReady").message == "a: kubelet stopped"
    assert row(other, "AllMachinesReady").since == later


def test_a_message_is_sorted_and_bounded() -> None:
    sick = [machine(f"m{number:03}", Phase.FAILED, "x" * 50) for number in range(99, -1, -1)]

    message = row(conditions_of(facts(*sick), "", (), NOW), "AllNodesHealthy").message

    assert len(message) == 3000
    assert message.startswith("m000: xxx")
    assert message.endswith("x…"), "it says that it goes on"


def test_a_pool_without_machines_says_so() -> None:
    found = row(conditions_of(facts(), "", (), NOW), "AllMachinesReady")

    assert (found.status, found.reason, found.message) == ("False", "NotFound", "no machines")


def test_equal_records_have_no_events() -> None:
    assert events_of(Passed(before=RECORD, after=RECORD, now=NOW)) == ()


def test_a_machine_that_leaves_is_told_under_one_key() -> None:
    leaving = Machine(
        name="a",
        pool="workers",
        revision="r",
        phase=Phase.LEAVING,
        created_at=NOW,
        reason="the pool's owner changed imageBase",
    )

    passed = Passed(before=RECORD, after=RECORD, machines=(leaving,), now=NOW)

    first = events_of(passed)
    again = events_of(replace(passed, now=NOW + timedelta(minutes=1)))

    assert [event.key for event in first] == [event.key for event in again] == ["MachineLeaves:a"]
    assert first[0].says == "a leaves: the pool's owner changed imageBase."


def test_what_machines_do_not_apply_is_told_with_the_reason() -> None:
    lacking = replace(
        facts(machine("a", Phase.READY)), not_applied={"imageBase": "one image", "osStream": "one"}
    )

    found = row(conditions_of(lacking, "", (), NOW), "AllApplied")

    assert (found.status, found.reason) == ("False", "NotApplied")
    assert found.message == (
        "not applied by this kind of machine: imageBase: one image; osStream: one"
    )
    everything = row(conditions_of(facts(machine("a", Phase.READY)), "", (), NOW), "AllApplied")
    assert (everything.status, everything.message) == ("True", "")
