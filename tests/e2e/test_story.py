"""The README's story, line by line as it stands there, for somebody who has only just arrived."""

from __future__ import annotations

import os
import re
import subprocess
import tempfile
from pathlib import Path

import pytest

from shared_cases import REPOSITORY

MARK = "@@exit"
NOBODY = 65534

# How packages are fetched here, if not from the usual place.
FETCHING = {name: value for name, value in os.environ.items() if name.startswith("PIP_")}


def story_lines() -> list[str]:
    """The commands of the section, in order."""
    section = (REPOSITORY / "README.md").read_text().partition("## See it work")[2]
    section = section.partition("\n## ")[0]
    blocks = re.findall(r"```sh\n(.*?)```", section, re.DOTALL)
    return [line for block in blocks for line in block.splitlines() if line]


def tell(lines: list[str], home: Path, folder: Path, *prefix: str) -> list[tuple[str, int, str]]:
    """Type the lines into one shell; return each with its exit code and what it printed."""
    script = "".join(f"{line}\ncode=$?; echo; echo {MARK} $code\n" for line in lines)
    done = subprocess.run(
        [*prefix, "bash"],
        input=script,
        cwd=folder,
        env={**FETCHING, "HOME": str(home), "PATH": os.environ["PATH"], "COLUMNS": "120"},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        timeout=300,
        check=True,
    )
    parts = re.split(rf"\n{MARK} (\d+)\n", done.stdout)
    return [(line, int(parts[2 * at + 1]), parts[2 * at]) for at, line in enumerate(lines)]


@pytest.mark.slow
@pytest.mark.root
def test_the_story_works_in_a_fresh_clone_for_somebody_without_rights() -> None:
    with tempfile.TemporaryDirectory() as scratch:
        place = Path(scratch)
        home, clone = place / "home", place / "fairlead"
        home.mkdir()
        subprocess.run(["git", "clone", "--quiet", REPOSITORY, clone], check=True)
        subprocess.run(["chown", "-R", f"{NOBODY}:{NOBODY}", scratch], check=True)
        as_nobody = ("setpriv", f"--reuid={NOBODY}", f"--regid={NOBODY}", "--clear-groups")

        told = tell(story_lines(), home, clone, *as_nobody)

        left = sorted(path.name for path in home.rglob("*") if path.is_file())
    codes = {line.split("#")[0].strip(): code for line, code, _ in told}
    assert codes.pop("fairlead plan -f workers.yaml") == 10
    assert set(codes.values()) == {0}, told
    # What was made below the home directory is gone with the control plane, caches of pip aside.
    assert [name for name in left if name.startswith("fairlead")] == []


@pytest.mark.slow
def test_the_story_of_the_readme_works_as_it_is_written(tmp_path: Path) -> None:
    told = tell(story_lines(), tmp_path, REPOSITORY)
    said = {
        re.split(r"[ \t]+#|[ \t]+\$(?=.*head)", line)[0].strip(): text for line, _, text in told
    }
    codes = {line.split("#")[0].strip(): code for line, code, _ in told}

    assert codes.pop("fairlead plan -f workers.yaml") == 10
    assert set(codes.values()) == {0}, told

    assert "3 of 3 up to date" in said["make demo"]
    explained = said["fairlead explain workers"]
    assert re.search(
        r"^held: 1 platform change, since \d+ s, no machine will be replaced$", explained, re.M
    )
    assert "networking" in explained
    assert "haproxy@sha256:bb" in explained
    assert "1 machine will be created" in said["fairlead pool scale workers 4"]

    planned = said["fairlead plan -f workers.yaml"]
    assert "4 machines will be replaced because the pool's owner changed release.version" in planned
    order = re.search(r"order +(.*)", planned)
    assert order is not None
    left = re.findall(r"MachineLeaves +\S+ +(\S+) leaves", said["fairlead timeline workers"])
    assert left == order[1].split(", ")
    assert "provisioned" in said["fairlead timeline"]
    assert "fetch-config" in said["fairlead timeline"]
    explain_newest = "fairlead explain $(fairlead machine list -o name | tail -1)"
    fixed, fallen_back = [text for line, _, text in told if line.startswith(explain_newest)]
    assert "It booted with the fix 202611.16.1, in the place of 202611.16.0." in fixed, told[-16:]
    assert "and not with the fix 202611.16.2: staged agent fails self-test" in fallen_back
    status = said["fairlead hotfix status"]
    assert re.search(r"^202611\.16\.1 +published +everyone +1 ", status, re.M), status
    assert re.search(r"^202611\.16\.2 +halted +nobody +0 ", status, re.M), status
    assert re.search(r"^202605\.30\.1 +published +1% +0 ", status, re.M), status
    assert not (tmp_path / ".local/state/fairlead").exists()
