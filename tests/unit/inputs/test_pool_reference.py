"""The page of a pool's fields is true: complete, and every example can be applied."""

from typing import Any

import pytest
import yaml

from fairlead.inputs.parse import API_VERSION, parse_node_pool
from fairlead.inputs.reference import EXAMPLES, page
from fairlead.inputs.registry import NOT_CARRIED_OUT, SETTING_LEAVES
from fairlead.inputs.user_intent import INTENT_LEAVES
from fairlead.proposal.judge import judge
from fairlead.zones import find_zone
from shared_cases import REPOSITORY


def document_with(path: str, example: str) -> dict[str, Any]:
    """A pool that has nothing but what it must, and this field."""
    spec: dict[str, Any] = {"release": {"version": "1.34.2"}, "replicas": 3}
    value = yaml.safe_load(example)
    names = path.removesuffix(".*").split(".")
    if names[0] == "config":
        spec["config"] = [value]
    else:
        below = spec
        for name in names[:-1]:
            below = below.setdefault(name, {})
        below[names[-1]] = value
    if path == "proxy.noProxy":
        spec["proxy"]["http"] = "http://proxy.example:3128"
    if path == "autoscaling.min":
        spec["autoscaling"]["max"] = 5
    if path.startswith("autoscaling."):
        del spec["replicas"]
        spec["autoscaling"].setdefault("min", 1)
    header = {"apiVersion": API_VERSION, "kind": "NodePool", "metadata": {"name": "workers"}}
    return {**header, "spec": spec}


def test_the_page_is_as_the_registry_has_it() -> None:
    assert (REPOSITORY / "docs/reference/pool.md").read_text() == page()


def test_every_field_that_is_carried_out_has_an_example_and_no_other() -> None:
    paths = {row.path for row in (*INTENT_LEAVES, *SETTING_LEAVES)}

    assert set(EXAMPLES) == paths - set(NOT_CARRIED_OUT)


@pytest.mark.parametrize("path", EXAMPLES)
def test_an_example_can_be_applied(path: str) -> None:
    document = document_with(path, EXAMPLES[path])

    parse_node_pool(document)
    assert judge(document, find_zone) == ()
