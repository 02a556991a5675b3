"""The boot report over real TLS: sent after the verdict, to nobody else, and worth no exit code."""

import json
import signal
import ssl
import subprocess
import threading
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from fairlead.agent.https_fetch import Request, fetch
from fairlead.agent.report.record import parse_record
from fairlead.cli.main import run_command
from fairlead.contract.boot_document import BootDocument, render_boot_document
from fairlead.contract.boot_report import parse_report
from process.agent_process import agent_command, agent_environment, run_agent
from process.tls_server import Handler, Server, answer, make_pair, raw, serving

TOKEN = "dG9rZW4tb2YtdGhlLW1hY2hpbmU="  # noqa: S105 - of a server that lives for one test
CONFIG = b'{"version": "v1"}'
MACHINE = "node-1.example"


@pytest.fixture(scope="module")
def certificates(tmp_path_factory: pytest.TempPathFactory) -> Path:
    directory = tmp_path_factory.mktemp("certificates")
    make_pair(directory, "good", "IP:127.0.0.1")
    return directory


@pytest.fixture
def ca(certificates: Path) -> str:
    return (certificates / "good-ca.pem").read_text()


def by_method(on_post: Handler) -> Handler:
    """A server that has the config, and takes reports as this handler does."""
    config = answer(200, CONFIG)

    def send(connection: ssl.SSLSocket, request: bytes) -> None:
        (on_post if request.startswith(b"POST ") else config)(connection, request)

    return send


def in_order(*handlers: Handler) -> Handler:
    left = list(handlers)

    def send(connection: ssl.SSLSocket, request: bytes) -> None:
        (left.pop(0) if len(left) > 1 else left[0])(connection, request)

    return send


def make_machine(root: Path, server: Server, ca: str, script: str = "exit 0\n") -> Path:
    containers = root / "opt/azure/containers"
    containers.mkdir(parents=True)
    (containers / "provision_start.sh").write_text(script)
    (root / "opt/azure/components.json").write_text("{}")
    (root / "etc").mkdir()
    (root / "etc/hostname").write_text(f"{MACHINE}\n")
    stub = containers / "fairlead-boot-document.json"
    document = BootDocument(server.endpoint, ca, TOKEN, 20, server.report)
    stub.write_bytes(render_boot_document(document))
    return root


def sentinel_of(root: Path) -> Path:
    return root / "opt/azure/containers/provision.complete"


def log_of(root: Path) -> list[dict[str, str]]:
    text = (root / "var/log/azure/aks-node-controller.log").read_text()
    return [json.loads(line) for line in text.splitlines()]


def wait_until(is_so: Callable[[], bool]) -> None:
    end = time.monotonic() + 20
    while not is_so():
        assert time.monotonic() < end
        time.sleep(0.01)


def test_config_and_report_are_asked_for_and_sent_by_the_same_machine(
    certificates: Path, ca: str, tmp_path: Path
) -> None:
    with serving(certificates, by_method(in_order(answer(503), answer(204)))) as server:
        make_machine(tmp_path, server, ca)
        found = run_agent("boot", "--root", str(tmp_path))

    assert found.returncode == 0, found.stderr
    asked, refused, taken = server.requests
    assert asked.startswith(b"GET /v1/node HTTP/1.1\r\n")
    assert taken.startswith(b"POST /v1/boot-report HTTP/1.1\r\n")
    for request in server.requests:
        assert b"\r\nFairlead-Machine: node-1.example\r\n" in request
        assert f"\r\nAuthorization: Bearer {TOKEN}\r\n".encode() in request
    assert refused == taken
    sent = parse_report(taken.partition(b"\r\n\r\n")[2])
    shown = run_agent("report", "--root", str(tmp_path), "--json")
    printed = parse_report(shown.stdout.encode())
    assert (sent.run_id, sent.exit_code, sent.facts) == (printed.run_id, 0, printed.facts)
    assert [stage.name for stage in sent.stages] == [stage.name for stage in printed.stages]
    assert log_of(tmp_path)[-1]["msg"] == "boot report sent"
    assert TOKEN not in found.stderr


def test_user_data_of_the_command_line_brings_a_machine_to_report(
    certificates: Path, ca: str, tmp_path: Path
) -> None:
    (tmp_path / "token").write_text(TOKEN)
    root = tmp_path / "root"
    seed = root / "var/lib/cloud/seed/nocloud"
    seed.mkdir(parents=True)
    words = ["userdata", "render", "--format", "boothook", "--output", str(seed / "user-data")]
    words += ["--ca", str(certificates / "good-ca.pem"), "--token-file", str(tmp_path / "token")]
    with serving(certificates, by_method(answer(204))) as server:
        words += ["--endpoint", server.endpoint, "--report", server.report]
        assert run_command(words) == 2
        assert run_command([*words, "--fetch"]) == 0
        run_agent("boot", "--root", str(root))

    assert [request.split(b" ", 2)[:2] for request in server.requests] == [
        [b"GET", b"/v1/node"],
        [b"POST", b"/v1/boot-report"],
    ]
    assert b"Fairlead-Machine" not in server.requests[0]


def test_a_script_that_failed_keeps_its_exit_code_and_is_reported(
    certificates: Path, ca: str, tmp_path: Path
) -> None:
    with serving(certificates, by_method(answer(401))) as server:
        make_machine(tmp_path, server, ca, "exit 37\n")
        found = run_agent("boot", "--root", str(tmp_path))

    assert found.returncode == 37
    assert len(server.posts()) == 1
    assert log_of(tmp_path)[-1]["msg"] == "boot report not sent"
    assert "boot-report: status 401" in log_of(tmp_path)[-1]["cause"]
    assert TOKEN not in found.stderr


def test_a_waiter_has_its_verdict_while_nobody_takes_the_report(
    certificates: Path, ca: str, tmp_path: Path
) -> None:
    is_asked, may_answer = threading.Event(), threading.Event()

    def hang(connection: ssl.SSLSocket, request: bytes) -> None:
        is_asked.set()
        may_answer.wait(20)
        answer(204)(connection, request)

    with serving(certificates, by_method(hang)) as server:
        make_machine(tmp_path, server, ca)
        agent = subprocess.Popen(
            agent_command("boot", "--root", str(tmp_path)),
            env=agent_environment(),
            stderr=subprocess.DEVNULL,
        )
        try:
            assert is_asked.wait(20)
            waited = run_agent("provision-wait", "--root", str(tmp_path), "--timeout", "5")
            is_running = agent.poll() is None
        finally:
            may_answer.set()
            code = agent.wait(20)

    assert (waited.returncode, is_running, code) == (0, True, 0)


def test_a_kill_while_sending_leaves_a_boot_that_ended(
    certificates: Path, ca: str, tmp_path: Path
) -> None:
    may_answer = threading.Event()

    def hang(_connection: ssl.SSLSocket, _request: bytes) -> None:
        may_answer.wait(20)

    with serving(certificates, by_method(in_order(hang, answer(204)))) as server:
        make_machine(tmp_path, server, ca)
        with subprocess.Popen(
            agent_command("boot", "--root", str(tmp_path)),
            env=agent_environment(),
            stderr=subprocess.DEVNULL,
        ) as agent:
            wait_until(lambda: len(server.posts()) == 1)
            agent.kill()
            may_answer.set()

        assert agent.returncode == -signal.SIGKILL
        status = json.loads((tmp_path / "var/log/azure/aks/provision.json").read_text())
        assert status["ExitCode"] == "0"
        assert sentinel_of(tmp_path).exists()
        (record,) = tmp_path.rglob("*record.jsonl")
        assert parse_record(record.read_bytes())[-1].exit_code == 0

        second = run_agent("boot", "--root", str(tmp_path))

    assert second.returncode == 0, second.stderr
    assert len(server.posts()) == 2


def test_a_conclusion_reaches_the_control_plane(
    certificates: Path, ca: str, tmp_path: Path
) -> None:
    with serving(certificates, by_method(answer(204))) as server:
        make_machine(tmp_path, server, ca)
        found = run_agent("conclude", "--root", str(tmp_path))
        again = run_agent("conclude", "--root", str(tmp_path))

    assert (found.returncode, again.returncode) == (1, 0)
    (taken,) = server.posts()
    sent = parse_report(taken.partition(b"\r\n\r\n")[2])
    assert [stage.name for stage in sent.stages] == ["conclude"]


def test_an_answer_that_comes_before_the_body_was_taken_is_heard(
    certificates: Path, ca: str
) -> None:
    is_heard = threading.Event()

    def refuse_by_the_header(connection: ssl.SSLSocket, request: bytes) -> None:
        answer(413)(connection, request)
        is_heard.wait(5)  # closing at once would take the answer away with what was not read

    with serving(certificates, refuse_by_the_header) as server:
        server.takes_bodies = False
        found = fetch(Request(server.report, ca, TOKEN, MACHINE, b"{" * 65536), 5.0)
        is_heard.set()

    assert found == (413, b"")


def test_a_server_that_hangs_up_in_the_body_is_an_os_error(certificates: Path, ca: str) -> None:
    with serving(certificates, raw(b"")) as server:
        server.takes_bodies = False
        with pytest.raises(OSError, match=r"\w"):
            fetch(Request(server.report, ca, TOKEN, MACHINE, b"{" * (8 << 20)), 5.0)


@pytest.mark.parametrize("reads", [0, 64])
def test_a_server_that_hardly_reads_is_cut_off_by_the_deadline(
    certificates: Path, ca: str, reads: int
) -> None:
    is_over = threading.Event()

    def trickle(connection: ssl.SSLSocket, _request: bytes) -> None:
        while not is_over.wait(0.1):
            for _ in range(reads):
                connection.recv(16384)

    with serving(certificates, trickle) as server:
        server.takes_bodies = False
        request = Request(server.report, ca, TOKEN, MACHINE, b"{" * (64 << 20))
        start = time.monotonic()
        try:
            with pytest.raises(TimeoutError):
                fetch(request, 0.5)
            took_s = time.monotonic() - start
        finally:
            is_over.set()
    assert took_s < 3
