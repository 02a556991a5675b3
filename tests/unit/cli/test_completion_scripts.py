"""Completion as a shell does it: what is offered behind the words typed so far."""

import subprocess
from pathlib import Path

import pytest

from fairlead.cli.command_tree import actions_of, whole_parser
from fairlead.cli.completion_scripts import script_for
from fairlead.cli.main import run_command
from unit.cli.completing_shells import SHELLS, Shell, make_shell


@pytest.fixture(params=SHELLS)
def shell(request: pytest.FixtureRequest, tmp_path: Path) -> Shell:
    """Each shell, in a folder with two files and a directory; no control plane runs."""
    (tmp_path / "pools.yaml").touch()
    (tmp_path / "boot.json").touch()
    (tmp_path / "boots").mkdir()
    return make_shell(request.param, tmp_path, FAIRLEAD_STATE=str(tmp_path / "none"))


def test_groups_are_offered_first(shell: Shell) -> None:
    assert shell.offers("fairlead p") == ["payload", "plan", "platform", "pool"]
    assert shell.offers("fairlead --v") == ["--version"]


def test_commands_of_a_group_are_offered(shell: Shell) -> None:
    assert shell.offers("fairlead rollout ") == ["halt", "status", "undo", "watch"]
    assert shell.offers("fairlead rollout --h") == ["--help"]
    assert shell.offers("fairlead pool re") == ["resume"]
    assert shell.offers("fairlead userdata ") == ["cse-command", "inspect", "render"]


def test_flags_of_a_command_are_offered_wherever_the_cursor_is(shell: Shell) -> None:
    assert shell.offers("fairlead pool pause workers --s") == ["--scaling-too", "--state"]
    assert shell.offers("fairlead apply --yes --n") == ["--namespace", "--no-wait"]


def test_choices_of_flags_and_arguments_are_offered(shell: Shell) -> None:
    severities = ["connectivity", "routine", "security"]
    assert shell.offers("fairlead platform set a=b --severity ") == severities
    assert shell.offers("fairlead completion z") == ["zsh"]
    assert shell.offers("fairlead machine fault workers-1 f") == ["fail-boot"]
    assert shell.offers("fairlead machine fault --next workers f") == ["fail-boot"]


def test_files_are_offered_where_a_file_is_meant(shell: Shell) -> None:
    assert "pools.yaml" in shell.offers("fairlead plan -f ")
    assert shell.offers("fairlead timeline show po") == ["pools.yaml"]
    assert shell.offers("fairlead timeline show other po") == ["pools.yaml"]
    assert shell.offers("fairlead pool show po") == []


def test_directories_alone_are_offered_where_a_directory_is_meant(shell: Shell) -> None:
    offered = shell.offers("fairlead pool list --state bo")

    assert [name.rstrip("/") for name in offered] == ["boots"]


def test_nothing_is_offered_where_a_value_of_one_s_own_is_meant(shell: Shell) -> None:
    assert shell.offers("fairlead pool force workers --value ") == []
    assert shell.offers("fairlead platform set noProxy=no") == []


def test_leaves_of_the_platform_are_offered_each_time(shell: Shell) -> None:
    assert shell.offers("fairlead platform set pro") == ["proxy.image=", "proxy.template="]
    assert shell.offers("fairlead platform set noProxy=x reg") == [
        "regionDomains=",
        "registryOverrides.",
    ]


def test_no_names_are_offered_and_nothing_is_said_without_a_control_plane(shell: Shell) -> None:
    assert shell.offers("fairlead pool show ") == []
    assert shell.offers("fairlead explain ") == []
    assert shell.offers("fairlead timeline ") == ["compare", "of", "show"]


def test_a_shell_without_fairlead_still_completes_commands(tmp_path: Path) -> None:
    shell = make_shell("bash", tmp_path, PATH="/usr/bin:/bin")

    assert shell.offers("fairlead pool show ") == []
    assert shell.offers("fairlead pool sh") == ["show"]


def test_a_flag_and_its_value_may_be_joined_in_bash(tmp_path: Path) -> None:
    """readline takes them for three words."""
    shell = make_shell("bash", tmp_path)

    assert shell.offers("fairlead platform set a=b --severity=") == [
        "connectivity",
        "routine",
        "security",
    ]
    assert shell.offers("fairlead platform set a=b --severity=sec") == ["security"]
    assert shell.offers("fairlead machine fault --state=/x workers-1 f") == ["fail-boot"]
    assert shell.offers("fairlead platform set noProxy=") == []


@pytest.mark.parametrize("name", SHELLS)
def test_a_shell_can_read_its_script(
    name: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    shell = make_shell(name, tmp_path)
    assert run_command(["completion", name]) == 0
    script = capsys.readouterr().out
    (tmp_path / "script").write_text(script)

    ran = subprocess.run(
        [name, "-n", str(tmp_path / "script")],
        capture_output=True,
        text=True,
        check=False,
        env=shell.environment,
    )

    assert (ran.returncode, ran.stderr) == (0, "")
    assert script == script_for(name)


def test_zsh_can_read_its_script_with_source(tmp_path: Path) -> None:
    shell = make_shell("zsh", tmp_path)
    (tmp_path / "script").write_text(script_for("zsh"))
    program = (
        f"autoload -Uz compinit; compinit -u -d {tmp_path}/dump; source {tmp_path}/script; "
        "print -r -- $_comps[fairlead]"
    )

    ran = subprocess.run(
        ["zsh", "-f", "-c", program], capture_output=True, text=True, env=shell.environment,
        check=False,
    )  # fmt: skip

    assert (ran.stdout, ran.stderr) == ("_shtab_fairlead\n", "")


@pytest.mark.parametrize("name", SHELLS)
def test_a_script_starts_no_program_but_the_one_that_knows_the_names(name: str) -> None:
    script = script_for(name)

    assert "python" not in script
    assert [line.strip() for line in script.splitlines() if "fairlead completion" in line] == {
        "bash": ['done < <(fairlead completion --names "$1" "${COMP_WORDS[@]}" 2>/dev/null)'],
        "zsh": ['names=(${(f)"$(fairlead completion --names $1 $words 2>/dev/null)"})'],
        "fish": ["fairlead completion --names $argv[1] (commandline -opc) 2>/dev/null"],
    }[name]


def test_every_argument_is_completed_or_is_a_value_of_one_s_own() -> None:
    """A word in --help that is missing here needs names, or a place in this list."""
    free = {
        str(action.metavar)
        for _, action in actions_of(whole_parser())
        if action.nargs != 0 and not action.choices and action.type is None
    }

    completed = {"POOL", "MACHINE", "NAME", "POOL|MACHINE", "LEAF=VALUE"}
    own = {"MOMENT", "TEXT", "ID", "TEAM", "KEY=VALUE", "VERSION", "URL", "BASE", "REGION"}
    own |= {"HOST:PORT", "IMAGE", "CONTEXT", "NAMESPACE", "ADDRESS"}
    assert free == completed | own
