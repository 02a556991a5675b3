"""What commands say of pools that are too large to be served, and that its ways out work."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from fairlead.embedded.store.payloads import StoredPayloads
from fairlead.payload.answer import Answer, config_answer
from fairlead.payload.bearer import Bearer
from pool_documents import platform_document, pool_document
from service.cli_plane import Commands, command_plane


def config(count: int) -> list[dict[str, Any]]:
    return [{"kind": "Files", "files": [{"path": "/etc/big", "content": "x" * count}]}]


BIG, SMALLER = config(350_000), config(30_000)


@pytest.fixture
def commands(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> Iterator[Commands]:
    with command_plane(tmp_path / "state", capsys) as found:
        yield found


@pytest.fixture
def settled(commands: Commands) -> Commands:
    """A settled pool of three with half a megabyte of files."""

    def prepare() -> None:
        pools = commands.plane.world.pools
        pools.write_platform(platform_document())
        pools.write_pools([pool_document(config=BIG)])
        commands.plane.settle()

    commands.app.call(prepare)
    return commands


def write_login(commands: Commands, numbers: int) -> None:
    """Write a pull secret of 2 bytes for each number, of which each takes 89 once it is served."""
    path = commands.plane.directory.secrets / "registry-login"
    nested = "[" * 40 + ",".join("1" * numbers) + "]" * 40
    path.write_text(f'{{"auths": {{}}, "numbers": {nested}}}')
    os.utime(path, (0, 0))
    commands.settle()


def served(commands: Commands) -> Answer:
    """What a machine that boots from the pool's newest pair is answered."""

    def answer() -> Answer:
        world = commands.plane.world
        record = world.pools.find_record("workers")
        assert record is not None
        assert record.target is not None
        [pair] = [one for one in world.secrets.list_tokens("workers") if one.id == record.target.id]
        found = StoredPayloads(world, lambda: None).find_secrets("workers", pair.served)
        return config_answer(Bearer(pair=pair), None, found)

    return commands.app.call(answer)


def applied(commands: Commands, tmp_path: Path, *words: str, **spec: Any) -> Any:
    file = tmp_path / "pool.json"
    file.write_text(json.dumps(pool_document(**spec)))
    return commands.run("apply", "-f", str(file), "--yes", *words)


GROWN = 43_250
TOO_LARGE = "the node config has 4320260 bytes, at most 4161536 can be served"
PARTS = "the pull secret has 3853046 bytes, config.files./etc/big 466693"


def test_a_document_that_no_machine_could_be_served_is_refused_with_place_and_way_out(
    settled: Commands, tmp_path: Path
) -> None:
    write_login(settled, 41_000)

    said = applied(settled, tmp_path, config=config(450_000))

    assert said.code == 2
    assert ":1:226: spec.pullSecret.name: workers: the node config has 4253342 bytes" in said.err
    assert "at most 4161536 can be served: the pull secret has 3652796 bytes" in said.err
    assert "put large files into the image, or have less of the parts that are named" in said.err
    assert settled.json("pool", "list")["pools"][0]["state"] == "Settled"


def test_a_platform_change_that_would_push_a_pool_over_is_refused_by_its_name(
    settled: Commands,
) -> None:
    write_login(settled, 41_000)

    said = settled.run("platform", "set", f"cloudConfig={'x' * 100_000}")

    assert said.code == 2
    assert "fairlead: spec: workers: the node config has 4220033 bytes" in said.err
    assert "the platform's cloudConfig 100002" in said.err
    assert settled.run("platform", "set", f"cloudConfig={'x' * 1_000}").code == 0


def test_every_command_names_a_secret_that_grew_and_what_is_served_is_what_was_judged(
    settled: Commands,
) -> None:
    before = settled.machines()
    write_login(settled, GROWN)

    answer = served(settled)
    assert answer.status == 500
    assert answer.problem == "the node config has 4320260 bytes, at most 4194304 can be served"
    for words in (
        ("pool", "list"),
        ("pool", "show", "workers"),
        ("explain", "workers"),
        ("rollout", "watch", "workers"),
    ):
        said = settled.run(*words)
        assert "the node config has 4320260 bytes" in (said.out + said.err), words
    shown = settled.run("explain", "workers").out
    assert f"{TOO_LARGE}: {PARTS}" in shown.replace("\n", " ").replace("  ", " ")
    assert "fairlead apply -f FILE" in shown
    assert "fairlead platform set LEAF=VALUE" in shown
    assert settled.machines() == before


def test_a_smaller_secret_under_its_name_ends_it(settled: Commands) -> None:
    before = settled.machines()
    write_login(settled, GROWN)
    assert settled.run("pool", "scale", "workers", "4").code == 0

    write_login(settled, 1)
    settled.settle()

    assert served(settled).status == 200
    assert settled.json("pool", "list")["pools"][0]["state"] == "Settled"
    assert len(settled.machines()) == 4
    assert set(before) < set(settled.machines())


def test_a_document_with_less_in_it_ends_it(settled: Commands, tmp_path: Path) -> None:
    write_login(settled, GROWN)

    said = applied(settled, tmp_path, config=SMALLER)

    assert said.code == 0
    assert served(settled).status == 200
    shown = settled.json("pool", "show", "workers")
    assert (shown["state"], shown["verdict"]["is_complete"]) == ("Settled", True)


def test_less_of_the_platform_ends_it_and_replaces_nobody(settled: Commands) -> None:
    settled.run("platform", "set", f"cloudConfig={'x' * 100_000}")
    settled.run("pool", "force", "workers", "--yes")
    before = settled.machines()
    write_login(settled, 41_000)
    assert settled.json("pool", "list")["pools"][0]["state"] == "Blocked"

    assert settled.run("platform", "set", "cloudConfig=").code == 0
    settled.settle()

    assert served(settled).status == 200
    assert settled.json("pool", "list")["pools"][0]["state"] == "Drifted"
    assert settled.machines() == before
