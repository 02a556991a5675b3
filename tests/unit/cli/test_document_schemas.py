"""The JSON Schemas: as committed, true to the parser, and accepting the examples."""

from __future__ import annotations

import copy
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import jsonschema  # type: ignore[import-untyped]
import pytest

from fairlead.cli.files.documents import parse_documents, read_documents
from fairlead.cli.main import run_command
from fairlead.errors import InputError
from fairlead.inputs.schema import node_pool_schema, platform_config_schema
from shared_cases import REPOSITORY

SCHEMAS = {"NodePool": node_pool_schema(), "PlatformConfig": platform_config_schema()}
VALIDATORS = {name: jsonschema.Draft202012Validator(schema) for name, schema in SCHEMAS.items()}
COMMITTED = {
    "NodePool": REPOSITORY / "docs/reference/node-pool.schema.json",
    "PlatformConfig": REPOSITORY / "docs/reference/platform-config.schema.json",
}

# Every field once, each with a value that is right.
WHOLE_POOL: dict[str, Any] = {
    "description": "a note",
    "replicas": 3,
    "release": {"version": "1.34.2", "digest": "sha256:1111", "allow": ["Skew"]},
    "imageBase": "202607.02",
    "osStream": "ubuntu-24.04",
    "pullSecret": {"name": "registry-login"},
    "trustBundle": {"name": "bundle"},
    "proxy": {"http": "http://p", "https": "http://p", "noProxy": [".svc"]},
    "sshKeys": ["ssh-ed25519 AAAA"],
    "endpoint": {"name": "api.example:6443"},
    "machineTemplate": {"vmSize": "m5.large"},
    "proxyImage": "haproxy@sha256:cc",
    "labels": {"example.com/team": "platform"},
    "taints": [{"key": "gpu", "value": "yes", "effect": "NoSchedule"}],
    "timeouts": {"drain": "90s", "join": "1h30m", "ready": "8m"},
    "autoRepair": True,
    "maxUnhealthy": "40%",
    "management": {
        "type": "Replace",
        "strategy": "RollingUpdate",
        "maxSurge": "25%",
        "maxUnavailable": 1,
    },
    "rollout": {
        "windows": [{"days": ["Sat"], "start": "22:00", "duration": "4h", "zone": "Europe/Berlin"}],
        "canary": [1, "25%"],
        "soak": "10m",
        "haltAfter": 2,
        "estimate": "5s",
        "resume": "again",
        "replaceWithout": {"fix": "202607.02.3", "request": "again"},
    },
    "platformChanges": {
        "newNodes": "Hold",
        "maximumAge": {"routine": "30d", "security": "7d", "connectivity": "1d"},
    },
    "secretContent": "Drift",
    "paused": {"until": "2026-11-20T22:00:00Z", "scalingToo": True},
    "force": "once",
    "config": [
        {
            "kind": "KubeletConfiguration",
            "apiVersion": "kubelet.config.k8s.io/v1beta1",
            "maxPods": 110,
        },
        {"kind": "ContainerdConfiguration", "settings": {"oom_score": 0}},
        {"kind": "Sysctl", "settings": {"vm.max_map_count": 262144}},
        {"kind": "Files", "files": [{"path": "/etc/motd", "content": "hi", "mode": "0644"}]},
        {"kind": "Mirrors", "mirrors": [{"source": "a.example", "mirrors": ["b.example"]}]},
    ],
}
WHOLE_PLATFORM: dict[str, Any] = {
    "description": "a note",
    "proxy": {"image": "haproxy@sha256:aa", "template": {"a": 1}},
    "registryOverrides": {"registry.example.com": "mirror.example.com"},
    "controlPlaneImage": "cp@sha256:aa",
    "controlPlaneVersion": "1.34.1",
    "noProxy": [".svc"],
    "metadataAddress": "169.254.169.254",
    "regionDomains": ["example.com"],
    "loadBalancerAddress": "10.0.0.4",
    "machineTemplateDefaults": {"disk": 100},
    "components": {"cni": "v1"},
    "cloudConfig": "text",
    "defaults": {"etcd": "3.6"},
    "hotfix": {"202607.02": "202607.02.1"},
    "stub": {"endpoint": "https://a", "ca": "CA", "proxy": "http://p", "report": "https://b"},
    "stopEverything": False,
    "notices": {"proxy.image": {"id": "CHG-1", "owner": "networking", "severity": "security"}},
}
WHOLE = {"NodePool": WHOLE_POOL, "PlatformConfig": WHOLE_PLATFORM}

# Values that are wrong somewhere; each is put in the place of every value of a whole document.
STRANGERS: tuple[Any, ...] = (
    -1,
    2.5,
    True,
    "lots",
    "101%",
    "5 minutes",
    "25:00",
    "2026-11-20 22:00",
    ["x", 1],
    {"surprise": 1},
    [{"surprise": 1}],
)


def document(kind: str, spec: dict[str, Any]) -> dict[str, Any]:
    return {
        "apiVersion": "fairlead.dev/v1alpha1",
        "kind": kind,
        "metadata": {"name": "workers"},
        "spec": spec,
    }


def schema_refuses(value: dict[str, Any]) -> bool:
    return not VALIDATORS[value["kind"]].is_valid(value)


def parser_refuses(value: dict[str, Any]) -> bool:
    try:
        parse_documents(json.dumps(value), "document.json")
    except InputError:
        return True
    return False


Path_ = tuple[str | int, ...]


def places(value: Any, path: Path_ = ()) -> Iterator[Path_]:
    items = value.items() if isinstance(value, dict) else enumerate(value)
    for name, item in items:
        yield (*path, name)
        if isinstance(item, dict | list):
            yield from places(item, (*path, name))


def changed(value: dict[str, Any], path: Path_, stranger: Any) -> dict[str, Any]:
    result = copy.deepcopy(value)
    place: Any = result
    for name in path[:-1]:
        place = place[name]
    place[path[-1]] = stranger
    return result


def mistakes(kind: str) -> Iterator[tuple[Path_, Any, dict[str, Any]]]:
    whole = document(kind, WHOLE[kind])
    for path in places(whole):
        if path in (("kind",), ("spec",)):
            continue
        for stranger in STRANGERS:
            yield path, stranger, changed(whole, path, stranger)
        if isinstance(path[-1], str):
            misspelt = copy.deepcopy(whole)
            place: Any = misspelt
            for name in path[:-1]:
                place = place[name]
            place[f"{path[-1]}x"] = place.pop(path[-1])
            yield path, "(misspelt)", misspelt


# Which zones there are, what a kubelet takes as a label, a taint or its own document, what
# containerd takes as an address and sshd as a key, is the judge's to know.
BEYOND_A_SCHEMA = {
    "spec.config[0].apiVersion",
    "spec.config[4].mirrors[0].source",
    "spec.config[4].mirrors[0].mirrors[0]",
    "spec.sshKeys[0]",
    "spec.registryOverrides.registry.example.com",
    "spec.rollout.windows[0].zone",
    "spec.labels.example.com/team",
    "spec.taints[0].key",
    "spec.taints[0].value",
}
# A note for people, which the parser of pools never looks at.
BEYOND_THE_PARSER = {"spec.description"}


def written(path: Path_) -> str:
    text = ""
    for name in path:
        text += f"[{name}]" if isinstance(name, int) else f".{name}"
    return text.removeprefix(".")


@pytest.mark.parametrize("kind", ["NodePool", "PlatformConfig"])
def test_the_committed_schema_is_the_one_that_the_command_prints(
    kind: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run_command(["schema", kind]) == 0

    # On a difference: fairlead schema KIND > the committed file.
    assert COMMITTED[kind].read_text() == capsys.readouterr().out
    jsonschema.Draft202012Validator.check_schema(SCHEMAS[kind])


@pytest.mark.parametrize("name", ["pool.yaml", "platform.yaml"])
def test_the_schema_accepts_the_examples(name: str) -> None:
    for found in read_documents(REPOSITORY / "examples" / name):
        jsonschema.validate(dict(found), SCHEMAS[found.kind])


@pytest.mark.parametrize("kind", ["NodePool", "PlatformConfig"])
def test_a_document_with_every_field_is_accepted_by_both(kind: str) -> None:
    whole = document(kind, WHOLE[kind])

    jsonschema.validate(whole, SCHEMAS[kind])
    assert not parser_refuses(whole)
    # Beside replicas, autoscaling would say nothing but their bounds.
    assert {*WHOLE[kind], "autoscaling"} >= set(SCHEMAS[kind]["properties"]["spec"]["properties"])  # type: ignore[index]


@pytest.mark.parametrize(("kind", "fewest"), [("NodePool", 800), ("PlatformConfig", 200)])
def test_schema_and_parser_agree_on_every_mistake(kind: str, fewest: int) -> None:
    disagreements = []
    refused = 0
    for path, stranger, value in mistakes(kind):
        where, by_schema, by_parser = written(path), schema_refuses(value), parser_refuses(value)
        refused += by_schema and by_parser
        excused = BEYOND_THE_PARSER if by_schema else BEYOND_A_SCHEMA
        if by_schema != by_parser and where not in excused:
            disagreements.append((where, stranger, f"schema refuses: {by_schema}"))

    assert disagreements == []
    assert refused >= fewest


def test_the_reference_folder_holds_no_other_schema() -> None:
    folder = REPOSITORY / "docs/reference"

    answers = folder / "answers.schema.json"  # tests/unit/answers compares it
    expected = sorted([answers, *(Path(path) for path in COMMITTED.values())])
    assert sorted(folder.glob("*.schema.json")) == expected


@pytest.mark.parametrize(
    ("version", "is_one"),
    [
        ("1.34.2", True),
        ("1.34.0", True),
        ("1.34.2-rc.01", True),
        ("01.34.2", False),
        ("1.034.2", False),
        ("1.34.02-rc.1", False),
        ("v1.34.2", False),
        ("1.34", False),
        ("1.34.12345", False),
        ("1.34.2+k3s1", False),
    ],
)
@pytest.mark.parametrize("kind", ["NodePool", "PlatformConfig"])
def test_schema_and_parser_agree_on_what_a_version_is(
    kind: str, version: str, is_one: bool
) -> None:
    spec: dict[str, Any] = {"controlPlaneVersion": version}
    if kind == "NodePool":
        spec = {**WHOLE_POOL, "release": {"version": version}}
    value = document(kind, spec)

    assert (schema_refuses(value), parser_refuses(value)) == (not is_one, not is_one)
