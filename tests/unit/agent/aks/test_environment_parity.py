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


@pytest.fixture(scope="module")
def lines() -> list[Line]:
    with gzip.open(shared_case("aks-env.jsonl.gz"), "rt") as file:
        return [json.loads(line) for line in file]


@pytest.fixture(scope="module")
def components() -> Components:
    return parse_components(shared_case("components.json").read_bytes())


def environment_for(line: Line, components: Components) -> dict[str, str]:
    version = "" if line["containerd"] == "none" else line["containerd"]
    return environment_of(parse_node_config(line["input"].encode()).config, components, version)


def is_binding(line: Line) -> bool:
    return line["kind"] != "malformed" and "parseError" not in line


def test_every_variable_of_every_line_is_equal(lines: list[Line], components: Components) -> None:
    binding = [line for line in lines if is_binding(line)]

    differences = [
        f"{line['id']}: {variable} is {ours.get(variable)!r:.80}, not {theirs.get(variable)!r:.80}"
        for line in binding
        for ours, theirs in [(environment_for(line, components), line["env"])]
        for variable in sorted(ours.keys() | theirs.keys())
        if ours.get(variable) != theirs.get(variable)
    ]

    assert len(binding) > 250
    assert not differences, "\n".join(differences[:50])


def test_the_command_is_the_same_on_every_line(lines: list[Line]) -> None:
    assert all(line["args"] == BOOTSTRAP_COMMAND for line in lines if is_binding(line))


def test_lines_that_upstream_refuses_still_give_a_whole_environment(
    lines: list[Line], components: Components
) -> None:
    expected = {name for line in lines[:1] for name in environment_for(line, components)}

    for line in lines:
        if not is_binding(line):
            assert expected <= environment_for(line, components).keys()
