"""Reading a node config: what is understood, what is refused, and how the field is named."""

import gzip
import json
from typing import Any

import pytest

from fairlead.contract.node_parse import parse_node_config
from node_write import write_node_config
from shared_cases import shared_case


def aks_cases() -> list[dict[str, Any]]:
    with gzip.open(shared_case("aks-env.jsonl.gz"), "rt", encoding="utf-8") as lines:
        return [json.loads(line) for line in lines]


CASES = aks_cases()
UNDERSTOOD_UPSTREAM = [case for case in CASES if "parseError" not in case]
# What each line that upstream refused says, by our path of the field.
REFUSED_UPSTREAM = {
    "malformed#592@none": "",
    "malformed#597@none": "is_vhd",
    "malformed#602@none": "version",
    "malformed#607@none": "",
    "malformed#608@none": "cse_timeout",
    "unknown-fields#312@none": "cluster_config",
    "unknown-fields#321@none": "network_config",
}


@pytest.mark.parametrize("case", UNDERSTOOD_UPSTREAM, ids=lambda case: str(case["id"]))
def test_a_document_means_what_the_published_controller_understood(case: dict[str, Any]) -> None:
    parsed = parse_node_config(case["input"].encode())

    assert json.loads(write_node_config(parsed.config)) == case["parsed"]
    assert parsed.problems == []


def test_what_the_published_controller_refused_is_a_problem_that_names_the_field() -> None:
    refused = [case for case in CASES if "parseError" in case and case["id"] in REFUSED_UPSTREAM]

    problems = {
        case["id"]: [problem.path for problem in parse_node_config(case["input"].encode()).problems]
        for case in refused
    }

    assert len(refused) == 7
    assert problems == {case: [path] for case, path in REFUSED_UPSTREAM.items()}


def problems_of(text: str | bytes) -> list[str]:
    document = text.encode() if isinstance(text, str) else text
    return [str(problem) for problem in parse_node_config(document).problems]


@pytest.mark.parametrize(
    ("document", "problem"),
    [
        ('{"is_vhd": "yes"}', "is_vhd: found text, expected true or false"),
        ('{"is_vhd": 1}', "is_vhd: found a number, expected true or false"),
        ('{"version": 1}', "version: found a number, expected text"),
        ('{"version": ["v1"]}', "version: found a list, expected text"),
        ('{"cse_timeout": 1.5}', "cse_timeout: found a number, expected a whole number (int32)"),
        (
            '{"cse_timeout": true}',
            "cse_timeout: found true or false, expected a whole number (int32)",
        ),
        ('{"auth_config": []}', "auth_config: found a list, expected an object"),
        ('{"custom_ca_certs": "x"}', "custom_ca_certs: found text, expected a list"),
        ('{"custom_ca_certs": {}}', "custom_ca_certs: found an object, expected a list"),
        ('{"custom_ca_certs": ["x", null]}', "custom_ca_certs[1]: found null, expected text"),
        ('{"enabled_features": []}', "enabled_features: found a list, expected an object"),
        ('{"enabled_features": {"A": null}}', "enabled_features[A]: found null, expected text"),
        (
            '{"enabled_features": {"A": "1", "A": "2"}}',
            "enabled_features[A]: set twice; the first value is used",
        ),
        ('{"isVhd": true, "is_vhd": true}', "is_vhd: set twice; the first value is used"),
        ('{"vm_size": "\\ud800"}', "vm_size: found text that is not valid Unicode"),
        (b'{"vm_size": "\xff"}', "vm_size: found text that is not valid Unicode"),
        (
            '{"enabled_features": {"\\udfff": "1"}}',
            "enabled_features[?]: the key is not valid Unicode",
        ),
        ("[]", "found a list, expected an object"),
        ("", "not JSON: the text ends at character 0"),
        ('{"version": "v1"', "not JSON: Expecting ',' delimiter: line 1 column 17 (char 16)"),
    ],
)
def test_what_is_wrong_is_named_by_path(document: str | bytes, problem: str) -> None:
    assert problems_of(document) == [problem]


def test_a_wrong_field_does_not_cost_the_others() -> None:
    parsed = parse_node_config(
        b'{"version": "v1", "is_vhd": "yes", "cluster_config": {"location": 7, "vm_type": 2},'
        b' "custom_ca_certs": ["a", 1, "c"], "enabled_features": {"A": "1", "B": 2}}'
    )

    assert parsed.config.fields == {
        "version": "v1",
        "cluster_config": {"vm_type": 2},
        "custom_ca_certs": ["a", "c"],
        "enabled_features": {"A": "1"},
    }
    assert [problem.path for problem in parsed.problems] == [
        "is_vhd",
        "cluster_config.location",
        "custom_ca_certs[1]",
        "enabled_features[B]",
    ]


def test_of_a_field_set_twice_the_first_value_is_used() -> None:
    parsed = parse_node_config(b'{"vmSize": "first", "vm_size": "second"}')

    assert parsed.config.text("vm_size") == "first"


def test_text_behind_the_document_is_a_problem_and_the_document_is_used() -> None:
    parsed = parse_node_config(b'{"version": "v1"} trailing')

    assert parsed.config.text("version") == "v1"
    assert [problem.path for problem in parsed.problems] == [""]


def test_a_number_too_long_for_python_costs_one_field_only() -> None:
    parsed = parse_node_config(b'{"version": "v1", "cse_timeout": ' + b"9" * 10_000 + b"}")

    assert parsed.config.fields == {"version": "v1"}
    assert [problem.path for problem in parsed.problems] == ["cse_timeout"]


def test_thousands_of_problems_are_counted_and_only_the_first_are_listed() -> None:
    parsed = parse_node_config(b'{"custom_ca_certs": [' + b"0," * 4_999 + b"0]}")

    assert len(parsed.problems) == 51
    assert str(parsed.problems[-1]) == "4950 more problems are not listed"


@pytest.mark.parametrize(
    ("document", "fields"),
    [
        (
            '{"is_kata": false, "vm_size": "", "cluster_config": {"vm_type": 0}}',
            {"cluster_config": {}},
        ),
        ('{"is_vhd": false, "cse_timeout": 0}', {"is_vhd": False, "cse_timeout": 0}),
        ('{"custom_ca_certs": [], "enabled_features": {}, "gpu_config": {}}', {"gpu_config": {}}),
        ('{"version": null, "gpu_config": null, "custom_ca_certs": null}', {}),
        ('{"custom_ca_certs": [""]}', {"custom_ca_certs": [""]}),
    ],
)
def test_presence_is_that_of_protobuf(document: str, fields: dict[str, object]) -> None:
    assert parse_node_config(document.encode()).config.fields == fields


def test_both_spellings_of_a_name_are_read() -> None:
    parsed = parse_node_config(
        b'{"kubeletConfig": {"kubelet_config_file_config": {"clusterDNS": ["10.0.0.10"],'
        b' "cpu_cfs_quota": false, "serverTLSBootstrap": true}}}'
    )

    assert parsed.config.mapping("kubelet_config.kubelet_config_file_config") == {
        "cluster_dns": ["10.0.0.10"],
        "cpu_cfs_quota": False,
        "server_tls_bootstrap": True,
    }
    assert parsed.receipt.ignored == 0


def test_an_unknown_enum_number_is_kept_and_an_unknown_enum_name_is_dropped() -> None:
    parsed = parse_node_config(
        b'{"workload_runtime": 77, "network_config": {"network_plugin": "NETWORK_PLUGIN_NEXT"}}'
    )

    assert parsed.config.fields == {"workload_runtime": 77, "network_config": {}}
    assert parsed.problems == []
    assert parsed.receipt.ignored_paths == ["network_config.network_plugin"]


@pytest.mark.parametrize(
    ("listed", "violations"),
    [
        ('["version", "clusterConfig.vmType", "kubelet_config.kubeletFlags"]', []),
        ('["enabled_features.ANY", "localDnsProfile.vnetDnsOverrides.x.protocol", "hotfixes"]', []),
        ("null", []),
        (
            '["brand_new"]',
            ["brand_new: must be understood, and this agent does not know the field"],
        ),
        (
            '["version", "cluster_config.future.a"]',
            ["cluster_config.future.a: must be understood, and this agent does not know the field"],
        ),
        (
            '["version.x"]',
            ["version.x: must be understood, and this agent does not know the field"],
        ),
        ('[""]', ["must be understood, and this agent does not know the field"]),
        (
            '["workload_runtime"]',
            ["workload_runtime: must be understood, and its value cannot be used"],
        ),
        ('"version"', ["mustUnderstand: found text, expected a list of paths"]),
        ('{"a": 1}', ["mustUnderstand: found an object, expected a list of paths"]),
        ("[1]", ["mustUnderstand: found a number, expected a field path"]),
    ],
)
@pytest.mark.parametrize("name", ["mustUnderstand", "must_understand"])
def test_must_understand_names_what_this_agent_does_not_know(
    name: str, listed: str, violations: list[str]
) -> None:
    document = f'{{"{name}": {listed}, "workload_runtime": "WORKLOAD_RUNTIME_NEXT"}}'

    parsed = parse_node_config(document.encode())

    assert [str(violation) for violation in parsed.violations] == violations


def test_the_cold_start_hotfixes_are_kept_apart_from_the_config() -> None:
    parsed = parse_node_config(
        b'{"version": "v1", "hotfixes": {"202604.01": "202604.01.3", "202605.30": null}}'
    )

    assert parsed.cold_start_hotfixes == {"202604.01": "202604.01.3", "202605.30": None}
    assert parsed.config.fields == {"version": "v1"}
    assert parsed.receipt.ignored == 0


def test_cold_start_hotfixes_of_the_wrong_shape_are_a_problem() -> None:
    parsed = parse_node_config(b'{"hotfixes": ["202604.01.3"]}')

    assert parsed.cold_start_hotfixes is None
    assert [str(problem) for problem in parsed.problems] == [
        "hotfixes: found a list, expected an object"
    ]


def test_a_document_without_hotfixes_has_none() -> None:
    assert parse_node_config(b"{}").cold_start_hotfixes is None
