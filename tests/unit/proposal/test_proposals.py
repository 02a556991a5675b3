"""Plans of documents over a real store: what is shown, what is refused, what binds a rollout."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from fairlead.answers.plan import Plan, exceeds, moved
from fairlead.answers.text import plain, read_as
from fairlead.answers.words import Phase, WaitFor
from fairlead.controller.reconcile import preview
from fairlead.embedded.serve.apply import apply
from fairlead.errors import ConflictError, InputError
from fairlead.proposal.patch import merged
from fairlead.proposal.propose import Shown, propose, propose_deletion
from pool_documents import platform_document, pool_document
from service.stored_plane import StoredPlane

BASE = "202608.01"


@pytest.fixture
def fresh(tmp_path: Path) -> Iterator[StoredPlane]:
    plane = StoredPlane(tmp_path)
    yield plane
    plane.close()


@pytest.fixture
def plane(fresh: StoredPlane) -> StoredPlane:
    """A plane whose pool of three, called workers, is settled."""
    keep(fresh, pool_document(), platform_document())
    fresh.settle()
    return fresh


@dataclass(frozen=True)
class Outcome:
    """What was put in force, as JSON."""

    plans: list[dict[str, Any]]
    applied: list[str]
    unchanged: list[str]


def plans(plane: StoredPlane, *documents: Any) -> list[dict[str, Any]]:
    found = plain(propose(plane.world.world(), documents, plane.now()).plans)
    assert isinstance(found, list)
    return found


def bases(plane: StoredPlane, *documents: Any) -> dict[str, str]:
    return propose(plane.world.world(), documents, plane.now()).bases


def keep(
    plane: StoredPlane,
    *documents: Any,
    shown: list[dict[str, Any]] | None = None,
    known: dict[str, str] | None = None,
    actor: str = "",
) -> Outcome:
    promised = None if shown is None else read_as(list[Plan], shown, "plans")
    seen = Shown(plans=promised, bases=known or {})
    done = apply(plane.world, documents, seen, plane.now(), actor)
    found = plain(done.plans)
    assert isinstance(found, list)
    return Outcome(found, [*done.titles(is_same=False)], [*done.titles(is_same=True)])


def problem(plane: StoredPlane, *documents: Any) -> tuple[str, str, str]:
    """Field, problem and hint that documents are refused with; nothing may be written."""
    before = plane.world.pools.markers()
    with pytest.raises(InputError) as raised:
        keep(plane, *documents)
    assert plane.world.pools.markers() == before
    return raised.value.field, raised.value.problem, raised.value.hint


def test_a_plan_writes_nothing(plane: StoredPlane) -> None:
    before = plane.world.pools.markers(), plane.world.pools.read_platform()

    found = plans(plane, pool_document(imageBase=BASE), platform_document(noProxy=[".x"]))

    assert [plan["change"] for plan in found] == ["replace"]
    assert (plane.world.pools.markers(), plane.world.pools.read_platform()) == before


def test_a_plan_that_is_kept_is_in_force_and_says_what_it_changed(plane: StoredPlane) -> None:
    outcome = keep(plane, pool_document(imageBase=BASE), platform_document())

    assert outcome.applied == ["NodePool/workers"]
    assert outcome.unchanged == ["PlatformConfig/platform"]
    assert plane.world.pools.read_documents("workers").pool == pool_document(imageBase=BASE)


def test_documents_that_say_what_is_so_change_nothing(plane: StoredPlane) -> None:
    before = plane.world.pools.markers()

    outcome = keep(plane, pool_document(), platform_document())

    assert outcome.applied == []
    assert outcome.unchanged == ["NodePool/workers", "PlatformConfig/platform"]
    assert [plan["change"] for plan in outcome.plans] == ["none"]
    assert plane.world.pools.markers() == before


def test_the_platform_concerns_every_pool(plane: StoredPlane) -> None:
    keep(plane, pool_document("gpu", replicas=1))
    plane.settle()

    found = plans(plane, platform_document(controlPlaneImage="cp@sha256:bb"))

    assert [(plan["pool"], plan["change"]) for plan in found] == [
        ("gpu", "none"),
        ("workers", "none"),
    ]
    assert [leaf["leaf"] for leaf in found[0]["leaves"]] == ["platform.controlPlaneImage"]


def test_a_pool_that_leaves_is_no_concern_of_the_platform(plane: StoredPlane) -> None:
    plane.world.pools.request_deletion("workers")

    assert plans(plane, platform_document(controlPlaneImage="cp@sha256:bb")) == []


def test_a_pool_and_the_platform_are_planned_together(plane: StoredPlane) -> None:
    found = plans(
        plane,
        pool_document(imageBase=BASE),
        platform_document(controlPlaneImage="cp@sha256:bb"),
    )

    assert [leaf["leaf"] for leaf in found[0]["leaves"]] == [
        "imageBase",
        "platform.controlPlaneImage",
    ]


@pytest.mark.parametrize(
    ("document", "expected"),
    [
        (pool_document(replicsa=3), ("spec.replicsa", "did you mean replicas?")),
        (pool_document(version="1.35.0"), ("spec.version", "did you mean spec.release.version?")),
        (
            pool_document(management={"maxsurge": 1}),
            ("spec.management.maxsurge", "did you mean maxSurge?"),
        ),
        (pool_document(configs=[{}]), ("spec.configs", "did you mean config?")),
        (pool_document() | {"spce": {}}, ("spce", "did you mean spec?")),
        (
            pool_document() | {"metadata": {"name": "workers", "nmae": "x"}},
            ("metadata.nmae", "did you mean name?"),
        ),
        (
            platform_document(noproxy=[".x"]),
            ("spec.noproxy", "did you mean noProxy?"),
        ),
    ],
)
def test_a_field_that_nobody_knows_is_refused_with_a_suggestion(
    plane: StoredPlane, document: Any, expected: tuple[str, str]
) -> None:
    field, told, hint = problem(plane, document)

    assert told == "this field is not known"
    assert (field, hint) == expected


@pytest.mark.parametrize(
    ("document", "field", "told"),
    [
        ([], "", "found a list, expected a document with kind and spec"),
        (
            {"kind": "Deployment"},
            "kind",
            "found the text 'Deployment', expected NodePool or PlatformConfig",
        ),
        (pool_document("Workers"), "metadata.name", "found the text 'Workers', expected a name"),
        (pool_document(release=None), "spec.release.version", "is not set"),
        (
            pool_document(replicas=-1),
            "spec.replicas",
            "found the number -1, expected a whole number from 0",
        ),
        (
            pool_document(autoscaling={"max": 2}),
            "spec.replicas",
            "found 3, expected 0 to 2, the bounds of autoscaling",
        ),
        (
            pool_document(config=[{"kind": "Nothing"}]),
            "spec.config[0].kind",
            "found the text 'Nothing', expected a known kind (known: KubeletConfiguration, "
            "ContainerdConfiguration, Sysctl, Files, Mirrors)",
        ),
        (
            pool_document(config=[{"kind": "KubeletConfiguration", "maxPods": "many"}]),
            "spec.config",
            "the node config refuses kubelet_config.kubelet_config_file_config.max_pods: "
            "found text, expected a whole number (int32)",
        ),
        (
            pool_document(config=[{"kind": "KubeletConfiguration", "healthzPort": 0}]),
            "spec.config[0].healthzPort",
            "is not the owner's to set: the agent asks there whether the kubelet is well",
        ),
        (
            pool_document(labels={"kubernetes.io/role": "x"}),
            "spec.labels.kubernetes.io/role",
            "the kubelet may not set this label",
        ),
        (pool_document(labels={"a": "b c"}), "spec.labels.a", "not a label value"),
        (
            pool_document(taints=[{"key": "a b", "effect": "NoExecute"}]),
            "spec.taints[0]",
            "not a taint that a kubelet takes",
        ),
        (
            pool_document(machineTemplate={"vmSize": 7}),
            "spec",
            "the node config refuses vm_size: found a number, expected text",
        ),
        (
            pool_document(sshKeys=["ssh-ed25519 AAAA", "AAAA"]),
            "spec.sshKeys",
            "expected keys as a line of authorized_keys has them",
        ),
        (
            platform_document(registryOverrides={"docker.io": "ftp://x"}),
            "spec.registryOverrides.docker.io",
            "expected [https://]HOST[:PORT][/PATH]",
        ),
        (
            platform_document(registryOverrides={"docker.io/library": "x.example"}),
            "spec.registryOverrides.docker.io/library",
            "not a registry",
        ),
        (
            platform_document(proxy={"image": 7}),
            "spec.proxy.image",
            "found the number 7, expected text (write it in quotes as it is meant: '7')",
        ),
    ],
)
def test_a_document_that_cannot_be_used_is_refused_by_field(
    plane: StoredPlane, document: Any, field: str, told: str
) -> None:
    assert problem(plane, document)[:2] == (field, told)


@pytest.mark.parametrize(
    ("spec", "field"),
    [
        ({"fips": True}, "spec.fips"),
        ({"tlsProfile": "Modern"}, "spec.tlsProfile"),
        ({"imagePolicy": {"default": "Reject"}}, "spec.imagePolicy.default"),
    ],
)
def test_what_nothing_carries_out_is_refused_with_the_reason(
    plane: StoredPlane, spec: dict[str, Any], field: str
) -> None:
    found = problem(plane, pool_document(**spec))

    assert found[0] == field
    assert found[1].startswith("no kind of machine ")


def test_a_pool_that_has_such_a_field_in_force_goes_on(fresh: StoredPlane) -> None:
    fresh.world.pools.write_pool(pool_document(fips=True))
    fresh.settle()

    assert len(fresh.names()) == 3


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("enforceNodeAllocatable", []),
        ("evictionHard", {}),
        ("resolvConf", ""),
        ("logging", {"options": {"text": {}}}),
    ],
)
def test_an_empty_kubelet_field_is_the_owners_change(
    plane: StoredPlane, field: str, value: object
) -> None:
    (found,) = plans(plane, pool_document(config=[{"kind": "KubeletConfiguration", field: value}]))

    assert found["change"] == "replace"
    (leaf,) = found["leaves"]
    assert (leaf["leaf"], leaf["after"]) == (f"config.kubelet.{field}", value)


def test_a_kubelet_field_that_is_null_is_one_that_is_not_set(plane: StoredPlane) -> None:
    document = pool_document(config=[{"kind": "KubeletConfiguration", "evictionHard": None}])

    assert plans(plane, document)[0]["leaves"] == []


def test_nothing_is_written_if_the_last_document_is_bad(plane: StoredPlane) -> None:
    field, told, _ = problem(
        plane, pool_document(imageBase=BASE), pool_document("gpu", replicas=True)
    )

    assert field == "spec.replicas"
    assert told.startswith("NodePool/gpu: found true or false")


def test_two_documents_about_one_thing_are_refused(plane: StoredPlane) -> None:
    assert problem(plane, pool_document(), pool_document())[1] == (
        "there are two documents NodePool/workers"
    )
    assert problem(plane, platform_document(), platform_document())[1] == (
        "there are two documents PlatformConfig"
    )


@pytest.mark.parametrize(("was", "will"), [({}, {"type": "InPlace"}), ({"type": "InPlace"}, {})])
def test_a_pool_never_changes_from_or_to_in_place(
    fresh: StoredPlane, was: dict[str, str], will: dict[str, str]
) -> None:
    keep(fresh, pool_document(management=was))
    fresh.settle()

    field, told, hint = problem(fresh, pool_document(management=will))

    assert field == "spec.management.type"
    assert told == "a pool that exists cannot change from or to InPlace"
    assert hint == "make another pool, then delete this one"


def test_a_secret_that_is_not_there_yet_does_not_refuse_the_pool(plane: StoredPlane) -> None:
    found = plans(plane, pool_document(pullSecret={"name": "later"}))

    assert found[0]["change"] == "replace"
    assert "write it to" in found[0]["waits"][0]["says"]


def test_what_was_shown_is_done(plane: StoredPlane) -> None:
    document = pool_document(imageBase=BASE)
    keep(plane, document, shown=plans(plane, document))
    plane.settle()

    assert len(plane.names()) == 3
    assert not {"workers-2", "workers-3", "workers-4"} & set(plane.names())


def test_fewer_machines_of_another_revision_are_counted_as_removed_and_replaced(
    plane: StoredPlane,
) -> None:
    keep(plane, pool_document(replicas=4))
    plane.settle()
    document = pool_document(imageBase=BASE, replicas=2)

    [found] = plans(plane, document)

    assert (found["removed"], found["machines"]) == (
        ["workers-5", "workers-2"],
        ["workers-3", "workers-4"],
    )
    assert (found["removes"], found["estimate_s"]) == (2, 1200.0)
    keep(plane, document, shown=[found])
    plane.settle()
    gone = plane.world.machines.list_stored("workers", with_gone=True)
    reasons = {one.machine.name: one.machine.reason for one in gone if one.gone_at}
    assert reasons == {
        "workers-5": "the pool was scaled down",
        "workers-2": "the pool was scaled down",
        "workers-3": "the pool's owner changed imageBase",
        "workers-4": "the pool's owner changed imageBase",
    }
    assert len(plane.names()) == 2


def test_a_machine_that_came_since_exceeds_what_was_shown(plane: StoredPlane) -> None:
    document = pool_document(imageBase=BASE, replicas=5)
    shown = plans(plane, document)
    keep(plane, pool_document(replicas=5))
    plane.settle()
    before = plane.world.pools.markers()

    with pytest.raises(ConflictError) as raised:
        keep(plane, document, shown=shown)

    assert str(raised.value) == (
        "workers: the plan that was shown does not hold workers-5, workers-6 "
        "(the control plane, 2026-07-01T12:03:00Z: workers-6 was made: the pool declares 5); "
        "nothing was written, plan again"
    )
    assert plane.world.pools.markers() == before


def test_a_machine_that_went_since_is_not_what_was_shown_either(plane: StoredPlane) -> None:
    document = pool_document(imageBase=BASE)
    shown = plans(plane, document)
    plane.world.machines.delete_machine("workers-2")
    plane.run_machines()

    with pytest.raises(ConflictError) as raised:
        keep(plane, document, shown=shown)

    assert str(raised.value) == (
        "workers: workers-2 of the plan that was shown would no longer be disturbed "
        "(the control plane, 2026-07-01T12:03:00Z: workers-2 is gone: deleted by hand); "
        "nothing was written, plan again"
    )


def test_a_document_that_was_changed_since_is_not_overwritten(plane: StoredPlane) -> None:
    """Two shells at once: the second one would undo what the first one wrote."""
    document = pool_document(labels={"team": "a"})
    shown, known = plans(plane, document), bases(plane, document)
    keep(plane, pool_document(description="written by somebody else"), actor="ines")

    with pytest.raises(ConflictError) as raised:
        keep(plane, document, shown=shown, known=known)

    assert str(raised.value) == (
        "NodePool/workers was changed by ines at 2026-07-01T12:03:00Z since the plan was shown "
        "(Declared anew: spec.description); nothing was written, plan again"
    )

    assert plane.world.pools.read_documents("workers").pool == pool_document(
        description="written by somebody else"
    )


def test_what_somebody_else_set_meanwhile_is_named(plane: StoredPlane) -> None:
    document = pool_document(labels={"team": "a"})
    shown, known = plans(plane, document), bases(plane, document)
    keep(plane, pool_document(autoRepair=True), actor="ines")

    with pytest.raises(ConflictError) as raised:
        keep(plane, document, shown=shown, known=known)

    assert str(raised.value) == (
        "workers: autoRepair is true now "
        "(ines, 2026-07-01T12:03:00Z: Declared anew: spec.autoRepair); "
        "nothing was written, plan again"
    )


def test_a_journal_that_names_nobody_is_told_as_somebody(plane: StoredPlane) -> None:
    document = pool_document(labels={"team": "a"})
    shown, known = plans(plane, document), bases(plane, document)
    keep(plane, pool_document(description="written before users were noted"), actor="")

    with pytest.raises(ConflictError, match="changed by somebody at 2026-07-01T12:03:00Z since"):
        keep(plane, document, shown=shown, known=known)


def test_a_journal_that_cannot_be_read_hides_no_refusal(plane: StoredPlane) -> None:
    document = pool_document(labels={"team": "a"})
    shown, known = plans(plane, document), bases(plane, document)
    keep(plane, pool_document(description="written by somebody else"), actor="ines")
    with plane.world.store.writing() as connection:
        connection.execute("UPDATE events SET value = '{' WHERE pool = 'workers'")

    with pytest.raises(ConflictError, match="NodePool/workers was changed by somebody since"):
        keep(plane, document, shown=shown, known=known)


def test_a_pool_that_somebody_made_meanwhile_is_not_overwritten(fresh: StoredPlane) -> None:
    document = pool_document(replicas=1)
    shown, known = plans(fresh, document), bases(fresh, document)
    assert known == {"NodePool/workers": ""}
    keep(fresh, pool_document(replicas=1, description="theirs"))

    with pytest.raises(ConflictError):
        keep(fresh, document, shown=shown, known=known)


def test_a_platform_that_was_changed_since_is_not_overwritten(plane: StoredPlane) -> None:
    document = platform_document(noProxy=[".x"])
    shown, known = plans(plane, document), bases(plane, document)
    keep(plane, platform_document(description="written by somebody else"), actor="ines")

    changed = "PlatformConfig/platform was changed by ines at 2026-07-01T12:03:00Z since"
    with pytest.raises(ConflictError, match=changed):
        keep(plane, document, shown=shown, known=known)


def test_a_failed_machine_that_is_repaired_anyway_is_no_excess(plane: StoredPlane) -> None:
    keep(plane, pool_document(autoRepair=True))
    plane.settle()
    document = pool_document(autoRepair=True, labels={"team": "a"})
    shown = plans(plane, document)
    machine = plane.world.machines.list_machines("workers")[0]
    plane.world.machines.write_machine(
        replace(machine, phase=Phase.FAILED, ready_at=None, problem="disk is gone")
    )

    outcome = keep(plane, document, shown=shown)

    assert outcome.plans[0]["removed"] == [machine.name]


def test_platform_inputs_that_changed_since_exceed_what_was_shown(plane: StoredPlane) -> None:
    document = pool_document(imageBase=BASE)
    shown = plans(plane, document)
    keep(plane, platform_document(controlPlaneImage="cp@sha256:bb"))

    with pytest.raises(ConflictError, match="platform inputs changed since the plan was shown"):
        keep(plane, document, shown=shown)


def test_a_platform_change_since_is_nothing_to_a_plan_that_replaces_no_machine(
    plane: StoredPlane,
) -> None:
    document = pool_document(labels={"team": "a"})
    shown, known = plans(plane, document), bases(plane, document)
    keep(plane, platform_document(controlPlaneImage="cp@sha256:bb"))

    assert keep(plane, document, shown=shown, known=known).applied == ["NodePool/workers"]


def test_somebody_elses_change_is_not_undone_by_a_plan_that_did_not_show_it(
    plane: StoredPlane,
) -> None:
    document = pool_document(labels={"team": "a"})
    shown = plans(plane, document)
    keep(plane, pool_document(imageBase=BASE))
    plane.settle()

    with pytest.raises(ConflictError) as raised:
        keep(plane, document, shown=shown)

    assert str(raised.value) == (
        "workers: it replaces machines, and the plan that was shown changes the pool in place "
        "(the control plane, 2026-07-01T12:07:00Z: workers-8 was made: "
        "the pool's owner changed imageBase); "
        "nothing was written, plan again"
    )


def test_a_plan_of_another_document_does_not_cover_this_one(plane: StoredPlane) -> None:
    shown = plans(plane, pool_document(imageBase=BASE))

    with pytest.raises(ConflictError, match="own inputs are not those of the plan"):
        keep(plane, pool_document(imageBase="202609.01"), shown=shown)


def test_a_pool_that_was_not_shown_is_not_touched(plane: StoredPlane) -> None:
    with pytest.raises(ConflictError, match="it replaces machines, and no plan of it was shown"):
        keep(plane, pool_document(imageBase=BASE), shown=[])


def test_the_platform_moves_after_the_plan_was_kept_and_the_rollout_is_as_it_was_shown(
    plane: StoredPlane,
) -> None:
    """What was approved is bound to its inputs also between the command and the pass."""
    document = pool_document(imageBase=BASE)
    keep(plane, document, shown=plans(plane, document))
    keep(plane, platform_document(controlPlaneImage="cp@sha256:bb"))

    plane.settle()

    assert not {"workers-2", "workers-3", "workers-4"} & set(plane.names())
    record = plane.world.pools.find_record("workers")
    assert record is not None
    assert record.applied is not None
    assert "platform.controlPlaneImage" not in record.applied.leaves
    assert [held.leaf for held in record.held] == ["platform.controlPlaneImage"]


def change(plane: StoredPlane, **spec: Any) -> None:
    """Change a few fields, as `pool scale` and its like do."""
    document = merged(plane.world.pools.read_documents("workers").pool, {"spec": spec})
    apply(plane.world, [document], Shown(is_patch=True), plane.now())
    plane.settle()


@pytest.mark.parametrize(
    "spec", [{"replicas": 2}, {"labels": {"team": "a"}}, {"description": "x"}, {"autoRepair": True}]
)
def test_a_change_that_replaces_nothing_leaves_the_approval_of_a_rollout_that_waits(
    plane: StoredPlane, spec: dict[str, Any]
) -> None:
    document = pool_document(imageBase=BASE, paused=True)
    keep(plane, document, shown=plans(plane, document))
    approved = plane.world.pools.find_plan("workers")

    change(plane, **spec)
    keep(plane, platform_document(controlPlaneImage="cp@sha256:bb"))
    assert plane.world.pools.find_plan("workers") == approved
    change(plane, paused=None)

    assert not {"workers-2", "workers-3", "workers-4"} & set(plane.names())
    record = plane.world.pools.find_record("workers")
    assert record is not None
    assert record.applied is not None
    assert "platform.controlPlaneImage" not in record.applied.leaves


def test_a_pool_that_is_scaled_up_while_a_rollout_waits_has_no_more_replaced_than_was_shown(
    plane: StoredPlane,
) -> None:
    document = pool_document(imageBase=BASE, paused=True)
    keep(plane, document, shown=plans(plane, document))

    change(plane, replicas=5)
    before = plane.names()
    change(plane, paused=None)

    assert plane.names() == before
    waits = preview("workers", plane.world.world(), plane.now()).waits
    assert [wait.says for wait in waits] == [
        "the plan that was shown does not hold workers-5, workers-6; plan again"
    ]

    # Planning again is the way out.
    again = plane.world.pools.read_documents("workers").pool
    assert plans(plane, again)[0]["machines"] == [*before]
    keep(plane, again, shown=plans(plane, again))
    plane.settle()
    assert not set(before) & set(plane.names())


def test_a_change_of_intent_without_a_plan_ends_the_approval(plane: StoredPlane) -> None:
    document = pool_document(imageBase=BASE, paused=True)
    keep(plane, document, shown=plans(plane, document))

    change(plane, imageBase="202609.01")

    assert plane.world.pools.find_plan("workers") is None


def test_a_machine_that_comes_after_the_plan_was_kept_holds_the_rollout(
    plane: StoredPlane,
) -> None:
    document = pool_document(imageBase=BASE, paused="2026-07-01T13:00:00Z")
    keep(plane, document, shown=plans(plane, document))
    plane.world.machines.delete_machine("workers-2")
    plane.settle()  # a pause does not keep machines from being made good
    plane.moment += timedelta(hours=2)

    plane.settle()

    assert {"workers-3", "workers-4"} < set(plane.names())
    waits = preview("workers", plane.world.world(), plane.now()).waits
    assert [(wait.wait_for, wait.says) for wait in waits] == [
        (WaitFor.PLAN, "the plan that was shown does not hold workers-5; plan again")
    ]

    # Planning again is the way out, and shows no wait for the plan that it replaces.
    assert plans(plane, document)[0]["machines"] == ["workers-3", "workers-4", "workers-5"]
    keep(plane, document, shown=plans(plane, document))
    plane.settle()
    assert not {"workers-3", "workers-4", "workers-5"} & set(plane.names())


def test_a_plan_that_was_carried_out_holds_nothing_that_comes_after_it(plane: StoredPlane) -> None:
    limits = {"maximumAge": {"routine": "1h"}}
    document = pool_document(imageBase=BASE, platformChanges=limits)
    keep(plane, document, shown=plans(plane, document))
    plane.settle()
    before = plane.names()
    keep(plane, platform_document(controlPlaneImage="cp@sha256:bb"))
    plane.settle()
    assert plane.names() == before

    plane.moment += timedelta(hours=1)
    plane.settle()

    assert not set(before) & set(plane.names())


def test_another_intent_that_is_taken_without_a_plan_is_bound_by_none(plane: StoredPlane) -> None:
    document = pool_document(imageBase=BASE, paused=True)
    keep(plane, document, shown=plans(plane, document))
    plane.world.machines.delete_machine("workers-2")
    plane.settle()

    keep(plane, pool_document(imageBase="202609.01"))

    assert plane.world.pools.find_plan("workers") is None
    plane.settle()
    assert not {"workers-3", "workers-4"} & set(plane.names())


def test_a_plan_that_replaces_nothing_binds_no_later_rollout(plane: StoredPlane) -> None:
    """Kept, it would hold up the next rollout for the same intent, which it was never about."""
    document = pool_document(platformChanges={"maximumAge": {"routine": "1h"}})
    keep(plane, document, shown=plans(plane, document))
    keep(plane, platform_document(controlPlaneImage="cp@sha256:bb"))
    plane.settle()
    plane.moment += timedelta(hours=2)

    plane.settle()

    assert not {"workers-2", "workers-3", "workers-4"} & set(plane.names())


def test_deleting_a_pool_names_its_machines_and_can_be_tried(plane: StoredPlane) -> None:
    tried = propose_deletion(plane.world.world(), "workers", plane.now())
    assert tried.machines == ("workers-2", "workers-3", "workers-4")
    assert not plane.world.pools.read_documents("workers").is_leaving

    plane.world.pools.request_deletion("workers")
    plane.settle()
    assert plane.world.pools.list_pools() == ()
    assert plane.names() == []


@pytest.mark.parametrize(
    ("document", "patch", "expected"),
    [
        ({"a": 1}, {"a": 2}, {"a": 2}),
        ({"a": 1}, {"b": 2}, {"a": 1, "b": 2}),
        ({"a": 1, "b": 2}, {"a": None}, {"b": 2}),
        ({"a": {"b": 1, "c": 2}}, {"a": {"b": None}}, {"a": {"c": 2}}),
        ({"a": [1, 2]}, {"a": [3]}, {"a": [3]}),
        ({"a": 1}, {"a": {"b": None}}, {"a": {}}),
        (None, {"a": {"b": 1, "c": None}}, {"a": {"b": 1}}),
        ({"a": 1}, {}, {"a": 1}),
    ],
)
def test_a_patch_merges_as_rfc_7396_says(document: Any, patch: Any, expected: Any) -> None:
    assert merged(document, patch) == expected


PLAN: dict[str, Any] = {
    "pool": "workers",
    "change": "replace",
    "machines": ["a", "b"],
    "removed": ["c"],
    "intent_hash": "i",
    "platform_hash": "p",
}


@pytest.mark.parametrize(
    ("found", "shown", "says"),
    [
        ({}, {}, ""),
        ({"machines": ["a"], "removed": []}, {}, ""),
        ({"machines": ["a", "c"]}, {}, ""),
        ({"removed": ["c", "failed"]}, {}, ""),
        ({"removed": ["c", "d"]}, {}, "the plan that was shown does not hold d"),
        (
            {"machines": ["a", "b", "x", "y", "z", "w"]},
            {},
            "the plan that was shown does not hold w, x, y and 1 more",
        ),
        (
            {},
            {"change": "in-place"},
            "it replaces machines, and the plan that was shown changes the pool in place",
        ),
        (
            {"change": "in-place"},
            {"change": "none"},
            "it changes the pool in place, and the plan that was shown does nothing",
        ),
        ({"change": "none", "machines": [], "removed": []}, {}, ""),
        (
            {"intent_hash": "x"},
            {},
            "the pool's own inputs are not those of the plan that was shown",
        ),
        ({"platform_hash": "x"}, {}, "platform inputs changed since the plan was shown"),
        ({"platform_hash": "x", "machines": []}, {}, ""),
    ],
)
def test_what_exceeds_a_plan_is_said_in_words(
    found: dict[str, Any], shown: dict[str, Any], says: str
) -> None:
    promised = read_as(Plan, {**PLAN, **shown}, "plan")

    assert exceeds(read_as(Plan, {**PLAN, **found}, "plan"), promised, {"failed"}) == says


@pytest.mark.parametrize(
    ("found", "says"),
    [
        ({}, ""),
        ({"machines": ["b", "a"]}, ""),
        ({"machines": ["a"]}, "b of the plan that was shown would no longer be disturbed"),
        ({"machines": ["a", "b"], "removed": ["c", "failed"]}, ""),
        ({"machines": ["a", "b", "d"]}, "the plan that was shown does not hold d"),
    ],
)
def test_what_moved_since_a_plan_is_said_in_words(found: dict[str, Any], says: str) -> None:
    shown = read_as(Plan, PLAN, "plan")

    assert moved(read_as(Plan, {**PLAN, **found}, "plan"), shown, {"failed"}) == says


@pytest.mark.parametrize(
    ("value", "field"),
    [
        (7, "plans[0]"),
        ({}, "plans[0]"),
        ({**PLAN, "change": "everything"}, "plans[0].change"),
        ({**PLAN, "machines": "a"}, "plans[0].machines"),
        ({**PLAN, "machines": [1]}, "plans[0].machines[0]"),
        ({**PLAN, "intent_hash": None}, "plans[0].intent_hash"),
    ],
)
def test_a_plan_that_is_none_is_refused_by_field(value: Any, field: str) -> None:
    with pytest.raises(InputError) as raised:
        read_as(list[Plan], [value], "plans")

    assert raised.value.field == field


@pytest.mark.parametrize(
    ("config", "problem"),
    [
        (
            {"kind": "Mirrors", "mirrors": [{"source": "a.test/path", "mirrors": ["b.test"]}]},
            r"the node config refuses fairlead\[config.mirrors.a.test/path\]: not a registry",
        ),
        (
            {"kind": "Sysctl", "settings": {"net.*.forwarding": 1}},
            r"the node config refuses fairlead\[config.sysctl.net.\*.forwarding\]: not the name",
        ),
    ],
)
def test_what_no_machine_could_apply_is_refused_before_one_boots_with_it(
    plane: StoredPlane, config: dict[str, Any], problem: str
) -> None:
    with pytest.raises(InputError, match=problem) as refused:
        plans(plane, pool_document(config=[config]))

    assert refused.value.field == "spec.config"


CERTIFICATE = "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n"


@pytest.mark.parametrize(
    ("field", "content", "told"),
    [
        ("pullSecret", "user:password", "is no JSON"),
        ("pullSecret", '{"login": "x"}', "holds no logins"),
        ("trustBundle", "a bundle\n", "holds no certificate"),
        ("trustBundle", CERTIFICATE[:-30], "ends within a certificate"),
    ],
)
def test_a_secret_that_no_machine_could_use_is_refused_where_it_is_named(
    plane: StoredPlane, field: str, content: str, told: str
) -> None:
    (plane.directory.secrets / "other").write_text(content)

    spec: dict[str, Any] = {field: {"name": "other"}}
    found = problem(plane, pool_document(**spec))

    assert found[0] == f"spec.{field}.name"
    assert found[1].startswith(told)
    assert "password" not in str(found)


def test_secrets_that_machines_can_use_are_taken(plane: StoredPlane) -> None:
    (plane.directory.secrets / "bundle").write_text(CERTIFICATE)

    keep(plane, pool_document(trustBundle={"name": "bundle"}))


def test_a_pool_whose_secret_went_bad_can_still_be_scaled(plane: StoredPlane) -> None:
    (plane.directory.secrets / "registry-login").write_text("torn")

    keep(plane, pool_document(replicas=4))
