"""The names that completion offers: those that a running control plane knows, quickly, or none."""

from __future__ import annotations

import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from fairlead.cli.completion_names import plain_words
from service.cli_plane import Commands, command_plane
from shared_cases import REPOSITORY

POOL = str(REPOSITORY / "examples/pool.yaml")


def names(kinds: str, *line: str, state: str = "/none") -> list[str]:
    """Ask as a shell does at TAB. Nothing is said, whatever happens."""
    ran = subprocess.run(
        [Path(sys.executable).parent / "fairlead", "completion", "--names", kinds, *line],
        capture_output=True,
        text=True,
        check=False,
        env={"FAIRLEAD_STATE": state},
    )
    assert (ran.returncode, ran.stderr) == (0, "")
    return ran.stdout.splitlines()


@pytest.fixture
def plane(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> Iterator[Commands]:
    """The pool of three of the example."""
    with command_plane(tmp_path / "state", capsys) as commands:
        assert commands.run("apply", "-f", POOL).code == 0
        yield commands


def test_names_are_those_of_the_control_plane(plane: Commands) -> None:
    state = str(plane.plane.directory.path)
    machines = plane.machines()

    assert names("pools", state=state) == ["workers"]
    assert names("pools+machines", state=state) == ["workers", *machines]
    assert names("pools", "fairlead", "pool", "show", "--state", state) == ["workers"]
    assert names("pools", "fairlead", "pool", f"--state={state}", "show") == ["workers"]
    assert names("pools", "--state", "/nowhere", state=state) == []


def test_leaves_of_the_platform_need_no_control_plane() -> None:
    found = names("leaves")

    assert "proxy.image=" in found
    assert "registryOverrides." in found


@pytest.mark.parametrize("kinds", ["", "nonsense", "pools+", "machines"])
def test_asking_for_names_never_fails(kinds: str, tmp_path: Path) -> None:
    assert names(kinds, "--state", str(tmp_path), "--nonsense") == []


def test_a_control_plane_that_does_not_answer_is_not_waited_for(tmp_path: Path) -> None:
    with socket.socket(socket.AF_UNIX) as silent:
        silent.bind(str(tmp_path / "api.sock"))
        silent.listen()
        start = time.monotonic()

        assert names("pools+machines", state=str(tmp_path)) == []

    # Twice 0.4 s, and the start of Python on a busy computer.
    assert time.monotonic() - start < 3


def test_names_that_a_shell_would_read_otherwise_are_not_offered() -> None:
    found = ["workers", "$(touch x)", "a b", "-f", "a;b", "é", "", "a.b-c", "noProxy=", "a\n"]

    assert plain_words(found) == ["workers", "a.b-c", "noProxy="]
