"""
A control plane as nodes see it: hands out node configs over TLS and takes boot reports.

    python3 control_plane_server.py DIRECTORY ADDRESS

DIRECTORY/server.pem is its certificate with the key, tokens/TOKEN holds the name of the node that
the token belongs to, configs/NAME is that node's config, reports/NAME.N.json its Nth report. Who
asks is known by its address (addresses/IP), also before the first byte, so faults/NAME can break
the very first packet: a JSON object with `kind` (silent, trickle, cut, or a status) and `times`,
after which the node is answered as it should be.
"""

import json
import socket
import ssl
import sys
import threading
import time
from collections import Counter
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

PORT = 443
FOR_EVER_S = 3600.0
TRICKLE_S = 0.5

# How often each node has had its fault.
FAULTS: Counter[str] = Counter()


class ControlPlane(BaseHTTPRequestHandler):
    """Answers one connection."""

    protocol_version = "HTTP/1.1"
    directory = Path()
    turn = threading.Lock()

    def setup(self) -> None:
        """Look who is there before the handshake, which happens with the first byte."""
        known = self.directory / "addresses" / self.client_address[0]
        self.node = known.read_text() if known.is_file() else self.client_address[0]
        self.fault = self.next_fault()
        if self.fault == "silent":
            time.sleep(FOR_EVER_S)
        super().setup()

    def next_fault(self) -> str:
        """Return what to do to this connection; '' for nothing bad."""
        file = self.directory / "faults" / self.node
        if not file.is_file():
            return ""
        fault: dict[str, Any] = json.loads(file.read_text())
        with self.turn:
            FAULTS[self.node] += 1
            is_over = FAULTS[self.node] > fault.get("times", sys.maxsize)
        return "" if is_over else str(fault["kind"])

    def do_GET(self) -> None:  # noqa: N802 - the name is http.server's
        """Hand out the config of the node whose token this is."""
        name = self.authorized_node()
        config = self.directory / "configs" / name
        if self.fault.isdigit():
            self.answer(int(self.fault), b"")
        elif not name:
            self.answer(401, b"")
        elif self.path == "/v1/node-config" and config.is_file():
            self.answer(200, config.read_bytes())
        else:
            self.answer(404, b"")

    def do_POST(self) -> None:  # noqa: N802
        """Keep a boot report."""
        body = self.rfile.read(int(self.headers.get("Content-Length", "0")))
        name = self.authorized_node()
        if not name or self.path != "/v1/boot-report":
            self.answer(404 if name else 401, b"")
            return
        with self.turn:
            number = len(list((self.directory / "reports").glob(f"{name}.*.json")))
            (self.directory / "reports" / f"{name}.{number}.json").write_bytes(body)
        self.answer(200, b"")

    def authorized_node(self) -> str:
        """Return whose token came with the request; '' if nobody's."""
        scheme, _, token = self.headers.get("Authorization", "").partition(" ")
        known = self.directory / "tokens" / token
        is_known = scheme == "Bearer" and token.isalnum() and known.is_file()
        return known.read_text() if is_known else ""

    def answer(self, status: int, body: bytes) -> None:
        """Send an answer, as whole and as fast as the fault lets it be."""
        self.note(status)
        self.send_response(status)
        self.send_header("Content-Length", str(len(body)))
        self.send_header("Connection", "close")
        self.end_headers()
        self.close_connection = True
        if self.fault == "cut":
            self.wfile.write(body[: len(body) // 2])
            self.connection.shutdown(socket.SHUT_RDWR)
        elif self.fault == "trickle":
            for at in range(len(body)):
                self.wfile.write(body[at : at + 1])
                time.sleep(TRICKLE_S)
        else:
            self.wfile.write(body)

    def note(self, status: int) -> None:
        """Write down who asked for what."""
        line = {
            "us": time.monotonic_ns() // 1000,
            "node": self.node,
            "request": f"{self.command} {self.path}",
            "status": status,
        }
        with self.turn, (self.directory / "asked.jsonl").open("a") as log:
            log.write(json.dumps(line) + "\n")

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002
        """Say nothing on stderr."""


class Server(ThreadingHTTPServer):
    """Takes a whole fleet's requests at once; each handshake is in its own thread."""

    request_queue_size = 128

    def handle_error(self, request: object, client_address: object) -> None:
        """A node that hangs up is what some faults are about."""


def main() -> None:
    """Serve until killed."""
    directory, address = sys.argv[1:]
    ControlPlane.directory = Path(directory)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(ControlPlane.directory / "server.pem")
    server = Server((address, PORT), ControlPlane)
    server.socket = context.wrap_socket(
        server.socket, server_side=True, do_handshake_on_connect=False
    )
    (ControlPlane.directory / "ready").touch()
    server.serve_forever()


if __name__ == "__main__":
    main()
