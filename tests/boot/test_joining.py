"""A machine whose cluster answers: it is a node if the cluster takes it, and not if it does not."""

import json
import shutil
from base64 import b64encode
from pathlib import Path
from typing import Any

import pytest

from boot.boot_case import IMAGES, BootCase, booted, enable
from boot.control_plane import CONTROL_PLANE_TOOLS, make_certificate
from boot.node import Node, missing_tools
from boot.roots import SUITES

pytestmark = [pytest.mark.root, pytest.mark.slow]

KNOWN = "abcdef.0123456789abcdef"
UNKNOWN = "abcdef.fedcba9876543210"


def make_case(folder: Path, token: str) -> BootCase:
    """A machine without scripts, with a cluster beside it that knows one token."""
    root = folder / "given" / "root"
    shutil.copytree(IMAGES / "cluster", root)
    settings = root / "etc/boot-test"
    settings.mkdir(parents=True)
    ca = make_certificate(folder)
    shutil.copy(folder / "server.pem", settings)
    (settings / "token").write_text(KNOWN)
    enable(root, "sysinit.target", "boot-test-api-server.service")
    config = {
        "version": "v1",
        "api_server_config": {"api_server_name": "127.0.0.1:6443"},
        "bootstrapping_config": {"tls_bootstrapping_token": token},
        "kubernetes_ca_cert": b64encode(ca.encode()).decode(),
    }
    (folder / "given" / "node-config.json").write_text(json.dumps(config))
    return BootCase("joining", folder, image="plain", seed="directory", render="boothook")


def status_of(node: Node) -> dict[str, Any]:
    status: dict[str, Any] = json.loads(node.read("/var/log/fairlead/provision.json"))
    return status


def skip_without_tools() -> None:
    missing = missing_tools(*CONTROL_PLANE_TOOLS)
    if missing:
        pytest.skip(f"NOT RUN: needs {', '.join(missing)}")


@pytest.mark.parametrize("suite", SUITES)
def test_a_wrong_token_with_a_cluster_that_answers_is_not_provisioned(
    suite: str, tmp_path: Path
) -> None:
    skip_without_tools()
    with booted(make_case(tmp_path, UNKNOWN), suite) as result:
        status = status_of(result.node)

    assert status["ExitCode"] == "241"
    assert "does not know the bootstrap token of this machine (status 401)" in status["Error"]
    assert "cannot create certificate signing request: Unauthorized" in status["Error"]
    assert "cannot create certificate signing request" in json.dumps(status["fairlead"])
    assert result.failed == ["fairlead-node-check.service", "fairlead-node.service"]


@pytest.mark.parametrize("suite", SUITES)
def test_a_machine_that_its_cluster_shows_is_provisioned_without_a_doubt(
    suite: str, tmp_path: Path
) -> None:
    skip_without_tools()
    with booted(make_case(tmp_path, KNOWN), suite) as result:
        status = status_of(result.node)

    assert status["ExitCode"] == "0", result.journal[-3000:]
    assert "unconfirmed" not in status["fairlead"]["facts"]
    assert "wait-for-node: already: the cluster knows node node" in status["Output"]
