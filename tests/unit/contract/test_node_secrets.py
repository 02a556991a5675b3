"""What must never be shown, in all the ways it may be spelled."""

import base64
import json

import pytest

from fairlead.contract.node_config import NodeConfig
from fairlead.contract.node_secrets import secrets_of

TOKEN = NodeConfig({"bootstrapping_config": {"tls_bootstrapping_token": "abcdef.0123456789abcdef"}})


def redacted(text: str, config: NodeConfig) -> str:
    for secret in secrets_of(config):
        text = text.replace(secret, "*")
    return text


@pytest.mark.parametrize(
    "fields",
    [
        {"auth_config": {"service_principal_secret": "hunter2-hunter2"}},
        {"bootstrapping_config": {"tls_bootstrapping_token": "hunter2-hunter2"}},
        {"custom_cloud_config": {"custom_env_json_content": "hunter2-hunter2"}},
        {"custom_search_domain_config": {"realm_password": "hunter2-hunter2"}},
        {"kubelet_config": {"kubelet_client_key": "hunter2-hunter2"}},
        {"http_proxy_config": {"http_proxy": "http://me:hunter2-hunter2@proxy:3128"}},
        {"http_proxy_config": {"https_proxy": "http://me:hunter2%2dhunter2@proxy:3128/"}},
        {"http_proxy_config": {"no_proxy_entries": ["x", "http://me:hunter2-hunter2@p"]}},
        {"outbound_command": "curl -x 'http://me:hunter2-hunter2@p' https://example.test"},
        {"kubelet_config": {"kubelet_flags": {"--x": "https://u:hunter2-hunter2@h/p"}}},
        {"kube_proxy_url": "https://store.test/x.tgz?se=2031&sig=hunter2-hunter2&sp=r"},
    ],
)
def test_every_place_that_may_hold_a_secret_is_known(fields: dict[str, object]) -> None:
    assert "hunter2-hunter2" in secrets_of(NodeConfig(fields))


def test_public_values_are_not_secrets() -> None:
    config = NodeConfig(
        {
            "version": "v1",
            "kubernetes_ca_cert": "LS0tLS1CRUdJTg==",
            "kube_proxy_url": "https://example.test/x.tar.gz",
            "kubelet_config": {"kubelet_client_cert_content": "public-certificate"},
        }
    )

    assert secrets_of(config) == []


@pytest.mark.parametrize("lead", ["", "x", "xx", "user=me&password="])
@pytest.mark.parametrize("tail", ["", "y", "\n", '"}'])
def test_base64_of_a_text_around_the_secret_is_redacted(lead: str, tail: str) -> None:
    encoded = base64.b64encode(f"{lead}abcdef.0123456789abcdef{tail}".encode()).decode()

    shown = redacted(encoded, TOKEN)

    # What stays is what the neighbours say, and at most one character on each side:
    # a character of base64 is 6 bits.
    assert "*" in shown
    assert len(shown.replace("*", "").rstrip("=")) * 6 <= len(lead + tail) * 8 + 2 * 6


def test_json_spellings_are_redacted() -> None:
    config = NodeConfig({"auth_config": {"service_principal_secret": 'pa"ss\\w\u00f6rd'}})

    for ascii_only in (True, False):
        line = json.dumps({"found": 'pa"ss\\w\u00f6rd'}, ensure_ascii=ascii_only)
        assert redacted(line, config) == '{"found": "*"}'


def test_the_lines_of_a_key_are_redacted_one_by_one() -> None:
    key = "-----BEGIN KEY-----\nc2VjcmV0LWtleS1saW5l\nMDEyMzQ1\n-----END KEY-----\n"
    config = NodeConfig({"kubelet_config": {"kubelet_client_key": key}})

    assert redacted("line c2VjcmV0LWtleS1saW5l of 2", config) == "line * of 2"
    assert redacted("-----BEGIN KEY-----", config) == "-----BEGIN KEY-----"


def test_the_text_behind_a_base64_secret_is_redacted() -> None:
    key = base64.b64encode(b"-----BEGIN KEY-----\nhunter2hunter2\n-----END KEY-----\n").decode()
    config = NodeConfig({"kubelet_config": {"kubelet_client_key": key}})

    assert redacted("got hunter2hunter2", config) == "got *"


def test_the_longest_spelling_comes_first() -> None:
    lengths = [len(secret) for secret in secrets_of(TOKEN)]

    assert lengths == sorted(lengths, reverse=True)
    assert lengths[-1] >= 6


def test_a_value_too_short_to_redact_is_left_out() -> None:
    config = NodeConfig({"auth_config": {"service_principal_secret": "on"}})

    assert secrets_of(config) == []
