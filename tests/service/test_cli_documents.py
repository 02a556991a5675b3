"""What the documents and --help tell people to type works as written."""

from __future__ import annotations

import re
import shlex
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from fairlead.cli.command_tree import Command, command_tree
from fairlead.cli.main import run_command
from fairlead.embedded.certificates.authority import make_or_read
from service.cli_plane import Commands, command_plane
from shared_cases import REPOSITORY

# done, machines would be disturbed, waits for a person
EXPECTED = (0, 10, 4)
# hotfix and keys: test_hotfix_examples.py, which has a depot for them. operator, payload,
# extension: they run until they are told to end, against a cluster: tests/kube/test_deployed.py and
# test_extension.py.
APART = (
    *("up", "down", "restore", "schema", "completion", "userdata", "hotfix", "keys"),
    *("operator", "payload", "extension"),
)


@pytest.fixture
def workers(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> Iterator[Commands]:
    with command_plane(tmp_path / "state", capsys) as commands:
        make_or_read(commands.plane.directory.certificates)
        for name in ("platform", "pool"):
            path = str(REPOSITORY / f"examples/{name}.yaml")
            assert commands.run("apply", "-f", path).code == 0
        # Something to go back to, and back again.
        edited = tmp_path / "edited.yaml"
        edited.write_text(Path(path).read_text().replace("1.34.2", "1.34.3"))
        for file in (str(edited), path):
            assert commands.run("apply", "-f", file, "--yes").code == 0
        yield commands


def examples() -> list[Command]:
    return [
        command
        for command in command_tree().every()
        if not command.children and command.words[1] not in APART and command.example
    ]


def lines_of(text: str) -> list[str]:
    return [line.strip() for line in text.splitlines() if re.match(r" *fairlead ", line)]


@pytest.mark.parametrize("command", examples(), ids=lambda command: " ".join(command.words[1:]))
def test_the_example_of_a_command_works(
    command: Command, workers: Commands, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    shutil.copytree(REPOSITORY / "examples", tmp_path / "examples")
    monkeypatch.chdir(tmp_path)
    machine = workers.machines()[0]

    for line in lines_of(command.example):
        words = [machine if word == "MACHINE" else word for word in shlex.split(line)[1:]]
        reads_files = words[:2] in (["timeline", "show"], ["timeline", "compare"])
        code = run_command(words) if reads_files else workers.run(*words).code
        allowed = EXPECTED if words[0] in ("plan", "diff") else (0,)
        assert code in allowed, line
