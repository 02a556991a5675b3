"""Whom a server is asked for, and who it must prove to be: two names, and no proxy between."""

import socket
import ssl
import time
from pathlib import Path

import pytest

from fairlead.agent.https_fetch import Request, fetch
from fairlead.agent.network.tls_connection import is_name_of
from process.tls_server import answer, make_pair, serving

TOKEN = "dG9rZW4tb2YtdGhlLW1hY2hpbmU="


@pytest.fixture(scope="module")
def certificates(tmp_path_factory: pytest.TempPathFactory) -> Path:
    directory = tmp_path_factory.mktemp("certificates")
    make_pair(directory, "good", "DNS:pinned.example.test,DNS:*.wild.example.test")
    return directory


def request_to(port: int, certificates: Path, server_name: str) -> Request:
    ca = (certificates / "good-ca.pem").read_text()
    request = Request(f"https://localhost:{port}/v1/hotfix", ca, TOKEN)
    request.server_name = server_name
    return request


@pytest.mark.parametrize(
    "name", ["pinned.example.test", "PINNED.example.test", "a.wild.example.test"]
)
def test_the_server_is_asked_by_its_address_and_verified_by_the_pinned_name(
    certificates: Path, name: str
) -> None:
    with serving(certificates, answer(200, b"ok")) as server:
        assert fetch(request_to(server.port, certificates, name), 10.0) == (200, b"ok")

    assert server.asked_names == ["localhost"]


@pytest.mark.parametrize(
    "name", ["other.example.test", "", "wild.example.test", "a.b.wild.example.test", "127.0.0.1"]
)
def test_a_server_with_another_name_gets_no_token(certificates: Path, name: str) -> None:
    with (
        serving(certificates, answer(200, b"ok")) as server,
        pytest.raises(ssl.SSLCertVerificationError) as caught,
    ):
        fetch(request_to(server.port, certificates, name), 10.0)

    assert (caught.value.verify_code, server.requests) == (62, [])


def test_a_pinned_name_does_not_make_up_for_another_ca(certificates: Path, tmp_path: Path) -> None:
    make_pair(tmp_path, "good", "DNS:pinned.example.test")
    with (
        serving(certificates, answer(200, b"ok")) as server,
        pytest.raises(ssl.SSLCertVerificationError),
    ):
        fetch(request_to(server.port, tmp_path, "pinned.example.test"), 10.0)

    assert server.requests == []


def test_the_server_picks_from_what_is_offered(certificates: Path) -> None:
    with serving(certificates, answer(200, b"ok")) as server:
        server.speak("h2", "http/1.1")
        request = request_to(server.port, certificates, "pinned.example.test")
        fetch(request, 10.0)
        request.alpn = ("other", "http/1.1")
        fetch(request, 10.0)

    assert server.spoken == [None, "http/1.1"]


def test_proxies_of_the_environment_are_not_used(
    certificates: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with (
        socket.create_server(("127.0.0.1", 0)) as proxy,
        serving(certificates, answer(200, b"ok")) as server,
    ):
        for name in ("https_proxy", "HTTPS_PROXY", "http_proxy", "HTTP_PROXY", "ALL_PROXY"):
            monkeypatch.setenv(name, f"http://127.0.0.1:{proxy.getsockname()[1]}")
        fetch(request_to(server.port, certificates, "pinned.example.test"), 10.0)
        proxy.settimeout(0.1)
        with pytest.raises(TimeoutError):
            proxy.accept()


def test_a_server_that_accepts_and_says_nothing_ends_at_the_deadline(certificates: Path) -> None:
    start = time.monotonic()
    with socket.create_server(("127.0.0.1", 0)) as silent, pytest.raises(TimeoutError):
        fetch(request_to(silent.getsockname()[1], certificates, "pinned.example.test"), 0.5)
    assert time.monotonic() - start < 3


@pytest.mark.parametrize(
    ("pattern", "name", "covers"),
    [
        ("a.example.test", "a.example.test.", True),
        ("*.example.test", "a.example.test", True),
        ("*.test", "a.test", False),
        ("*", "test", False),
        ("a*.example.test", "ab.example.test", False),
        ("*.example.test", ".example.test", False),
    ],
)
def test_a_star_stands_for_one_whole_label(pattern: str, name: str, covers: bool) -> None:
    assert is_name_of(pattern, name) is covers
