"""A hotfix service that runs alone hears from the machines that asked it how their boots ended."""

import json
import ssl
import time
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from builders import VALID_CONFIG
from fairlead.contract.boot_document import BootDocument, render_boot_document
from fairlead.hotfix.service.attestation.join import Joining, issue_token
from fairlead.hotfix.service.file_ledger import FileLedger
from fairlead.hotfix.service.fleet import Fleet
from ledger_boots import boot
from process.agent_process import make_aks_node, run_agent
from process.tls_server import Handler, answer, make_pair, serving
from served_hotfixes import BASE, FIX, make_depot, make_fix
from service.hotfix_service import HotfixProcess

KEY = b"k" * 40


def make_machine(root: Path, endpoint: str, ca: str, token: str) -> Path:
    """A machine whose image names a hotfix service, and whose node config came with its disk."""
    make_aks_node(root, VALID_CONFIG)
    document = BootDocument("https://plane.example.test/v1/node", ca, token)
    path = root / "opt/azure/containers/fairlead-boot-document.json"
    path.write_bytes(render_boot_document(document))
    hotfix = root / "etc/fairlead/hotfix"
    hotfix.mkdir(parents=True)
    settings = {"wire": "https", "endpoint": endpoint, "ca": ca, "attestation": "join"}
    (hotfix / "service.json").write_text(json.dumps(settings))
    (root / "etc/hostname").write_text("rack-7\n")
    return root


def test_a_service_alone_counts_the_boot_of_a_machine_that_asked_it(tmp_path: Path) -> None:
    now = datetime.now(UTC)
    fix = make_fix(everyone=True, published_at=now)
    depot = make_depot(tmp_path / "depot", [fix], now)
    (tmp_path / "join.key").write_bytes(KEY + b"\n")
    joining = Joining(
        machine="rack-7", region="local", until=now + timedelta(hours=1), nonce="n1", uses=2
    )
    token = issue_token(joining, KEY)
    served = HotfixProcess(tmp_path, depot, 1, "--join-key", "join.key")
    try:
        ca = (tmp_path / "certificates/authority.pem").read_text()
        endpoint = f"https://127.0.0.1:{served.port}/v1/hotfix"
        root = make_machine(tmp_path / "machine", endpoint, ca, token)
        (root / "etc/fairlead/hotfix/root.json").write_bytes(depot.read_signed().roots[0])
        ran = run_agent("boot", "--root", str(root), ENABLE_PROVISIONING_HOTFIX="true")

        assert ran.returncode == 0, ran.stderr
        assert f'"how":"to {endpoint}-report"' in ran.stderr
        assert Fleet(depot.directory).used_by("fairlead-node", "rack-7") == ""
        (reach,) = Fleet(depot.directory).reach_of([fix])
        assert reach.lack == 1
        assert served.stop() == 0
        assert not any(token in text for text in (served.log.read_text(), ran.stderr))
    finally:
        served.kill()


def test_a_machine_boots_without_the_fix_of_its_last_boot_once_it_was_halted(
    tmp_path: Path,
) -> None:
    now = datetime.now(UTC)
    fix = make_fix(published_at=now)
    depot = make_depot(tmp_path / "depot", [fix], now)
    ledger = FileLedger(depot.directory)
    for name in ("m1", "m2"):
        ledger.count(boot(name, fixed=True, good=False), [fix], now)
    ledger.close()
    (tmp_path / "join.key").write_bytes(KEY + b"\n")
    joining = Joining(machine="rack-7", region="local", until=now + timedelta(hours=1), nonce="n2")
    served = HotfixProcess(tmp_path, depot, 1, "--join-key", "join.key")
    try:
        ca = (tmp_path / "certificates/authority.pem").read_text()
        endpoint = f"https://127.0.0.1:{served.port}/v1/hotfix"
        root = make_machine(tmp_path / "machine", endpoint, ca, issue_token(joining, KEY))
        (root / "etc/fairlead/hotfix/root.json").write_bytes(depot.read_signed().roots[0])
        pointer = root / "opt/azure/containers/aks-node-controller-hotfix.json"
        pointer.write_text(json.dumps({"hotfixes": {BASE: FIX}}))
        ran = run_agent("boot", "--root", str(root), ENABLE_PROVISIONING_HOTFIX="true")
    finally:
        served.kill()

    assert ran.returncode == 0, ran.stderr
    assert json.loads(pointer.read_text()) == {"hotfixes": {BASE: None}}


@pytest.fixture(scope="module")
def certificates(tmp_path_factory: pytest.TempPathFactory) -> Path:
    directory = tmp_path_factory.mktemp("certificates")
    make_pair(directory, "good", "IP:127.0.0.1")
    return directory


def hang(connection: ssl.SSLSocket, _request: bytes) -> None:
    connection.settimeout(40)
    connection.recv(1)


def told(handler: Handler) -> Handler:
    """Nothing is published; reports are answered so."""

    def send(connection: ssl.SSLSocket, request: bytes) -> None:
        is_report = request.startswith(b"POST /v1/hotfix-report HTTP/1.1\r\n")
        (handler if is_report else answer(200, b'{"hotfixes": {}}'))(connection, request)

    return send


def booted(certificates: Path, tmp_path: Path, handler: Handler, **variables: str) -> Iterator[str]:
    ca = (certificates / "good-ca.pem").read_text()
    with serving(certificates, told(handler)) as server:
        endpoint = f"https://127.0.0.1:{server.port}/v1/hotfix"
        root = make_machine(tmp_path, endpoint, ca, "dG9rZW4=")
        ran = run_agent("boot", "--root", str(root), **variables)
        assert ran.returncode == 0
        assert (
            json.loads((root / "var/log/azure/aks/provision.json").read_text())["ExitCode"] == "0"
        )
        yield ran.stderr
        yield from (request.decode().partition(" HTTP")[0] for request in server.requests)


def test_a_report_that_is_refused_is_said_and_fails_nothing(
    certificates: Path, tmp_path: Path
) -> None:
    said, *asked = booted(certificates, tmp_path, answer(401), ENABLE_PROVISIONING_HOTFIX="true")

    assert asked[-1] == "POST /v1/hotfix-report"
    assert len(asked) == 2
    assert "does not know how this boot ended: " in said
    assert "status 401" in said


def test_without_the_feature_nobody_is_told(certificates: Path, tmp_path: Path) -> None:
    _, *asked = booted(certificates, tmp_path, answer(204))

    assert asked == []


@pytest.mark.slow
def test_a_service_that_hangs_is_given_up_after_the_verdict(
    certificates: Path, tmp_path: Path
) -> None:
    began = time.monotonic()
    said, *_ = booted(certificates, tmp_path, hang, ENABLE_PROVISIONING_HOTFIX="true")

    assert "does not know how this boot ended: " in said
    assert time.monotonic() - began < 20 + 5
