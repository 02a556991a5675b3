"""One suite for every ledger: what people are told of a fleet by what machines reported."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from pathlib import Path

import pytest

from conformance.conftest import ON_A_CLUSTER
from fairlead.hotfix.campaign import Boots
from fairlead.hotfix.service.file_ledger import FileLedger
from fairlead.hotfix.service.fleet import Fleet, InRegion, KnownFleet
from fairlead.hotfix.service.ledger import SILENT, SILENT_AFTER, Ledger
from fairlead.kube.ledger.fleet_reach import ClusterFleet
from fairlead.kube.ledger.kube_ledger import KubeLedger
from kube.processes import HOME
from ledger_boots import THE_FIX, asker, boot, count
from served_hotfixes import FIX, NOW

OTHER_BASE = "202605.30"
LATE = NOW + 2 * SILENT_AFTER


@dataclass(frozen=True, kw_only=True)
class Known:
    """A ledger that is written, and how it is read at a moment."""

    ledger: Ledger
    read: Callable[[datetime], KnownFleet]

    def told(self, now: datetime = NOW) -> KnownFleet:
        """What is known once everything is written."""
        self.ledger.close()
        return self.read(now)


@pytest.fixture(params=["file", ON_A_CLUSTER])
def known(request: pytest.FixtureRequest, tmp_path: Path) -> Known:
    if request.param == "kube":
        # The service writes, and people read.
        ledger = KubeLedger(request.getfixturevalue("hotfix_client"), HOME, company_s=0)
        admin, _ = request.getfixturevalue("clients")
        return Known(ledger=ledger, read=lambda now: ClusterFleet(admin, HOME, now))
    return Known(ledger=FileLedger(tmp_path), read=lambda _: Fleet(tmp_path))


def test_who_has_a_fix_and_who_lacks_it_is_told_by_region(known: Known) -> None:
    count(known.ledger, boot("m1", fixed=True))
    count(known.ledger, boot("m2", fixed=False))
    count(known.ledger, boot("m3", fixed=True, region="far"))
    count(known.ledger, boot("m4", fixed=True, good=False, region="far"))
    # Has it no more; both boots count.
    count(known.ledger, boot("m5", fixed=True))
    count(known.ledger, boot("m5", fixed=False, run="2"))

    fleet = known.told()

    [reach] = fleet.reach_of([THE_FIX])
    assert reach.regions == (
        InRegion(region="far", have=1, lack=1, with_fix=Boots(good=1, failed=1), without=Boots()),
        InRegion(region="local", have=1, lack=2, with_fix=Boots(good=2), without=Boots(good=2)),
    )
    assert fleet.having(THE_FIX, 10) == ("m1", "m3")
    assert fleet.lacking(THE_FIX, 10) == ("m2", "m4", "m5")
    assert fleet.lacking(THE_FIX, 2) == ("m2", "m4")


def test_causes_are_told_by_how_many_machines_each_stopped(known: Known) -> None:
    for number, cause in enumerate(["disk", "disk", "kubelet", "disk"]):
        ended = boot(f"m{number}", fixed=True, good=False)
        count(known.ledger, replace(ended, cause=cause))
    # Of one machine the last cause counts; and without the fix there is none to tell.
    count(known.ledger, replace(boot("m3", fixed=True, good=False, run="2"), cause="kubelet"))
    count(known.ledger, replace(boot("m9", fixed=False, good=False), cause="disk"))

    [reach] = known.told().reach_of([THE_FIX])

    assert reach.causes == (("disk", 2), ("kubelet", 2))
    assert reach.campaign.halted


def test_a_machine_of_another_image_is_of_its_new_base_alone(known: Known) -> None:
    count(known.ledger, boot("m1", fixed=True))
    moved = boot("m1", fixed=False, run="2")
    count(known.ledger, replace(moved, asker=replace(moved.asker, base=OTHER_BASE)))

    fleet = known.told()

    [reach] = fleet.reach_of([THE_FIX])
    assert (reach.have, reach.lack) == (0, 0)
    newer = replace(THE_FIX, version=f"{OTHER_BASE}.1", base=OTHER_BASE)
    assert fleet.lacking(newer, 10) == ("m1",)


def test_who_fell_silent_with_a_fix_is_a_failed_boot_with_that_cause(known: Known) -> None:
    offered = replace(THE_FIX, wave=4)
    count(known.ledger, boot("m1", fixed=False), fix=offered)
    known.ledger.note(asker("m2", "far"), FIX, NOW + timedelta(seconds=1))
    known.ledger.write_notes()
    known.ledger.tend([offered], LATE)

    [reach] = known.told(LATE).reach_of([offered])

    assert [(one.region, one.have, one.lack, one.with_fix) for one in reach.regions] == [
        ("far", 0, 0, Boots(failed=1)),
        ("local", 0, 1, Boots()),
    ]
    assert reach.causes == ((SILENT, 1),)


def test_a_machine_that_is_gone_is_no_longer_told(known: Known) -> None:
    count(known.ledger, boot("m1", fixed=True))
    count(known.ledger, boot("m2", fixed=False))

    known.ledger.forget("fairlead-node", "m2")

    fleet = known.told()
    assert (fleet.having(THE_FIX, 10), fleet.lacking(THE_FIX, 10)) == (("m1",), ())


def test_before_anybody_reported_nothing_is_known(known: Known) -> None:
    fleet = known.told()

    [reach] = fleet.reach_of([THE_FIX])
    assert (reach.regions, reach.causes, reach.under_way) == ((), (), 0)
    assert fleet.lacking(THE_FIX, 10) == ()
