"""
Stands between a client and the API server, and answers some requests itself: conflicts for writes,
"too many requests" for anything, and watches that end in the middle.

TLS on both sides, with HTTP/1.1: the client shows its token or nothing, and the proxy its own
certificate. What it does is drawn from a seed.
"""

import contextlib
import http.client
import json
import random
import ssl
import threading
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

from kube.certificates import write_kubeconfig
from kube.cluster import LOOPBACK, TestCluster

WRITES = ("POST", "PUT", "PATCH", "DELETE")
PASSED_ON = ("Content-Type", "Accept")
CHUNK = 1 << 16


@dataclass
class Faults:
    """
    How often what goes wrong, as shares of all requests, and what was done.

    The wait after 429 is as the server asks, in whole seconds; 0 asks for nothing.
    """

    conflicts: float = 0.0
    too_many: float = 0.0
    waits_s: tuple[int, ...] = (0, 2)
    watches_last_s: float = 600.0
    asked: int = 0
    answered: dict[str, int] = field(default_factory=lambda: {"409": 0, "429": 0, "cut": 0})
    early: list[str] = field(default_factory=list)  # asked again before the time that was told
    chance: random.Random = field(default_factory=lambda: random.Random(20261118))
    lock: threading.Lock = field(default_factory=threading.Lock)
    _not_before: dict[str, float] = field(default_factory=dict)

    def draw(self, method: str, path: str, body: bytes) -> tuple[int, int]:
        """What this request is answered, and after how many seconds to ask again; 0: nothing."""
        key = f"{method} {path} {hash(body)}"
        with self.lock:
            self.asked += 1
            if time.monotonic() < self._not_before.pop(key, 0.0):
                self.early.append(key)
            if self.chance.random() < self.too_many:
                wait = self.chance.choice(self.waits_s)
                self.answered["429"] += 1
                if wait:
                    self._not_before[key] = time.monotonic() + wait
                return 429, wait
            if method in WRITES and self.chance.random() < self.conflicts:
                self.answered["409"] += 1
                return 409, 0
        return 0, 0

    def note_cut(self) -> None:
        with self.lock:
            self.answered["cut"] += 1


class _Handler(BaseHTTPRequestHandler):
    disable_nagle_algorithm = True  # as the server itself
    protocol_version = "HTTP/1.1"
    faults: Faults
    upstream: tuple[str, int]
    context: ssl.SSLContext

    def _handle(self) -> None:
        body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        status, wait = self.faults.draw(self.command, self.path, body)
        if status:
            self._refuse(status, wait)
        else:
            with contextlib.suppress(OSError, http.client.HTTPException):
                self._pass_on(body)

    do_GET = do_POST = do_PUT = do_PATCH = do_DELETE = _handle  # noqa: N815 - as http.server asks

    def _refuse(self, status: int, wait: int) -> None:
        content = json.dumps({"kind": "Status", "code": status, "message": "injected"}).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(content)))
        if wait:
            self.send_header("Retry-After", str(wait))
        self.end_headers()
        self.wfile.write(content)

    def _pass_on(self, body: bytes) -> None:
        connection = http.client.HTTPSConnection(*self.upstream, context=self.context, timeout=5)
        try:
            headers = {name: self.headers[name] for name in PASSED_ON if name in self.headers}
            connection.request(self.command, self.path, body or None, headers)
            answer = connection.getresponse()
            if "watch=true" in self.path and answer.status == 200:
                self._pass_watch(connection, answer)
                return
            content = answer.read()
            self.send_response(answer.status)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(content)))
            self.end_headers()
            self.wfile.write(content)
        finally:
            connection.close()

    def _pass_watch(
        self, connection: http.client.HTTPSConnection, answer: http.client.HTTPResponse
    ) -> None:
        """Pass changes on, until the time of a watch is over: it ends in the middle of a chunk."""
        self.close_connection = True
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Transfer-Encoding", "chunked")
        self.end_headers()
        end = time.monotonic() + self.faults.watches_last_s
        while (left := end - time.monotonic()) > 0:
            connection.sock.settimeout(left)
            try:
                chunk = answer.read1(CHUNK)
            except TimeoutError:
                break
            if not chunk:
                self.wfile.write(b"0\r\n\r\n")
                return
            self.wfile.write(f"{len(chunk):x}\r\n".encode() + chunk + b"\r\n")
        self.faults.note_cut()

    def log_message(self, format: str, *arguments: object) -> None:  # noqa: A002 - their name
        """Say nothing."""


class _Server(ThreadingHTTPServer):
    daemon_threads = True

    def handle_error(self, request: object, client_address: object) -> None:
        """Clients go whenever they like."""


@contextlib.contextmanager
def fault_proxy(cluster: TestCluster, faults: Faults) -> Iterator[Path]:
    """Yield the kubeconfig of an administrator who reaches the server through the proxy."""
    host, _, port = cluster.url.removeprefix("https://").partition(":")
    context = ssl.create_default_context(cafile=str(cluster.authority.pair.certificate))
    pair = cluster.authority.client("behind-the-proxy", "admin", "system:masters")
    context.load_cert_chain(pair.certificate, pair.key)
    known = {"faults": faults, "upstream": (host, int(port)), "context": context}
    server = _Server((LOOPBACK, 0), type("Handler", (_Handler,), known))
    shown = cluster.authority.server("fault-proxy", [LOOPBACK])
    listening = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    listening.load_cert_chain(shown.certificate, shown.key)
    server.socket = listening.wrap_socket(
        server.socket, server_side=True, do_handshake_on_connect=False
    )
    thread = threading.Thread(target=server.serve_forever, name="fault-proxy", daemon=True)
    thread.start()
    url = f"https://{LOOPBACK}:{server.server_address[1]}"
    file = cluster.directory / "fault-proxy.kubeconfig"
    try:
        yield write_kubeconfig(file, url, cluster.authority, "none")
    finally:
        server.shutdown()
        server.server_close()
        thread.join(10)
