"""The command line as a whole: its reference, its examples, its doors, and what a start costs."""

import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

from fairlead.cli.command_tree import Command, command_tree
from fairlead.cli.main import GROUPS, flags_last, make_parser, run_command, whole_words
from fairlead.cli.reference import render_reference
from shared_cases import REPOSITORY

TREE = command_tree()
COMMANDS = [command for command in TREE.every() if not command.children]
# Commands without a control plane of their own to talk to.
ALONE = {
    "up",
    "down",
    "operator",
    "payload",
    "extension",
    "schema",
    "completion",
    "userdata",
    "timeline show",
    "timeline compare",
}


def name_of(command: Command) -> str:
    return " ".join(command.words[1:])


def flags_of(command: Command) -> set[str]:
    return {name for flag in command.flags for name in flag.names}


def is_alone(command: Command) -> bool:
    return command.words[1] in ALONE or name_of(command) in ALONE


def test_the_reference_is_what_the_commands_say() -> None:
    # On a difference: python -m fairlead.cli.reference > docs/reference/fairlead.md
    assert (REPOSITORY / "docs/reference/fairlead.md").read_text() == render_reference()


@pytest.mark.parametrize("command", COMMANDS, ids=name_of)
def test_every_command_says_what_it_is_for_and_what_its_arguments_are(command: Command) -> None:
    assert command.purpose
    for flag in command.flags:
        assert flag.says or "|" in flag.value or command.words[1] == "userdata", flag.names


@pytest.mark.parametrize("command", [one for one in COMMANDS if not is_alone(one)], ids=name_of)
def test_every_command_that_asks_the_control_plane_has_the_same_flags(command: Command) -> None:
    assert {"--json", "--state"} <= flags_of(command)
    assert command.example.startswith("example:")


def example_lines(command: Command) -> list[str]:
    return [line.strip() for line in command.example.splitlines() if line.startswith("  fairlead ")]


@pytest.mark.parametrize("command", COMMANDS, ids=name_of)
def test_every_example_is_a_command_that_can_be_typed(command: Command) -> None:
    for line in example_lines(command):
        words = shlex.split(re.sub(r"\s*>.*", "", line))[1:]
        make_parser(words).parse_args(whole_words(words))


WRITING = ("scale", "pause", "resume", "force", "delete", "set", "fault", "halt", "apply")


@pytest.mark.parametrize(
    "command", [one for one in COMMANDS if one.words[-1] in WRITING], ids=name_of
)
def test_whatever_writes_can_be_tried_first(command: Command) -> None:
    assert "--dry-run" in flags_of(command)


def test_a_name_behind_timeline_is_short_for_of() -> None:
    assert whole_words(["timeline", "workers", "--json"]) == [
        "timeline", "of", "workers", "--json",
    ]  # fmt: skip
    assert whole_words(["timeline", "--json", "workers"]) == [
        "timeline", "of", "--json", "workers",
    ]  # fmt: skip
    for words in (
        ["timeline"],
        ["timeline", "--help"],
        ["timeline", "of", "show"],
        ["timeline", "show", "boot.json"],
        ["timeline", "compare", "a", "b"],
        ["plan", "-f", "x"],
        [],
    ):
        assert whole_words(words) == words


@pytest.mark.parametrize(
    "words",
    [
        ["--state", "DIR", "pool", "list", "-o", "json"],
        ["pool", "--state=DIR", "list", "--output=json"],
        ["-o", "json", "pool", "list", "--state", "DIR"],
        ["--json", "pool", "--state", "DIR", "list"],
    ],
    ids=" ".join,
)
def test_flags_of_all_commands_stand_before_or_behind(words: list[str]) -> None:
    arguments = make_parser(["pool"]).parse_args(flags_last(words))

    assert (str(arguments.state), arguments.form) == ("DIR", "json")


def test_flags_of_one_command_stay_where_they_are() -> None:
    words = ["machine", "fault", "--next", "workers", "-o", "json", "--", "break"]

    assert flags_last(words) == words
    assert flags_last(["--json", *words]) == [*words[:6], "--json", "--", "break"]


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (["poool"], "there is no command 'poool' (did you mean pool? fairlead --help lists what"),
        (["scale"], "there is no command 'scale' (did you mean fairlead pool scale?)"),
        (["pool", "scael"], "pool: there is no command 'scael' (did you mean scale?"),
        (["xyzzy"], "there is no command 'xyzzy' (fairlead --help lists what there is)"),
        (["plan", "--fiel", "x"], "plan: there is no flag --fiel (did you mean --file or"),
        (["pool", "list", "--jsno=1"], "pool list: there is no flag --jsno (did you mean --json?"),
        (
            ["pool", "scale", "workers", "many"],
            "pool scale: argument N: found 'many', expected a whole number from 0",
        ),
        (["pool", "list", "x"], "pool list: found 'x' where nothing more is expected"),
    ],
    ids=" ".join,
)
def test_what_makes_no_command_says_what_may_have_been_meant(
    words: list[str], told: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run_command(words) == 2

    out, err = capsys.readouterr()
    assert out == ""
    assert err.startswith(f"fairlead: {told}")


@pytest.mark.parametrize(
    ("words", "usage"),
    [
        (["help"], "usage: fairlead ["),
        (["help", "pool", "scale"], "usage: fairlead pool scale ["),
        (["--state", "x", "help", "timeline"], "usage: fairlead timeline ["),
    ],
)
def test_help_of_a_command_is_what_its_flag_prints(
    words: list[str], usage: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit) as ended:
        run_command(words)

    assert ended.value.code == 0
    assert capsys.readouterr().out.startswith(usage)


def test_no_words_print_the_help_and_a_group_alone_its_own(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert run_command([]) == 2
    alone = capsys.readouterr()
    assert run_command(["rollout"]) == 2
    group = capsys.readouterr()

    assert alone.out.startswith("usage: fairlead ")
    assert alone.err == ""
    assert group.err.startswith("usage: fairlead rollout ")
    assert group.out == ""


def test_without_a_control_plane_commands_say_how_to_start_one(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("KUBECONFIG", raising=False)
    assert run_command(["pool", "list", "--state", str(tmp_path)]) == 4

    assert capsys.readouterr().err == (
        f"fairlead: no control plane runs in {tmp_path} (start one: fairlead up)\n"
    )


def test_whoever_has_a_cluster_at_hand_is_told_of_it_and_not_sent_there(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("KUBECONFIG", str(tmp_path / "kubeconfig"))
    assert run_command(["pool", "list", "--state", str(tmp_path)]) == 4

    assert capsys.readouterr().err == (
        f"fairlead: no control plane runs in {tmp_path} "
        "(start one: fairlead up; or ask that of KUBECONFIG: --kube)\n"
    )


def test_a_bad_file_is_told_without_a_control_plane(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "pool.yaml").write_text("kind: NodePol\n")

    words = ["plan", "-f", str(tmp_path / "pool.yaml"), "--state", str(tmp_path)]
    assert run_command(words) == 2

    assert capsys.readouterr().err == (
        f"fairlead: {tmp_path}/pool.yaml:1:7: kind: found the text 'NodePol', "
        "expected NodePool or PlatformConfig (did you mean NodePool?)\n"
    )


# Drawing, serving, parsing YAML and talking HTTP: none of it before it is needed.
DEAR = {"rich", "starlette", "uvicorn", "yaml", "cryptography", "http.client", "dataclasses"}
LIGHT = [name for name in GROUPS if name not in ("userdata", "up", "down")]


@pytest.mark.parametrize("words", [[], *([name] for name in LIGHT), ["pool", "list"]], ids=str)
def test_help_loads_nothing_that_takes_long(words: list[str]) -> None:
    ran = subprocess.run(
        [sys.executable, "-X", "importtime", "-m", "fairlead", *words, "--help"],
        capture_output=True,
        text=True,
        check=True,
    )

    loaded = set(re.findall(r"import time:.*\| +(\S+)", ran.stderr))
    assert loaded & DEAR == set()
    assert "usage: fairlead" in ran.stdout


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (["pool", "show", ""], "argument NAME: is empty, expected a name"),
        (["pool", "show", "\udcff"], r"argument NAME: found '\udcff', which is not UTF-8"),
        (["platform", "set", "a=\udcff"], "which is not UTF-8"),
        (
            ["pool", "pause", "w", "--until", "\udcff"],
            r"argument --until: found '\udcff', which is not UTF-8",
        ),
        (["pool", "scale", "w", "abc"], "argument N: found 'abc', expected a whole number from 0"),
        (["logs", "m", "--tail", "-5"], "found '-5', expected a whole number from 0"),
        (["logs", "m", "--tail", "9" * 5000], "expected a whole number from 0"),
        (["rollout", "watch", "w", "--timeout", "nan"], "found 'nan', expected a number from 0"),
        (["--state", "", "pool", "list"], "argument --state: is empty, expected a directory"),
        (["plan", "-f", "/dev/zero"], "is larger than 64 MiB, which no document may be"),
    ],
)
def test_words_that_mean_nothing_are_refused_by_name(
    words: list[str], says: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run_command(words) == 2

    assert says in capsys.readouterr().err


@pytest.mark.parametrize(
    "words",
    [
        ["plan", "-f", "-"],
        ["apply", "-"],
        ["timeline", "show", "-"],
        ["userdata", "inspect", "-"],
        ["userdata", "render", "--format", "boothook", "--config", "-"],
    ],
)
def test_a_closed_stdin_is_said(
    words: list[str], capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("sys.stdin", None)

    assert run_command(words) == 2

    assert capsys.readouterr().err == "fairlead: stdin: is closed, expected a document\n"
