"""The script environment equals what the AKS node controller itself produced, line by line."""

import gzip
import json
from typing import Any

import pytest

from fairlead.agent.aks.command import BOOTSTRAP_COMMAND
from fairlead.agent.aks.components import Components, parse_components
from fairlead.agent.aks.environment import environment_of
from fairlead.contract.node_parse import parse_node_config
from shared_cases import shared_case

Line = dict[str, Any]

# How many lines of each file bind us: made by generators, and from the controller's own tests.
RECORDED = {"aks-env.jsonl.gz": 289, "aks-env-upstream.jsonl.gz": 78}


@pytest.fixture(scope="module", params=RECORDED)
def recorded(request: pytest.FixtureRequest) -> str:
    """Return the name of one file of recorded lines."""
    return str(request.param)


@pytest.fixture(scope="module")
def lines(recorded: str) -> list[Line]:
    return lines_of(recorded)


def lines_of(name: str) -> list[Line]:
    with gzip.open(shared_case(name), "rt") as file:
        return [json.loads(line) for line in file]


@pytest.fixture(scope="module")
def components() -> Components:
    return parse_components(shared_case("components.json").read_bytes())


def environment_for(line: Line, components: Components) -> dict[str, str]:
    version = "" if line["containerd"] == "none" else line["containerd"]
    return environment_of(parse_node_config(line["input"].encode()).config, components, version)


def is_binding(line: Line) -> bool:
    return line["kind"] != "malformed" and "parseError" not in line


def test_every_variable_of_every_line_is_equal(
    recorded: str, lines: list[Line], components: Components
) -> None:
    binding = [line for line in lines if is_binding(line)]

    differences = [
        f"{line['id']}: {variable} is {ours.get(variable)!r:.80}, not {theirs.get(variable)!r:.80}"
        for line in binding
        for ours, theirs in [(environment_for(line, components), line["env"])]
        for variable in sorted(ours.keys() | theirs.keys())
        if ours.get(variable) != theirs.get(variable)
    ]

    assert len(binding) == RECORDED[recorded]
    assert not differences, "\n".join(differences[:50])


def test_the_command_is_the_same_on_every_line(lines: list[Line]) -> None:
    assert all(line["args"] == BOOTSTRAP_COMMAND for line in lines if is_binding(line))


def test_lines_that_upstream_refuses_still_give_a_whole_environment(
    components: Components,
) -> None:
    lines = lines_of("aks-env.jsonl.gz")
    expected = environment_for(lines[0], components).keys()
    refused = [line for line in lines if not is_binding(line)]

    assert len(refused) == 8
    assert all(expected <= environment_for(line, components).keys() for line in refused)
