"""What proves a machine to a hotfix service, as each cloud has it."""

import json
import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from builders import make_disk
from fairlead.agent.hotfix.asking.metadata_service import find_proof
from fairlead.agent.network.metadata_request import Question, ask
from fairlead.errors import InputError, UnavailableError
from fairlead.sim.host import SimHost

AZURE = "/metadata/attested/document?api-version=2025-04-07"
PROOF = "MIIL+/7w="


def host_with(**answers: tuple[int, bytes]) -> SimHost:
    host = SimHost(make_disk({}))
    host.metadata = {
        {"azure": AZURE, "token": "/latest/api/token"}.get(name, name): found
        for name, found in answers.items()
    }
    return host


def proof_of(host: SimHost, cloud: str, audience: str = "") -> str:
    return find_proof(host, cloud, audience, host.monotonic_ns() + 8 * 10**9)


def test_azure_signs_a_document() -> None:
    host = host_with(azure=(200, json.dumps({"encoding": "pkcs7", "signature": PROOF}).encode()))

    assert proof_of(host, "azure") == PROOF
    assert host.metadata_questions[0].headers == {"Metadata": "true"}


def test_aws_wants_a_token_before_it_shows_the_document() -> None:
    host = host_with(token=(200, b"dG9r=="))
    host.metadata["/latest/dynamic/instance-identity/rsa2048"] = (200, b"MIAG\nCSqG\n")

    assert proof_of(host, "aws") == "MIAGCSqG"
    asked = [(question.method, question.headers) for question in host.metadata_questions]
    assert asked == [
        ("PUT", {"X-aws-ec2-metadata-token-ttl-seconds": "60"}),
        ("GET", {"X-aws-ec2-metadata-token": "dG9r=="}),
    ]


def test_gcp_signs_for_an_audience() -> None:
    host = SimHost(make_disk({}))
    path = (
        "/computeMetadata/v1/instance/service-accounts/default/identity"
        "?audience=https%3A%2F%2Ffix.example.test%2Fv1%2Fhotfix&format=full"
    )
    host.metadata[path] = (200, b"eyJh.eyJi.c2ln")

    assert proof_of(host, "gcp", "https://fix.example.test/v1/hotfix") == "eyJh.eyJi.c2ln"
    question = host.metadata_questions[0]
    assert question.headers == {"Metadata-Flavor": "Google"}
    assert question.host == "metadata.google.internal"


@pytest.mark.parametrize(
    ("status", "body", "cause"),
    [
        (500, b"", "status 500"),
        (200, b"not json", "JSON"),
        (200, b"{}", "signature: found no text"),
        (200, b'{"signature": "a\\u0000b"}', "found no base64 or JWT"),
        (200, b'{"signature": "a: b"}', "found no base64 or JWT"),
        (200, b'{"signature": ""}', "found no base64 or JWT"),
        (200, json.dumps({"signature": "a" * 70_000}).encode(), "found no base64 or JWT"),
    ],
)
def test_what_is_no_proof_is_asked_for_twice_and_then_named(
    status: int, body: bytes, cause: str
) -> None:
    host = host_with(azure=(status, body))

    with pytest.raises(UnavailableError, match="no proof from the metadata service of azure") as e:
        proof_of(host, "azure")
    assert cause in str(e.value)
    assert len(host.metadata_questions) == 2


@contextmanager
def metadata_server(content: bytes) -> Iterator[tuple[int, list[bytes]]]:
    """A real server of plain HTTP that says this to whoever comes."""
    requests: list[bytes] = []
    listening = socket.create_server(("127.0.0.1", 0))

    def serve() -> None:
        with listening.accept()[0] as connection:
            requests.append(connection.recv(65536))
            try:
                connection.sendall(content)
            except OSError:
                return

    thread = threading.Thread(target=serve)
    thread.start()
    try:
        yield listening.getsockname()[1], requests
    finally:
        thread.join(10)
        listening.close()


def test_it_is_asked_in_plain_http_without_a_proxy(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("http_proxy", "http://127.0.0.1:1")
    with metadata_server(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok") as (port, requests):
        found = ask(Question(AZURE, {"Metadata": "true"}), 5.0, ("127.0.0.1", port))

    assert found == (200, b"ok")
    assert requests == [
        f"GET {AZURE} HTTP/1.1\r\nHost: 169.254.169.254\r\nMetadata: true\r\n"
        "Connection: close\r\n\r\n".encode()
    ]


def test_more_than_a_mebibyte_is_not_read() -> None:
    header = b"HTTP/1.1 200 OK\r\nContent-Length: 1048577\r\n\r\n"
    with metadata_server(header) as (port, _), pytest.raises(InputError, match="1048576 bytes"):
        ask(Question("/", {}), 5.0, ("127.0.0.1", port))


def test_a_service_that_says_nothing_is_given_up() -> None:
    with socket.create_server(("127.0.0.1", 0)) as silent, pytest.raises(TimeoutError):
        ask(Question("/", {}), 0.3, silent.getsockname())
