"""cloud-config and Ignition documents carry the same files as a boothook."""

import base64
import gzip
import json

import pytest

from fairlead.contract.boot_document import BootDocument, parse_boot_document
from fairlead.userdata.cse import cse_command
from fairlead.userdata.delivery import Fetch, Inline
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
