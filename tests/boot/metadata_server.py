"""
The metadata service of a cloud that exists inside one network namespace.

    python3 metadata_server.py DIRECTORY ADDRESS

DIRECTORY/nodes/NAME/user-data is what the node NAME is told; DIRECTORY/addresses/IP holds the name
of the node that asks from this address. Every request becomes a line of requests.jsonl with its
monotonic time, which nodes share with this machine. DIRECTORY/faults/NAME, if there, is a JSON
object: {"delay_s": 2} or {"status": 503}, for that node's next requests.
"""

import base64
import json
import sys
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

# Without these cloud-init asks ten times, one second apart.
EMPTY_SEED_FILES = ("vendor-data", "network-config")


class Metadata(BaseHTTPRequestHandler):
    """Answers as NoCloud over HTTP, as Azure's instance metadata, and takes callbacks."""

    protocol_version = "HTTP/1.1"
    directory = Path()

    def do_GET(self) -> None:  # noqa: N802 - the name is http.server's
        """Answer a question for user data, metadata or a proof of identity."""
        self.note({})
        if self.is_broken():
            return
        path, _, _ = self.path.partition("?")
        match path.strip("/").split("/"):
            case ["seed", name, file]:
                self.answer_seed(name, file)
            case ["metadata", *rest]:
                self.answer_azure("/".join(rest))
            case _:
                self.answer(404, b"")

    def do_POST(self) -> None:  # noqa: N802
        """Take what an agent reports."""
        body = self.rfile.read(int(self.headers.get("Content-Length", "0")))
        self.note({"body": body.decode(errors="replace")})
        if not self.is_broken():
            self.answer(200, b"{}")

    def answer_seed(self, name: str, file: str) -> None:
        """Answer as a NoCloud seed: files of the node, and an empty one where it has none."""
        found = self.directory / "nodes" / name / file
        if found.is_file() or file in EMPTY_SEED_FILES:
            self.answer(200, found.read_bytes() if found.is_file() else b"")
        else:
            self.answer(404, b"")

    def answer_azure(self, path: str) -> None:
        """Answer as Azure's service: only to those who send its header."""
        node = self.node_name()
        user_data = self.directory / "nodes" / node / "user-data"
        if self.headers.get("Metadata", "").lower() != "true":
            self.answer(400, b'{"error": "Bad request. Required metadata header not specified"}')
        elif path == "instance/compute/userData" and user_data.is_file():
            self.answer(200, base64.b64encode(user_data.read_bytes()))
        elif path == "attested/document":
            # Shaped like the real one; the signature proves nothing.
            signature = base64.b64encode(json.dumps({"vmId": node}).encode()).decode()
            self.answer(200, json.dumps({"encoding": "pkcs7", "signature": signature}).encode())
        elif path == "instance":
            compute = {"name": node, "vmId": node, "osType": "Linux"}
            self.answer(200, json.dumps({"compute": compute}).encode())
        else:
            self.answer(404, b"")

    def answer(self, status: int, body: bytes) -> None:
        """Send a whole answer."""
        self.send_response(status)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def node_name(self) -> str:
        """Return who asks."""
        known = self.directory / "addresses" / self.client_address[0]
        return known.read_text() if known.is_file() else self.client_address[0]

    def is_broken(self) -> bool:
        """Do to this node what its faults file says; return whether it has had its answer."""
        file = self.directory / "faults" / self.node_name()
        if not file.is_file():
            return False
        fault: dict[str, Any] = json.loads(file.read_text())
        time.sleep(float(fault.get("delay_s", 0)))
        if "status" in fault:
            self.answer(int(fault["status"]), b"")
        return "status" in fault

    def note(self, more: dict[str, str]) -> None:
        """Write down that somebody asked."""
        line = {
            "us": time.monotonic_ns() // 1000,
            "node": self.node_name(),
            "request": f"{self.command} {self.path}",
            **more,
        }
        with (self.directory / "requests.jsonl").open("a") as log:
            log.write(json.dumps(line) + "\n")

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002
        """Say nothing on stderr."""


class MetadataServer(ThreadingHTTPServer):
    """Takes a whole fleet's first questions at once."""

    request_queue_size = 128


def main() -> None:
    """Serve until killed."""
    directory, address = sys.argv[1:]
    Metadata.directory = Path(directory)
    server = MetadataServer((address, 80), Metadata)
    (Metadata.directory / "ready").touch()
    server.serve_forever()


if __name__ == "__main__":
    main()
