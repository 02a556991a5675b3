"""check-hotfix and download-hotfix by hand: bounded from outside, and ended when they end."""

import json
import shutil
import time
from pathlib import Path

import pytest

from process.fix_fault_run import Case, run_agent, served
from process.fix_kit import FIXED, make_kit
from process.test_fix_faults import make_machine
from process.test_fix_path import pack

pytestmark = pytest.mark.skipif(shutil.which("dpkg-deb") is None, reason="needs dpkg-deb")

STAGED = "opt/azure/containers/aks-node-controller-hotfix"


@pytest.fixture(scope="module")
def kit(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A fix whose program leaves a file beside itself and never ends."""
    program = '#!/bin/sh\ntouch "$0.was-started"\nsleep 1000\n'
    directory = tmp_path_factory.mktemp("kit")
    return make_kit(directory, pack(tmp_path_factory.mktemp("package"), program))


def message_in(root: Path) -> str:
    (path,) = root.rglob("events/*.json")
    message: str = json.loads(path.read_text())["Message"]
    return message.partition(" | ")[0]


@pytest.mark.parametrize(
    ("how", "told"),
    [("stop 12", "gave up after 1 s: check-hotfix"), ("kill 12", "the fix path died: ")],
)
def test_check_hotfix_exits_0_in_time_whatever_becomes_of_it(
    tmp_path: Path, kit: Path, how: str, told: str
) -> None:
    root = make_machine(tmp_path / "machine", kit)
    case = Case(str(kit), str(root), how=how, decide_s=1)
    with served(case):
        began = time.monotonic()
        ran, survivors = run_agent(case, "check-hotfix")
        took_s = time.monotonic() - began

    assert (ran.returncode, survivors) == (0, [])
    assert message_in(root).startswith(f"check-hotfix outcome=failed error={told}")
    # The rest is a start of the interpreter on a busy machine.
    assert took_s < 1.5 + 2.0


def test_download_hotfix_stages_and_starts_nothing_of_what_it_staged(
    tmp_path: Path, kit: Path
) -> None:
    root = make_machine(tmp_path / "machine", kit)
    case = Case(str(kit), str(root))
    with served(case):
        checked, _ = run_agent(case, "check-hotfix")
        downloaded, survivors = run_agent(case, "download-hotfix")

    assert message_in(root) == "check-hotfix outcome=lpsRead"
    assert (checked.returncode, downloaded.returncode, survivors) == (0, 0, [])
    assert (root / STAGED).is_symlink()
    assert FIXED in str((root / STAGED).readlink())
    assert list(root.rglob("*.was-started")) == []


def test_download_hotfix_that_stages_nothing_exits_1_and_says_why(
    tmp_path: Path, kit: Path
) -> None:
    root = make_machine(tmp_path / "machine", kit)
    case = Case(str(kit), str(root), package="503")
    with served(case):
        run_agent(case, "check-hotfix")
        ran, survivors = run_agent(case, "download-hotfix")

    assert (ran.returncode, survivors) == (1, [])
    assert b"status 503" in ran.stderr
    assert not (root / STAGED).exists()
