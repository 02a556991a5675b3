"""What the platform reads instead of a registry is what containerd reads, after the owner's."""

import json
from pathlib import Path
from typing import Any

import pytest

from fairlead.agent.host import RealHost
from fairlead.contract.node_parse import parse_node_config
from pool_documents import make_revision, platform_document
from unit.agent.steps.machine import changes_of, make_config, run_all, words_of

OVERRIDE = "platform.registryOverrides.docker.io"


def hosts_of(root: Path, settings: dict[str, Any]) -> str:
    run_all(RealHost(str(root)), make_config(fairlead=settings))
    return (root / "etc/containerd/certs.d/docker.io/hosts.toml").read_text()


def test_a_registry_is_read_where_the_platform_says(tmp_path: Path) -> None:
    revision = make_revision(
        platform=platform_document(registryOverrides={"docker.io": "cache.example.test:5000"})
    )

    assert hosts_of(tmp_path, json.loads(revision.node_config)["fairlead"]) == (
        "# Written by fairlead-node: the mirrors of this pool.\n"
        'server = "https://cache.example.test:5000"\n'
        'capabilities = ["pull", "resolve"]\n'
    )


def test_the_mirrors_of_the_owner_are_tried_first(tmp_path: Path) -> None:
    settings = {
        OVERRIDE: "https://harbor.example.test/v2/proxy",
        "config.mirrors.docker.io": ["mirror.example.test"],
    }

    assert hosts_of(tmp_path, settings) == (
        "# Written by fairlead-node: the mirrors of this pool.\n"
        'server = "https://harbor.example.test/v2/proxy"\n'
        'capabilities = ["pull", "resolve"]\n'
        "override_path = true\n"
        '[host."https://mirror.example.test"]\n'
        'capabilities = ["pull", "resolve"]\n'
    )


def test_an_override_that_goes_takes_its_file_along(tmp_path: Path) -> None:
    hosts_of(tmp_path, {OVERRIDE: "cache.example.test"})

    result = run_all(RealHost(str(tmp_path)), make_config())

    assert changes_of(result) == ["removed /etc/containerd/certs.d/docker.io/hosts.toml"]


@pytest.mark.parametrize(
    ("name", "value"),
    [(OVERRIDE, "ftp://x"), (OVERRIDE, 7), ("platform.registryOverrides.../../x", "x.example")],
)
def test_a_mistake_of_the_platform_is_said_and_stops_no_boot(
    tmp_path: Path, name: str, value: object
) -> None:
    result = run_all(RealHost(str(tmp_path)), make_config(fairlead={name: value}))

    assert words_of(result)["registry-mirrors"] == "done"
    (run,) = [run for run in result.runs if run.name == "registry-mirrors"]
    assert "fairlead[platform.registryOverrides." in run.cause
    assert list((tmp_path / "etc/containerd/certs.d").iterdir()) == []


def test_the_receipt_counts_an_override_as_understood() -> None:
    text = json.dumps({"fairlead": {OVERRIDE: "cache.example.test"}}).encode()

    assert parse_node_config(text).receipt.ignored_paths == []
