"""An HTTP server on loopback that answers as a test tells it, and a client of it."""

import json
import queue
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

from lightkube.config.kubeconfig import KubeConfig

from fairlead.kube.client import KubeClient

# What a test answers a request with: status, document, and whether the connection ends after it.
Reply = tuple[int, Any, bool]

WAIT_S = 10


class SmallServer:
    """
    Says what it was asked, and answers what `reply` returns for a method, a path and its headers.

    Lines that are put into `lines` go out to whoever watches.
    """

    def __init__(self) -> None:
        self.reply: Callable[[str, str, dict[str, str]], Reply] = lambda *_: (200, {}, False)
        self.asked: list[tuple[str, str]] = []
        self.callers: list[int] = []  # the port of each request's connection
        self.ended = 0  # connections
        self.guards_watches = False  # whether they are asked of `reply` first
        self.lines: queue.Queue[bytes | None] = queue.Queue()

    def answer(self, method: str, path: str, headers: dict[str, str], _body: bytes) -> Reply:
        """Return what this request is answered with."""
        return self.reply(method, path, headers)

    def tell(self, kind: str, changed: dict[str, Any]) -> None:
        """Let watches bring a change."""
        self.lines.put(json.dumps({"type": kind, "object": changed}).encode() + b"\n")


@contextmanager
def small_server(server: SmallServer) -> Iterator[str]:
    """The address of this server, for as long as the block runs."""

    class Handler(BaseHTTPRequestHandler):
        disable_nagle_algorithm = True  # an answer in two parts would wait 40 ms for the second
        protocol_version = "HTTP/1.1"

        def log_message(self, *_: Any) -> None:
            return

        def handle_any(self) -> None:
            body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
            is_watch, headers = "watch=true" in self.path, dict(self.headers)
            if is_watch and not server.guards_watches:
                self.stream()
                return
            server.asked.append((self.command, self.path))
            server.callers.append(self.client_address[1])
            status, document, is_last = server.answer(self.command, self.path, headers, body)
            if is_watch and status == HTTPStatus.OK:
                self.stream()
                return
            content = json.dumps(document).encode()
            self.send_response(status)
            self.send_header("Content-Length", str(len(content)))
            self.end_headers()
            self.wfile.write(content)
            self.close_connection = is_last

        def stream(self) -> None:
            self.send_response(200)
            self.end_headers()
            while (line := server.lines.get()) is not None:
                self.wfile.write(line)
            self.close_connection = True

        do_GET = do_POST = do_PUT = do_PATCH = do_DELETE = handle_any  # noqa: N815 - its names

    class Listening(ThreadingHTTPServer):
        daemon_threads = True

        def shutdown_request(self, request: Any) -> None:
            super().shutdown_request(request)
            server.ended += 1

    listening = Listening(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=listening.serve_forever, args=(0.01,))
    thread.start()
    try:
        yield f"http://127.0.0.1:{listening.server_port}"
    finally:
        server.lines.put(None)
        listening.shutdown()
        thread.join(WAIT_S)
        listening.server_close()


@contextmanager
def client_of(address: str, ca: Path | None = None, **user: Any) -> Iterator[KubeClient]:
    """A client of this server as this user. ca: the authority that it trusts."""
    trusted = {"certificate-authority": str(ca)} if ca else {}
    client = KubeClient(
        KubeConfig.from_dict(
            {
                "clusters": [{"name": "c", "cluster": {"server": address, **trusted}}],
                "users": [{"name": "u", "user": user}],
                "contexts": [{"name": "x", "context": {"cluster": "c", "user": "u"}}],
                "current-context": "x",
            }
        )
    )
    try:
        yield client
    finally:
        client.close()


def wait_until(holds: Callable[[], bool]) -> None:
    """Wait until something holds that another thread brings about."""
    end = time.monotonic() + WAIT_S
    while not holds():
        assert time.monotonic() < end, "it did not become true in time"
        time.sleep(0.002)
