"""Flags, labels and the config file of the kubelet."""

import base64
from collections.abc import Callable

import pytest

Variables = Callable[..., dict[str, str]]


def config_file(environment: dict[str, str]) -> str:
    return base64.b64decode(environment["KUBELET_CONFIG_FILE_CONTENT"]).decode()


def test_flags_and_labels_come_in_the_order_of_their_names(variables: Variables) -> None:
    kubelet = {
        "kubelet_flags": {"--v": "2", "--address": "10.0.0.1", "--Z": ""},
        "kubelet_node_labels": {"b": "2", "a": "1", "\u00e9": "3"},
    }

    environment = variables({"kubelet_config": kubelet})

    assert environment["KUBELET_FLAGS"] == "--Z= --address=10.0.0.1 --v=2"
    assert environment["KUBELET_NODE_LABELS"] == "a=1,b=2,\u00e9=3"


@pytest.mark.parametrize(
    ("version", "flags", "file"),
    [
        ("1.33.9", "--streaming-connection-idle-timeout=4h --v=2", "streamingConnectionIdleTime"),
        ("1.34.0-rc.1", "--streaming-connection-idle-timeout=4h --v=2", "streamingConnection"),
        ("1.34.0", "--v=2", "{}"),
        ("v1.34", "--v=2", "{}"),
        ("1.35.1+build", "--v=2", "{}"),
        ("", "--streaming-connection-idle-timeout=4h --v=2", "streamingConnectionIdleTimeout"),
    ],
)
def test_kubernetes_1_34_gets_no_streaming_idle_timeout(
    variables: Variables, version: str, flags: str, file: str
) -> None:
    kubelet = {
        "kubelet_flags": {"--streaming-connection-idle-timeout": "4h", "--v": "2"},
        "kubelet_config_file_config": {"streaming_connection_idle_timeout": "4h"},
    }

    environment = variables({"kubelet_config": kubelet, "kubernetes_version": version})

    assert environment["KUBELET_FLAGS"] == flags
    assert file in config_file(environment)


def test_no_kubelet_config_is_no_file_and_an_empty_one_is_an_empty_object(
    variables: Variables,
) -> None:
    assert variables({})["KUBELET_CONFIG_FILE_CONTENT"] == ""
    assert config_file(variables({"kubelet_config": {}})) == "{}"


def test_the_config_file_is_json_as_go_writes_it(variables: Variables) -> None:
    file = {
        "seccomp_default": True,
        "max_pods": 0,
        "read_only_port": 0,
        "feature_gates": {"B": False, "A": True},
        "cluster_dns": ["<&>\u2028", 'quote" back\\ tab\t bell\x07 del\x7f'],
        "authentication": {"anonymous": {}, "webhook": {"enabled": True}},
        "kind": "\u00fcn\u00ef",
    }

    content = config_file(variables({"kubelet_config": {"kubelet_config_file_config": file}}))

    assert content == (
        "{\n"
        '    "kind": "\u00fcn\u00ef",\n'
        '    "authentication": {\n'
        '        "webhook": {\n'
        '            "enabled": true\n'
        "        },\n"
        '        "anonymous": {}\n'
        "    },\n"
        '    "clusterDNS": [\n'
        '        "\\u003c\\u0026\\u003e\\u2028",\n'
        '        "quote\\" back\\\\ tab\\t bell\\u0007 del\x7f"\n'
        "    ],\n"
        '    "maxPods": 0,\n'
        '    "featureGates": {\n'
        '        "A": true,\n'
        '        "B": false\n'
        "    },\n"
        '    "seccompDefault": true\n'
        "}"
    )


def test_serving_certificates_rotate_by_the_config_file_not_by_the_flag(
    variables: Variables,
) -> None:
    by_flag = {"kubelet_flags": {"--rotate-server-certificates": "true"}}
    by_file = {"kubelet_config_file_config": {"server_tls_bootstrap": True}}
    name = "ENABLE_KUBELET_SERVING_CERTIFICATE_ROTATION"

    assert variables({"kubelet_config": by_flag})[name] == "false"
    assert variables({"kubelet_config": by_file})[name] == "true"
