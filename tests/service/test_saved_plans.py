"""Plans that are kept in a file: carried out as they were, or refused with what moved."""

from __future__ import annotations

import json
import os
import pwd
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from fairlead.inputs.parse import parse_node_pool
from service.cli_plane import Commands, command_plane
from shared_cases import REPOSITORY

POOL = REPOSITORY / "examples/pool.yaml"
TEXT = POOL.read_text()


@pytest.fixture
def plane(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> Iterator[Commands]:
    with command_plane(tmp_path / "state", capsys) as commands:
        yield commands


@pytest.fixture
def workers(plane: Commands) -> Commands:
    assert plane.run("apply", "-f", str(REPOSITORY / "examples/platform.yaml")).code == 0
    assert plane.run("apply", "-f", str(POOL)).code == 0
    return plane


@pytest.fixture
def saved(workers: Commands, tmp_path: Path) -> str:
    """The plan of another version, in a file."""
    (tmp_path / "other.yaml").write_text(TEXT.replace("1.34.2", "1.35.0"))
    path = str(tmp_path / "plan.json")
    said = workers.run("plan", "-f", str(tmp_path / "other.yaml"), "-o", path)
    assert (said.code, said.err) == (10, f"wrote {path}; fairlead apply {path} does it\n")
    return path


def test_a_saved_plan_is_carried_out_as_it_was(workers: Commands, saved: str) -> None:
    before = workers.machines()

    applied = workers.run("apply", saved, "--yes")

    assert applied.code == 0
    assert applied.out.startswith(
        "workers: 3 machines will be replaced because the pool's owner changed release.version\n"
    )
    assert not set(before) & set(workers.machines())
    assert workers.json("pool", "show", "workers")["version"] == "1.35.0"


def test_a_saved_plan_is_for_its_owners_eyes(saved: str) -> None:
    assert Path(saved).stat().st_mode & 0o777 == 0o600
    fields = json.loads(Path(saved).read_text())
    assert sorted(fields) == ["bases", "documents", "kind", "made_at", "plans", "version"]
    assert (fields["kind"], fields["version"]) == ("SavedPlan", "v1")


def test_a_saved_plan_asks_like_any_other(workers: Commands, saved: str) -> None:
    refused = workers.run("apply", saved)

    assert refused.code == 2
    assert "disturb 3 machines? needs an answer" in refused.err
    assert workers.json("pool", "show", "workers")["version"] == "1.34.2"


def test_a_saved_plan_is_tried_without_being_carried_out(workers: Commands, saved: str) -> None:
    assert workers.run("apply", saved, "--dry-run").code == 0
    assert workers.json("pool", "show", "workers")["version"] == "1.34.2"


def refusal(workers: Commands, saved: str) -> str:
    said = workers.run("apply", saved, "--yes")
    assert said.code == 5
    assert workers.json("pool", "show", "workers")["version"] == "1.34.2"
    user = pwd.getpwuid(os.getuid()).pw_name
    last = said.err.splitlines()[-1].replace(f"({user}, ", "(USER, ")
    return re.sub(r"20\d\d-\d\d-\d\dT\d\d:\d\d:\d\dZ", "MOMENT", last)


def test_a_machine_that_came_since_is_named(workers: Commands, saved: str) -> None:
    known = set(workers.machines())
    workers.run("pool", "scale", "workers", "4")
    (came,) = set(workers.machines()) - known

    assert refusal(workers, saved) == (
        f"fairlead: workers: the plan that was shown does not hold {came} "
        "(USER, MOMENT: Declared anew: spec.replicas); "
        "nothing was written, plan again"
    )


def test_a_setting_that_somebody_changed_since_is_named(workers: Commands, saved: str) -> None:
    workers.run("pool", "pause", "workers")
    workers.run("pool", "resume", "workers")
    assert workers.run("apply", saved, "--dry-run").code == 0  # it is as it was

    workers.plane.moment = workers.plane.moment.replace(microsecond=0)
    document = workers.json("pool", "show", "workers")["document"]
    document["spec"]["autoRepair"] = True
    changed = Path(saved).with_name("changed.json")
    changed.write_text(json.dumps(document))
    assert workers.run("apply", "-f", str(changed)).code == 0

    assert refusal(workers, saved) == (
        "fairlead: workers: autoRepair is true now "
        "(USER, MOMENT: Declared anew: spec.autoRepair); nothing was written, plan again"
    )


def test_a_platform_that_changed_since_is_named(workers: Commands, saved: str) -> None:
    workers.run("platform", "set", "controlPlaneImage=cp@sha256:bb")

    assert refusal(workers, saved) == (
        "fairlead: workers: platform inputs changed since the plan was shown "
        "(USER, MOMENT: Declared anew: spec.controlPlaneImage); "
        "nothing was written, plan again"
    )


@pytest.mark.parametrize(
    ("content", "says"),
    [
        ("", "Input data was truncated"),
        (TEXT, "JSON is malformed"),
        ("{}", "Object missing required field `made_at`"),
        ('{"kind": "NodePool"}', "Invalid enum value 'NodePool'"),
        ('{"kind": "SavedPlan", "version": "v9"}', "Invalid enum value 'v9'"),
    ],
)
def test_what_is_no_saved_plan_is_refused_with_what_to_do(
    workers: Commands, tmp_path: Path, content: str, says: str
) -> None:
    (tmp_path / "plan.json").write_text(content)

    refused = workers.run("apply", str(tmp_path / "plan.json"), "--yes")

    assert refused.code == 2
    assert says in refused.err
    assert "documents are applied with -f" in refused.err


def test_apply_takes_a_file_or_a_plan(workers: Commands, saved: str) -> None:
    assert workers.run("apply").err == "fairlead: expected -f FILE, or a PLAN that was saved\n"
    assert workers.run("apply", saved, "-f", str(POOL)).code == 2


def test_one_apply_parses_a_document_at_most_twice(
    workers: Commands, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Once in the command and once in the control plane, which are one process here."""
    parsed: list[str] = []

    def counting(document: object) -> object:
        parsed.append(repr(document))
        return parse_node_pool(document)

    monkeypatch.setattr("fairlead.inputs.declared.parse_node_pool", counting)
    (tmp_path / "other.yaml").write_text(TEXT.replace("1.34.2", "1.35.1"))

    assert workers.run("apply", "-f", str(tmp_path / "other.yaml"), "--yes").code == 0

    mine = [text for text in parsed if "1.35.1" in text]
    assert 1 <= len(mine) <= 2
    assert len(parsed) <= 2


def test_nothing_but_the_one_door_parses_pools() -> None:
    """A second caller would parse what is parsed already."""
    callers = [
        str(path.relative_to(REPOSITORY))
        for path in (REPOSITORY / "src").rglob("*.py")
        if "parse_node_pool(" in path.read_text()
    ]

    assert sorted(callers) == [
        "src/fairlead/inputs/declared.py",
        "src/fairlead/inputs/parse.py",
    ]
