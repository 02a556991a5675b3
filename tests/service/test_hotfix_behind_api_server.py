"""One address for the API server and the hotfix service: real nginx, and a client by grpc-go."""

import os
import re
import socket
import ssl
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from datetime import UTC, datetime, timedelta
from pathlib import Path
from shutil import which
from typing import Any

import pytest

from certificate_chain import Wanted, issue, rsa_key
from fairlead.embedded.certificates.authority import make_or_read
from fairlead.hotfix.service.asked import Reply, Status
from kube.built_tools import built_tool
from process.tls_server import Server, answer
from served_hotfixes import make_depot, make_fix
from service.hotfix_grpc import BODY, NAME, Served, served
from service.hotfix_service import HotfixProcess
from shared_cases import REPOSITORY
from unit.hotfix.attested import AZURE_DOCUMENT, SUBSCRIPTION, azure_chain, azure_proof

pytestmark = pytest.mark.slow

HOWTO = REPOSITORY / "docs" / "howto" / "serve-behind-your-api-server.md"


def ask(target: str, one: Served, *words: str, proof: str = "the proof") -> str:
    """Ask a server of the tests; return the code, then the config or the message."""
    return called(target, one.ca_file, NAME, proof, *words)


def called(target: str, ca: Path, name: str, proof: str, *words: str) -> str:
    """Ask as the AKS node controller asks."""
    client = built_tool("live-patching-client")
    command = [str(client), "-target", target, "-ca", str(ca), "-name", name, *words]
    environment = {**os.environ, "PROOF": proof}
    done = subprocess.run(
        command, env=environment, capture_output=True, text=True, check=True, timeout=30
    )
    return done.stdout


def free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as free:
        port: int = free.getsockname()[1]
        return port


@contextmanager
def nginx(directory: Path, grpc_port: int, api_port: int) -> Iterator[int]:
    """Run nginx with the file of the howto, where only addresses of this test differ."""
    module = Path("/usr/lib/nginx/modules/ngx_stream_module.so")
    if which("nginx") is None or not module.exists():
        pytest.skip("NOT RUN: apt-get install nginx-light libnginx-mod-stream")
    port = free_port()
    (text,) = re.findall(r"```nginx\n(.*?)```", HOWTO.read_text(), re.DOTALL)
    enabled = "include /etc/nginx/modules-enabled/*.conf;"
    for old, new in {
        enabled: f"load_module {module}; pid {directory}/nginx.pid; error_log {directory}/log;",
        "listen 443;": f"listen 127.0.0.1:{port};",
        "127.0.0.1:7443;": f"127.0.0.1:{grpc_port};",
        "127.0.0.1:6443;": f"127.0.0.1:{api_port};",
    }.items():
        assert text.count(old) == 1
        text = text.replace(old, new)
    (directory / "nginx.conf").write_text(text)
    words = ["-p", f"{directory}", "-c", f"{directory}/nginx.conf", "-e", f"{directory}/log"]
    process = subprocess.Popen(["nginx", *words, "-g", "daemon off;"])
    try:
        wait_for(port)
        yield port
    finally:
        process.terminate()
        process.wait(10)


def wait_for(port: int) -> None:
    for _ in range(500):
        with suppress(OSError), socket.create_connection(("127.0.0.1", port), 1):
            return
        time.sleep(0.02)
    raise AssertionError(f"nobody listens on port {port}")


def test_a_client_made_with_grpc_go_is_served(tmp_path: Path) -> None:
    with served(tmp_path) as one:
        assert ask(one.target, one) == f"OK {BODY.decode()}\n"
        assert ask(one.target, one, "-alpn", "aks-live-patching") == f"OK {BODY.decode()}\n"

        question = one.pointers.asked[0][0]
        assert (question.component, question.proof) == ("aksNodeController", "the proof")
        assert not question.wants_update


@pytest.mark.parametrize(
    ("status", "code"),
    [
        (Status.UNAUTHENTICATED, "Unauthenticated"),
        (Status.PERMISSION_DENIED, "PermissionDenied"),
        (Status.NOT_FOUND, "NotFound"),
        (Status.INVALID_ARGUMENT, "InvalidArgument"),
        (Status.RESOURCE_EXHAUSTED, "ResourceExhausted"),
        (Status.UNAVAILABLE, "Unavailable"),
        (Status.INTERNAL, "Internal"),
    ],
)
def test_grpc_go_sees_the_status_that_was_meant(tmp_path: Path, status: Status, code: str) -> None:
    with served(tmp_path, Reply(status=status, problem="because")) as one:
        assert ask(one.target, one) == f"{code} because\n"


def test_grpc_go_brings_a_proof_of_8_kib(tmp_path: Path) -> None:
    with served(tmp_path) as one:
        assert ask(one.target, one, proof="p" * 8192).startswith("OK ")
        assert one.pointers.asked[0][0].proof == "p" * 8192


def test_nginx_routes_by_alpn_and_the_api_server_is_not_touched(tmp_path: Path) -> None:
    with served(tmp_path) as one:
        pair = tmp_path / "api.pem"
        issue(Wanted("api", (NAME,)), one.root).write(pair, tmp_path / "api.key")
        pair.write_bytes(pair.read_bytes() + (tmp_path / "api.key").read_bytes())
        with (
            Server(pair, [answer(200, b"the API server")]) as api,
            nginx(tmp_path, one.server.port, api.port) as port,
        ):
            assert ask(f"127.0.0.1:{port}", one) == f"OK {BODY.decode()}\n"
            assert api.requests == []
            for offered in (["h2", "http/1.1"], ["x-aks-live-patching"], []):
                assert b"the API server" in plain_get(port, one, offered)
            assert len(one.pointers.asked) == 1

            one.server.stop(0.2)
            assert ask(f"127.0.0.1:{port}", one).startswith("Unavailable ")
            assert b"the API server" in plain_get(port, one, ["http/1.1"])


def plain_get(port: int, one: Served, offered: list[str]) -> bytes:
    context = ssl.create_default_context(cadata=one.root.pem.decode())
    if offered:
        context.set_alpn_protocols(offered)
    with (
        socket.create_connection(("127.0.0.1", port), 10) as connection,
        context.wrap_socket(connection, server_hostname=NAME) as secured,
    ):
        secured.sendall(b"GET /readyz HTTP/1.1\r\nHost: api\r\n\r\n")
        return secured.recv(65536)


def test_an_aks_agent_with_an_azure_document_gets_its_fix_from_a_running_service(
    tmp_path: Path,
) -> None:
    now = datetime.now(UTC)
    fix = make_fix(component="aksNodeController", everyone=True, published_at=now)
    depot = make_depot(tmp_path / "depot", [fix], now)
    names = ("metadata.azure.com", "*.metadata.azure.com")
    signer = issue(Wanted(names[0], names), azure_chain().between, rsa_key())
    (tmp_path / "roots.pem").write_bytes(azure_chain().root.pem)
    (tmp_path / "between.pem").write_bytes(azure_chain().between.pem)
    port = free_port()
    azure = ["--azure-roots", "roots.pem", "--azure-intermediates", "between.pem"]
    whose = ["--azure-subscription", SUBSCRIPTION, "--azure-region", "local", "--region", "local"]
    service = HotfixProcess(tmp_path, depot, 2, "--grpc", f"127.0.0.1:{port}", *azure, *whose)
    try:
        wait_for(port)
        ca = tmp_path / "service-ca.pem"
        ca.write_text(make_or_read(tmp_path / "certificates").ca_pem)
        good = azure_proof(stamped(now), signer)
        answer = called(f"127.0.0.1:{port}", ca, "127.0.0.1", good)
        assert answer == 'OK {"hotfixes":{"202611.16":"202611.16.3"}}\n\n'
        old = azure_proof(stamped(now - timedelta(hours=7)), signer)
        refused = called(f"127.0.0.1:{port}", ca, "127.0.0.1", old)
        assert refused == "Unauthenticated the proof does not hold\n"
        log = service.log.read_text()
        assert good[:40] not in log
        assert old[:40] not in log
    finally:
        service.kill()


def stamped(start: datetime) -> dict[str, Any]:
    form = "%m/%d/%y %H:%M:%S -0000"
    end = start + timedelta(hours=6)
    stamp = {"createdOn": start.strftime(form), "expiresOn": end.strftime(form)}
    return {**AZURE_DOCUMENT, "timeStamp": stamp}
