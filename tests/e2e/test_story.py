"""The README's story, line by line as it stands there, for somebody who has only just arrived."""

from __future__ import annotations

import re

import pytest

from e2e.newcomer import Newcomer
from hotfix_depot import SUITE, needs
from shared_cases import REPOSITORY


def story_lines() -> list[str]:
    """The commands of the section, in order."""
    section = (REPOSITORY / "README.md").read_text().partition("## See it work")[2]
    section = section.partition("\n## ")[0]
    blocks = re.findall(r"```sh\n(.*?)```", section, re.DOTALL)
    return [line for block in blocks for line in block.splitlines() if line]


@pytest.mark.slow
@pytest.mark.root
def test_the_story_works_in_a_fresh_clone_for_somebody_without_rights(newcomer: Newcomer) -> None:
    needs(*SUITE)
    find_left = "find ~ -path ~/fairlead -prune -o -name 'fairlead*' -print"

    *told, found = newcomer.types([*story_lines(), find_left])

    said = {
        re.split(r"[ \t]+#|[ \t]+\$(?=.*head)", typed.line)[0].strip(): typed.said for typed in told
    }
    codes = {typed.line.split("#")[0].strip(): typed.code for typed in told}

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
    fixed, fallen_back = [typed.said for typed in told if typed.line.startswith(explain_newest)]
    assert "It booted with the fix 202611.16.1, in the place of 202611.16.0." in fixed, told[-16:]
    assert "and not with the fix 202611.16.2: staged agent fails self-test" in fallen_back
    status = said["fairlead hotfix status"]
    assert re.search(r"^202611\.16\.1 +published +everyone +1 ", status, re.M), status
    assert re.search(r"^202611\.16\.2 +halted +nobody +0 ", status, re.M), status
    assert re.search(r"^202605\.30\.1 +published +1% +0 ", status, re.M), status
    # What was made below the home directory is gone with the control plane.
    assert found.said == ""
