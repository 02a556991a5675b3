"""Probes answer truthfully about real sockets, and trust nobody they were not told to."""

import socket
import ssl
import subprocess
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from shutil import which

import pytest

from fairlead.agent.probe import can_connect_unix, http_status

ANSWER = b"HTTP/1.1 204 No Content\r\nContent-Length: 0\r\n\r\n"


@contextmanager
def serving(answer: bytes, context: ssl.SSLContext | None = None) -> Iterator[int]:
    """A server on this machine that gives one answer to one connection."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        server.settimeout(5)

        def serve() -> None:
            try:
                connection = server.accept()[0]
                with connection:
                    connection.settimeout(5)
                    peer = context.wrap_socket(connection, server_side=True) if context else None
                    stream = peer or connection
                    stream.recv(1024)
                    stream.sendall(answer)
                    stream.recv(1024)
                    stream.close()
            except OSError:
                return  # the other side hung up, which some of these tests are about

        thread = threading.Thread(target=serve)
        thread.start()
        yield server.getsockname()[1]
    thread.join()


@pytest.fixture(scope="module")
def pair(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A self-signed certificate for 127.0.0.1 with its key, in one file."""
    if which("openssl") is None:
        pytest.skip("openssl is not installed")
    path = tmp_path_factory.mktemp("pair") / "pair.pem"
    command = "openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -days 2"
    subject = ["-subj", "/CN=test", "-addext", "subjectAltName=IP:127.0.0.1"]
    key = path.with_suffix(".key")
    subprocess.run(
        [*command.split(), *subject, "-keyout", key, "-out", path], check=True, capture_output=True
    )
    path.write_bytes(path.read_bytes() + key.read_bytes())
    return path


def server_context(pair: Path) -> ssl.SSLContext:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(pair)
    return context


def test_a_socket_that_accepts_is_there_and_a_left_over_file_is_not(tmp_path: Path) -> None:
    path = str(tmp_path / "s.sock")
    assert not can_connect_unix(path)
    with socket.socket(socket.AF_UNIX) as server:
        server.bind(path)
        assert not can_connect_unix(path)
        server.listen()
        assert can_connect_unix(path)
    assert not can_connect_unix(path)


def test_the_status_of_a_plain_answer() -> None:
    with serving(ANSWER) as port:
        assert http_status(f"http://127.0.0.1:{port}/healthz", "", "", 2.0) == 204


@pytest.mark.parametrize("answer", [b"", b"SSH-2.0-x\r\n", b"HTTP/1.1 abc\r\n", b"x" * 9000])
def test_an_answer_that_is_not_http_is_an_os_error(answer: bytes) -> None:
    with serving(answer) as port, pytest.raises(OSError, match=r"no HTTP status|timed out|reset"):
        http_status(f"http://127.0.0.1:{port}/healthz", "", "", 0.5)


def test_nobody_there_is_an_os_error() -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
    with pytest.raises(ConnectionRefusedError):
        http_status(f"http://127.0.0.1:{port}/healthz", "", "", 2.0)


def test_a_server_with_the_right_certificate_is_asked_with_ours(pair: Path) -> None:
    context = server_context(pair)
    context.verify_mode = ssl.CERT_REQUIRED
    context.load_verify_locations(pair)
    with serving(ANSWER, context) as port:
        url = f"https://127.0.0.1:{port}/api/v1/nodes/a"
        assert http_status(url, str(pair), str(pair), 2.0) == 204


def test_a_server_that_the_given_ca_does_not_vouch_for_is_not_trusted(
    pair: Path, tmp_path: Path
) -> None:
    system = ssl.get_default_verify_paths().cafile
    other = Path(system) if system and Path(system).exists() else None
    if other is None:
        pytest.skip("no other certificate authority on this machine")
    with serving(ANSWER, server_context(pair)) as port, pytest.raises(ssl.SSLError):
        http_status(f"https://127.0.0.1:{port}/readyz", str(other), "", 2.0)
