"""Completion offers the names that a running control plane knows, in every shell."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from service.cli_plane import Commands, command_plane
from shared_cases import REPOSITORY
from unit.cli.completing_shells import SHELLS, Shell, make_shell

POOL = str(REPOSITORY / "examples/pool.yaml")


@pytest.fixture
def plane(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> Iterator[Commands]:
    """The pool of three of the example, and one of the same called spare."""
    spare = tmp_path / "spare.yaml"
    spare.write_text(Path(POOL).read_text().replace("name: workers", "name: spare"))
    with command_plane(tmp_path / "state", capsys) as commands:
        assert commands.run("apply", "-f", POOL).code == 0
        assert commands.run("apply", "-f", str(spare)).code == 0
        yield commands


@pytest.fixture(params=SHELLS)
def shell(request: pytest.FixtureRequest, plane: Commands, tmp_path: Path) -> Shell:
    state = str(plane.plane.directory.path)
    return make_shell(request.param, tmp_path / "folder", FAIRLEAD_STATE=state)


def test_pools_are_offered_where_a_pool_is_meant(shell: Shell) -> None:
    both = ["spare", "workers"]

    assert shell.offers("fairlead pool show ") == both
    assert shell.offers("fairlead pool scale w") == ["workers"]
    assert shell.offers("fairlead rollout watch ") == both
    assert shell.offers("fairlead rollout status --json s") == ["spare"]
    assert shell.offers("fairlead diff ") == both
    assert shell.offers("fairlead machine list ") == both
    assert shell.offers("fairlead machine fault --next ") == both


def test_machines_are_offered_where_a_machine_is_meant(plane: Commands, shell: Shell) -> None:
    machines = sorted(plane.machines())
    assert len(machines) == 6

    assert shell.offers("fairlead machine show ") == machines
    assert shell.offers("fairlead machine delete work") == [m for m in machines if "work" in m]
    faults = ["break", "fail-boot", "never-join", "none", "stuck-drain"]
    assert shell.offers("fairlead machine fault ") == sorted([*machines, *faults])


def test_both_are_offered_where_either_is_meant(plane: Commands, shell: Shell) -> None:
    both = sorted(["spare", "workers", *plane.machines()])

    assert shell.offers("fairlead explain ") == both
    assert shell.offers("fairlead timeline of ") == both
    assert shell.offers("fairlead timeline ") == sorted(["of", "show", "compare", *both])
    assert shell.offers("fairlead timeline sp") == [name for name in both if name[:2] == "sp"]


def test_state_on_the_line_chooses_the_control_plane(
    plane: Commands, shell: Shell, tmp_path: Path
) -> None:
    elsewhere = Shell(shell.name, shell.folder, {**shell.environment, "FAIRLEAD_STATE": "/none"})
    state = plane.plane.directory.path

    assert elsewhere.offers("fairlead pool show ") == []
    assert elsewhere.offers(f"fairlead pool show --state {state} ") == ["spare", "workers"]
    if shell.name != "zsh":  # where shtab takes a flag and its value for two words
        assert elsewhere.offers(f"fairlead pool show --state={state} ") == ["spare", "workers"]
    assert shell.offers(f"fairlead pool show --state {tmp_path} ") == []
