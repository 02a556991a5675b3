"""`fairlead timeline`, as a person at a terminal and a script meet it."""

import json
import shutil
from pathlib import Path

import pytest

from fairlead.cli.main import run_command
from unit.boots.reports import EXAMPLES, example, make_fields, make_trixie


def write_boot(path: Path, fields: object) -> Path:
    path.write_text(json.dumps(fields))
    return path


@pytest.fixture
def boot(tmp_path: Path) -> Path:
    return write_boot(tmp_path / "boot.json", make_fields())


def test_a_boot_is_drawn_for_the_terminal(boot: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run_command(["timeline", "show", str(boot), "--width", "100"]) == 0

    lines = capsys.readouterr().out.splitlines()
    assert lines[1] == "provisioned 1.90 s after PID 1"
    assert lines[3].startswith("  whole boot               0.0 ms    2.50 s │█████")


def test_all_shows_the_parts_that_took_no_time(
    boot: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    run_command(["timeline", "show", str(boot), "--all"])

    assert "    read-features" in capsys.readouterr().out


def test_json_is_the_boot_as_data(boot: Path, capsys: pytest.CaptureFixture[str]) -> None:
    run_command(["timeline", "show", str(boot), "--json"])

    fields = json.loads(capsys.readouterr().out)
    assert fields["spans"][1] == {
        "name": "generators",
        "owner": "systemd",
        "start_ms": 22.0,
        "end_ms": 98.0,
        "outcome": "done",
        "cause": "",
    }
    assert fields["marks"][0] == {
        "name": "kubelet started",
        "owner": "kubernetes",
        "at_ms": 1150.0,
    }


def test_drawings_go_to_a_file_and_nothing_to_stdout(
    boot: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    run_command(["timeline", "show", str(boot), "--svg", str(tmp_path / "boot.svg")])
    run_command(["timeline", "show", str(boot), "--html", str(tmp_path / "boot.html")])

    assert (tmp_path / "boot.svg").read_text().startswith('<svg xmlns="http://www.w3.org/2000/svg"')
    assert (tmp_path / "boot.html").read_text().startswith("<!doctype html>")
    assert capsys.readouterr().out == ""


def test_a_drawing_for_a_dash_goes_to_stdout(
    boot: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    run_command(["timeline", "show", str(boot), "--html", "boot.html"])
    capsys.readouterr()

    run_command(["timeline", "show", str(boot), "--html", "-"])

    told = capsys.readouterr()
    assert (told.out, told.err) == ((tmp_path / "boot.html").read_text(), "")
    assert not (tmp_path / "-").exists()


def test_several_boots_are_drawn_as_medians(
    boot: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    other = write_boot(tmp_path / "other.json", make_trixie())

    run_command(["timeline", "show", str(boot), str(other), "--json"])
    by_name = json.loads(capsys.readouterr().out)
    run_command(["timeline", "show", str(tmp_path), "--json"])
    by_directory = json.loads(capsys.readouterr().out)

    assert by_name["boots"] == 2
    assert by_directory == by_name


def test_two_boots_are_compared_the_largest_difference_first(
    boot: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    other = write_boot(tmp_path / "other.json", make_trixie())

    assert run_command(["timeline", "compare", str(boot), str(other)]) == 0
    lines = capsys.readouterr().out.splitlines()
    run_command(["timeline", "compare", str(boot), str(other), "--json"])
    fields = json.loads(capsys.readouterr().out)

    assert lines[0].endswith("boot.json, 1 boot")
    assert lines[3].split()[:4] == ["◆", "cloud-init.target", "2.47", "s"]
    assert fields["differences"][0]["delta_ms"] == -1191.5


def test_directories_are_compared_by_their_medians(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for name, make in (("a", make_fields), ("b", make_trixie)):
        (tmp_path / name).mkdir()
        for number in range(3):
            write_boot(tmp_path / name / f"{number}.json", make())

    run_command(["timeline", "compare", str(tmp_path / "a"), str(tmp_path / "b")])

    assert "A: " in (out := capsys.readouterr().out)
    assert "medians of 3 boots" in out


@pytest.mark.parametrize(
    ("content", "sentence"),
    [
        (None, "no such file (on a machine: fairlead-node report --json > boot.json)"),
        (
            b"Startup finished in 2 s",
            "not JSON: found 'S' at character 0 "
            "(expected provision.json or the output of fairlead-node report --json)",
        ),
        (
            b'{"ExitCode": "0"}',
            "this provision.json was written by the image's scripts and has no `fairlead` object "
            "(run `fairlead-node report --json` on the machine and use its output)",
        ),
        (
            b'{"run": "1", "agent": "", "layout": "", "started": "", "stages": [3]}',
            "stages[0]: must be [name, start_ms, took_ms, outcome, cause] "
            "(expected provision.json or the output of fairlead-node report --json)",
        ),
    ],
)
def test_a_file_that_cannot_be_used_is_named_with_what_to_do(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], content: bytes | None, sentence: str
) -> None:
    path = tmp_path / "boot.json"
    if content is not None:
        path.write_bytes(content)

    assert run_command(["timeline", "show", str(path)]) == 2

    captured = capsys.readouterr()
    assert captured.err == f"fairlead: {path}: {sentence}\n"
    assert captured.out == ""


def test_an_empty_directory_is_named(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run_command(["timeline", "show", str(tmp_path)]) == 2

    assert "holds no *.json file" in capsys.readouterr().err


@pytest.mark.parametrize("command", ["show", "compare"])
def test_the_examples_in_the_help_work(
    command: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    with pytest.raises(SystemExit):
        run_command(["timeline", command, "--help"])
    text = capsys.readouterr().out
    lines = [line for line in text.splitlines() if line.startswith("  fairlead ")]
    shutil.copytree(EXAMPLES, tmp_path / "examples" / "boots")
    monkeypatch.chdir(tmp_path)

    assert lines
    for line in lines:
        assert run_command(line.split()[1:]) == 0


def test_the_examples_show_what_cloud_init_25_gained(
    capsys: pytest.CaptureFixture[str],
) -> None:
    run_command(["timeline", "compare", str(example("bookworm")), str(example("trixie")), "--json"])

    differences = json.loads(capsys.readouterr().out)["differences"]
    (network,) = [each for each in differences if each["name"] == "cloud-init network"]
    assert network["ratio"] < 0.6
