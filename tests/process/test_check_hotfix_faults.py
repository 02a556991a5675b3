"""check-hotfix against servers that fail in every way: it exits 0 in time and falls back."""

import json
import socket
import ssl
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from builders import VALID_CONFIG
from fairlead.contract.boot_document import BootDocument, render_boot_document
from process.agent_process import make_aks_node, run_agent
from process.tls_server import Handler, answer, hang, make_pair, raw, serving

TOKEN = "dG9rZW4tb2YtdGhlLW1hY2hpbmU="
CARRIED = {"202604.01": "202604.01.3"}

# The round trip has 3 s; the rest is a start of the interpreter on a busy machine.
IN_TIME_S = 3.0 + 2.5


@pytest.fixture(scope="module")
def certificates(tmp_path_factory: pytest.TempPathFactory) -> Path:
    directory = tmp_path_factory.mktemp("certificates")
    make_pair(directory, "good", "IP:127.0.0.1")
    make_pair(directory, "elsewhere", "DNS:other.example.test")
    return directory


def drip(connection: ssl.SSLSocket, _request: bytes) -> None:
    connection.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 5000\r\n\r\n")
    for _ in range(45):
        connection.sendall(b"{")
        time.sleep(0.1)


def cut(connection: ssl.SSLSocket, _request: bytes) -> None:
    connection.sendall(b'HTTP/1.1 200 OK\r\nContent-Length: 50\r\n\r\n{"hotfixes": {}}')
    socket.socket(fileno=connection.detach()).close()


def node_with(root: Path, endpoint: str, ca: str) -> Path:
    """An AKS machine with a boot document, whose custom data carries a pointer; its file."""
    make_aks_node(root, {**VALID_CONFIG, "hotfixes": CARRIED})
    document = render_boot_document(BootDocument(endpoint, ca, TOKEN))
    (root / "opt/azure/containers/fairlead-boot-document.json").write_bytes(document)
    return root / "opt/azure/containers/aks-node-controller-hotfix.json"


def event_of(root: Path) -> dict[str, Any]:
    (path,) = root.rglob("events/*.json")
    event: dict[str, Any] = json.loads(path.read_text())
    return event


def check(root: Path) -> str:
    """Run the command; return the message of its event."""
    start = time.monotonic()
    found = run_agent("check-hotfix", "--root", str(root))
    assert time.monotonic() - start < IN_TIME_S
    assert (found.returncode, found.stdout) == (0, "")
    files = (
        path for path in root.rglob("*") if path.is_file() and "boot-document" not in path.name
    )
    assert TOKEN not in found.stderr
    assert all(TOKEN.encode() not in path.read_bytes() for path in files)
    message: str = event_of(root)["Message"]
    return message.partition(" | ")[0]


@pytest.mark.parametrize(
    ("handler", "cause"),
    [
        (hang, "timed out"),
        (drip, "time"),  # whichever notices first: "timed out", or "no whole answer in time"
        (cut, ""),
        (answer(500), "Internal"),
        (answer(503), "Unavailable"),
        (answer(502), "status 502"),
        (raw(b"SSH-2.0-x\r\n\r\n"), "no HTTP status"),
    ],
    ids=["hang", "drip", "cut", "500", "503", "502", "ssh"],
)
def test_a_service_that_does_not_answer_is_replaced_by_custom_data(
    certificates: Path, tmp_path: Path, handler: Handler, cause: str
) -> None:
    ca = (certificates / "good-ca.pem").read_text()
    with serving(certificates, handler) as server:
        pointer = node_with(tmp_path, server.endpoint, ca)
        message = check(tmp_path)

    assert message.startswith("check-hotfix outcome=customDataFallback error=")
    assert cause in message
    assert json.loads(pointer.read_text()) == {"hotfixes": CARRIED}
    assert event_of(tmp_path)["EventLevel"] == "Informational"


@contextmanager
def nobody() -> Iterator[int]:
    """A port that refuses."""
    with socket.create_server(("127.0.0.1", 0)) as listening:
        port = listening.getsockname()[1]
    yield port


def test_a_service_that_refuses_connections_is_replaced_by_custom_data(
    certificates: Path, tmp_path: Path
) -> None:
    with nobody() as port:
        node_with(
            tmp_path, f"https://127.0.0.1:{port}/", (certificates / "good-ca.pem").read_text()
        )
        message = check(tmp_path)

    assert "outcome=customDataFallback" in message
    assert "Connection refused" in message


@pytest.mark.parametrize(("pair", "ca"), [("good", "elsewhere"), ("elsewhere", "elsewhere")])
def test_a_server_that_cannot_prove_itself_is_not_told_who_asks(
    certificates: Path, tmp_path: Path, pair: str, ca: str
) -> None:
    text = (certificates / f"{ca}-ca.pem").read_text()
    with serving(certificates, answer(200, b"{}"), pair=pair) as server:
        node_with(tmp_path, server.endpoint, text)
        message = check(tmp_path)

    assert "127.0.0.1 did not prove itself" in message
    assert server.requests == []


@pytest.mark.parametrize(
    ("status", "outcome", "level"),
    [
        (401, "attestationRejected error=Unauthenticated", "Error"),
        (403, "attestationRejected error=PermissionDenied", "Error"),
        (404, "noHotfixAvailable error=NotFound", "Informational"),
        (429, "failed error=ResourceExhausted", "Error"),
    ],
)
def test_a_refusal_is_an_outcome_of_its_own_and_leaves_the_pointer(
    certificates: Path, tmp_path: Path, status: int, outcome: str, level: str
) -> None:
    with serving(certificates, answer(status, b'{"error": "no"}')) as server:
        ca = (certificates / "good-ca.pem").read_text()
        pointer = node_with(tmp_path, server.endpoint, ca)
        message = check(tmp_path)

    assert message == f"check-hotfix outcome={outcome}"
    assert event_of(tmp_path)["EventLevel"] == level
    assert not pointer.exists()
