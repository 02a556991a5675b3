"""Who is offered which fix, who is refused, and what a refusal tells."""

from __future__ import annotations

import json
from collections.abc import Iterable
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from fairlead.contract.hotfix.answer import AKS_COMPONENT, OUR_COMPONENT, update_texts
from fairlead.hotfix.catalog import Fix, State, switch_region
from fairlead.hotfix.publish.depot import Depot
from fairlead.hotfix.service.asked import Reply, Status
from fairlead.hotfix.service.ledger import Asker, EndedBoot
from served_hotfixes import (
    BASE,
    FIX,
    NOW,
    NamedMachines,
    Serving,
    machines_in_reach,
    make_catalog,
    make_depot,
    make_fix,
)

IN_FIRST_WAVE = machines_in_reach(FIX, 0.01, 5)
LATER = NOW + timedelta(seconds=1)


def hotfixes_in(reply: Reply) -> dict[str, str | None]:
    assert reply.status is Status.OK, reply
    found: dict[str, str | None] = json.loads(reply.body)["hotfixes"]
    return found


def serving(path: Path, *fixes: object, verifier: NamedMachines | None = None) -> Serving:
    return Serving(make_depot(path / "depot", fixes), verifier)  # type: ignore[arg-type]


def test_a_machine_of_an_open_wave_is_offered_the_fix_with_the_signed_metadata(
    tmp_path: Path,
) -> None:
    service = serving(tmp_path, make_fix())

    reply = service.ask(IN_FIRST_WAVE[0])

    assert hotfixes_in(reply) == {BASE: FIX}
    assert update_texts(reply.body) == service.shelf.depot.read_signed().encode()


def boot_well(service: Serving, fix: Fix, machines: Iterable[str]) -> None:
    """Machines that had the fix and say so."""
    for name in machines:
        asker = Asker(component=OUR_COMPONENT, machine=name, region="local", base=fix.base)
        version = fix.version
        boot = EndedBoot(asker=asker, version=version, used=version, is_good=True, run=name)
        service.ledger.count(boot, [fix], NOW)


def test_the_first_boots_have_a_fix_wherever_their_machines_stand_in_line(tmp_path: Path) -> None:
    fix = make_fix()
    service = serving(tmp_path, fix)
    outside = [name for name in (f"m{n}" for n in range(50)) if name not in IN_FIRST_WAVE]

    # Two at once; the next when one of them ended well; three in all.
    assert [hotfixes_in(service.ask(name)) for name in outside[:3]] == [
        {BASE: FIX},
        {BASE: FIX},
        {},
    ]
    boot_well(service, fix, outside[:1])
    assert hotfixes_in(service.ask(outside[3], LATER)) == {BASE: FIX}
    boot_well(service, fix, (outside[1], outside[3]))
    assert hotfixes_in(service.ask(outside[4], LATER + timedelta(seconds=1))) == {}


def test_a_machine_that_no_open_wave_holds_is_told_of_no_fix(tmp_path: Path) -> None:
    fix = make_fix()
    service = serving(tmp_path, fix)
    boot_well(service, fix, IN_FIRST_WAVE[:3])

    outside = next(name for name in (f"m{n}" for n in range(50)) if name not in IN_FIRST_WAVE)

    assert hotfixes_in(service.ask(outside)) == {}


def test_a_machine_that_had_a_fix_has_it_at_its_next_boot(tmp_path: Path) -> None:
    fix = make_fix()
    service = serving(tmp_path, fix)
    outside = [name for name in (f"m{n}" for n in range(50)) if name not in IN_FIRST_WAVE]
    boot_well(service, fix, outside[:3])

    assert hotfixes_in(service.ask(outside[0])) == {BASE: FIX}
    assert hotfixes_in(service.ask(outside[3])) == {}


def test_an_image_that_has_the_fix_is_offered_none_and_takes_no_room(tmp_path: Path) -> None:
    fix = make_fix()
    service = serving(tmp_path, fix)

    for patch in (3, 4):
        assert hotfixes_in(service.ask(f"m{patch}", version=f"{BASE}.{patch}")) == {}

    assert service.ledger.standings([fix])[FIX].fixed.under_way == 0


def test_a_fix_for_everyone_has_no_waves(tmp_path: Path) -> None:
    service = serving(tmp_path, make_fix(everyone=True))

    assert all(hotfixes_in(service.ask(f"m{n}")) == {BASE: FIX} for n in range(50))


def test_no_more_boots_have_an_unproven_fix_at_once_than_its_campaign_allows(
    tmp_path: Path,
) -> None:
    depot = make_depot(tmp_path / "depot", [make_fix()])
    workers = [Serving(depot), Serving(depot)]

    answers = [workers[n % 2].ask(name) for n, name in enumerate(IN_FIRST_WAVE)]

    assert [hotfixes_in(answer) for answer in answers] == [{BASE: FIX}] * 2 + [{}] * 3


def test_a_machine_that_asks_again_in_one_boot_is_told_the_same(tmp_path: Path) -> None:
    service = serving(tmp_path, make_fix())
    for name in IN_FIRST_WAVE:
        service.ask(name)

    again = [hotfixes_in(service.ask(name)) for name in IN_FIRST_WAVE]

    assert again == [{BASE: FIX}] * 2 + [{}] * 3


def test_the_newest_fix_that_takes_the_machine_is_named_else_an_older_one(tmp_path: Path) -> None:
    older, newer = make_fix(everyone=True), make_fix("202611.16.4")
    service = serving(tmp_path, older, newer)
    in_wave, *others = machines_in_reach("202611.16.4", 0.01, 4)
    boot_well(service, newer, others)
    outside = next(name for name in IN_FIRST_WAVE if name not in (in_wave, *others))

    assert hotfixes_in(service.ask(in_wave)) == {BASE: "202611.16.4"}
    assert hotfixes_in(service.ask(outside)) == {BASE: FIX}


def test_a_withdrawn_fix_is_a_tombstone_where_nothing_else_applies(tmp_path: Path) -> None:
    service = serving(tmp_path, make_fix(state=State.WITHDRAWN, reason="it broke"))
    assert hotfixes_in(service.ask("m1")) == {BASE: None}

    service.shelf.depot.write_catalog(
        make_catalog(
            [
                make_fix("202611.16.2", everyone=True),
                make_fix(state=State.WITHDRAWN, reason="it broke"),
            ]
        )
    )
    later = NOW + timedelta(seconds=1)
    assert hotfixes_in(service.ask("m1", later)) == {BASE: "202611.16.2"}


def halt(service: Serving, fix: Fix, machines: Iterable[str]) -> None:
    """Machines that did not survive the fix, and say so."""
    for name in machines:
        asker = Asker(component=OUR_COMPONENT, machine=name, region="local", base=fix.base)
        boot = EndedBoot(asker=asker, version=fix.version, is_good=False, run=name)
        service.ledger.count(boot, [fix], NOW)
    assert service.ledger.standings([fix])[fix.version].campaign.halted


def test_a_halted_fix_is_taken_back_from_who_had_it_and_from_everybody_else(
    tmp_path: Path,
) -> None:
    fix = make_fix()
    service = serving(tmp_path, fix)
    boot_well(service, fix, ["had-it"])
    halt(service, fix, ["m1", "m2", "m3"])

    assert hotfixes_in(service.ask("had-it")) == {BASE: None}
    assert hotfixes_in(service.ask("m9")) == {BASE: None}
    # Who is of another base is told the same of this one.
    assert hotfixes_in(service.ask("other", version="202605.30.0")) == {BASE: None}


def test_where_a_halted_fix_took_the_place_of_another_that_one_applies_again(
    tmp_path: Path,
) -> None:
    older, newer = make_fix(everyone=True), make_fix("202611.16.4")
    service = serving(tmp_path, older, newer)
    halt(service, newer, ["m1", "m2"])

    assert hotfixes_in(service.ask("m1")) == {BASE: FIX}


def test_a_halted_fix_that_goes_on_is_offered_again(tmp_path: Path) -> None:
    fix = make_fix()
    service = serving(tmp_path, fix)
    boot_well(service, fix, ["had-it"])
    halt(service, fix, ["m1", "m2", "m3"])
    resumed = make_fix(resumed_at=LATER, wave=1)
    service.shelf.depot.write_catalog(make_catalog([resumed]))

    assert hotfixes_in(service.ask("had-it", LATER)) == {BASE: FIX}


def test_a_retired_fix_is_named_to_nobody(tmp_path: Path) -> None:
    service = serving(tmp_path, make_fix(state=State.RETIRED, everyone=True))

    assert hotfixes_in(service.ask("m1")) == {}


def test_fixes_of_other_bases_are_named_as_they_would_apply(tmp_path: Path) -> None:
    service = serving(tmp_path, make_fix(everyone=True), make_fix("202605.30.1", everyone=True))

    assert hotfixes_in(service.ask("m1")) == {BASE: FIX, "202605.30": "202605.30.1"}


def test_fixes_of_the_aks_agent_are_named_to_it_alone_and_without_metadata(tmp_path: Path) -> None:
    service = serving(tmp_path, make_fix(component=AKS_COMPONENT, everyone=True))

    reply = service.ask("m1", component=AKS_COMPONENT, version="", wants_update=False)

    assert json.loads(reply.body) == {"hotfixes": {BASE: FIX}}
    assert hotfixes_in(service.ask("m1")) == {}


def test_publishing_is_seen_while_the_service_runs(tmp_path: Path) -> None:
    service = serving(tmp_path)
    assert hotfixes_in(service.ask("m1")) == {}

    service.shelf.depot.write_catalog(make_catalog([make_fix(everyone=True)]))

    assert hotfixes_in(service.ask("m1", NOW + timedelta(seconds=1))) == {BASE: FIX}


def test_a_spoiled_catalog_leaves_what_was_read_before_in_force(tmp_path: Path) -> None:
    service = serving(tmp_path, make_fix(everyone=True))
    service.ask("m1")

    service.shelf.depot.catalog.write_text('{"format": 1')

    assert hotfixes_in(service.ask("m1", NOW + timedelta(seconds=1))) == {BASE: FIX}


@pytest.mark.parametrize(
    ("changes", "status", "problem"),
    [
        ({"proof": "forged"}, Status.UNAUTHENTICATED, "the proof does not hold"),
        ({"proof": ""}, Status.UNAUTHENTICATED, "the proof does not hold"),
        ({"proof": "proof-of-" + "x" * 40_000}, Status.UNAUTHENTICATED, "the proof does not hold"),
        (
            {"proof": "proof-of-a-stranger"},
            Status.PERMISSION_DENIED,
            "this machine is not served here",
        ),
        (
            {"component": "kubelet"},
            Status.INVALID_ARGUMENT,
            "expected a component, one of: fairlead-node, aksNodeController",
        ),
        # Who proves nothing learns nothing, not even that the component is wrong.
        (
            {"proof": "forged", "component": "kubelet"},
            Status.UNAUTHENTICATED,
            "the proof does not hold",
        ),
    ],
)
def test_a_refusal_says_no_more_than_its_status_and_is_counted_and_told_without_the_proof(
    tmp_path: Path, changes: dict[str, Any], status: Status, problem: str
) -> None:
    service = serving(tmp_path, make_fix(everyone=True))

    reply = service.ask("m1", **changes)

    assert (reply.status, reply.body, reply.problem) == (status, b"", problem)
    assert sum(service.pointers.proofs.refused.values()) == 1
    assert len(service.told) == 1
    proof = str(changes.get("proof") or "proof-of-m1")
    assert proof not in service.told[0]


def test_a_region_that_nobody_switched_on_offers_nothing(tmp_path: Path) -> None:
    service = serving(
        tmp_path, make_fix(everyone=True), verifier=NamedMachines(region="westeurope")
    )

    reply = service.ask("m1")

    assert (reply.status, reply.problem) == (Status.NOT_FOUND, "nothing is offered here")


def test_a_region_that_was_switched_off_takes_every_fix_back(tmp_path: Path) -> None:
    fixes = [make_fix(everyone=True), make_fix(component=AKS_COMPONENT, version="202605.30.1")]
    service = serving(tmp_path, *fixes)
    assert hotfixes_in(service.ask("m1")) == {BASE: FIX}

    service.shelf.depot.write_catalog(switch_region(make_catalog(fixes), "local", is_on=False))

    assert hotfixes_in(service.ask("m1", LATER)) == {BASE: None}
    # On AKS's wire null is text of the same JSON; its agent reads it as no version.
    aks = service.ask("m1", LATER, component=AKS_COMPONENT, version="", wants_update=False)
    assert aks.body == b'{"hotfixes":{"202605.30":null}}\n'


def test_a_region_that_was_switched_off_offers_nothing_where_nothing_is_published(
    tmp_path: Path,
) -> None:
    service = serving(tmp_path)
    service.shelf.depot.write_catalog(switch_region(make_catalog([]), "local", is_on=False))

    assert service.ask("m1").status is Status.NOT_FOUND


def test_a_proof_is_checked_once_while_its_verifier_says_that_it_holds(tmp_path: Path) -> None:
    verifier = NamedMachines(life=timedelta(minutes=5))
    service = serving(tmp_path, make_fix(), verifier=verifier)
    for minutes in (0, 1, 4):
        service.ask("m1", NOW + timedelta(minutes=minutes))
    assert len(verifier.asked) == 1

    service.ask("m1", NOW + timedelta(minutes=5))
    assert len(verifier.asked) == 2
    # A name that is not the one it was shown with is another question.
    service.ask("m2", NOW + timedelta(minutes=5), proof="proof-of-m1")
    assert len(verifier.asked) == 3


def test_a_defect_of_a_verifier_is_an_answer_too(tmp_path: Path) -> None:
    class Broken(NamedMachines):
        def verify(self, proof: str, machine: str, now: datetime) -> None:  # type: ignore[override]
            raise ZeroDivisionError(proof)

    service = serving(tmp_path, make_fix(), verifier=Broken())

    assert service.ask("m1").status is Status.INTERNAL
    assert service.told == ["a question failed: ZeroDivisionError"]


def test_without_a_ledger_no_wave_is_open_and_withdrawals_are_still_told(tmp_path: Path) -> None:
    depot = make_depot(
        tmp_path / "depot",
        [make_fix(), make_fix("202605.30.1", state=State.WITHDRAWN, reason="it broke")],
    )
    service = Serving(Depot(depot.directory))
    service.ledger.close()

    assert hotfixes_in(service.ask(IN_FIRST_WAVE[0])) == {"202605.30": None}
