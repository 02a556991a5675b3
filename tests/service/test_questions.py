"""What is asked before machines come and go, and what others did while the question stood."""

from __future__ import annotations

import os
import pwd
from collections.abc import Iterator
from pathlib import Path

import pytest

from service.cli_plane import Commands, command_plane
from service.terminal import Terminal
from shared_cases import REPOSITORY

POOL = REPOSITORY / "examples/pool.yaml"


@pytest.fixture
def workers(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> Iterator[Commands]:
    """The pool of three of the example."""
    with command_plane(tmp_path / "state", capsys) as commands:
        assert commands.run("apply", "-f", str(POOL)).code == 0
        yield commands


def replicas(workers: Commands) -> object:
    return workers.json("pool", "show", "workers")["document"]["spec"]["replicas"]


def refusal(workers: Commands, *words: str) -> str:
    """What a command is refused with that nobody can be asked about; nothing may change."""
    before = workers.machines(), replicas(workers)
    said = workers.run(*words)
    assert said.code == 2
    assert (workers.machines(), replicas(workers)) == before
    return said.err


@pytest.mark.parametrize(
    ("number", "question"),
    [
        ("2", "remove 1 machine of workers?"),
        ("0", "remove 3 machines of workers?"),
        ("7", "add 4 machines to workers, which has 3?"),
    ],
)
def test_scaling_asks_before_machines_go_or_a_pool_more_than_doubles(
    workers: Commands, number: str, question: str
) -> None:
    assert refusal(workers, "pool", "scale", "workers", number) == (
        f"fairlead: {question} needs an answer, and there is no terminal (use --yes)\n"
    )
    assert question in refusal(workers, "pool", "scale", "workers", number, "--json")
    assert workers.run("pool", "scale", "workers", number, "--dry-run").code == 0
    assert replicas(workers) == 3

    said = workers.run("pool", "scale", "workers", number, "--yes")

    assert said.code == 0
    assert said.out.startswith("workers: ")
    assert len(workers.machines()) == int(number)


def test_scaling_within_that_does_not_ask(workers: Commands) -> None:
    assert workers.run("pool", "scale", "workers", "6").code == 0
    assert workers.run("pool", "scale", "workers", "12").code == 0
    assert len(workers.machines()) == 12


def test_a_pool_that_is_to_shrink_once_its_pause_is_over_is_asked_about_now(
    workers: Commands,
) -> None:
    workers.run("pool", "pause", "workers", "--scaling-too")

    assert "remove 1 machine of workers?" in refusal(workers, "pool", "scale", "workers", "2")


def test_a_file_that_makes_many_machines_asks_like_a_scale(
    workers: Commands, tmp_path: Path
) -> None:
    path = tmp_path / "large.yaml"
    path.write_text(POOL.read_text().replace("replicas: 3", "replicas: 54"))

    assert "add 51 machines to workers, which has 3?" in refusal(workers, "apply", "-f", str(path))
    path.write_text(path.read_text().replace("name: workers", "name: more", 1))
    assert "create 54 machines for more?" in refusal(workers, "apply", "-f", str(path))


def test_deleting_a_machine_asks(workers: Commands) -> None:
    name = workers.machines()[0]

    assert refusal(workers, "machine", "delete", name) == (
        f"fairlead: remove {name} of workers? needs an answer, and there is no terminal "
        "(use --yes)\n"
    )
    assert workers.run("machine", "delete", name, "--yes").code == 0
    assert name not in workers.machines()


def at_terminal(workers: Commands, *words: str) -> Terminal:
    return Terminal(*words, "--state", str(workers.plane.directory.path))


def test_a_no_leaves_the_machine_where_it_is(workers: Commands) -> None:
    name = workers.machines()[0]
    with at_terminal(workers, "machine", "delete", name) as terminal:
        terminal.wait_for("[y/N] ")
        terminal.press("n\n")

        assert terminal.finish() == 1

    assert "nothing was changed" in terminal.text
    assert name in workers.machines()


def test_a_scale_that_waits_for_its_answer_undoes_nobodys_work(workers: Commands) -> None:
    with at_terminal(workers, "pool", "scale", "workers", "2") as terminal:
        terminal.wait_for("remove 1 machine of workers? [y/N] ")
        assert workers.run("pool", "scale", "workers", "4").code == 0
        terminal.press("y\n")

        assert terminal.finish() == 5

    assert "the plan that was shown" in terminal.text
    assert "nothing was written, plan again" in terminal.text
    assert replicas(workers) == 4


def test_a_scale_beside_a_rollout_that_waits_says_what_is_created(
    workers: Commands, tmp_path: Path
) -> None:
    workers.run("pool", "pause", "workers")
    other = tmp_path / "other.yaml"
    other.write_text(POOL.read_text().replace("1.34.2", "1.35.0"))
    workers.run("apply", "-f", str(other), "--yes", "--no-wait")

    said = workers.run("pool", "scale", "workers", "5")

    assert said.out.splitlines()[0] == (
        "workers: 3 machines will be replaced because the pool's owner changed release.version, "
        "2 machines will be created"
    )
    assert len(workers.machines()) == 5


def test_a_scale_goes_through_beside_a_rollout_that_went_on_meanwhile(
    workers: Commands, tmp_path: Path
) -> None:
    other = tmp_path / "other.yaml"
    other.write_text(POOL.read_text().replace("1.34.2", "1.35.0"))
    workers.sleep()
    workers.run("apply", "-f", str(other), "--yes", "--no-wait")
    workers.app.call(workers.plane.one_pass)

    with at_terminal(workers, "pool", "scale", "workers", "8") as terminal:
        terminal.wait_for("add 5 machines to workers, which has 3? [y/N] ")
        workers.settle()
        terminal.press("y\n")

        assert terminal.finish() == 0

    assert replicas(workers) == 8


def test_a_pool_is_not_deleted_with_machines_that_were_not_shown(workers: Commands) -> None:
    known = set(workers.machines())
    with at_terminal(workers, "pool", "delete", "workers") as terminal:
        terminal.wait_for("remove the pool workers and 3 machines? [y/N] ")
        workers.run("pool", "scale", "workers", "4")
        (came,) = set(workers.machines()) - known
        terminal.press("y\n")

        assert terminal.finish() == 5

    assert f"workers: {came} would leave with it too, and was not shown" in terminal.text
    assert len(workers.machines()) == 4


def test_a_pool_is_not_deleted_whose_document_somebody_changed_meanwhile(
    workers: Commands,
) -> None:
    with at_terminal(workers, "pool", "delete", "workers") as terminal:
        terminal.wait_for("[y/N] ")
        workers.run("pool", "pause", "workers")
        terminal.press("y\n")

        assert terminal.finish() == 5

    user = pwd.getpwuid(os.getuid()).pw_name
    assert f"NodePool/workers was changed by {user} at 20" in terminal.text
    assert "since the plan was shown (Declared anew: spec.paused)" in terminal.text
    assert len(workers.machines()) == 3


def test_a_force_that_waits_for_its_answer_is_for_the_pool_as_it_was(workers: Commands) -> None:
    before = workers.machines()
    with at_terminal(workers, "pool", "force", "workers") as terminal:
        terminal.wait_for("disturb 3 machines? [y/N] ")
        workers.run("pool", "pause", "workers", "--until", "2h")
        workers.run("pool", "resume", "workers")
        workers.run("pool", "pause", "workers")
        terminal.press("y\n")

        assert terminal.finish() == 5

    assert workers.machines() == before
