"""Settings of the agent's units that only hold together."""

import re
import subprocess
from shutil import which

import pytest

from fairlead.agent.early.places import CREDENTIALS
from shared_cases import REPOSITORY

UNITS = REPOSITORY / "deploy" / "node" / "units"
UNIT = UNITS / "fairlead-node.service"
SECONDS = {"ms": 0.001, "s": 1, "min": 60, "h": 3600, "d": 86400, "": 1}


def seconds_of(text: str) -> float:
    found = re.fullmatch(r"(\d+)(ms|s|min|h|d|)", text)
    assert found is not None, text
    return int(found[1]) * SECONDS[found[2]]


def test_an_agent_that_always_hangs_is_given_up_before_its_first_try_is_forgotten() -> None:
    settings = dict(re.findall(r"^(\w+)=(.*)$", UNIT.read_text(), re.MULTILINE))
    one_try_s = seconds_of(settings["TimeoutStartSec"]) + seconds_of(settings["RestartSec"])

    assert (
        seconds_of(settings["StartLimitIntervalSec"]) > int(settings["StartLimitBurst"]) * one_try_s
    )


@pytest.mark.skipif(which("systemd-analyze") is None, reason="NOT RUN: install systemd")
@pytest.mark.parametrize("unit", ["fairlead-node-seed.service", "fairlead-node-check.service"])
def test_what_reads_documents_of_strangers_is_little_exposed(unit: str) -> None:
    judged = subprocess.run(
        ["systemd-analyze", "security", "--offline=true", "--no-pager", UNITS / unit],
        capture_output=True,
        text=True,
        check=True,
    ).stdout

    found = re.search(r"exposure level for \S+: (\d+\.\d)", judged)
    assert found is not None, judged
    assert float(found[1]) < 6.0, judged


@pytest.mark.parametrize("unit", ["fairlead-node-seed.service", "fairlead-node-check.service"])
def test_a_unit_with_a_view_of_its_own_is_handed_every_credential(unit: str) -> None:
    loaded = re.findall(r"^LoadCredential=(.*):\1$", (UNITS / unit).read_text(), re.MULTILINE)

    assert tuple(loaded) == CREDENTIALS
