"""Files that pools name: what a plan says of a missing one, and what a changed one does."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from fairlead.answers.plan import Plan
from fairlead.controller.loop import Loop
from fairlead.controller.observe import observe
from fairlead.controller.reconcile import Chance
from fairlead.controller.think import think
from fairlead.embedded.serve.apply import apply
from fairlead.proposal.propose import Proposal, Shown, propose
from fairlead.telling.pool import pool_answer
from pool_documents import platform_document, pool_document
from service.cli_plane import command_plane
from service.stored_plane import StoredPlane
from shared_cases import REPOSITORY


@pytest.fixture
def fresh(tmp_path: Path) -> Iterator[StoredPlane]:
    plane = StoredPlane(tmp_path)
    yield plane
    plane.close()


@pytest.fixture
def plane(fresh: StoredPlane) -> StoredPlane:
    """A plane whose pool of three, called workers, is settled."""
    keep(fresh, pool_document(), platform_document())
    fresh.settle()
    return fresh


def keep(plane: StoredPlane, *documents: Any, shown: Proposal | None = None) -> None:
    seen = Shown(plans=shown.plans, bases=shown.bases) if shown else Shown()
    apply(plane.world, documents, seen, plane.now())


def proposed(plane: StoredPlane, document: Any) -> tuple[Proposal, Plan]:
    found = propose(plane.world.world(), [document], plane.now())
    return found, found.plans[0]


def write(plane: StoredPlane, text: str, name: str = "registry-login") -> None:
    """Write a file and leave it alone for a while."""
    path = plane.directory.secrets / name
    path.write_text(text)
    os.utime(path, (0, 0))


def told(plane: StoredPlane) -> tuple[str, str]:
    """State and summary of the pool, as `explain` has them."""
    seen = observe("workers", plane.world.world())
    found = pool_answer(seen, think(seen, plane.now()), plane.now())
    return found.state.value, found.summary


LOGIN = '{"auths": {"r.example": {"auth": "hunter3"}}}'
RENEWED = '{"auths": {"r.example": {"auth": "hunter4"}}}'

OTHER = pool_document(pullSecret={"name": "other-login"})


def test_a_plan_says_what_a_missing_file_does_once_it_is_there(plane: StoredPlane) -> None:
    _, plan = proposed(plane, OTHER)

    assert plan.change.value == "replace"
    assert plan.machines == ("workers-2", "workers-3", "workers-4")
    assert plan.because == "the pool's owner changed pullSecret.name"
    assert [(wait.wait_for.value, wait.says) for wait in plan.waits] == [
        (
            "InputMissing",
            "the pull secret other-login cannot be read (No such file or directory); "
            f"write it to {plane.directory.secrets}/other-login",
        )
    ]


@pytest.mark.parametrize("policy", ["Ignore", "Drift", "Roll"])
def test_a_file_that_comes_later_does_what_was_said_and_no_more(
    plane: StoredPlane, policy: str
) -> None:
    keep(plane, pool_document(secretContent=policy))
    plane.settle()
    before = plane.names()
    document = pool_document(secretContent=policy, pullSecret={"name": "other-login"})
    shown, _ = proposed(plane, document)
    keep(plane, document, shown=shown)
    plane.settle()
    assert plane.names() == before
    assert told(plane) == (
        "Blocked",
        "blocked: 3 machines will be disturbed once every file is there",
    )
    keep(plane, platform_document(controlPlaneImage="cp@sha256:bb"))

    write(plane, LOGIN, "other-login")
    plane.settle()

    assert not set(before) & set(plane.names())
    record = plane.world.pools.find_record("workers")
    assert record is not None
    assert record.applied is not None
    assert record.applied.leaves["pullSecret.name"] == "other-login"
    assert [held.leaf for held in record.held] == ["platform.controlPlaneImage"]


def test_a_new_pool_is_planned_before_its_file_is_there(fresh: StoredPlane) -> None:
    shown, plan = proposed(fresh, OTHER)
    assert (plan.is_new, plan.creates) == (True, 3)
    assert [wait.wait_for.value for wait in plan.waits] == ["InputMissing"]
    keep(fresh, OTHER, shown=shown)
    fresh.settle()
    assert fresh.names() == []

    write(fresh, LOGIN, "other-login")
    fresh.settle()

    assert len(fresh.names()) == 3


def test_a_file_that_went_away_replaces_nobody_and_is_named(plane: StoredPlane) -> None:
    keep(plane, pool_document(secretContent="Roll"))
    plane.settle()
    (plane.directory.secrets / "registry-login").unlink()

    _, plan = proposed(plane, pool_document(secretContent="Roll", replicas=4))

    assert (plan.change.value, plan.machines, plan.creates) == ("in-place", (), 1)
    assert [wait.wait_for.value for wait in plan.waits] == ["InputMissing", "MachineNotJoined"]


def loop_of(plane: StoredPlane) -> Loop:
    chance = Chance(plane._draw_token, plane._draw_name)
    return Loop(plane.world.world(), chance, plane.world.pools.markers)


def run(plane: StoredPlane, loop: Loop) -> int:
    """Let the loop and the machines do what is due, and nothing else."""
    passes = 0
    while found := loop.run_due(plane.now(), 50) or plane.run_machines():
        passes += found
    return passes


@pytest.mark.parametrize(
    ("policy", "replaced", "state"),
    [("Roll", 3, "Settled"), ("Drift", 0, "Drifted"), ("Ignore", 0, "Settled")],
)
def test_a_changed_file_is_noticed_by_the_loop_and_does_what_the_owner_declared(
    plane: StoredPlane, policy: str, replaced: int, state: str
) -> None:
    keep(plane, pool_document(secretContent=policy))
    loop = loop_of(plane)
    run(plane, loop)
    before = set(plane.names())
    assert run(plane, loop) == 0

    write(plane, RENEWED)
    assert told(plane)[0] == "Settled", "nothing is told before a pass may act on it"
    assert run(plane, loop) > 0

    assert len(before - set(plane.names())) == replaced
    assert told(plane)[0] == state
    assert run(plane, loop) == 0


def test_a_file_that_goes_bad_replaces_nobody_and_one_that_can_be_used_does(
    plane: StoredPlane,
) -> None:
    keep(plane, pool_document(secretContent="Roll"))
    loop = loop_of(plane)
    run(plane, loop)
    before = plane.names()

    write(plane, "not-json")
    run(plane, loop)

    assert plane.names() == before
    assert told(plane) == ("Blocked", "blocked: no machine will be replaced")
    _, plan = proposed(plane, pool_document(secretContent="Roll"))
    assert (plan.machines, [wait.says for wait in plan.waits]) == (
        (),
        [
            "the pull secret registry-login is no JSON (expected a Docker config file, "
            '{"auths": {REGISTRY: {"auth": ...}}}); '
            f"write another to {plane.directory.secrets}/registry-login"
        ],
    )
    write(plane, RENEWED)
    run(plane, loop)
    assert not set(before) & set(plane.names())
    assert told(plane)[0] == "Settled"


def test_a_pool_whose_file_went_bad_is_scaled(plane: StoredPlane) -> None:
    keep(plane, pool_document())
    loop = loop_of(plane)
    run(plane, loop)
    write(plane, "not-json")
    run(plane, loop)

    keep(plane, pool_document(replicas=5))
    run(plane, loop)

    assert len(plane.names()) == 5
    assert told(plane)[0] == "Blocked"


def test_a_changed_file_waits_for_the_window_like_any_intent(plane: StoredPlane) -> None:
    windows = {"windows": [{"start": "22:00", "duration": "4h"}]}
    keep(plane, pool_document(secretContent="Roll", rollout=windows))
    loop = loop_of(plane)
    run(plane, loop)
    before = plane.names()
    write(plane, RENEWED)

    run(plane, loop)

    assert plane.names() == before
    assert told(plane) == ("Held", "waiting: 3 machines will be disturbed")
    plane.moment = plane.moment.replace(hour=22, minute=1)
    run(plane, loop)
    assert not set(before) & set(plane.names())


def test_applying_before_the_file_is_there_ends_with_what_to_write(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "pool.yaml"
    path.write_text((REPOSITORY / "examples/pool.yaml").read_text())
    with command_plane(tmp_path / "state", capsys) as commands:
        assert commands.run("apply", "-f", str(path)).code == 0
        path.write_text(path.read_text() + "  pullSecret:\n    name: login\n")

        planned = commands.run("plan", "-f", str(path))
        applied = commands.run("apply", "-f", str(path), "--yes")

        assert planned.code == 10
        assert planned.out.startswith("workers: 3 machines will be replaced because")
        assert "waits for  the pull secret login cannot be read" in planned.out
        assert applied.code == 4
        assert "workers waits: the pull secret login cannot be read" in applied.err
