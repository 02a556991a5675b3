"""How requests reach an API server: whose they are, over which connection, and past which proxy."""

import base64
import gzip
import socket
import ssl
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from fairlead.errors import InputError, UnavailableError
from fairlead.kube.resource import SECRETS
from fairlead.kube.wire import connections
from kube.certificates import Authority
from unit.kube.small_server import SmallServer, client_of, small_server, wait_until

FOUND = {"metadata": {"name": "s"}}


@pytest.fixture(autouse=True)
def no_proxy_of_this_computer(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("http_proxy", "https_proxy", "all_proxy", "no_proxy"):
        monkeypatch.delenv(name, raising=False)
        monkeypatch.delenv(name.upper(), raising=False)


@contextmanager
def scripted_server(answers: bytes) -> Iterator[tuple[str, list[bytes]]]:
    """A server that says these bytes to the first who asks, and ends the connection."""
    heard: list[bytes] = []
    with socket.create_server(("127.0.0.1", 0)) as listening:

        def serve() -> None:
            taken, _ = listening.accept()
            with taken:
                heard.append(taken.recv(1 << 16))
                taken.sendall(answers)

        thread = threading.Thread(target=serve)
        thread.start()
        try:
            yield f"http://127.0.0.1:{listening.getsockname()[1]}", heard
        finally:
            thread.join(10)


def test_a_connection_is_used_again() -> None:
    server = SmallServer()
    server.reply = lambda *_: (200, FOUND, False)
    with small_server(server) as address, client_of(address) as client:
        for _ in range(3):
            assert client.find(SECRETS, "s", "a") == FOUND
    assert len(set(server.callers)) == 1


def test_a_connection_that_the_server_ended_is_not_used_again() -> None:
    server = SmallServer()
    server.reply = lambda *_: (200, FOUND, True)
    with small_server(server) as address, client_of(address) as client:
        for number in range(1, 4):
            assert client.find(SECRETS, "s", "a") == FOUND
            wait_until(lambda ended=number: server.ended == ended)  # type: ignore[misc]
    assert len(set(server.callers)) == 3


def test_a_connection_that_was_idle_for_long_is_not_used_again(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(connections, "IDLE_S", 0.0)
    server = SmallServer()
    server.reply = lambda *_: (200, FOUND, False)
    with small_server(server) as address, client_of(address) as client:
        for _ in range(2):
            client.find(SECRETS, "s", "a")
    assert len(set(server.callers)) == 2


def test_threads_that_ask_at_once_share_no_connection() -> None:
    together = threading.Barrier(4, timeout=10)
    server = SmallServer()

    def reply(*_: Any) -> tuple[int, Any, bool]:
        together.wait()  # all four are asked before one is answered
        return 200, FOUND, False

    server.reply = reply
    with small_server(server) as address, client_of(address) as client:
        asking = [threading.Thread(target=client.find, args=(SECRETS, "s", "a")) for _ in range(4)]
        for one in asking:
            one.start()
        for one in asking:
            one.join(10)
    assert len(set(server.callers)) == 4


class Rotating(SmallServer):
    """A server that takes the token which is in a file, and no other."""

    def __init__(self, token: Path) -> None:
        super().__init__()
        self._token = token
        self.refused = 0
        self.reply = self._judge

    def _judge(self, _method: str, _path: str, headers: dict[str, str]) -> tuple[int, Any, bool]:
        if headers["Authorization"] == f"Bearer {self._token.read_text().strip()}":
            return 200, FOUND, False
        self.refused += 1
        return 401, {"message": "Unauthorized"}, False


def test_a_token_that_was_replaced_in_its_file_is_read_again(tmp_path: Path) -> None:
    token = tmp_path / "token"
    token.write_text("first\n")
    server = Rotating(token)
    with small_server(server) as address, client_of(address, tokenFile=str(token)) as client:
        assert client.find(SECRETS, "s", "a") == FOUND
        token.write_text("second\n")
        assert client.find(SECRETS, "s", "a") == FOUND
        assert client.find(SECRETS, "s", "a") == FOUND
    assert server.refused == 1


def test_a_token_whose_file_is_gone_is_no_answer(tmp_path: Path) -> None:
    server = SmallServer()
    token = tmp_path / "token"
    with (
        small_server(server) as address,
        client_of(address, tokenFile=str(token)) as client,
        pytest.raises(UnavailableError, match=r"no answer from .*Token file .* not found"),
    ):
        client.find(SECRETS, "s", "a")


def test_a_watch_reads_a_replaced_token_again(tmp_path: Path) -> None:
    token = tmp_path / "token"
    token.write_text("first")
    server = Rotating(token)
    server.guards_watches = True
    with small_server(server) as address, client_of(address, tokenFile=str(token)) as client:
        client.find(SECRETS, "s", "a")
        token.write_text("second")
        server.tell("ADDED", {"metadata": {"name": "s", "resourceVersion": "7"}})
        server.lines.put(None)
        told = [change.version for change in client.watch(SECRETS, "1")]
    assert (told, server.refused) == (["7"], 1)


def test_a_token_with_a_line_end_is_no_answer_and_no_other_header() -> None:
    server = SmallServer()
    with (
        small_server(server) as address,
        client_of(address, token="a\r\nImpersonate-User: admin") as client,
        pytest.raises(UnavailableError, match="no answer from"),
    ):
        client.find(SECRETS, "s", "a")
    assert server.asked == []


def test_an_answer_that_breaks_off_is_no_answer() -> None:
    cut = b'HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\n{"metadata"'
    with (
        scripted_server(cut) as (address, _),
        client_of(address) as client,
        pytest.raises(UnavailableError, match="no answer from"),
    ):
        client.find(SECRETS, "s", "a")


@pytest.mark.parametrize("said", [b"not HTTP\r\n\r\n", b"HTTP/1.1 200 OK\r\nA: " + b"b" * 70000])
def test_what_is_no_http_is_no_answer(said: bytes) -> None:
    with (
        scripted_server(said) as (address, _),
        client_of(address) as client,
        pytest.raises(UnavailableError, match="no answer from"),
    ):
        client.find(SECRETS, "s", "a")


def test_an_answer_may_come_packed() -> None:
    body = gzip.compress(b'{"metadata": {"name": "s"}}')
    head = f"HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\nContent-Length: {len(body)}\r\n\r\n"
    with scripted_server(head.encode() + body) as (address, _), client_of(address) as client:
        assert client.find(SECRETS, "s", "a") == FOUND


def test_a_damaged_packed_answer_is_no_answer() -> None:
    head = b"HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\nContent-Length: 4\r\n\r\nabcd"
    with (
        scripted_server(head) as (address, _),
        client_of(address) as client,
        pytest.raises(UnavailableError, match="no answer from"),
    ):
        client.find(SECRETS, "s", "a")


def test_a_server_below_a_path_is_asked_there() -> None:
    server = SmallServer()
    with small_server(server) as address, client_of(f"{address}/k8s/clusters/c-1/") as client:
        client.find(SECRETS, "s", "a")
    assert server.asked == [("GET", "/k8s/clusters/c-1/api/v1/namespaces/a/secrets/s")]


def test_a_name_that_no_path_can_hold_is_encoded() -> None:
    server = SmallServer()
    with small_server(server) as address, client_of(address) as client:
        client.find(SECRETS, "s \u00e4\r\nX: y", "a")
    assert server.asked == [("GET", "/api/v1/namespaces/a/secrets/s%20%C3%A4%0D%0AX:%20y")]


@pytest.mark.parametrize(
    "address", ["ftp://a", "https://", "nonsense", "https://[::1", "http://a:b"]
)
def test_an_address_of_no_server_is_refused(address: str) -> None:
    with pytest.raises(InputError, match="the kubeconfig cannot be used"), client_of(address):
        pass


def test_a_proxy_is_asked_to_let_through(monkeypatch: pytest.MonkeyPatch) -> None:
    with scripted_server(b"HTTP/1.1 403 Forbidden\r\n\r\n") as (address, heard):
        monkeypatch.setenv("https_proxy", address.replace("//", "//me:a%20b@"))
        with (
            client_of("https://cluster.example.test:6443") as client,
            pytest.raises(UnavailableError, match="Tunnel connection failed: 403 Forbidden"),
        ):
            client.find(SECRETS, "s", "a")
    shown = base64.b64encode(b"me:a b")
    assert heard[0].startswith(b"CONNECT cluster.example.test:6443 HTTP/1.")
    assert b"Proxy-Authorization: Basic " + shown in heard[0]


def test_a_proxy_is_passed_by_where_the_environment_says_so(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("http_proxy", "http://127.0.0.1:1")
    monkeypatch.setenv("no_proxy", "127.0.0.1")
    server = SmallServer()
    server.reply = lambda *_: (200, FOUND, False)
    with small_server(server) as address, client_of(address) as client:
        assert client.find(SECRETS, "s", "a") == FOUND


def test_a_proxy_that_cannot_be_spoken_to_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("https_proxy", "socks5://proxy.example.test:1080")
    with (
        pytest.raises(InputError, match=r"socks5:// \(proxy.example.test\), expected http://"),
        client_of("https://cluster.example.test:6443"),
    ):
        pass


@contextmanager
def tls_server(authority: Authority, host: str) -> Iterator[str]:
    """A server on loopback that shows a certificate of this host and answers one request."""
    pair = authority.server("server", [host])
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(pair.certificate, pair.key)
    with socket.create_server(("127.0.0.1", 0)) as listening:

        def serve() -> None:
            taken, _ = listening.accept()
            try:
                with taken, context.wrap_socket(taken, server_side=True) as spoken:
                    spoken.recv(1 << 16)
                    body = b'{"metadata": {"name": "s"}}'
                    head = f"HTTP/1.1 200 OK\r\nContent-Length: {len(body)}\r\n\r\n"
                    spoken.sendall(head.encode() + body)
            except OSError:
                pass  # whoever asked did not like the certificate

        thread = threading.Thread(target=serve)
        thread.start()
        try:
            yield f"https://127.0.0.1:{listening.getsockname()[1]}"
        finally:
            thread.join(10)


def test_a_server_proves_who_it_is(tmp_path: Path) -> None:
    authority = Authority(tmp_path)
    with (
        tls_server(authority, "127.0.0.1") as address,
        client_of(address, ca=authority.pair.certificate) as client,
    ):
        assert client.find(SECRETS, "s", "a") == FOUND


def test_a_server_of_another_name_is_not_spoken_to(tmp_path: Path) -> None:
    authority = Authority(tmp_path)
    with (
        tls_server(authority, "other.example.test") as address,
        client_of(address, ca=authority.pair.certificate) as client,
        pytest.raises(UnavailableError, match="certificate verify failed"),
    ):
        client.find(SECRETS, "s", "a")


def test_a_server_of_another_authority_is_not_spoken_to(tmp_path: Path) -> None:
    (tmp_path / "other").mkdir()
    authority, other = Authority(tmp_path), Authority(tmp_path / "other")
    with (
        tls_server(other, "127.0.0.1") as address,
        client_of(address, ca=authority.pair.certificate) as client,
        pytest.raises(UnavailableError, match="certificate verify failed"),
    ):
        client.find(SECRETS, "s", "a")
