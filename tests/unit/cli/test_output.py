"""The way out of a command: nothing a terminal obeys, and an end that says what it is."""

import ast
import io
import json
import subprocess
import sys
from pathlib import Path
from typing import cast

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st
from rich.panel import Panel

from fairlead.cli.files.yaml_text import yaml_of
from fairlead.cli.main import run_command
from fairlead.cli.output import OutputStream
from fairlead.cli.screens.blocks import Block, Grid, Toned, line
from fairlead.cli.screens.colours import Terminal, print_blocks
from shared_cases import REPOSITORY

CLI = REPOSITORY / "src/fairlead/cli"
# Clears the screen, turns the direction of writing, ends a line early, rings, half a letter.
HOSTILE = "a\x1b[2J\u202eb\r\x07\x9b1m\u2066\ud800"
SHOWN = r"a\x1b[2J\u202eb\r\x07\x9b1m\u2066\ud800"


def is_harmless(text: str) -> bool:
    return all(mark.isprintable() or mark in "\n\t" for mark in text)


@given(st.text(st.characters()))
def test_nothing_that_a_terminal_obeys_gets_through_a_stream(text: str) -> None:
    raw = io.StringIO()

    OutputStream(raw, is_heard=True).write(text)

    assert is_harmless(raw.getvalue())


@given(st.text(st.characters()))
def test_what_is_printable_gets_through_as_it_is(text: str) -> None:
    kept = "".join(mark for mark in text if mark.isprintable())
    raw = io.StringIO()

    OutputStream(raw, is_heard=True).write(kept + "\n")

    assert raw.getvalue() == kept + "\n"


@pytest.mark.parametrize("form", ["", "json", "yaml"])
def test_an_error_shows_what_was_typed_and_obeys_none_of_it(
    form: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    flags = ["-o", form] if form else []

    for words in (
        [HOSTILE],
        ["pool", HOSTILE],
        ["pool", "list", f"--{HOSTILE}"],
        ["pool", "list", "--state", str(tmp_path / HOSTILE.replace("\ud800", ""))],
        ["plan", "-f", str(tmp_path / HOSTILE.replace("\ud800", ""))],
        ["userdata", "inspect", "x", HOSTILE],
    ):
        assert run_command([*words, *flags]) in (2, 4)

        out, err = capsys.readouterr()
        assert out == ""
        assert is_harmless(err)
        assert "2J" in err


def test_a_file_with_hostile_names_is_refused_in_visible_letters(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "pool.yaml"
    path.write_text('kind: NodePool\n"\\e[2J\\u202e\\nfairlead: all is well": 1\n')

    assert run_command(["plan", "-f", str(path)]) == 2

    err = capsys.readouterr().err
    assert is_harmless(err)
    assert r"\x1b[2J\u202e\nfairlead: all is well" in err
    assert "\nfairlead: all is well" not in err


class Screen(io.StringIO):
    """A terminal that keeps what it is told."""

    def isatty(self) -> bool:
        return True


def on_a_terminal(monkeypatch: pytest.MonkeyPatch) -> tuple[Screen, OutputStream]:
    monkeypatch.setenv("TERM", "xterm-256color")
    monkeypatch.setenv("COLUMNS", "100")
    monkeypatch.delenv("NO_COLOR", raising=False)
    raw = Screen()
    return raw, OutputStream(raw, is_heard=True)


def test_a_terminal_gets_colours_of_ours_and_nothing_of_theirs(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    raw, stream = on_a_terminal(monkeypatch)
    blocks: list[Block] = [
        line(Toned(HOSTILE, "good")),
        Grid(("NAME", "SAYS"), ((HOSTILE, HOSTILE),)),
    ]

    print_blocks(blocks, cast("io.TextIOWrapper", stream))

    assert f"\x1b[32m{SHOWN}\x1b[0m" in raw.getvalue()
    assert "\x1b[2J" not in raw.getvalue()
    assert "\u202e" not in raw.getvalue()


def test_not_even_a_drawing_that_forgot_to_escape_reaches_a_terminal(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    raw, stream = on_a_terminal(monkeypatch)

    Terminal(cast("io.TextIOWrapper", stream)).print(Panel(HOSTILE, title=HOSTILE))

    assert "2J" in raw.getvalue()
    assert "\x1b[2J" not in raw.getvalue()
    assert not {"\u202e", "\x07", "\x9b", "\u2066"} & set(raw.getvalue())


# What goes past the streams, and the one place of each that may.
DETOURS = {
    "__stdout__": (),
    "__stderr__": (),
    "print": (),
    "Console": ("screens/colours.py",),
    "write_drawn": ("output.py", "screens/colours.py"),
    "buffer": ("output.py", "files/private_file.py"),
    "_raw": ("output.py",),
}


def names_in(path: Path) -> set[str]:
    """Names and attributes of a module; reading stdin, or a method called print, is no output."""
    tree = ast.parse(path.read_text())
    found = {node.id for node in ast.walk(tree) if isinstance(node, ast.Name)}
    for node in ast.walk(tree):
        if isinstance(node, ast.Attribute) and ast.unparse(node) != "sys.stdin.buffer":
            found.add(node.attr if node.attr != "print" else "")
    return found


@pytest.mark.parametrize("detour", DETOURS)
def test_no_screen_can_go_past_the_streams(detour: str) -> None:
    found = {str(path.relative_to(CLI)) for path in CLI.rglob("*.py") if detour in names_in(path)}

    assert found <= set(DETOURS[detour])


@pytest.mark.parametrize("value", ["\u202edeb", "a\x1b[2J", "x\ny", "é", "\x85", "\ufeff", "￼"])
def test_yaml_reads_back_the_same_and_holds_nothing_a_terminal_obeys(value: str) -> None:
    text = yaml_of({"a": [value], value: 1})

    assert yaml.safe_load(text) == {"a": [value], value: 1}
    assert is_harmless(text)


def fairlead(*words: str, tail: str) -> subprocess.CompletedProcess[bytes]:
    """Run a command in a shell, with its stdout as `tail` says; its exit code is on stdout."""
    command = f'"$0" -m fairlead "$@" {tail}'
    return subprocess.run(
        ["bash", "-c", command, sys.executable, *words], capture_output=True, check=False
    )


@pytest.mark.parametrize("words", [["--help"], ["schema", "NodePool"], ["completion", "bash"]])
def test_a_reader_that_leaves_ends_a_command_quietly_with_141(words: list[str]) -> None:
    ran = fairlead(*words, tail="| true; echo ${PIPESTATUS[0]}")

    assert (ran.stdout, ran.stderr) == (b"141\n", b"")


def test_a_full_disk_is_told_in_one_sentence_with_74() -> None:
    ran = fairlead("schema", "NodePool", tail="> /dev/full")

    assert ran.returncode == 74
    assert ran.stderr == (
        b"fairlead: stdout takes no more: no space is left on the device; "
        b"free some, then try again\n"
    )


def test_a_closed_stdout_is_told_and_a_closed_stderr_stops_nothing() -> None:
    closed = fairlead("schema", "NodePool", tail=">&-")
    silent = fairlead("pool", "list", "--state", "/none", tail="2>&-")
    full = fairlead("pool", "list", "--state", "/none", tail="2> /dev/full")

    assert (closed.returncode, closed.stderr) == (
        74,
        b"fairlead: stdout takes no more: is closed\n",
    )
    assert (silent.returncode, silent.stderr) == (4, b"")
    assert full.returncode == 4


def test_letters_that_an_encoding_lacks_are_escaped(capsys: pytest.CaptureFixture[str]) -> None:
    ran = subprocess.run(
        [sys.executable, "-m", "fairlead", "plan", "-f", "é"],
        capture_output=True,
        check=False,
        env={"PYTHONIOENCODING": "ascii"},
    )

    assert ran.returncode == 2
    assert ran.stderr.startswith(b"fairlead: \\xe9: no such file")


@pytest.mark.parametrize("encoding", ["ascii", "latin-1"])
def test_bars_stay_bars_where_an_encoding_lacks_them(encoding: str) -> None:
    words = ["timeline", "show", str(REPOSITORY / "examples/boots/trixie.json"), "--width", "80"]
    drawn, plain = (
        subprocess.run(
            [sys.executable, "-m", "fairlead", *words],
            capture_output=True,
            check=True,
            env={"PYTHONIOENCODING": one},
        ).stdout.decode(one)
        for one in ("utf-8", encoding)
    )

    assert "\\u" not in plain
    assert "#####" in plain
    assert [len(line) for line in plain.splitlines()] == [len(line) for line in drawn.splitlines()]


def test_every_line_of_a_log_has_its_time_once() -> None:
    raw = io.StringIO()
    stream = OutputStream(raw, is_heard=True)
    stream.stamp = lambda: "T "

    for text in ("one\ntwo", " more\n", "", "three\r\x1b\n"):
        stream.write(text)

    assert raw.getvalue() == "T one\nT two more\nT three\\r\\x1b\n"


def test_an_error_is_a_document_for_scripts(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "pool.yaml"
    path.write_text("kind: NodePol\n")

    assert run_command(["plan", "-f", str(path), "-o", "json"]) == 2
    listed = json.loads(capsys.readouterr().err)
    assert run_command(["pool", "list", "--state", "/none", "-o", "yaml"]) == 4
    unavailable = yaml.safe_load(capsys.readouterr().err)
    assert run_command(["pool", "lits", "--json"]) == 2
    usage = json.loads(capsys.readouterr().err)

    assert listed["error"]["problems"] == [
        {
            "file": str(path),
            "line": 1,
            "column": 7,
            "field": "kind",
            "problem": "found the text 'NodePol', expected NodePool or PlatformConfig "
            "(did you mean NodePool?)",
        }
    ]
    assert unavailable == {
        "error": {
            "code": 4,
            "kind": "UnavailableError",
            "problem": "no control plane runs in /none (start one: fairlead up)",
            "field": "",
            "hint": "",
        }
    }
    assert usage == {
        "error": {
            "code": 2,
            "kind": "InputError",
            "problem": "there is no command 'lits'",
            "field": "pool",
            "hint": "did you mean list? fairlead pool --help lists what there is",
        }
    }
