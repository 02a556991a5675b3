"""Completion offers the names that a running control plane knows, in every shell."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from service.cli_plane import Commands, command_plane
from shared_cases import REPOSITORY
from unit.cli.completing_shells import SHELLS, Shell, make_shell

pytestmark = pytest.mark.slow

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


def offers(shell: Shell, line: str, expected: list[str]) -> bool:
    """
    Say whether a TAB offers just this; also the tenth.

    A name that is not known within 0.4 s is not offered, and this computer may be that busy.
    """
    return any(shell.offers(line) == expected for _ in range(10))


def test_pools_are_offered_where_a_pool_is_meant(shell: Shell) -> None:
    both = ["spare", "workers"]

    assert offers(shell, "fairlead pool show ", both)
    assert offers(shell, "fairlead pool scale w", ["workers"])
    assert offers(shell, "fairlead rollout watch ", both)
    assert offers(shell, "fairlead rollout status --json s", ["spare"])
    assert offers(shell, "fairlead diff ", both)
    assert offers(shell, "fairlead machine list ", both)
    assert offers(shell, "fairlead machine fault --next ", both)


def test_machines_are_offered_where_a_machine_is_meant(plane: Commands, shell: Shell) -> None:
    machines = sorted(plane.machines())
    assert len(machines) == 6

    assert offers(shell, "fairlead machine show ", machines)
    assert offers(shell, "fairlead machine delete work", [m for m in machines if "work" in m])
    faults = ["break", "fail-boot", "never-join", "none", "stuck-drain"]
    assert offers(shell, "fairlead machine fault ", sorted([*machines, *faults]))


def test_both_are_offered_where_either_is_meant(plane: Commands, shell: Shell) -> None:
    both = sorted(["spare", "workers", *plane.machines()])

    assert offers(shell, "fairlead explain ", both)
    assert offers(shell, "fairlead timeline of ", both)
    assert offers(shell, "fairlead timeline ", sorted(["of", "show", "compare", *both]))
    assert offers(shell, "fairlead timeline sp", [name for name in both if name[:2] == "sp"])


def test_state_on_the_line_chooses_the_control_plane(
    plane: Commands, shell: Shell, tmp_path: Path
) -> None:
    elsewhere = Shell(shell.name, shell.folder, {**shell.environment, "FAIRLEAD_STATE": "/none"})
    state = plane.plane.directory.path

    assert elsewhere.offers("fairlead pool show ") == []
    assert offers(elsewhere, f"fairlead pool show --state {state} ", ["spare", "workers"])
    if shell.name != "zsh":  # where shtab takes a flag and its value for two words
        assert offers(elsewhere, f"fairlead pool show --state={state} ", ["spare", "workers"])
    assert shell.offers(f"fairlead pool show --state {tmp_path} ") == []
