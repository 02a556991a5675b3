"""A pool that cannot be thought about says so, names a way out, and holds up no other."""

from __future__ import annotations

import json
from collections.abc import Iterator
from datetime import tzinfo
from pathlib import Path
from typing import Any

import pytest

from fairlead.controller.observe import Code
from fairlead.controller.replay import prove_replay
from fairlead.embedded.serve.apply import apply
from fairlead.errors import InputError
from fairlead.proposal.propose import Shown
from fairlead.zones import find_zone
from pool_documents import platform_document, pool_document
from service.cli_plane import Commands, command_plane
from service.raw_client import RawClient

DEFECT = "a defect of the controller: ZeroDivisionError: no such meridian"
WINDOW = {"start": "22:00", "duration": "4h", "zone": "Mars/Phobos"}


def find_broken_zone(name: str) -> tzinfo | None:
    """A time zone whose file breaks whoever reads it."""
    if name == "Mars/Phobos":
        raise ZeroDivisionError("no such meridian")
    return find_zone(name)


@pytest.fixture
def commands(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> Iterator[Commands]:
    with command_plane(tmp_path / "state", capsys) as found:
        found.app.call(lambda: prepare(found))
        yield found


def prepare(found: Commands) -> None:
    """Two settled pools, one of which then gets a window that nobody can think about."""
    pools = found.plane.world.pools
    pools.write_platform(platform_document())
    pools.write_pools([pool_document("workers", pullSecret=None), good_pool()])
    found.plane.settle()
    found.plane.world.code = Code(find_zone=find_broken_zone)
    pools.write_pool(bad_pool())
    # Passes over the others; the loop keeps the failed one from them.
    found.plane.wake = lambda: found.plane.settle("edge")  # type: ignore[method-assign]


def good_pool() -> dict[str, Any]:
    return pool_document("edge", pullSecret=None, replicas=2)


def bad_pool() -> dict[str, Any]:
    return pool_document("workers", pullSecret=None, rollout={"windows": [WINDOW]})


def test_the_list_shows_it_as_blocked_and_the_others_as_they_are(commands: Commands) -> None:
    edge, workers = commands.json("pool", "list")["pools"]

    assert (edge["name"], edge["state"], edge["updated"]) == ("edge", "Settled", 2)
    assert (workers["name"], workers["state"], workers["updated"]) == ("workers", "Blocked", 3)
    assert workers["version"] == "1.34.2"
    assert [wait["says"] for wait in workers["waits"]] == [f"it cannot be thought about: {DEFECT}"]
    assert DEFECT in commands.run("pool", "list").out


def test_explain_names_the_error_and_a_way_out(commands: Commands) -> None:
    said = commands.run("explain", "workers")

    assert said.code == 0
    assert said.out.splitlines()[:2] == [
        "blocked: no machine will be replaced",
        f"No machine is made or replaced: {DEFECT}. It is tried again; else: fairlead apply -f "
        "FILE with another document, or fairlead pool delete workers.",
    ]


def test_it_is_shown_with_its_document_machines_and_a_condition(commands: Commands) -> None:
    shown = commands.json("pool", "show", "workers")

    assert shown["document"]["spec"]["rollout"] == {"windows": [WINDOW]}
    assert len(shown["machines"]) == 3
    conditions = {one["type"]: one for one in shown["conditions"]}
    active = conditions["ReconciliationActive"]
    assert (active["status"], active["reason"]) == ("False", "PassFailed")
    assert DEFECT in active["message"]
    assert conditions["Ready"]["status"] == "True", "what was known of it stays"
    assert shown["verdict"]["needs"] == DEFECT


def test_a_change_of_the_platform_goes_on_for_the_others(commands: Commands) -> None:
    said = commands.run("platform", "set", "proxy.image=haproxy@sha256:bb")

    assert said.code == 0
    assert said.out.splitlines() == [
        "1 pool holds this change (edge), no machine is replaced",
        f"workers: it cannot be thought about: {DEFECT}",
    ]
    leaves = commands.json("platform", "list")["leaves"]
    (held,) = [leaf["held_by"] for leaf in leaves if leaf["leaf"] == "platform.proxy.image"]
    assert held == ["edge"]


def test_its_machines_are_listed_and_explained(commands: Commands) -> None:
    machine = next(name for name in commands.machines() if name.startswith("workers"))

    said = commands.run("explain", machine)

    assert said.code == 0
    assert f"{machine} stays: its pool cannot be thought about: {DEFECT}." in said.out


def test_another_document_frees_it(commands: Commands, tmp_path: Path) -> None:
    file = tmp_path / "pool.yaml"
    file.write_text(json.dumps(pool_document("workers", pullSecret=None)))

    said = commands.run("apply", "-f", str(file), "--yes", "--no-wait")

    assert said.code == 0, said.err
    assert commands.json("pool", "show", "workers")["state"] == "Settled"


def test_deleting_it_takes_it_and_its_machines_away(commands: Commands) -> None:
    said = commands.run("pool", "delete", "workers", "--yes")

    assert said.code == 0, said.err
    commands.settle()
    assert [pool["name"] for pool in commands.json("pool", "list")["pools"]] == ["edge"]
    assert [name.partition("-")[0] for name in commands.machines()] == ["edge", "edge"]


def test_a_document_that_is_no_text_is_refused_before_it_is_in_force(commands: Commands) -> None:
    document = pool_document("edge", pullSecret=None, replicas=2)
    document["metadata"]["labels"] = {"team": "\ud800"}

    ask = RawClient(commands.plane.directory).request
    with pytest.raises(InputError) as refused:
        ask("POST", "/v1/apply", {"documents": [document]})

    assert refused.value.field == "metadata.labels.team"
    assert commands.json("pool", "show", "edge")["document"] == good_pool()


def test_one_that_is_in_force_is_replaced(commands: Commands, tmp_path: Path) -> None:
    document = pool_document("edge", pullSecret=None, replicas=2, description="\ud800")
    commands.app.call(lambda: commands.plane.world.pools.write_pool(document))
    file = tmp_path / "pool.yaml"
    file.write_text(json.dumps(good_pool()))

    said = commands.run("apply", "-f", str(file), "--yes", "--no-wait")

    assert said.code == 0, said.err
    assert commands.json("pool", "show", "edge")["document"] == good_pool()


def test_a_start_with_documents_goes_on_for_the_others(commands: Commands) -> None:
    plane = commands.plane

    def start() -> list[str]:
        assert prove_replay(plane.world.world(), plane.now()).broken == ()
        changed = platform_document(loadBalancerAddress="10.0.0.5")
        return [plan.pool for plan in apply(plane.world, [changed], Shown(), plane.now()).plans]

    assert commands.app.call(start) == ["edge", "workers"]
