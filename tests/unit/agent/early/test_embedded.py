"""What the renderer puts into user data comes out of it again, byte by byte, and nothing else."""

import base64
import gzip
import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fairlead.agent.early.carried_files import files_in_user_data
from fairlead.contract.boot_document import BootDocument
from fairlead.userdata.delivery import Fetch, Inline
from fairlead.userdata.render import FORMATS, Target, render_user_data

CONFIG = b'{"version": "v1", "kubernetes_version": "1.34.0"}'
CONFIG_PATH = "/opt/azure/containers/aks-node-controller-config.json"
FEATURES_PATH = "/opt/azure/containers/enabled_features.sh"


def files_of(user_data: bytes) -> dict[str, bytes]:
    return {file.place: file.content for file in files_in_user_data(user_data)}


@pytest.mark.parametrize("format_name", FORMATS)
def test_config_and_features_come_out_of_every_format(format_name: str) -> None:
    target = Target(format_name, layout="aks", features={"ENABLE_PROVISIONING_HOTFIX": "true"})

    found = files_of(render_user_data(Inline(CONFIG), target))

    assert found == {FEATURES_PATH: b"ENABLE_PROVISIONING_HOTFIX=true\n", CONFIG_PATH: CONFIG}


@pytest.mark.parametrize("format_name", FORMATS)
def test_a_boot_document_comes_out_too(format_name: str) -> None:
    ca = "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n"
    document = BootDocument("https://payload.example.test/v1/config", ca, "token-1")

    found = files_of(render_user_data(Fetch(document), Target(format_name)))

    assert list(found) == ["/etc/fairlead/boot-document.json"]
    assert json.loads(found["/etc/fairlead/boot-document.json"])["token"] == "token-1"  # noqa: S105


@pytest.mark.parametrize("format_name", FORMATS)
@given(content=st.binary(max_size=6000))
def test_any_config_comes_out_as_it_went_in(format_name: str, content: bytes) -> None:
    content = b'{"a": "' + content.replace(b"\0", b"").replace(b"u0000", b"") + b'"}'

    found = files_of(render_user_data(Inline(content), Target(format_name, layout="aks")))

    assert found == {CONFIG_PATH: content}


def test_the_wrappings_of_clouds_do_not_matter() -> None:
    document = render_user_data(Inline(CONFIG), Target("boothook", layout="aks"))

    for wrapped in (gzip.compress(document), base64.b64encode(gzip.compress(document))):
        assert files_of(wrapped) == {CONFIG_PATH: CONFIG}


def test_bytes_that_do_not_match_their_digest_are_not_taken() -> None:
    document = render_user_data(Inline(CONFIG), Target("boothook", layout="aks"))
    encoded = base64.b64encode(CONFIG)
    other = base64.b64encode(CONFIG.replace(b"34", b"35"))
    assert encoded in document

    assert files_of(document.replace(encoded, other)) == {}


def test_a_bare_document_is_known_by_its_fields() -> None:
    assert files_of(CONFIG) == {"node_config": CONFIG}
    stub = b'{"endpoint": "https://a.test/", "ca": "", "token": "t"}'
    assert files_of(stub) == {"boot_document": stub}
    assert files_of(b'{"hello": 1}') == {}
    assert files_of(b'{"version": ') == {}


def test_write_files_of_other_shapes_are_left_to_cloud_init() -> None:
    text = """\
#cloud-config
write_files:
  - content: plain text
    path: /etc/one
  - path: /etc/two
    encoding: b64
    content: "dHdv"
  - path: '/etc/three'
    encoding: gz+b64
    content: not base64!
runcmd:
  - path: /etc/four
    encoding: b64
    content: dHdv
"""
    assert files_of(text.encode()) == {"/etc/two": b"two"}


def test_somebody_elses_boothook_holds_nothing_of_ours() -> None:
    hook = b"#cloud-boothook\n#!/bin/sh\ncat > /etc/passwd <<EOF\nroot\nEOF\n"

    assert files_of(hook) == {}


@given(st.binary(max_size=400))
def test_no_bytes_make_it_raise(data: bytes) -> None:
    for start in (b"", b"#cloud-boothook\nput a b ", b"#cloud-config\nwrite_files:\n", b"{"):
        files_in_user_data(start + data)
