"""What commands say of hotfixes that machines have or lack, and how an owner asks for one."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from fairlead.contract.hotfix.answer import OUR_COMPONENT
from fairlead.embedded.store.noted_agents import note_agents
from fairlead.hotfix.campaign import Boots, Campaign, Schedule, bucket_of
from fairlead.hotfix.catalog import Catalog, Fix, publish, switch_region, withdraw
from fairlead.hotfix.catalog_text import render_catalog
from fairlead.hotfix.service.standing import Standing
from service.cli_plane import Commands, command_plane
from shared_cases import REPOSITORY

POOL = REPOSITORY / "examples/pool.yaml"
BASE = "202607.02"
FIX = "202607.02.3"
SINCE = datetime(2026, 7, 1, 11, tzinfo=UTC)


def fix(version: str = FIX) -> Fix:
    return Fix(
        component=OUR_COMPONENT,
        version=version,
        base=BASE,
        schedule=Schedule.NORMAL,
        published_at=SINCE,
        packages=(),
        everyone=True,
    )


ON = switch_region(Catalog(bases=(BASE,)), "local", is_on=True)
PUBLISHED = publish(ON, fix())
WITHDRAWN = withdraw(PUBLISHED, FIX, "it loops")


def write(workers: Commands, catalog: Catalog | bytes) -> None:
    depot = workers.plane.directory.path / "hotfix"
    depot.mkdir(exist_ok=True)
    text = catalog if isinstance(catalog, bytes) else render_catalog(catalog)
    (depot / "catalog.json").write_bytes(text)


@pytest.fixture
def workers(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> Iterator[Commands]:
    """Three machines of the example, which booted before any fix was published."""
    with command_plane(tmp_path / "state", capsys) as commands:
        commands.plane.baked = f"{BASE}.0"
        assert commands.run("apply", "-f", str(POOL)).code == 0
        yield commands


def hashes(workers: Commands) -> Any:
    record = workers.app.call(lambda: workers.plane.world.pools.find_record("workers"))
    assert record is not None
    return record.target, record.applied


def test_without_a_depot_nothing_is_said_of_hotfixes(workers: Commands) -> None:
    shown = workers.json("machine", "show", workers.machines()[0])
    pool = workers.json("pool", "show", "workers")

    assert shown["fix"] is None
    assert shown["agent"] == f"{BASE}.0"
    assert pool["fixes"] == []
    assert pool["fixes_problem"] == ""
    assert "hotfix" not in workers.run("explain", "workers").out
    said = workers.run("pool", "adopt", "workers", "--yes")
    assert (said.code, said.err) == (0, "no machine of workers lacks a hotfix\n")


def test_a_machine_says_which_fix_it_would_have_booted_with(workers: Commands) -> None:
    machine = workers.machines()[0]
    write(workers, PUBLISHED)

    found = workers.json("machine", "show", machine)["fix"]

    assert found["would_boot_with"] == FIX
    assert found["since"] == "2026-07-01T11:00:00.000Z"
    assert found["says"] == (
        f"It booted with {BASE}.0 of its image. It would have booted with {FIX}, published at "
        "2026-07-01T11:00:00Z: fairlead pool adopt workers replaces those without it."
    )
    assert f"would have booted with {FIX}" in " ".join(workers.run("explain", machine).out.split())


def in_waves(workers: Commands, wave: int) -> None:
    """Let the fix be as far as this; enough boots had it to judge the wave."""
    campaign = Campaign(version=FIX, schedule=Schedule.NORMAL, started_at=SINCE, wave=wave)
    standing = Standing(campaign=campaign, fixed=Boots(good=1000), others=Boots())
    workers.plane.world.fixes.standings = lambda: {FIX: standing}


def test_a_machine_whose_wave_is_not_open_would_not_boot_with_the_fix(workers: Commands) -> None:
    write(workers, PUBLISHED)
    machine = max(workers.machines(), key=lambda name: bucket_of(FIX, name))
    in_waves(workers, 0)

    found = workers.json("machine", "show", machine)["fix"]
    (pool,) = workers.json("pool", "show", "workers")["fixes"]
    refused = workers.run("pool", "adopt", "workers", "--yes")

    assert found["would_boot_with"] == ""
    assert found["says"].startswith(f"It booted with {BASE}.0 of its image. {FIX}, published at ")
    assert found["says"].endswith(" on; 1% of machines have their turn so far.")
    assert "is for it from wave " in found["says"]
    assert pool["says"].endswith("and their wave is open, 1% of machines have their turn so far")
    assert refused.code == 2
    assert f"{FIX} is given to 1% of machines so far" in refused.err
    assert set(workers.machines()) >= {machine}

    in_waves(workers, 4)
    assert workers.json("machine", "show", machine)["fix"]["would_boot_with"] == FIX
    assert workers.run("pool", "adopt", "workers", "--dry-run").code == 0


def test_a_pool_counts_the_machines_without_a_fix(workers: Commands) -> None:
    write(workers, PUBLISHED)
    workers.run("pool", "scale", "workers", "4", "--yes")

    (found,) = workers.json("pool", "show", "workers")["fixes"]

    assert (found["version"], found["machines"], found["stopped"]) == (FIX, 3, "")
    assert found["says"].startswith(f"3 machines lack the fix {FIX}")
    for words in (("explain", "workers"), ("pool", "show", "workers")):
        assert f"3 machines lack the fix {FIX}" in " ".join(workers.run(*words).out.split())


def test_a_machine_with_a_withdrawn_fix_says_so(workers: Commands) -> None:
    write(workers, PUBLISHED)
    workers.run("pool", "scale", "workers", "4", "--yes")
    listed = workers.json("machine", "list")["machines"]
    (new,) = [one["name"] for one in listed if one["agent"] == FIX]
    write(workers, WITHDRAWN)

    found = workers.json("machine", "show", new)["fix"]
    (told,) = workers.json("pool", "show", "workers")["fixes"]

    assert found["withdrawn"] == "it was withdrawn: it loops"
    assert "It runs with a withdrawn fix (it was withdrawn: it loops)" in found["says"]
    assert found["would_boot_with"] == ""
    assert told["says"] == f"1 machine runs with the fix {FIX}, and it was withdrawn: it loops"


CATALOGS: list[Catalog | bytes] = [
    PUBLISHED,
    publish(PUBLISHED, fix("202607.02.4")),
    WITHDRAWN,
    switch_region(PUBLISHED, "local", is_on=False),
    b"{",
    b"\xff" * 100,
]


def test_whatever_becomes_of_fixes_no_hash_moves_and_no_machine_is_replaced(
    workers: Commands,
) -> None:
    before = workers.machines(), hashes(workers), workers.json("events")

    for catalog in CATALOGS:
        write(workers, catalog)
        workers.settle()
        assert workers.json("pool", "show", "workers")["state"] == "Settled"

    assert (workers.machines(), hashes(workers), workers.json("events")) == before


def test_a_catalog_that_cannot_be_read_is_told_and_fails_no_pass(workers: Commands) -> None:
    write(workers, b"{")
    workers.settle()

    pool = workers.json("pool", "show", "workers")

    assert pool["state"] == "Settled"
    assert pool["fixes_problem"].startswith("what hotfixes are published cannot be read: ")
    assert "catalog.json" in workers.run("explain", "workers").out
    assert workers.run("pool", "adopt", "workers", "--yes").code == 2


def test_an_owner_asks_for_a_fix_and_exactly_the_machines_shown_are_replaced(
    workers: Commands,
) -> None:
    write(workers, PUBLISHED)
    workers.run("pool", "scale", "workers", "5", "--yes")
    machines = {one["name"]: one["agent"] for one in workers.json("machine", "list")["machines"]}
    lacking = {name for name, agent in machines.items() if agent != FIX}
    before = hashes(workers)
    shown = workers.json("pool", "adopt", "workers", "--dry-run")["plan"]
    assert set(shown["machines"]) == lacking
    assert shown["because"] == f"the pool's owner wants no machine without the fix {FIX}"
    assert workers.run("pool", "adopt", "workers").code == 2, "it asks"
    assert set(workers.machines()) == set(machines)

    assert workers.run("pool", "adopt", "workers", "--yes").code == 0
    workers.settle()

    assert set(machines) - set(workers.machines()) == lacking
    assert hashes(workers) == before
    assert workers.json("pool", "show", "workers")["fixes"] == []
    kinds = [event["kind"] for event in workers.json("events")["events"]]
    assert kinds.count("FixAdoptionStarted") == kinds.count("FixAdoptionEnded") == 1
    kept = workers.json("pool", "history", "workers")["documents"][-1]["document"]
    assert kept["spec"]["rollout"]["replaceWithout"]["fix"] == FIX


def test_a_machine_that_was_not_shown_is_not_replaced_for_a_fix(workers: Commands) -> None:
    write(workers, PUBLISHED)
    workers.sleep()
    shown = set(workers.json("pool", "adopt", "workers", "--yes")["plan"]["machines"])
    # Between the owner's word and the first pass, one more machine turns out to lack it.
    write(workers, ON)
    workers.app.call(lambda: _one_more(workers))
    write(workers, PUBLISHED)
    workers.sleep(is_asleep=False)
    late = set(workers.machines()) - shown

    workers.settle()

    assert len(shown) == 3
    assert late <= set(workers.machines())


def _one_more(workers: Commands) -> None:
    machines = workers.plane.world.machines
    template = machines.find_template("workers")
    assert template is not None
    machines.create_machine("workers", "workers-late", template.revision)
    workers.plane.run_machines()


def test_a_fix_that_is_not_on_offer_cannot_be_asked_for(workers: Commands) -> None:
    write(workers, WITHDRAWN)

    said = workers.run("pool", "adopt", "workers", "--fix", FIX, "--yes")

    assert said.code == 2
    assert f"{FIX} is not given to machines: it was withdrawn: it loops" in said.err


def test_agents_that_an_older_release_did_not_note_are_read_from_reports(workers: Commands) -> None:
    def forget() -> int:
        with workers.plane.store.writing() as connection:
            connection.execute("UPDATE machines SET value = json_set(value, '$.agent', '')")
        return note_agents(workers.plane.world)

    assert workers.app.call(forget) == 3
    assert {one["agent"] for one in workers.json("machine", "list")["machines"]} == {f"{BASE}.0"}
    assert workers.app.call(lambda: note_agents(workers.plane.world)) == 0
