"""cloud-config and Ignition documents carry the same files as a boothook."""

import base64
import gzip
import json

import pytest

from fairlead.contract.boot_document import BootDocument, parse_boot_document
from fairlead.userdata.cse import cse_command
from fairlead.userdata.delivery import Fetch, Inline, files_of
from fairlead.userdata.render import Target, render_user_data
from shared_cases import GOLDEN

CONFIG = b'{"version": "v1", "kubernetes_version": "1.34.0"}\n'
CA = "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n"
FEATURES = {"ENABLE_PROVISIONING_HOTFIX": "true"}


@pytest.mark.parametrize(
    ("format_name", "golden"),
    [("cloud-config", "cloud-config.yaml"), ("ignition", "ignition.json")],
)
def test_the_document_is_pinned_byte_for_byte(format_name: str, golden: str) -> None:
    document = render_user_data(Inline(CONFIG), Target(format_name, features=FEATURES))

    assert document == (GOLDEN / "userdata" / golden).read_bytes()


@pytest.mark.parametrize("format_name", ["boothook", "cloud-config", "ignition"])
def test_features_of_the_config_are_written_as_if_they_were_asked_for(format_name: str) -> None:
    config = (
        b'{"version": "v1", "enabledFeatures": {"B": "2", "A": "$(x)", "9": "1", "C": "a\\nb"}}'
    )

    files = files_of(Inline(config), "aks", {})
    given = files_of(Inline(config), "aks", {"A": "1"})

    assert [(file.path, file.content) for file in files] == [
        ("/opt/azure/containers/enabled_features.sh", b"A=$(x)\nB=2\n"),
        ("/opt/azure/containers/aks-node-controller-config.json", config),
    ]
    assert given[0].content == b"A=1\nB=2\n"
    target = Target(format_name, layout="aks")
    asked_for = Target(format_name, layout="aks", features={"B": "2", "A": "$(x)"})
    assert render_user_data(Inline(config), target) == render_user_data(Inline(config), asked_for)


@pytest.mark.parametrize(
    "config",
    [
        b'{"version": "v1"}',
        b'{"version": "v1", "enabled_features": {}}',
        b'{"version": "v1", "enabled_features": null}',
        b'{"version": "v1", "enabled_features": {"9": "1", "A-B": "1", "C": "a\\rb", "D": null}}',
        b'{"version": "v1", "enabled_features": {"A": 1}}',
        b'{"version": "v1", "enabled_features": ["A=1"]}',
        b"not json",
    ],
)
def test_a_config_that_enables_nothing_valid_brings_no_feature_file(config: bytes) -> None:
    assert [file.path for file in files_of(Inline(config), "fairlead", {})] == [
        "/etc/fairlead/node-config.json"
    ]


def test_a_fetch_document_is_pinned_byte_for_byte() -> None:
    delivery = Fetch(BootDocument("https://api.example.test:8443/node", CA, "dG9rZW4="))

    document = render_user_data(delivery, Target("ignition", layout="aks"))

    assert document == (GOLDEN / "userdata/fetch-ignition.json").read_bytes()
    source = json.loads(document)["storage"]["files"][0]["contents"]["source"]
    stub = parse_boot_document(base64.b64decode(source.removeprefix("data:;base64,")))
    assert (stub.endpoint, stub.ca, stub.token, stub.deadline_s) == (
        "https://api.example.test:8443/node",
        CA,
        "dG9rZW4=",
        300,
    )


def test_a_large_file_is_compressed_where_the_consumer_says_how_to_unpack_it() -> None:
    config = b'{"version": "v1", "x": "' + b"a" * 5000 + b'"}'

    ignition = json.loads(render_user_data(Inline(config), Target("ignition")))
    cloud_config = render_user_data(Inline(config), Target("cloud-config")).decode()

    contents = ignition["storage"]["files"][0]["contents"]
    assert contents["compression"] == "gzip"
    packed = base64.b64decode(contents["source"].removeprefix("data:;base64,"))
    assert gzip.decompress(packed) == config
    assert "encoding: gz+b64" in cloud_config
    lines = cloud_config.partition("content: |\n")[2]
    assert gzip.decompress(base64.b64decode(lines)) == config


def test_ignition_files_are_private_and_the_unit_is_enabled() -> None:
    config = json.loads(
        render_user_data(Inline(CONFIG), Target("ignition", ignition_version="3.3.0"))
    )

    assert config["ignition"] == {"version": "3.3.0"}
    assert [file["mode"] for file in config["storage"]["files"]] == [384]
    assert config["systemd"]["units"] == [{"name": "fairlead-node.service", "enabled": True}]


def test_the_command_that_waits() -> None:
    assert cse_command("fairlead") == "/usr/lib/fairlead/fairlead-node provision-wait"
    assert cse_command("aks") == "/opt/azure/containers/aks-node-controller provision-wait"
