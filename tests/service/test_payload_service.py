"""The payload service as machines meet it: real TLS, the real agent's fetch, and raw bytes."""

from __future__ import annotations

import base64
import contextlib
import json
import logging
import socket
import ssl
from collections.abc import Iterator
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from starlette.types import ASGIApp

from fairlead.agent.https_fetch import Request, fetch
from fairlead.contract.boot_report import BootReport, report_fields
from fairlead.contract.json_text import encode_json
from fairlead.contract.node_parse import parse_node_config
from fairlead.embedded.certificates.authority import make_or_read
from fairlead.errors import UnavailableError
from fairlead.payload.app import make_app
from fairlead.payload.bearer import Bearer, Standing, report_digest
from fairlead.revision.revision import Revision
from fairlead.rollout.machines import NodeSettings
from fairlead.rollout.secrets import TokenSecret, hashed
from fairlead.rollout.served.pool_secrets import PoolSecrets
from pool_documents import make_revision
from service.served_app import served_app

NOW = datetime(2026, 7, 1, 12, tzinfo=UTC)
# As the control plane draws them, yet the same in every worker of a test run.
TOKEN, LAPSED, BROKEN, UNKNOWN = (
    base64.b64encode(bytes([number]) * 32).decode() for number in (250, 251, 252, 253)
)


class KeptPairs:
    """A source that keeps everything in memory, as the service at an edge would."""

    def __init__(self) -> None:
        revision = make_revision()
        spoiled = replace(revision, id="spoiled", node_config="[]")
        secret = TokenSecret(
            pool="workers",
            id=revision.id,
            revision=revision,
            served=revision,
            token=TOKEN,
            issued_at=NOW,
        )
        self.pairs = [
            secret,
            replace(secret, token=LAPSED, issued_at=NOW - timedelta(hours=11)),
            replace(secret, id="spoiled", token=BROKEN, served=spoiled),
        ]
        self.settings = NodeSettings(labels={"team": "a"})
        self.secrets = PoolSecrets()
        self.fetches: list[tuple[str, str, str]] = []
        self.problems: list[tuple[str, str, str]] = []
        self.reports: list[tuple[str, str, bytes]] = []
        self.is_away = False
        self.defect: Exception | None = None
        self.told: list[str] = []

    def find_bearer(self, token_hash: str, machine: str) -> Bearer | None:
        if self.is_away:
            raise UnavailableError("the database is locked")
        pair = next((pair for pair in self.pairs if hashed(pair.token) == token_hash), None)
        if pair is None:
            return None
        said = [report_digest(report) for _, name, report in self.reports if name == machine]
        expected = Standing.EXPECTED if machine == "workers-a1" else Standing.UNKNOWN
        return Bearer(
            pair=pair,
            standing=Standing.OVER if said else expected,
            said=said[0] if said else "",
            settings=self.settings,
        )

    def find_secrets(self, _pool: str, revision: Revision) -> PoolSecrets:
        return self.secrets

    def record_fetch(self, pool: str, machine: str, revision: str) -> None:
        self.fetches.append((pool, machine, revision))

    def record_problem(self, pool: str, pair: str, problem: str) -> None:
        self.problems.append((pool, pair, problem))
        self.pairs = [
            replace(known, problem=problem) if known.id == pair else known for known in self.pairs
        ]

    def record_report(self, pool: str, machine: str, report: bytes) -> None:
        if self.defect:
            raise self.defect
        self.reports.append((pool, machine, report))


class Plane:
    """A running payload service, and how to ask it."""

    def __init__(self, source: KeptPairs, port: int, ca: str) -> None:
        self.source = source
        self.port = port
        self.ca = ca

    def fetch(self, token: str, path: str = "/v1/node-config") -> tuple[int, bytes]:
        address = f"https://127.0.0.1:{self.port}{path}"
        return fetch(Request(address, self.ca, token, "workers-a1"), 10.0)

    def report(self, token: str, body: bytes) -> int:
        address = f"https://127.0.0.1:{self.port}/v1/boot-report"
        return fetch(Request(address, self.ca, token, "workers-a1", body), 10.0)[0]

    def send(self, request: bytes) -> bytes:
        """Send bytes as they are; return everything that comes back."""
        context = ssl.create_default_context(cadata=self.ca)
        with (
            socket.create_connection(("127.0.0.1", self.port), 10) as connection,
            context.wrap_socket(connection, server_hostname="127.0.0.1") as secured,
        ):
            secured.sendall(request)
            answer = b""
            while part := secured.recv(65536):
                answer += part
            return answer

    def ask(self, method: str, path: str, *lines: str, body: bytes = b"") -> bytes:
        """Send one request with these header lines."""
        head = [f"{method} {path} HTTP/1.1", "Host: x", "Connection: close", *lines]
        if body:
            head.append(f"Content-Length: {len(body)}")
        return self.send("\r\n".join([*head, "", ""]).encode("latin-1") + body)


@pytest.fixture(scope="module")
def directory(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("certificates")


@pytest.fixture
def plane(directory: Path) -> Iterator[Plane]:
    certificates = make_or_read(directory)
    tls = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    tls.load_cert_chain(certificates.certificate_file, certificates.key_file)
    source = KeptPairs()
    bound = socket.create_server(("127.0.0.1", 0))
    port = bound.getsockname()[1]

    def make() -> ASGIApp:
        on_defect = lambda error: source.told.append(f"{type(error).__name__}: {error}")  # noqa: E731
        return make_app(source, lambda: NOW, on_defect=on_defect)

    with served_app(make, bound, tls):
        yield Plane(source, port, certificates.ca_pem)


def status_of(answer: bytes) -> int:
    return int(answer.split(b" ", 2)[1])


def header(answer: bytes, name: str) -> list[str]:
    lines = answer.partition(b"\r\n\r\n")[0].decode().split("\r\n")[1:]
    pairs = [line.partition(": ")[::2] for line in lines]
    return [value for key, value in pairs if key.lower() == name]


def test_the_real_agent_fetches_its_config_and_is_recorded(plane: Plane) -> None:
    status, body = plane.fetch(TOKEN)

    assert status == 200
    parsed = parse_node_config(body)
    assert parsed.problems == []
    assert parsed.config.text("kubernetes_version") == "1.34.2"
    assert parsed.config.mapping("kubelet_config.kubelet_node_labels") == {"team": "a"}
    assert plane.source.fetches == [("workers", "workers-a1", make_revision().id)]
    assert plane.source.problems == []


def test_the_real_agent_is_given_the_pull_secret_as_it_is_now(plane: Plane) -> None:
    logins = {"auths": {"registry.example.test": {"auth": "cm9ib3Q6aHVudGVyMg=="}}}
    plane.source.secrets = PoolSecrets(pull_secret=json.dumps(logins).encode())

    _, body = plane.fetch(TOKEN)

    assert parse_node_config(body).config.settings["pullSecret.content"] == logins


def test_a_pull_secret_that_cannot_be_used_is_recorded_and_a_boot_tries_again(
    plane: Plane,
) -> None:
    plane.source.secrets = PoolSecrets(pull_secret=b"hunter2")

    status, body = plane.fetch(TOKEN)

    assert (status, b"hunter2" in body) == (500, False)
    ((pool, _, problem),) = plane.source.problems
    assert (pool, problem.partition(" (")[0]) == ("workers", "spec.pullSecret: is no JSON")


def test_a_machine_is_recorded_under_the_name_it_gives(plane: Plane) -> None:
    answer = plane.ask(
        "GET",
        "/v1/node-config",
        f"Authorization: Bearer {TOKEN}",
        "Fairlead-Machine: workers-a1",
    )

    assert status_of(answer) == 200
    assert header(answer, "content-type") == ["application/json"]
    assert header(answer, "cache-control") == ["no-store"]
    assert plane.source.fetches == [("workers", "workers-a1", make_revision().id)]


@pytest.mark.parametrize(
    ("names", "status"),
    [([], 400), ([""], 400), (["../../etc/passwd"], 400), (["workers-b2"], 511)],
)
def test_a_strange_name_is_given_nothing(plane: Plane, names: list[str], status: int) -> None:
    lines = [f"Fairlead-Machine: {name}" for name in names]

    answer = plane.ask("GET", "/v1/node-config", f"Authorization: Bearer {TOKEN}", *lines)

    assert status_of(answer) == status
    assert plane.source.fetches == []


@pytest.mark.parametrize("token", [UNKNOWN, LAPSED], ids=["unknown", "lapsed"])
def test_the_real_agent_is_told_to_come_again_with_a_token_that_is_not_good(
    plane: Plane, token: str
) -> None:
    status, body = plane.fetch(token)

    assert status == 511
    assert token.encode() not in body
    assert plane.source.fetches == []


def test_a_config_that_cannot_be_served_is_recorded_once(plane: Plane) -> None:
    statuses = [plane.fetch(BROKEN)[0] for _ in range(3)]

    assert statuses == [500, 500, 500]
    assert plane.source.problems == [("workers", "spoiled", "the node config is no JSON object")]
    assert plane.source.fetches == []


def test_a_config_that_can_be_served_again_clears_its_problem(plane: Plane) -> None:
    plane.source.pairs[0] = replace(plane.source.pairs[0], problem="it was broken")

    status, _ = plane.fetch(TOKEN)

    assert status == 200
    assert plane.source.problems == [("workers", make_revision().id, "")]


@pytest.mark.parametrize(
    "lines",
    [
        [],
        ["Authorization:"],
        ["Authorization: Bearer"],
        [f"Authorization: Basic {TOKEN}"],
        [f"Authorization: {TOKEN}"],
        ["Authorization: Bearer not-base64!"],
        ["Authorization: Bearer t\xf6ken"],
        [f"Authorization: Bearer {TOKEN}", f"Authorization: Bearer {TOKEN}"],
        [f"Authorization: Bearer {TOKEN}", f"authorization: Bearer {UNKNOWN}"],
        ["Authorization: Bearer " + "A" * 30000 + "!"],
        [f"X-Authorization: Bearer {TOKEN}"],
    ],
)
def test_a_bearer_that_is_none_is_refused_for_good(plane: Plane, lines: list[str]) -> None:
    answer = plane.ask("GET", "/v1/node-config", *lines)

    assert status_of(answer) == 401
    assert header(answer, "www-authenticate") == ["Bearer"]
    assert TOKEN.encode() not in answer
    assert plane.source.fetches == []


@pytest.mark.parametrize(
    ("request_bytes", "statuses"),
    [
        (b"GET /v1/node-config HTTP/1.1\r\nHost: x\r\nAuthorization\r\n\r\n", {400}),
        (b"GET /v1/node-config HTTP/1.1\r\nHost: x\r\nA: \x00\r\n\r\n", {400}),
        (b"\x16\x03\x01 nonsense\r\n\r\n", {400}),
        (b"GET /v1/node-config\r\n\r\n", {400}),
        (b"GET /v1/node-config HTTP/1.0\r\nAuthorization: Bearer %s\r\n\r\n" % b"AAAA", {511}),
    ],
)
def test_what_is_not_http_is_refused_and_the_service_goes_on(
    plane: Plane, request_bytes: bytes, statuses: set[int]
) -> None:
    assert status_of(plane.send(request_bytes)) in statuses

    assert plane.fetch(TOKEN)[0] == 200


@pytest.mark.parametrize(
    ("method", "path", "status"),
    [
        ("GET", "/", 404),
        ("GET", "/v1/node-config/", 404),
        ("GET", "/v1/../v1/node-config", 404),
        ("POST", "/v1/anything", 404),
        ("HEAD", "/v1/node-config", 405),
        ("PUT", "/v1/node-config", 405),
        ("OPTIONS", "/v1/node-config", 405),
        ("BREW", "/v1/node-config", 405),
        ("GET", "/v1/boot-report", 405),
    ],
)
def test_other_paths_and_methods_are_refused_also_with_a_good_token(
    plane: Plane, method: str, path: str, status: int
) -> None:
    answer = plane.ask(method, path, f"Authorization: Bearer {TOKEN}")

    assert status_of(answer) == status
    assert header(answer, "cache-control") == ["no-store"]
    assert plane.source.fetches == []


REPORT = json.dumps({"run": "1", "agent": "a", "layout": "aks", "started": "now"}).encode()
AUTHORIZED = (f"Authorization: Bearer {TOKEN}", "Fairlead-Machine: workers-a1")


def test_a_boot_report_of_the_real_agent_is_kept_as_it_came(plane: Plane) -> None:
    assert plane.report(TOKEN, REPORT) == 204

    assert plane.source.reports == [("workers", "workers-a1", REPORT)]


def test_a_report_whose_answer_was_lost_may_be_sent_again_and_no_other_may(plane: Plane) -> None:
    statuses = [plane.report(TOKEN, body) for body in (REPORT, REPORT, REPORT + b" ")]

    assert statuses == [204, 204, 410]
    assert plane.source.reports == [("workers", "workers-a1", REPORT)]


def test_of_two_reports_at_once_the_first_that_is_whole_counts(plane: Plane) -> None:
    """The slower one was let in while the machine was still expected to speak."""
    head = "\r\n".join(
        ["POST /v1/boot-report HTTP/1.1", "Host: x", "Connection: close", *AUTHORIZED]
    )
    slow = json.dumps({"run": "slow", "agent": "a", "layout": "aks", "started": "now"}).encode()
    context = ssl.create_default_context(cadata=plane.ca)
    with (
        socket.create_connection(("127.0.0.1", plane.port), 10) as connection,
        context.wrap_socket(connection, server_hostname="127.0.0.1") as secured,
    ):
        secured.sendall(f"{head}\r\nContent-Length: {len(slow)}\r\n\r\n".encode() + slow[:9])
        assert plane.fetch(TOKEN)[0] == 200  # by now the service waits for the rest
        assert plane.report(TOKEN, REPORT) == 204
        secured.sendall(slow[9:])
        answer = secured.recv(65536)

    assert status_of(answer) == 410
    assert plane.source.reports == [("workers", "workers-a1", REPORT)]


@pytest.mark.parametrize(
    ("lines", "body", "status"),
    [
        (AUTHORIZED, b"{}", 400),
        (AUTHORIZED, b"x" * 65537, 413),
        (AUTHORIZED, b"x" * 1_000_000, 413),
        (AUTHORIZED[:1], REPORT, 400),
        (AUTHORIZED[1:], REPORT, 401),
        ((f"Authorization: Bearer {UNKNOWN}", AUTHORIZED[1]), REPORT, 511),
    ],
)
def test_a_boot_report_that_is_none_or_nobodys_is_not_kept(
    plane: Plane, lines: tuple[str, ...], body: bytes, status: int
) -> None:
    answer = plane.ask("POST", "/v1/boot-report", *lines, body=body)

    assert status_of(answer) == status
    assert plane.source.reports == []


def test_a_header_that_does_not_end_is_cut_off(plane: Plane) -> None:
    with contextlib.suppress(ConnectionError, ssl.SSLError):
        head = b"GET /v1/node-config HTTP/1.1\r\nHost: x\r\n" + b"A: b\r\n" * 200_000
        answer = plane.send(head)
        # How it hears of it depends on how much is under way when the connection closes.
        assert answer == b"" or status_of(answer) == 400

    assert plane.fetch(TOKEN)[0] == 200


def test_a_sender_that_does_not_end_is_cut_off(plane: Plane) -> None:
    lines = (*AUTHORIZED, "Content-Length: 1000000000")
    head = "\r\n".join(["POST /v1/boot-report HTTP/1.1", "Host: x", *lines, "", ""])

    # How it hears of it depends on how much is under way when the connection closes.
    with contextlib.suppress(ConnectionError, ssl.SSLError):
        assert status_of(plane.send(head.encode() + b"x" * 32_000_000)) == 413

    assert plane.source.reports == []
    assert plane.fetch(TOKEN)[0] == 200


def test_a_report_in_pieces_without_a_length_is_bounded_too(plane: Plane) -> None:
    piece = b"1000\r\n" + b"x" * 4096 + b"\r\n"
    head = "\r\n".join(
        ["POST /v1/boot-report HTTP/1.1", "Host: x", *AUTHORIZED, "Transfer-Encoding: chunked"]
    )

    answer = plane.send(head.encode() + b"\r\n\r\n" + piece * 17 + b"0\r\n\r\n")

    assert status_of(answer) == 413
    assert plane.source.reports == []


def test_a_store_that_does_not_answer_lets_boots_try_again(plane: Plane) -> None:
    plane.source.is_away = True
    assert plane.fetch(TOKEN)[0] == 503

    plane.source.is_away = False
    assert plane.fetch(TOKEN)[0] == 200


@pytest.mark.parametrize("levels", [101, 400, 990, 20_000])
def test_a_report_nested_too_deeply_is_refused_and_nothing_is_logged(
    plane: Plane, caplog: pytest.LogCaptureFixture, levels: int
) -> None:
    caplog.set_level(logging.DEBUG)
    names = dict.fromkeys(("run", "agent", "layout", "started"), "x")
    deep = b"[" * levels + b"]" * levels
    report = json.dumps(names).encode().removesuffix(b"}") + b', "facts": {"x": ' + deep + b"}}"

    assert plane.report(TOKEN, report) == 400

    assert plane.source.reports == []
    assert plane.source.told == []
    assert sum(len(record.getMessage()) for record in caplog.records) < 2000


def test_a_request_that_fails_for_no_foreseen_reason_is_told_and_the_boot_tries_again(
    plane: Plane, caplog: pytest.LogCaptureFixture
) -> None:
    plane.source.defect = RecursionError("maximum recursion depth exceeded")
    report = encode_json(report_fields(BootReport("r", agent="1", layout="l", started="")))

    assert plane.report(TOKEN, report.encode()) == 503

    assert plane.source.told == ["RecursionError: maximum recursion depth exceeded"]
    assert [record.exc_info for record in caplog.records if record.exc_info] == []


def test_no_token_is_logged(plane: Plane, caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.DEBUG):
        for token in (TOKEN, UNKNOWN, BROKEN):
            plane.fetch(token)
            plane.ask("GET", "/v1/node-config", f"Authorization: Bearer {token} {token}")

    assert not any(token in caplog.text for token in (TOKEN, UNKNOWN, BROKEN))


def test_a_service_of_another_authority_is_not_believed(plane: Plane, tmp_path: Path) -> None:
    other = make_or_read(tmp_path)

    address = f"https://127.0.0.1:{plane.port}/v1/node-config"
    with pytest.raises(ssl.SSLCertVerificationError):
        fetch(Request(address, other.ca_pem, TOKEN), 5.0)
    assert plane.source.fetches == []
