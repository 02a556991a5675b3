"""What a control plane reads of a depot, and that nothing on the disk stops it."""

from __future__ import annotations

import os
from datetime import UTC, datetime
from pathlib import Path

import pytest

from fairlead.contract.hotfix.answer import AKS_COMPONENT, OUR_COMPONENT
from fairlead.hotfix.campaign import Boots, Campaign, Schedule
from fairlead.hotfix.catalog import Catalog, Fix, promote, publish, switch_region, withdraw
from fairlead.hotfix.catalog_text import LARGEST_CATALOG, render_catalog
from fairlead.hotfix.published_fixes import PublishedFixes
from fairlead.hotfix.service.standing import NOTHING, Standing
from fairlead.rollout.fixes import NO_FIXES, awaited_by, offered_to, wave_awaited

SINCE = datetime(2026, 11, 18, tzinfo=UTC)
BASE = "202611.16"


def fix(version: str, component: str = OUR_COMPONENT) -> Fix:
    return Fix(
        component=component,
        version=version,
        base=BASE,
        schedule=Schedule.NORMAL,
        published_at=SINCE,
        packages=(),
    )


# Where machines stand in line for the first fix: bucket_of in campaign.py.
FIRST, MIDDLE, LAST = "machine-11", "machine-0", "machine-44"


def standing(boots: Boots = NOTHING, *, wave: int = 0, halted: str = "") -> dict[str, Standing]:
    version = f"{BASE}.1"
    campaign = Campaign(
        version=version, schedule=Schedule.NORMAL, started_at=SINCE, wave=wave, halted=halted
    )
    return {version: Standing(campaign=campaign, fixed=boots, others=NOTHING)}


ON = switch_region(Catalog(bases=(BASE,)), "local", is_on=True)
ONE = publish(ON, fix(f"{BASE}.1"))
TWO = publish(ONE, fix(f"{BASE}.2"))


def write(depot: Path, catalog: Catalog) -> None:
    (depot / "catalog.json").write_bytes(render_catalog(catalog))


def offered(fixes: PublishedFixes) -> str:
    found = offered_to(f"{BASE}.0", fixes.read())
    return found.version if found else ""


def test_a_depot_that_is_not_there_says_nothing(tmp_path: Path) -> None:
    assert PublishedFixes(tmp_path / "none").read() is NO_FIXES


def test_another_catalog_is_read_and_the_same_one_is_not_read_again(tmp_path: Path) -> None:
    fixes = PublishedFixes(tmp_path)
    write(tmp_path, ONE)
    assert offered(fixes) == f"{BASE}.1"
    assert fixes.read() is fixes.read()

    write(tmp_path, TWO)
    assert offered(fixes) == f"{BASE}.2"

    (tmp_path / "catalog.json").unlink()
    assert fixes.read() is NO_FIXES


def test_a_withdrawn_fix_leaves_the_one_before_on_offer(tmp_path: Path) -> None:
    write(tmp_path, withdraw(TWO, f"{BASE}.2", "it loops"))
    fixes = PublishedFixes(tmp_path)

    assert offered(fixes) == f"{BASE}.1"
    withdrawn = fixes.read().by_version[f"{BASE}.2"]
    assert (withdrawn.stopped, withdrawn.is_withdrawn) == ("it was withdrawn: it loops", True)


def test_a_region_that_is_off_offers_nothing(tmp_path: Path) -> None:
    write(tmp_path, switch_region(ONE, "local", is_on=False))

    assert offered(PublishedFixes(tmp_path)) == ""


def test_a_halted_campaign_stops_its_fix_with_the_reason(tmp_path: Path) -> None:
    write(tmp_path, ONE)
    fixes = PublishedFixes(tmp_path)
    fixes.standings = lambda: standing(halted="3 of 4 boots with it failed")

    assert offered(fixes) == ""
    found = fixes.read().by_version[f"{BASE}.1"]
    assert found.stopped == "it was halted: 3 of 4 boots with it failed"


def test_a_machine_is_offered_a_fix_once_its_own_wave_is_open(tmp_path: Path) -> None:
    write(tmp_path, ONE)
    fixes = PublishedFixes(tmp_path)

    def told(machine: str, wave: int, boots: Boots) -> tuple[str, int]:
        fixes.standings = lambda: standing(boots, wave=wave)
        found = offered_to(f"{BASE}.0", fixes.read(), machine)
        later = awaited_by(f"{BASE}.0", fixes.read(), machine)
        return found.version if found else "", wave_awaited(later, machine) if later else 0

    judged = Boots(good=50)
    assert told(FIRST, 0, judged) == ("", 2)
    assert [told(name, 1, judged) for name in (FIRST, MIDDLE, LAST)] == [
        (f"{BASE}.1", 0),
        ("", 4),
        ("", 5),
    ]
    assert told(MIDDLE, 3, judged) == (f"{BASE}.1", 0)
    assert told(LAST, 4, judged) == (f"{BASE}.1", 0)
    # A wave takes whoever comes until it can be judged.
    assert told(LAST, 0, Boots(good=2)) == (f"{BASE}.1", 0)


def test_a_fix_whose_boots_nobody_counts_came_as_far_as_its_publisher_said(tmp_path: Path) -> None:
    def part_of(catalog: Catalog) -> float | None:
        write(tmp_path, catalog)
        waves = PublishedFixes(tmp_path).read().by_version[f"{BASE}.1"].waves
        return waves.part if waves else None

    assert part_of(ONE) == 0.01
    assert part_of(promote(ONE, f"{BASE}.1", SINCE)) == 0.05
    assert part_of(promote(ONE, f"{BASE}.1", SINCE, everyone=True)) is None


def test_fixes_of_another_agent_are_not_ours(tmp_path: Path) -> None:
    write(tmp_path, publish(ON, fix(f"{BASE}.1", AKS_COMPONENT)))

    assert not PublishedFixes(tmp_path).read().by_version


@pytest.mark.parametrize("kind", ["text", "fifo", "directory", "large", "loop"])
def test_what_cannot_be_read_is_told_and_raises_nothing(tmp_path: Path, kind: str) -> None:
    path = tmp_path / "catalog.json"
    match kind:
        case "text":
            path.write_text("{")
        case "fifo":
            os.mkfifo(path)
        case "directory":
            path.mkdir()
        case "large":
            path.touch()
            os.truncate(path, LARGEST_CATALOG + 1)
        case _:
            path.symlink_to(path)

    problem = PublishedFixes(tmp_path).read().problem

    assert problem.startswith(f"what hotfixes are published cannot be read: {path}: ")
