"""Completion as a shell does it: what is offered behind the words typed so far."""

import shutil
import subprocess
from pathlib import Path

import pytest

from fairlead.cli.completion_scripts import bash_script, fish_script, zsh_script
from fairlead.cli.main import run_command


@pytest.fixture(scope="module")
def script(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("completion") / "fairlead.bash"
    path.write_text(bash_script())
    return path


def offers(script: Path, *words: str) -> list[str]:
    """Ask a bash without any start-up file, as TAB behind the last word would."""
    typed = " ".join(f"'{word}'" for word in ("fairlead", *words))
    program = (
        f"source {script}\n"
        f"COMP_WORDS=({typed}); COMP_CWORD={len(words)}\n"
        # compopt works only while TAB is being answered; that it was called is what matters.
        'compopt() { echo "(files)"; }\n'
        '_fairlead; printf "%s\\n" "${COMPREPLY[@]}"\n'
    )
    ran = subprocess.run(
        [shutil.which("bash") or "bash", "--norc", "--noprofile", "-c", program],
        capture_output=True,
        text=True,
        check=True,
        env={"PATH": ""},
    )
    assert ran.stderr == ""
    return [line for line in ran.stdout.splitlines() if line]


def test_groups_are_offered_first(script: Path) -> None:
    assert offers(script, "p") == ["pool", "platform", "plan"]
    assert offers(script, "--v") == ["--version"]


def test_commands_of_a_group_are_offered(script: Path) -> None:
    assert offers(script, "rollout", "") == ["status", "watch", "halt", "--help"]
    assert offers(script, "pool", "re") == ["resume"]


def test_flags_of_a_command_are_offered_wherever_the_cursor_is(script: Path) -> None:
    assert offers(script, "pool", "pause", "workers", "--s") == ["--state", "--scaling-too"]
    assert offers(script, "pool", "apply", "--yes", "--n") == ["--no-wait"]


def test_choices_of_flags_and_arguments_are_offered(script: Path) -> None:
    severities = ["routine", "security", "connectivity"]
    assert offers(script, "platform", "set", "a=b", "--severity", "") == severities
    assert offers(script, "completion", "z") == ["zsh"]
    assert offers(script, "machine", "fault", "workers-1", "f") == ["fail-boot"]


def test_files_are_left_to_the_shell_where_a_file_is_meant(script: Path) -> None:
    assert offers(script, "plan", "-f", "") == ["(files)"]
    assert offers(script, "timeline", "show", "x") == ["(files)"]
    assert offers(script, "pool", "show", "x") == []


def test_nothing_is_offered_where_a_value_of_one_s_own_is_meant(script: Path) -> None:
    assert offers(script, "pool", "force", "workers", "--value", "") == []


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_a_shell_can_read_its_script(
    shell: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    program = shutil.which(shell)
    if program is None:
        pytest.skip(f"{shell} is not installed")
    assert run_command(["completion", shell]) == 0
    (tmp_path / "script").write_text(capsys.readouterr().out)

    ran = subprocess.run(
        [program, "-n", str(tmp_path / "script")], capture_output=True, text=True, check=False
    )

    assert (ran.returncode, ran.stderr) == (0, "")


@pytest.mark.parametrize("make", [bash_script, zsh_script, fish_script])
def test_every_script_knows_every_command_and_starts_no_program(make: object) -> None:
    assert callable(make)
    script = make()

    for command in ("fairlead pool apply", "fairlead userdata render", "fairlead up"):
        assert f"'{command}'" in script
    assert "python" not in script
    assert "$(fairlead" not in script
