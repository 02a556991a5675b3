"""Boots that a ledger counts, for the suites of every kind of it."""

from __future__ import annotations

from datetime import datetime

from fairlead.contract.hotfix.answer import OUR_COMPONENT
from fairlead.hotfix.campaign import Boots
from fairlead.hotfix.catalog import Fix
from fairlead.hotfix.service.ledger import Asker, EndedBoot, Ledger
from served_hotfixes import BASE, FIX, NOW, machines_in_reach, make_fix

THE_FIX = make_fix()
IN_FIRST_WAVE = machines_in_reach(FIX, 0.01, 8)


def asker(machine: str, region: str = "local") -> Asker:
    return Asker(component=OUR_COMPONENT, machine=machine, region=region, base=BASE)


def boot(
    machine: str, *, fixed: bool, good: bool = True, run: str = "1", region: str = "local"
) -> EndedBoot:
    return EndedBoot(
        asker=asker(machine, region),
        version=FIX if fixed else "",
        used=FIX if fixed and good else "",
        wanted=FIX if fixed else "",
        is_good=good,
        run=run,
        cause="" if good else "it crashed",
    )


def counted(ledger: Ledger, fix: Fix = THE_FIX) -> tuple[Boots, Boots]:
    ledger.write_notes()
    standing = ledger.standings([fix])[fix.version]
    return standing.fixed, standing.others


def count(ledger: Ledger, ended: EndedBoot, now: datetime = NOW, fix: Fix = THE_FIX) -> bool:
    return ledger.count(ended, [fix], now)
