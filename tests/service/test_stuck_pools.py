"""Pools of which some machine failed: what commands say, and who must act."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from fairlead.answers.words import Phase
from pool_documents import pool_document
from service.cli_plane import Commands, command_plane
from service.stored_plane import StoredPlane


@pytest.fixture
def plane(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> Iterator[Commands]:
    with command_plane(tmp_path / "state", capsys) as commands:
        yield commands


def fail_the_first(plane: StoredPlane) -> str:
    """Let one of the machines that a pass makes die of its disk; return its name."""
    plane.one_pass()
    first = plane.world.machines.list_machines("workers")[0]
    plane.world.machines.write_machine(replace(first, phase=Phase.FAILED, problem="disk"))
    plane.settle()
    return first.name


def apply_without_passes(plane: Commands, file: Path, **spec: Any) -> None:
    file.write_text(json.dumps(pool_document(**spec)))
    plane.sleep()
    assert plane.run("apply", "-f", str(file), "--yes", "--no-wait").code == 0


def test_a_failed_machine_that_nobody_replaces_is_told_at_once_and_not_waited_for(
    plane: Commands, tmp_path: Path
) -> None:
    apply_without_passes(plane, tmp_path / "pool.json")
    name = plane.app.call(lambda: fail_the_first(plane.plane))
    begun = time.monotonic()

    said = plane.run("up", "--detach", "--timeout", "20")

    assert time.monotonic() - begun < 10
    assert said.code == 4
    assert f"workers waits: {name} failed: disk (fairlead machine delete {name})" in said.err, (
        said.err
    )
    assert "no pool becomes ready by itself" in said.err
