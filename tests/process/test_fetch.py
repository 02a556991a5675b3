"""Fetching over real TLS: only the server that the given CA vouches for is believed."""

import json
import socket
import ssl
import time
from pathlib import Path

import pytest

from fairlead.agent.https_fetch import Request, fetch
from fairlead.contract.boot_document import BootDocument, render_boot_document
from fairlead.errors import InputError
from process.agent_process import run_agent
from process.tls_server import Server, answer, make_pair, raw, serving

TOKEN = "dG9rZW4tb2YtdGhlLW1hY2hpbmU="  # noqa: S105 - of a server that lives for one test
CONFIG = b'{"version": "v1"}'


@pytest.fixture(scope="module")
def certificates(tmp_path_factory: pytest.TempPathFactory) -> Path:
    directory = tmp_path_factory.mktemp("certificates")
    make_pair(directory, "good", "IP:127.0.0.1")
    make_pair(directory, "elsewhere", "DNS:other.example.test")
    return directory


@pytest.fixture
def ca(certificates: Path) -> str:
    return (certificates / "good-ca.pem").read_text()


def make_machine(root: Path, server: Server, ca: str, deadline_s: float = 20) -> Path:
    """An AKS image with a boot document instead of a config."""
    containers = root / "opt/azure/containers"
    containers.mkdir(parents=True)
    (containers / "provision_start.sh").write_text("exit 0\n")
    (root / "opt/azure/components.json").write_text("{}")
    document = BootDocument(server.endpoint, ca, TOKEN, deadline_s)
    stub = containers / "fairlead-boot-document.json"
    stub.write_bytes(render_boot_document(document))
    stub.chmod(0o600)
    return containers / "aks-node-controller-config.json"


def status_below(root: Path) -> dict[str, str]:
    status: dict[str, str] = json.loads((root / "var/log/azure/aks/provision.json").read_text())
    return status


def everything_below(root: Path) -> bytes:
    files = (path for path in root.rglob("*") if path.is_file())
    return b"".join(path.read_bytes() for path in files if "boot-document" not in path.name)


def test_a_boot_survives_a_restarting_server_and_a_token_that_is_not_known_yet(
    certificates: Path, ca: str, tmp_path: Path
) -> None:
    with serving(certificates, answer(503), answer(511), answer(200, CONFIG)) as server:
        config = make_machine(tmp_path, server, ca)
        found = run_agent("boot", "--root", str(tmp_path))

    assert found.returncode == 0, found.stderr
    assert config.read_bytes() == CONFIG
    assert config.stat().st_mode & 0o777 == 0o600
    assert len(server.requests) == 3
    assert f"Authorization: Bearer {TOKEN}\r\n".encode() in server.requests[0]
    assert server.requests[0].startswith(b"GET /v1/node HTTP/1.1\r\n")
    assert TOKEN.encode() not in everything_below(tmp_path) + found.stderr.encode()


def test_a_refusal_stops_the_boot_at_once_with_the_reason(
    certificates: Path, ca: str, tmp_path: Path
) -> None:
    with serving(certificates, answer(401, TOKEN.encode())) as server:
        config = make_machine(tmp_path, server, ca)
        found = run_agent("boot", "--root", str(tmp_path))

    assert (found.returncode, len(server.requests)) == (1, 1)
    assert status_below(tmp_path)["ExitCode"] == "240"
    assert f"no node config from {server.endpoint}: status 401" in status_below(tmp_path)["Error"]
    assert not config.exists()
    assert TOKEN.encode() not in everything_below(tmp_path) + found.stderr.encode()


@pytest.mark.parametrize("pair", ["good", "elsewhere"])
def test_a_server_of_another_ca_or_name_gets_no_token(
    certificates: Path, tmp_path: Path, pair: str
) -> None:
    wrong_ca = make_pair(tmp_path, "other", "IP:127.0.0.1").with_name("other-ca.pem")
    trusted = wrong_ca if pair == "good" else certificates / "elsewhere-ca.pem"
    root = tmp_path / "root"
    with serving(certificates, answer(200, CONFIG), pair=pair) as server:
        config = make_machine(root, server, trusted.read_text())
        found = run_agent("boot", "--root", str(root))

    assert found.returncode == 1
    assert "did not prove itself to the boot document's CA" in status_below(root)["Error"]
    assert server.requests == []
    assert not config.exists()


def test_a_server_that_nobody_hears_from_ends_at_the_deadline(
    certificates: Path, ca: str, tmp_path: Path
) -> None:
    def hang(_connection: ssl.SSLSocket, _request: bytes) -> None:
        time.sleep(1.5)

    start = time.monotonic()
    with serving(certificates, hang) as server:
        make_machine(tmp_path, server, ca, deadline_s=1)
        found = run_agent("boot", "--root", str(tmp_path))

    assert found.returncode == 1
    assert "in 1 s (tries: 1)" in status_below(tmp_path)["Error"]
    assert time.monotonic() - start < 8


def test_a_body_that_trickles_is_cut_off_by_the_deadline(certificates: Path, ca: str) -> None:
    def trickle(connection: ssl.SSLSocket, _request: bytes) -> None:
        connection.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 1000\r\n\r\n")
        for _ in range(60):
            connection.sendall(b"{")
            time.sleep(0.05)

    start = time.monotonic()
    with serving(certificates, trickle) as server, pytest.raises(TimeoutError):
        fetch(Request(server.endpoint, ca, TOKEN), 0.5)
    assert time.monotonic() - start < 5


def test_an_endless_body_is_refused(certificates: Path, ca: str) -> None:
    def flood(connection: ssl.SSLSocket, _request: bytes) -> None:
        connection.sendall(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n")
        for _ in range(256):  # 16 MiB: an end that nobody should get to
            connection.sendall(b"10000\r\n" + b"{" * 65536 + b"\r\n")

    with serving(certificates, flood) as server, pytest.raises(InputError, match="larger than"):
        fetch(Request(server.endpoint, ca, TOKEN), 20.0)


@pytest.mark.parametrize(
    "content",
    [
        b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5;x=y\r\n{\"ver\r\n"
        b"c\r\nsion\": \"v1\"}\r\n0\r\n\r\n",
        b"HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 200 OK\r\nContent-Length: 17\r\n\r\n" + CONFIG,
        b"HTTP/1.0 200 OK\ncontent-length:17\n\n" + CONFIG + b"behind",
    ],
)  # fmt: skip
def test_a_body_is_whole_by_its_length_or_by_its_last_chunk(
    certificates: Path, ca: str, content: bytes
) -> None:
    with serving(certificates, raw(content)) as server:
        assert fetch(Request(server.endpoint, ca, TOKEN), 5.0) == (200, CONFIG)


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"SSH-2.0-x\r\n\r\n",
        b"HTTP/1.1 200 OK\r\nContent-Length: 18\r\n\r\n" + CONFIG,
        b"HTTP/1.1 200 OK\r\nContent-Length: -1\r\n\r\n" + CONFIG,
        b"HTTP/1.1 200 OK\r\n\r\n" + CONFIG,
        b"HTTP/1.1 200 OK\r\nTransfer-Encoding: gzip, chunked\r\n\r\n0\r\n\r\n",
        b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\n{}",
        b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n11\r\n" + CONFIG + b"\r\n",
        b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n-5\r\n{}",
        b"HTTP/1.1 200 OK\r\n" + b"A: b\r\n" * 500 + b"\r\n",
        b"HTTP/1.1 200 OK\r\nA: " + b"b" * 40_000,
    ],
)
def test_an_answer_that_is_not_whole_is_an_os_error(
    certificates: Path, ca: str, content: bytes
) -> None:
    with serving(certificates, raw(content)) as server, pytest.raises(OSError, match=r"\w"):
        fetch(Request(server.endpoint, ca, TOKEN), 5.0)


@pytest.mark.parametrize(
    "header",
    [
        b"HTTP/1.1 200 OK\r\n\r\n",
        b"HTTP/1.1 200 OK\r\nContent-Length: 18\r\n\r\n",
        b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n11\r\n",
    ],
)
def test_a_connection_that_is_cut_is_not_the_end_of_a_body(
    certificates: Path, ca: str, header: bytes
) -> None:
    def cut(connection: ssl.SSLSocket, _request: bytes) -> None:
        connection.sendall(header + CONFIG)
        # Closes the connection below TLS: no goodbye.
        socket.socket(fileno=connection.detach()).close()

    with serving(certificates, cut) as server, pytest.raises(OSError, match=r"\w"):
        fetch(Request(server.endpoint, ca, TOKEN), 5.0)


@pytest.mark.parametrize("status", [204, 304, 401, 503])
def test_a_status_that_says_everything_needs_no_length(
    certificates: Path, ca: str, status: int
) -> None:
    content = f"HTTP/1.1 {status} Any\r\n\r\nor else".encode()

    with serving(certificates, raw(content)) as server:
        assert fetch(Request(server.endpoint, ca, TOKEN), 5.0) == (status, b"")


def test_a_ca_that_is_none_is_an_input_error(certificates: Path) -> None:
    broken = "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n"

    with serving(certificates, answer(200, CONFIG)) as server, pytest.raises(InputError) as caught:
        fetch(Request(server.endpoint, broken, TOKEN), 5.0)
    assert caught.value.field == "ca"


def test_a_boot_without_a_boot_document_does_nothing(tmp_path: Path) -> None:
    (tmp_path / "opt/azure/containers").mkdir(parents=True)

    found = run_agent("boot", "--root", str(tmp_path))

    assert found.returncode == 0
    assert "no node config, NBC command or boot document: nothing to do" in found.stderr
