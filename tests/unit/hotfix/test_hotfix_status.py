"""`fairlead hotfix status`: a fleet's answer in 80 columns, and for scripts."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from fairlead.cli.main import run_command
from fairlead.contract.boot_report import parse_report
from fairlead.hotfix.catalog import State
from fairlead.hotfix.service.attestation.verifier import Claims
from fairlead.hotfix.service.file_ledger import FileLedger
from fairlead.hotfix.service.reports import ended_boot
from served_hotfixes import FIX, NOW, make_catalog, make_depot, make_fix, report_text

HEADINGS = ("VERSION", "STATE", "OFFERED", "TO", "HAVE", "LACK")
FIXES = [
    make_fix("202605.30.1", state=State.WITHDRAWN, reason="the kubelet does not start"),
    make_fix(summary="wait for the disk"),
]


@pytest.fixture
def depot(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("COLUMNS", "80")
    directory = tmp_path / "depot"
    make_depot(directory, FIXES)
    catalog = make_catalog(FIXES)
    ledger = FileLedger(directory)
    for number in range(12):
        used = FIX if number < 3 else ""
        wanted = FIX if number < 6 else ""
        text = report_text(run=str(number), used=used, wanted=wanted)
        claims = Claims(machine=f"workers-{number:02}", region="local")
        ledger.count(ended_boot(parse_report(text), claims, catalog), catalog.fixes, NOW)
    ledger.close()
    return directory


def test_every_fix_is_told_in_80_columns(depot: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run_command(["hotfix", "status", "--depot", str(depot)]) == 0

    lines = capsys.readouterr().out.splitlines()
    assert [line.split() for line in lines] == [
        [
            "VERSION",
            "STATE",
            "OFFERED",
            "TO",
            "HAVE",
            "LACK",
            "FAILED",
            "WITH",
            "FAILED",
            "WITHOUT",
        ],
        f"{FIX} halted nobody 3 9 3 of 6 0 of 6".split(),
        ["202605.30.1", "withdrawn", "nobody", "0", "0", "-", "-"],
    ]
    assert max(len(line) for line in lines) <= 80


def test_one_fix_is_told_in_full(depot: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run_command(["hotfix", "status", FIX, "--depot", str(depot)]) == 0

    out = capsys.readouterr().out
    told = " ".join(out.split())
    assert f"{FIX} wait for the disk" in told
    assert "2 of 5 boots with it failed" in told or "3 of 6 boots with it failed" in told
    assert f"`fairlead hotfix promote {FIX}` goes on" in told
    assert "lack it 9 machines: workers-03, workers-04" in told
    assert "local 3 9 3 of 6 0 of 6" in told
    assert max(len(line) for line in out.splitlines()) <= 80


def test_scripts_get_every_name(depot: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run_command(["hotfix", "status", FIX, "--depot", str(depot), "--json"]) == 0

    told = json.loads(capsys.readouterr().out)
    assert (told["have"], told["lack"]) == (3, 9)
    assert told["having"] == ["workers-00", "workers-01", "workers-02"]
    assert len(told["lacking"]) == 9
    assert told["regions"] == [
        {
            "region": "local",
            "have": 3,
            "lack": 9,
            "with": {"good": 3, "failed": 3},
            "without": {"good": 6, "failed": 0},
        }
    ]


@pytest.mark.parametrize(
    ("words", "names"),
    [
        (["status"], [FIX, "202605.30.1"]),
        (["status", FIX], [FIX]),
        (["list"], [FIX, "202605.30.1"]),
        (["bases", "list"], ["202611.16", "202605.30"]),
    ],
)
def test_names_alone_are_told_on_request(
    depot: Path, capsys: pytest.CaptureFixture[str], words: list[str], names: list[str]
) -> None:
    assert run_command(["hotfix", *words, "--depot", str(depot), "-o", "name"]) == 0

    assert capsys.readouterr().out.split() == names


def test_a_version_that_was_never_published_is_refused(
    depot: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run_command(["hotfix", "status", "202611.16.9", "--depot", str(depot)]) == 2
    assert "was never published here" in capsys.readouterr().err


def test_before_anybody_was_served_nothing_is_known(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    make_depot(tmp_path / "depot", FIXES[1:])

    assert run_command(["hotfix", "status", FIX, "--depot", str(tmp_path / "depot")]) == 0

    told = " ".join(capsys.readouterr().out.split())
    assert "offered to 1% next 5%, from 2026-11-16" in told
    assert "have it 0 machines" in told


def test_of_a_fix_whose_machines_send_no_report_nothing_is_claimed(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    directory = tmp_path / "depot"
    make_depot(directory, [make_fix(component="aksNodeController")])
    command = ["hotfix", "status", "--depot", str(directory)]

    assert run_command([*command, FIX]) == 0
    told = " ".join(capsys.readouterr().out.split())
    assert f"next 5%, by `fairlead hotfix promote {FIX}` alone" in told
    assert "have it not known: agents of AKS send no boot report" in told
    assert "lack it" not in told

    assert run_command(command) == 0
    assert capsys.readouterr().out.splitlines()[1].split() == [
        FIX, "published", "1%", "?", "?", "-", "-"
    ]  # fmt: skip

    assert run_command([*command, FIX, "--json"]) == 0
    answer = json.loads(capsys.readouterr().out)
    assert (answer["have"], answer["lack"]) == (None, None)
