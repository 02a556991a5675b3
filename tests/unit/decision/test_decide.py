"""The rule that can replace a fleet, row by row, and its sentences."""

from datetime import UTC, datetime, timedelta

from fairlead.answers.words import Severity
from fairlead.decision.decide import decide
from fairlead.decision.decision import (
    Adopt,
    ChangedIntent,
    DeletePool,
    Forced,
    HoldPlatformChange,
    Keep,
    Overdue,
    ReplaceMachines,
    Unknown,
)
from fairlead.decision.explain import explain, listed, reason_text
from fairlead.decision.held import HeldChange, held_changes, overdue_at
from fairlead.inputs.leaf import Problem, Unusable
from fairlead.inputs.platform_inputs import ChangeNotice
from fairlead.revision.difference import difference_of
from pool_documents import make_revision, platform_document, pool_document

NOON = datetime(2026, 11, 16, 12, tzinfo=UTC)
RUNNING = make_revision()
DRIFTED = make_revision(platform=platform_document(controlPlaneImage="cp@sha256:bb"))
EDITED = make_revision(
    pool_document(imageBase="202607.03"), platform_document(controlPlaneImage="cp@sha256:bb")
)
HELD = HeldChange(
    id="pc-1",
    leaf="platform.controlPlaneImage",
    owner="control plane",
    severity=Severity.ROUTINE,
    since=NOON,
)


def test_nothing_recorded_is_adopted() -> None:
    decision = decide(None, RUNNING)

    assert decision == Adopt(RUNNING, is_new=True)
    assert explain(decision) == f"New pool: machines are made from revision {RUNNING}."


def test_equal_inputs_are_kept() -> None:
    decision = decide(RUNNING, make_revision())

    assert decision == Keep(RUNNING)
    assert explain(decision) == (
        "Up to date: every input is as recorded; no machine will be replaced."
    )


def test_a_platform_change_alone_is_held() -> None:
    decision = decide(RUNNING, DRIFTED, (HELD,))

    assert decision == HoldPlatformChange(running=RUNNING, wanted=DRIFTED, held=(HELD,))
    assert explain(decision) == (
        "Held: 1 platform change (platform.controlPlaneImage) since 2026-11-16T12:00:00Z;"
        " no machine will be replaced, new machines boot like their siblings."
    )
    assert explain(decision, refreshes=True).endswith(
        "no machine will be replaced, new machines get it."
    )


def test_a_change_of_intent_replaces_machines_and_takes_the_platform_along() -> None:
    decision = decide(RUNNING, EDITED, (HELD,))

    assert isinstance(decision, ReplaceMachines)
    assert isinstance(decision.because, ChangedIntent)
    assert [change.leaf for change in decision.because.changes] == ["imageBase"]
    assert explain(decision) == (
        "Machines are replaced because the pool's owner changed imageBase;"
        " 1 platform change goes along."
    )


def test_a_forced_pool_is_replaced_though_nothing_differs() -> None:
    decision = decide(RUNNING, make_revision(force="v1"))

    assert isinstance(decision, ReplaceMachines)
    assert decision.because == Forced("v1")
    assert explain(decision) == "Machines are replaced because the pool's owner forced it (v1)."


def test_a_change_held_for_too_long_replaces_machines() -> None:
    decision = decide(RUNNING, DRIFTED, (HELD,), (HELD,))

    assert isinstance(decision, ReplaceMachines)
    assert decision.because == Overdue((HELD,))
    assert reason_text(decision.because) == "platform.controlPlaneImage was held for too long"


def test_a_pool_without_machines_adopts_at_once() -> None:
    assert decide(RUNNING, DRIFTED, is_empty=True) == Adopt(DRIFTED, is_new=False)
    assert decide(RUNNING, RUNNING, is_empty=True) == Keep(RUNNING)


def test_what_cannot_be_computed_replaces_nothing() -> None:
    unusable = Unusable((Problem("spec.config[0].kind", "is not known"),))

    decision = decide(RUNNING, unusable)

    assert decision == Unknown(running=RUNNING, unusable=unusable)
    assert explain(decision) == (
        "Unknown: spec.config[0].kind: is not known; no machine will be replaced."
    )


def test_a_long_list_of_leaves_is_cut() -> None:
    assert listed(["e", "d", "c", "b", "a"]) == "a, b, c and 2 more"


def test_a_held_change_has_an_id_an_owner_a_severity_and_the_age_of_its_leaf() -> None:
    changes = difference_of(RUNNING, DRIFTED).platform
    later = NOON + timedelta(days=3)

    first = held_changes(changes, {}, (), NOON)
    again = held_changes(changes, {}, first, later)

    assert first == again
    assert first[0].owner == "control plane"
    assert first[0].id.startswith("pc-")
    assert first[0].since == NOON


def test_a_leaf_that_changes_again_does_not_become_younger() -> None:
    further = make_revision(platform=platform_document(controlPlaneImage="cp@sha256:cc"))
    first = held_changes(difference_of(RUNNING, DRIFTED).platform, {}, (), NOON)

    again = held_changes(difference_of(RUNNING, further).platform, {}, first, NOON + timedelta(1))

    assert again[0].since == NOON
    assert again[0].id != first[0].id


def test_a_notice_overrides_id_owner_and_severity() -> None:
    notice = ChangeNotice(id="CVE-1", owner="security", severity=Severity.SECURITY)
    changes = difference_of(RUNNING, DRIFTED).platform

    held = held_changes(changes, {"platform.controlPlaneImage": notice}, (), NOON)

    assert (held[0].id, held[0].owner, held[0].severity) == (
        "CVE-1", "security", Severity.SECURITY,
    )  # fmt: skip


def test_a_maximum_age_is_per_severity() -> None:
    limits = {Severity.ROUTINE: timedelta(days=30)}

    assert overdue_at(HELD, limits) == datetime(2026, 12, 16, 12, tzinfo=UTC)
    assert overdue_at(HELD, {Severity.SECURITY: timedelta(1)}) is None


def test_a_deleted_pool_is_told_that_it_goes() -> None:
    assert explain(DeletePool(RUNNING)) == (
        "The pool was deleted: its machines leave, then its secrets go."
    )
