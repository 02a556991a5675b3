"""Settings of the agent's units that only hold together."""

import re

from shared_cases import REPOSITORY

UNIT = REPOSITORY / "deploy" / "node" / "units" / "fairlead-node.service"
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
