"""What the fix path is hurt with: signed answers of every kind, and servers that fail."""

import contextlib
import json
import socket
import ssl
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from functools import partial
from hashlib import sha256
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

from fairlead.hotfix.publish import metadata
from fairlead.hotfix.publish.metadata import PackageFile
from process.tls_server import Handler, answer, make_pair
from unit.hotfix_release import BASE, Release

FIXED = f"{BASE}.9999"
TOKEN = "dG9rZW4tdGhhdC1ub2JvZHktbWF5LXNlZQ=="
PACKAGE_PATH = f"apt/pool/fairlead-node-hotfix_{FIXED}_all.deb"

# A server that is slow on purpose sends for at most this long.
SLOW_S = 30.0


def make_kit(directory: Path, package: bytes) -> Path:
    """Write certificates, the package, and answers that are good, expired, forged and ahead."""
    make_pair(directory, "good", "IP:127.0.0.1")
    (directory / "package.deb").write_bytes(package)
    described = PackageFile(
        path=PACKAGE_PATH,
        length=len(package),
        sha256=sha256(package).hexdigest(),
        base=BASE,
        version=FIXED,
        format="deb",
    )
    now = datetime.now(UTC)
    # A root lives for a year; the other roles are signed when the case says.
    release = Release(now=now - timedelta(days=40))
    started = release.signed
    for name, moment in (
        ("good", now),
        ("expired", now - timedelta(days=39)),
        ("ahead", now + timedelta(days=3)),
    ):
        signers = release.signers()
        release.signed = metadata.publish(started, [described], (), signers, moment)
        (directory / f"{name}.json").write_bytes(release.answer({BASE: FIXED}))
    forged = json.loads((directory / "good.json").read_text())
    stamp = json.loads(forged["update"]["timestamp"])
    stamp["signed"]["version"] += 1
    forged["update"]["timestamp"] = json.dumps(stamp)
    (directory / "forged.json").write_text(json.dumps(forged))
    (directory / "anchor.json").write_bytes(release.anchor())
    return directory


def hang(connection: ssl.SSLSocket, _request: bytes) -> None:
    connection.settimeout(SLOW_S)
    connection.recv(1)


def drip(connection: ssl.SSLSocket, _request: bytes) -> None:
    connection.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 500000\r\n\r\n")
    end = time.monotonic() + SLOW_S
    while time.monotonic() < end:
        connection.sendall(b"{")
        time.sleep(0.05)


def cut(connection: ssl.SSLSocket, _request: bytes) -> None:
    connection.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 500000\r\n\r\n{")
    socket.socket(fileno=connection.detach()).close()


def drip_frames(connection: ssl.SSLSocket, _request: bytes) -> None:
    """Settings of HTTP/2 that change nothing, one after the other, and never an answer."""
    end = time.monotonic() + SLOW_S
    while time.monotonic() < end:
        connection.sendall(bytes((0, 0, 0, 4, 0, 0, 0, 0, 0)))
        time.sleep(0.05)


FAULTS: dict[str, Handler] = {
    "hang": hang, "drip": drip, "frames": drip_frames, "cut": cut, "500": answer(500),
    "503": answer(503), "other": answer(200, b"another package"),
}  # fmt: skip


def service(kit: Path, asked: str, package: str) -> Handler:
    """Answers both questions of a machine; each word is a fault, or a file of the kit."""

    def one(fault: str, suffix: str) -> Handler:
        return FAULTS.get(fault) or answer(200, (kit / f"{fault}{suffix}").read_bytes())

    pointer, file = one(asked, ".json"), one(package, ".deb")

    def send(connection: ssl.SSLSocket, request: bytes) -> None:
        is_file = request.startswith(b"GET /depot/")
        (file if is_file else pointer)(connection, request)

    return send


class Repository(SimpleHTTPRequestHandler):
    """A package source over plain HTTP that may hurt who asks."""

    def __init__(self, *arguments: Any, fault: str, **options: Any) -> None:
        self.fault = fault
        super().__init__(*arguments, **options)

    def do_GET(self) -> None:
        hurts: dict[str, Callable[[], None]] = {"hang": self._hang, "drip": self._drip}
        if self.fault in hurts:
            hurts[self.fault]()
        elif self.fault == "503":
            self.send_error(503)
        else:
            super().do_GET()

    def _hang(self) -> None:
        self.connection.settimeout(SLOW_S)
        self.connection.recv(1)

    def _drip(self) -> None:
        self.send_response(200)
        self.send_header("Content-Length", "100000")
        self.end_headers()
        end = time.monotonic() + SLOW_S
        while time.monotonic() < end:
            self.wfile.write(b"x")
            time.sleep(0.5)

    def handle(self) -> None:
        with contextlib.suppress(OSError):
            super().handle()

    def log_message(self, *_: object) -> None:
        """Nobody reads it."""


@contextmanager
def serving_packages(
    directory: Path, fault: str, place: tuple[str, int] = ("127.0.0.1", 0)
) -> Iterator[int]:
    """Yield a port; with the fault `refused` nobody listens there."""
    handler = partial(Repository, directory=str(directory), fault=fault)
    server = ThreadingHTTPServer(place, handler)
    server.daemon_threads = True
    port = server.server_address[1]
    if fault == "refused":
        server.server_close()
        yield port
        return
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield port
    finally:
        server.shutdown()
        server.server_close()
