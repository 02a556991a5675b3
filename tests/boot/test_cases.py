"""Every boot case on every distribution: exactly one run, or a failure that nobody can miss."""

from pathlib import Path

import pytest

from boot.boot_case import CASES, booted, config_on, load_case, load_outcome
from boot.drives import DRIVE_TOOLS
from boot.node import missing_tools
from boot.roots import SUITES

pytestmark = [pytest.mark.root, pytest.mark.slow]

FOLDERS = sorted(path for path in CASES.iterdir() if (path / "given" / "case.json").exists())


@pytest.mark.parametrize("suite", SUITES)
@pytest.mark.parametrize("folder", FOLDERS, ids=lambda folder: folder.name)
def test_a_boot_ends_as_its_case_says(folder: Path, suite: str) -> None:
    missing = missing_tools(*DRIVE_TOOLS)
    if missing:
        pytest.skip(f"NOT RUN: needs {', '.join(missing)}")
    case, outcome = load_case(folder), load_outcome(folder)

    with booted(case, suite) as result:
        found = {
            "runs": result.runs,
            "state": result.state,
            "failed": result.failed,
            "place": result.place(),
            "line": result.line(),
            "agent_runs": result.agent_runs(),
            "restarts": result.restarts(),
        }
        expected = {name: outcome[name] for name in found if name in outcome}
        assert set(outcome) <= {*found, "config", "files", "said"}, "a word that nobody looks at"

        told = result.journal[-6000:] + result.node.console()[-2000:]
        assert {name: found[name] for name in expected} == expected, told
        if outcome.get("config", True) and result.runs:
            assert config_on(case, result.node) == (case.node_config(), "0600")
        for path, text in outcome.get("files", {}).items():
            assert result.node.read(path) == text
        for path, text in outcome.get("said", {}).items():
            assert text in result.node.read(path), path
