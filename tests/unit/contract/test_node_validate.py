"""Which fields a useful node config has."""

import gzip
import json

from fairlead.contract.node_parse import parse_node_config
from fairlead.contract.node_validate import validate
from shared_cases import shared_case


def test_an_empty_config_lacks_every_field_that_an_aks_image_requires() -> None:
    assert [str(problem) for problem in validate(parse_node_config(b"{}").config, "aks")] == [
        "version: required, and not set",
        "auth_config.subscription_id: required, and not set",
        "cluster_config.resource_group: required, and not set",
        "cluster_config.location: required, and not set",
        "cluster_config.cluster_network_config.vnet_name: required, and not set",
        "cluster_config.cluster_network_config.route_table: required, and not set",
        "api_server_config.api_server_name: required, and not set",
    ]


def test_a_plain_image_requires_no_field_of_a_cloud() -> None:
    assert [str(problem) for problem in validate(parse_node_config(b"{}").config, "fairlead")] == [
        "version: required, and not set",
        "api_server_config.api_server_name: required, and not set",
    ]


def test_the_published_controller_finds_the_same_configs_incomplete() -> None:
    with gzip.open(shared_case("aks-env.jsonl.gz"), "rt", encoding="utf-8") as lines:
        cases = [json.loads(line) for line in lines]

    incomplete = {
        case["id"]
        for case in cases
        if validate(parse_node_config(case["input"].encode()).config, "aks")
    }

    assert incomplete == {case["id"] for case in cases if "validate" in case}
