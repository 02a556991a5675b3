"""The `fairlead` object: read flat, judged by who uses it, and no news for bootstrap scripts."""

import json
from typing import Any

import pytest

from fairlead.contract.node_config import NodeConfig
from fairlead.contract.node_parse import parse_node_config
from fairlead.contract.node_secrets import secrets_of
from fairlead.contract.node_settings import (
    containerd_of,
    files_of,
    mirrors_of,
    problems_of,
    sysctls_of,
)
from fairlead.errors import InputError
from node_write import write_node_config

SETTINGS: dict[str, Any] = {
    "config.files./etc/motd": {"contentBase64": "aGVsbG8K", "mode": "0640"},
    "config.sysctl.vm.swappiness": "10",
    "config.mirrors.docker.io": ["https://mirror.example.test", "cache.example.test:5000/"],
    "config.containerd.debug": {"level": "warn"},
    "imageBase": "ubuntu-24.04",
    "trustBundle.name": "corporate",
}


def document(settings: object, **more: object) -> bytes:
    return json.dumps({"version": "v1", "fairlead": settings, **more}).encode()


def test_settings_are_kept_flat_and_beside_the_fields() -> None:
    parsed = parse_node_config(document(SETTINGS))

    assert parsed.problems == []
    assert parsed.config.fields == {"version": "v1"}
    assert parsed.config.settings == SETTINGS


def test_the_receipt_counts_what_is_applied_and_names_what_is_not() -> None:
    receipt = parse_node_config(document(SETTINGS)).receipt
    plain = parse_node_config(b'{"version": "v1"}').receipt

    assert receipt.understood == 5
    assert receipt.defaulted == plain.defaulted
    assert receipt.ignored_paths == ["fairlead[imageBase]", "fairlead[trustBundle.name]"]


def test_scripts_have_no_use_for_settings_and_the_receipt_says_so() -> None:
    parsed = parse_node_config(document(SETTINGS), takes_settings=False)

    assert parsed.config.settings == {}
    assert parsed.problems == []
    assert (parsed.receipt.understood, parsed.receipt.ignored_paths) == (1, ["fairlead"])


@pytest.mark.parametrize("value", [1, "x", [], True])
def test_settings_that_are_no_object_are_a_problem(value: object) -> None:
    parsed = parse_node_config(document(value))

    assert [problem.path for problem in parsed.problems] == ["fairlead"]
    assert parsed.config.settings == {}


def test_settings_that_are_null_are_none() -> None:
    parsed = parse_node_config(document(None))

    assert (parsed.problems, parsed.receipt.ignored) == ([], 0)


def test_of_a_setting_given_twice_the_first_stays() -> None:
    text = b'{"fairlead": {"config.sysctl.a.b": "1", "config.sysctl.a.b": "2"}}'

    parsed = parse_node_config(text)

    assert parsed.config.settings == {"config.sysctl.a.b": "1"}
    assert [problem.path for problem in parsed.problems] == ["fairlead[config.sysctl.a.b]"]


def test_nesting_without_end_never_raises() -> None:
    text = b'{"fairlead": {"config.containerd.a": ' + b'{"a":' * 5000 + b"1" + b"}" * 5002

    parsed = parse_node_config(text)

    assert len(parsed.problems) == 1


@pytest.mark.parametrize(
    ("path", "takes_settings", "violations"),
    [
        ("fairlead", True, 0),
        ("fairlead", False, 1),
        ("fairlead.config.files./etc/motd", True, 0),
        ("fairlead.config.files./etc/motd", False, 1),
        ("fairlead.config.later.x", True, 1),
        ("fairlead.trustBundle.name", True, 1),
    ],
)
def test_what_must_be_understood_may_be_a_setting(
    path: str, takes_settings: bool, violations: int
) -> None:
    text = document(SETTINGS, mustUnderstand=[path])

    found = parse_node_config(text, takes_settings=takes_settings)

    assert len(found.violations) == violations


def test_settings_survive_a_rewrite() -> None:
    config = parse_node_config(document(SETTINGS)).config

    again = parse_node_config(write_node_config(config).encode()).config

    assert (again.fields, again.settings) == (config.fields, config.settings)


def test_the_settings_of_a_machine_as_values() -> None:
    config = NodeConfig({}, SETTINGS)

    (file,) = files_of(config)
    assert (file.path, file.content, file.mode) == ("/etc/motd", b"hello\n", 0o640)
    assert sysctls_of(config) == {"vm.swappiness": "10"}
    assert mirrors_of(config) == {
        "docker.io": ["https://mirror.example.test", "https://cache.example.test:5000"]
    }
    assert containerd_of(config) == {"debug": {"level": "warn"}}
    assert list(problems_of(config)) == []


def test_a_password_in_the_address_of_a_mirror_is_a_secret() -> None:
    config = NodeConfig({}, {"config.mirrors.a": ["https://user:pass-word-1@mirror.example.test"]})

    assert "pass-word-1" in secrets_of(config)


GOOD = {"contentBase64": "", "mode": "0644"}

REFUSED: list[tuple[str, object]] = [
    ("config.files.etc/motd", GOOD),
    ("config.files.", GOOD),
    ("config.files./", GOOD),
    ("config.files./etc/", GOOD),
    ("config.files./etc//motd", GOOD),
    ("config.files./etc/../motd", GOOD),
    ("config.files./etc/./motd", GOOD),
    ("config.files./..", GOOD),
    ("config.files./etc/a\nb", GOOD),
    ("config.files./etc/a\0b", GOOD),
    ("config.files./etc/motd", "text"),
    ("config.files./etc/motd", {}),
    ("config.files./etc/motd", {"contentBase64": "a"}),
    ("config.files./etc/motd", {"contentBase64": "a==="}),
    ("config.files./etc/motd", {"contentBase64": "a b="}),
    ("config.files./etc/motd", {"contentBase64": 7}),
    ("config.files./etc/motd", {"contentBase64": "", "mode": "0999"}),
    ("config.files./etc/motd", {"contentBase64": "", "mode": "00644"}),
    ("config.files./etc/motd", {"contentBase64": "", "mode": 420}),
    ("config.files./etc/motd", {"contentBase64": "", "mode": "-644"}),
    ("config.sysctl.", "1"),
    ("config.sysctl.-net.core.somaxconn", "1"),
    ("config.sysctl.net.ipv4.conf.*.rp_filter", "1"),
    ("config.sysctl.a = 1\nkernel.panic", "1"),
    ("config.sysctl.../../etc/passwd", "1"),
    ("config.sysctl.net.//.//.//.etc.passwd", "1"),
    ("config.sysctl.vm.swappiness", ""),
    ("config.sysctl.vm.swappiness", " "),
    ("config.sysctl.vm.swappiness", 10),
    ("config.sysctl.vm.swappiness", "1\nkernel.panic = 1"),
    ("config.mirrors.", ["https://a"]),
    ("config.mirrors..", ["https://a"]),
    ("config.mirrors...", ["https://a"]),
    ("config.mirrors.docker.io/library", ["https://a"]),
    ("config.mirrors.../../etc", ["https://a"]),
    ("config.mirrors.docker.io", "https://a"),
    ("config.mirrors.docker.io", [1]),
    ("config.mirrors.docker.io", ["ftp://a"]),
    ("config.mirrors.docker.io", ["https:///a"]),
    ("config.mirrors.docker.io", ["https://a b"]),
    ("config.mirrors.docker.io", ['https://a"]\n[host."https://evil']),
    ("config.mirrors.docker.io", [""]),
    ("config.containerd.debug", None),
    ("config.containerd.debug", {"a": [None]}),
    ("config.containerd.debug", {"a": 2**64}),
    ("config.containerd.debug", "\ud800"),
]


@pytest.mark.parametrize(("name", "value"), REFUSED)
def test_a_setting_that_cannot_be_used_is_refused_by_its_name(name: str, value: object) -> None:
    (problem,) = problems_of(NodeConfig({}, {name: value}))

    assert isinstance(problem, InputError)
    assert problem.field.startswith("fairlead[config.")
    assert problem.field.isprintable()
