"""Commands at a terminal: the question, the drawing, the keys. The API and its store are real."""

from __future__ import annotations

import signal
from collections.abc import Iterator
from pathlib import Path

import pytest

from service.cli_plane import Commands, command_plane
from service.terminal import CTRL_C, Terminal
from shared_cases import REPOSITORY

TEXT = (REPOSITORY / "examples/pool.yaml").read_text()


@pytest.fixture
def workers(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> Iterator[Commands]:
    with command_plane(tmp_path / "state", capsys) as commands:
        assert commands.run("apply", "-f", str(REPOSITORY / "examples/pool.yaml")).code == 0
        yield commands


@pytest.fixture
def apply_other(workers: Commands, tmp_path: Path) -> list[str]:
    """The words that change the version of the pool."""
    path = tmp_path / "other.yaml"
    path.write_text(TEXT.replace("1.34.2", "1.35.0"))
    return ["apply", "-f", str(path), "--state", str(workers.plane.directory.path)]


def version(workers: Commands) -> str:
    return str(workers.json("pool", "show", "workers")["version"])


def test_a_no_changes_nothing_and_exits_1(workers: Commands, apply_other: list[str]) -> None:
    with Terminal(*apply_other) as terminal:
        terminal.wait_for("disturb 3 machines? [y/N] ")
        terminal.press("n\n")

        assert terminal.finish() == 1

    assert "nothing was changed" in terminal.text
    assert version(workers) == "1.34.2"


def test_a_yes_carries_the_plan_out_and_draws_its_progress(
    workers: Commands, apply_other: list[str]
) -> None:
    with Terminal(*apply_other) as terminal:
        terminal.wait_for("disturb 3 machines? [y/N] ")
        terminal.press("y\n")

        assert terminal.finish() == 0

    assert "applied NodePool/workers" in terminal.text
    assert "workers Settled  ━━━━━━━━━━" in terminal.text
    assert "3 of 3 up to date, 3 available" in terminal.text
    assert version(workers) == "1.35.0"


def test_a_pool_that_grew_while_the_question_stood_is_a_conflict(
    workers: Commands, apply_other: list[str]
) -> None:
    with Terminal(*apply_other) as terminal:
        terminal.wait_for("disturb 3 machines? [y/N] ")
        assert workers.run("pool", "scale", "workers", "5").code == 0
        terminal.press("y\n")

        assert terminal.finish() == 5

    assert "the plan that was shown does not hold" in terminal.text
    assert version(workers) == "1.34.2"


def test_ctrl_c_ends_the_following_and_never_the_rollout(
    workers: Commands, apply_other: list[str]
) -> None:
    workers.sleep()

    with Terminal(*apply_other, "--yes") as terminal:
        terminal.wait_for("of 3 up to date")
        terminal.press(CTRL_C)

        assert terminal.finish() == 130

    assert "no longer following; the rollout goes on: fairlead rollout watch workers" in (
        terminal.text
    )
    workers.settle()
    assert version(workers) == "1.35.0"


def test_ctrl_c_at_the_question_changes_nothing(workers: Commands, apply_other: list[str]) -> None:
    with Terminal(*apply_other) as terminal:
        terminal.wait_for("[y/N] ")
        terminal.press(CTRL_C)

        assert terminal.finish() == 130

    assert terminal.text.endswith("\r\nnothing was changed\r\n")
    assert version(workers) == "1.34.2"


def test_a_watched_rollout_is_drawn_again_until_it_is_complete(
    workers: Commands, apply_other: list[str]
) -> None:
    workers.sleep()
    state = ["--state", str(workers.plane.directory.path)]
    assert workers.run(*apply_other[:3], "--yes", "--no-wait").code == 0

    with Terminal("rollout", "watch", "workers", *state) as terminal:
        terminal.wait_for("workers RollingOut  1.34.2 → 1.35.0  ─")
        terminal.wait_for("waits for")
        workers.settle()

        assert terminal.finish() == 0

    assert "workers Settled  ━━━━" in terminal.text


def test_tables_have_colours_at_a_terminal_unless_nobody_wants_them(workers: Commands) -> None:
    words = ["pool", "list", "--state", str(workers.plane.directory.path)]

    with Terminal(*words) as coloured:
        assert coloured.finish() == 0
    with Terminal(*words, environment={"NO_COLOR": "1"}) as plain:
        assert plain.finish() == 0
    with Terminal(*words, environment={"TERM": "dumb"}) as dumb:
        assert dumb.finish() == 0

    assert "\x1b[32mSettled" in coloured.raw
    assert "\x1b[32m" not in plain.raw
    assert "Settled" in plain.raw
    assert "\x1b" not in dumb.raw


CURSOR_SHOWN = "\x1b[?25h"


@pytest.fixture
def watch(workers: Commands, apply_other: list[str]) -> list[str]:
    """The words that watch a rollout which does not move."""
    workers.sleep()
    assert workers.run(*apply_other[:3], "--yes", "--no-wait").code == 0
    return ["rollout", "watch", "workers", "--state", str(workers.plane.directory.path)]


def is_as_before(terminal: Terminal) -> bool:
    """Say whether the cursor is shown, and keys are lines that can be seen."""
    last = max(terminal.raw.rfind(CURSOR_SHOWN), terminal.raw.rfind("\x1b[?25l"))
    return terminal.raw.startswith(CURSOR_SHOWN, last) and terminal.reads_lines()


def test_a_watched_rollout_says_which_keys_there_are_and_q_leaves(watch: list[str]) -> None:
    with Terminal(*watch) as terminal:
        terminal.wait_for("q or Ctrl-C: stop looking; the rollout goes on")
        assert not terminal.reads_lines()
        terminal.press("xq")

        assert terminal.finish() == 130
        assert is_as_before(terminal)

    assert "no longer following; the rollout goes on: fairlead rollout watch workers" in (
        terminal.text
    )


@pytest.mark.parametrize(
    ("number", "code"), [(signal.SIGTERM, 143), (signal.SIGHUP, 129), (signal.SIGINT, 130)]
)
def test_a_signal_leaves_the_terminal_as_it_was(
    watch: list[str], number: signal.Signals, code: int
) -> None:
    with Terminal(*watch) as terminal:
        terminal.wait_for("stop looking")
        terminal.signal(number)

        assert terminal.finish() == code
        assert is_as_before(terminal)

    assert "Traceback" not in terminal.text


def test_a_control_plane_that_goes_away_leaves_the_terminal_as_it_was(
    workers: Commands, watch: list[str]
) -> None:
    with Terminal(*watch) as terminal:
        terminal.wait_for("stop looking")
        workers.plane.directory.socket.unlink()

        assert terminal.finish() == 4
        assert is_as_before(terminal)

    assert "no control plane runs in" in terminal.text


def test_a_low_terminal_says_how_many_lines_it_has_no_room_for(watch: list[str]) -> None:
    with Terminal(*watch, lines=6) as terminal:
        terminal.wait_for(" more lines")
        terminal.wait_for("stop looking")
        terminal.press(CTRL_C)

        assert terminal.finish() == 130


def test_a_dumb_terminal_gets_lines_and_nothing_that_it_would_print(watch: list[str]) -> None:
    with Terminal(*watch, environment={"TERM": "dumb"}) as terminal:
        terminal.wait_for("workers: 0 of 3 machines up to date, 3 available")
        terminal.press(CTRL_C)

        assert terminal.finish() == 130

    assert "\x1b" not in terminal.raw
