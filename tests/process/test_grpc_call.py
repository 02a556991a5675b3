"""The one unary call against a real gRPC server, over real TLS."""

import json
import socket
import ssl
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from fairlead import __version__
from fairlead.agent.hotfix.asking.live_patching import PATH
from fairlead.agent.network.grpc_call import UnaryCall, call
from fairlead.agent.network.tls_connection import Peer
from fairlead.contract.boot_document import BootDocument, render_boot_document
from process.agent_process import run_agent
from process.tls_server import answer, make_pair, serving
from unit.hotfix_release import BASE, Release

grpc: Any = pytest.importorskip("grpc")

SERVICE, _, METHOD = PATH.strip("/").partition("/")
STATUSES = {
    "16": "Unauthenticated",
    "7": "PermissionDenied",
    "5": "NotFound",
    "3": "InvalidArgument",
    "8": "ResourceExhausted",
    "14": "Unavailable",
    "13": "Internal",
    "2": "Unknown",
}


def render_config(config: bytes) -> bytes:
    """The message of an answer: field 2, its length in seven bits at a time, the text."""
    length, rest = bytearray(), len(config)
    while rest >= 0x80:
        length.append(rest & 0x7F | 0x80)
        rest >>= 7
    return b"\x12" + bytes(length) + bytes([rest]) + config


class LivePatching:
    """Echoes the question as often as it is asked to, or ends as it is asked to."""

    def __init__(self, directory: Path) -> None:
        self.metadata: list[dict[str, str]] = []
        # What a node is answered; without it questions are echoed.
        self.config = b""
        method = grpc.unary_unary_rpc_method_handler(self._answer)
        handler = grpc.method_handlers_generic_handler(SERVICE, {METHOD: method})
        self._server = grpc.server(ThreadPoolExecutor(2))
        self._server.add_generic_rpc_handlers((handler,))
        pair = ((directory / "good.key").read_bytes(), (directory / "good.pem").read_bytes())
        credentials = grpc.ssl_server_credentials([pair])
        self.port = self._server.add_secure_port("127.0.0.1:0", credentials)
        self._server.start()

    def _answer(self, question: bytes, context: Any) -> bytes:
        told = dict(context.invocation_metadata())
        self.metadata.append(told)
        if told["authorization"] in STATUSES:
            code = next(c for c in grpc.StatusCode if str(c.value[0]) == told["authorization"])
            context.abort(code, "why \u00e9 " * 200)
        if told["authorization"] == "slow":
            time.sleep(2)
        if "fairlead-version" in told:
            return render_config(self.config)
        return question * int(told.get("times", "1"))

    def stop(self) -> None:
        self._server.stop(0).wait()


@pytest.fixture(scope="module")
def certificates(tmp_path_factory: pytest.TempPathFactory) -> Path:
    directory = tmp_path_factory.mktemp("certificates")
    make_pair(directory, "good", "DNS:localhost")
    return directory


@pytest.fixture(scope="module")
def server(certificates: Path) -> Iterator[LivePatching]:
    found = LivePatching(certificates)
    yield found
    found.stop()


def ask(
    port: int, certificates: Path, *, path: str = PATH, deadline_s: float = 10.0, **metadata: str
) -> tuple[str, bytes]:
    peer = Peer("localhost", port, (certificates / "good-ca.pem").read_text())
    peer.alpn = ("aks-live-patching", "h2")
    return call(UnaryCall(peer, path, metadata, b"0123456789"), deadline_s)


def test_an_answer_comes_back_and_the_token_goes_there(
    server: LivePatching, certificates: Path
) -> None:
    token = "t" * 6000

    assert ask(server.port, certificates, authorization=token) == ("OK", b"0123456789")
    assert server.metadata[-1]["authorization"] == token


@pytest.mark.parametrize(("code", "name"), STATUSES.items())
def test_every_status_of_the_contract_is_told_by_its_name(
    server: LivePatching, certificates: Path, code: str, name: str
) -> None:
    assert ask(server.port, certificates, authorization=code) == (name, b"")


def test_an_answer_may_be_larger_than_the_first_window(
    server: LivePatching, certificates: Path
) -> None:
    status, message = ask(server.port, certificates, authorization="a", times="300000")

    assert (status, len(message)) == ("OK", 3_000_000)


def test_an_answer_that_is_too_large_is_refused(server: LivePatching, certificates: Path) -> None:
    with pytest.raises(OSError, match="larger than 4194304 bytes"):
        ask(server.port, certificates, authorization="a", times="450000")


def test_another_method_is_not_there(server: LivePatching, certificates: Path) -> None:
    assert ask(server.port, certificates, path="/other.Service/Get")[0] == "Unimplemented"


def test_a_slow_answer_ends_at_the_deadline(server: LivePatching, certificates: Path) -> None:
    start = time.monotonic()
    try:
        status = ask(server.port, certificates, authorization="slow", deadline_s=0.7)[0]
    except TimeoutError:
        status = "DeadlineExceeded"  # whichever side looks at the clock first

    assert status in ("DeadlineExceeded", "Cancelled")
    assert time.monotonic() - start < 1.5


def test_a_server_of_another_ca_is_told_nothing(
    server: LivePatching, certificates: Path, tmp_path: Path
) -> None:
    make_pair(tmp_path, "good", "DNS:localhost")
    before = len(server.metadata)

    with pytest.raises(ssl.SSLCertVerificationError):
        ask(server.port, tmp_path, authorization="a")
    assert len(server.metadata) == before


@pytest.mark.parametrize(
    ("behaviour", "expected"),
    [("drip", TimeoutError), ("silent", TimeoutError), ("cut", ConnectionError), ("http", OSError)],
)
def test_a_server_that_does_not_answer_ends_the_call_in_time(
    certificates: Path, behaviour: str, expected: type[OSError]
) -> None:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificates / "good-pair.pem")
    context.set_alpn_protocols(["h2"])
    listening = socket.create_server(("127.0.0.1", 0))

    def serve() -> None:
        try:
            with context.wrap_socket(listening.accept()[0], server_side=True) as secured:
                secured.recv(65536)
                secured.sendall(b"" if behaviour != "http" else b"HTTP/1.1 400 Bad\r\n\r\n")
                for _ in range(20 if behaviour == "drip" else 0):
                    secured.sendall(bytes.fromhex("000000040000000000"))
                    time.sleep(0.1)
                time.sleep(1.2 if behaviour == "silent" else 0)
        except OSError:
            return

    thread = threading.Thread(target=serve)
    thread.start()
    start = time.monotonic()
    with pytest.raises(expected):
        ask(listening.getsockname()[1], certificates, authorization="a", deadline_s=0.8)
    assert time.monotonic() - start < 1.5
    thread.join(10)
    listening.close()


def test_a_server_that_speaks_no_http_2_is_told_nothing(certificates: Path) -> None:
    with serving(certificates, answer(200, b"")) as plain:
        with pytest.raises(OSError, match="speaks none of aks-live-patching, h2"):
            ask(plain.port, certificates, authorization="a")
        assert plain.asked_names == ["localhost"]
    assert plain.requests == []


def test_a_signed_answer_over_grpc_reaches_the_pointer(
    server: LivePatching, certificates: Path, tmp_path: Path
) -> None:
    """The whole check of a node whose image names this service."""
    ca = (certificates / "good-ca.pem").read_text()
    endpoint = f"https://localhost:{server.port}/"
    release = Release()
    release.publish(f"{BASE}.9")
    server.config = release.answer({BASE: f"{BASE}.9"})
    files = {
        "etc/fairlead/hotfix/root.json": release.anchor(),
        "etc/fairlead/hotfix/service.json": json.dumps(
            {"wire": "grpc", "endpoint": endpoint, "ca": ca, "attestation": "join"}
        ).encode(),
        "etc/fairlead/boot-document.json": render_boot_document(
            BootDocument(endpoint, ca, "dG9rZW4=")
        ),
    }
    for name, content in files.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_bytes(content)

    found = run_agent("check-hotfix", "--layout", "fairlead", "--root", str(tmp_path))

    assert found.returncode == 0
    assert '"outcome":"lpsRead"' in found.stderr
    pointer = json.loads((tmp_path / "var/lib/fairlead/hotfix.json").read_text())
    assert pointer == {"hotfixes": {BASE: f"{BASE}.9"}}
    told = server.metadata[-1]
    assert (told["authorization"], told["fairlead-version"]) == ("dG9rZW4=", __version__)
